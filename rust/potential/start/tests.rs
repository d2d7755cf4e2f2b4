//! Against 40-digit logarithms: mpmath at 420 digits, every input an exact binary64 number, each value rounded to the
//! nearest binary64 and its remainder to another.

use super::*;

/// A logarithm as the two numbers "high low".
type Pair = &'static str;

/// Double-double operations are good to 2^-102 and its logarithm to 2^-98; a few of each meet in one value.
const TOLERANCE: f64 = 1.0 / (1u128 << 97) as f64;

fn weights([u_plus, v_plus, u_minus, v_minus]: [f64; 4], log_magnitude: f64) -> Weights {
    Weights { u_plus, v_plus, u_minus, v_minus, log_magnitude }
}

fn parsed(pair: Pair) -> (f64, f64) {
    let number = |text: &str| text.parse().expect("a number of the tables here");
    let (high, low) = pair.split_once(' ').expect("two numbers");
    (number(high), number(low))
}

/// `found` is the pair, up to the tolerance times the largest number met on the way to it.
fn assert_pair(found: DoubleDouble, expected: Pair, met: f64, what: &str) {
    let (high, low) = parsed(expected);
    if high.is_infinite() {
        assert_eq!((found.high, found.low), (high, low), "{what}");
        return;
    }
    let error = ((found.high - high) + (found.low - low)).abs();
    let allowed = TOLERANCE * (1.0 + met.abs() + high.abs());
    assert!(error <= allowed, "{what}: {found:?} is off by {error:e}, {allowed:e} is allowed");
}

#[test]
fn weights_give_the_logarithms_to_thirty_digits() {
    let cases: [(Weights, [Pair; 2]); 10] = [
        // ordinary
        (
            weights([1.709, 2.24, -0.3, 0.7], 0.0),
            ["2.809077401496329 9.921361191408609e-17", "-0.8165336360915189 -9.077367716768344e-18"],
        ),
        // scale 10^-100000
        (
            weights([1.709, 2.24, -0.3, 0.7], -230_258.5),
            ["-460514.19092259853 2.5470391755352407e-11", "-460517.81653363607 -2.2593602740001965e-11"],
        ),
        // u+ = -v+(1 + 1e-15), u- = v-: A is what cancellation leaves
        (
            weights([-1.000_000_000_000_001, 1.0, 0.5, 0.5], -3.25),
            ["-75.36843095336611 3.5469526754723803e-15", "-4.890562087565899 -1.2924378801417243e-16"],
        ),
        // the same without the other path
        (
            weights([-1.000_000_000_000_001, 1.0, 0.0, 0.0], 0.0),
            ["-68.86843095336611 3.5469526754723803e-15", "1.3862943611198917 4.638093627692568e-17"],
        ),
        // exact cancellation: A = 0
        (weights([-0.7, 0.7, 0.3, 0.3], 1.5), ["-inf 0", "3.8415671856782185 -6.355431367973565e-17"]),
        // exact cancellation: B = 0
        (weights([0.7, 0.7, 0.3, -0.3], 1.5), ["3.8415671856782185 -6.355431367973565e-17", "-inf 0"]),
        // no weights at all
        (weights([0.0, 0.0, 0.0, 0.0], 0.0), ["-inf 0", "-inf 0"]),
        // 1e200 next to 1
        (
            weights([1e+200, 1.0, 3.0, 1e-200], 0.0),
            ["921.0340371976183 -4.4258218545258945e-14", "921.0340371976183 -4.4258218545258945e-14"],
        ),
        // weights of 1e-300
        (
            weights([1e-300, 2e-300, 3e-301, -1e-300], 0.0),
            ["-1379.1817470713904 -3.793664304022575e-14", "-1381.15227967647 -2.6523376555047665e-14"],
        ),
        // subnormal weights
        (
            weights([3e-310, 1e-310, 0.0, 5e-324], 700.0),
            ["-24.83016893406855 2.2773157616490347e-16", "-26.21646329518844 4.0339524481346647e-16"],
        ),
    ];
    for (weights, [a, b]) in cases {
        let start = Start::from_weights([weights]);
        // The size of the weights and their unit are logarithms that are added.
        let size = [weights.u_plus, weights.v_plus, weights.u_minus, weights.v_minus];
        let size = size.iter().fold(0.0_f64, |m, w| m.max(w.abs()));
        let met = 2.0 * weights.log_magnitude.abs() + if size > 0.0 { 2.0 * size.ln().abs() } else { 0.0 };
        assert_pair(start.log_a[0], a, met, &format!("ln A of {weights:?}"));
        assert_pair(start.log_b[0], b, met, &format!("ln B of {weights:?}"));
    }
}

#[test]
fn scale_and_shape_give_an_unbiased_start_to_thirty_digits() {
    let cases: [(f64, f64, Pair); 7] = [
        (0.0, 0.0, "1.3862943611198906 4.638093627692599e-17"),
        (-1.5, 0.5, "0.3971199848858813 7.850120612769005e-18"),
        (-230_258.0, 0.5, "-230256.10288001513 1.1146647017357185e-11"),
        (-230_258.0, -0.999, "-230249.7064502347 1.6475580310433779e-12"),
        (2.0, 0.999_999_999_999_999_9, "40.123094930796995 -3.1099051996539036e-15"),
        (2.0, -0.999_999_999_999_999_9, "40.123094930796995 -3.1099051996539036e-15"),
        (-700.0, 1e-200, "-698.6137056388801 -3.728377347448607e-15"),
    ];
    for (log_scale, shape, log_kappa) in cases {
        let start = Start::from_scale_shape([DoubleDouble::from_f64(log_scale)], [shape]);
        assert_eq!(start.log_a, start.log_b);
        assert_pair(start.log_a[0], log_kappa, log_scale, &format!("ln κ at ln α = {log_scale}, s = {shape}"));
    }
}

#[test]
fn kappa_and_the_predictor_at_the_start_give_the_logarithms_to_thirty_digits() {
    let cases: [(f64, f64, [Pair; 2]); 12] = [
        (0.0, 0.0, ["0.0 0.0", "0.0 0.0"]),
        (0.0, 1.0, ["1.4436354751788103 4.124885142212745e-17", "-1.4436354751788103 -4.124885142212745e-17"]),
        (-3.0, -0.25, ["-6.002469586296751 -4.4021616566634034e-16", "0.002469586296751643 3.0083637225554344e-20"]),
        (-230_258.0, 0.5, ["0.6931471805599453 2.3190468138462996e-17", "-460516.69314718054 -1.619851018665656e-11"]),
        (
            -230_258.0,
            -1e+300,
            ["-461208.1618222593 -2.3894255204220717e-11", "692.1618222593336 2.0019282681351637e-14"],
        ),
        (700.0, 1e-05, ["700.0 1.971935308751955e-309", "700.0 -1.971935308751955e-309"]),
        (50.0, -3.0, ["50.0 -1.1572499087783506e-21", "50.0 1.1572499087783506e-21"]),
        (1.0, 1e-12, ["1.0000000000007359 -9.69383786691266e-17", "0.9999999999992643 -1.4083923793389055e-17"]),
        (-44.0, 1.0, ["1.3862943611198906 4.638093627692599e-17", "-89.3862943611199 3.728377347448607e-15"]),
        (-44.0, -2.0, ["-90.07944154167984 5.592566021172909e-15", "2.0794415416798357 1.8059370687790465e-16"]),
        (-101.0, 0.7, ["1.0296194171811581 5.1206500076302614e-17", "-203.02961941718115 -6.046410833052148e-15"]),
        (-740.0, 5e-324, ["-739.976412007088 -2.5893977807246636e-15", "-740.023587992912 2.5893977807246636e-15"]),
    ];
    for (log_kappa, beta, [a, b]) in cases {
        let start = Start::from_kappa([DoubleDouble::from_f64(log_kappa)], [DoubleDouble::from_f64(beta)]);
        let met = log_kappa.abs() + (parsed(a).0 - log_kappa).abs();
        assert_pair(start.log_a[0], a, met, &format!("ln A at ln κ = {log_kappa}, β(0) = {beta}"));
        assert_pair(start.log_b[0], b, met, &format!("ln B at ln κ = {log_kappa}, β(0) = {beta}"));
    }
}

#[test]
fn the_ways_to_a_start_agree_where_they_meet() {
    // u = √α/3, v = 3√α: α = uv, s = (v − u)/(v + u) = 0.8; exact for α = 9.
    let by_weights = Start::from_weights([weights([1.0, 9.0, 1.0, 9.0], 0.0)]);
    let by_shape = Start::from_scale_shape([DoubleDouble::from_f64(9.0).ln()], [0.8]);
    // 0.8 is not a binary64 number: ln κ moves by 4s/(1 − s⁴) of half its last place, 2^-54.
    let moved = (by_weights.log_a[0] - by_shape.log_a[0]).to_f64().abs();
    assert!(moved <= 4.0 * 0.8 / (1.0 - 0.8_f64.powi(4)) / 2.0_f64.powi(54), "{moved:e}");
    assert_eq!(by_weights.log_a, by_weights.log_b);
    // κ² = AB and 4β(0) = A − B with A = 16 + 9, B = 4 + 1.
    let by_weights = Start::from_weights([weights([1.0, 3.0, 2.0, -1.0], 0.0)]);
    let log_kappa = DoubleDouble::from_f64(125.0).ln() * DoubleDouble::from_f64(0.5);
    let by_kappa = Start::from_kappa([log_kappa], [DoubleDouble::from_f64(5.0)]);
    for (found, expected) in [(by_kappa.log_a[0], by_weights.log_a[0]), (by_kappa.log_b[0], by_weights.log_b[0])] {
        assert!((found - expected).to_f64().abs() <= 4.0 * TOLERANCE, "{found:?} instead of {expected:?}");
    }
}

#[test]
fn weights_of_thirty_digits_have_logarithms_of_thirty_digits() {
    // A and B are homogeneous of degree 2: weights c w have those of w, and 2 ln c. c and the products are no floats.
    let third = DoubleDouble::ONE / DoubleDouble::from_f64(3.0);
    let plain = [1.709, 2.24, -0.3, 0.7];
    let [u_plus, v_plus, u_minus, v_minus] = plain.map(|w| third * DoubleDouble::from_f64(w));
    assert!(u_plus.low != 0.0 && v_minus.low != 0.0);
    let log_magnitude = DoubleDouble::from_f64(0.1) / DoubleDouble::from_f64(7.0);
    let found = Start::from_weights([Weights { u_plus, v_plus, u_minus, v_minus, log_magnitude }]);
    let expected = Start::from_weights([weights(plain, 0.0)]);
    let by = (third.ln() + log_magnitude).mul_f64(2.0);
    for (found, expected) in [(found.log_a[0], expected.log_a[0]), (found.log_b[0], expected.log_b[0])] {
        // Binary64 would be off by 1e-17.
        assert!((found - expected - by).to_f64().abs() < TOLERANCE, "{found:?}");
    }
}

#[test]
fn a_shape_next_to_1_of_thirty_digits_is_not_1() {
    // s = 1 − 1e-25, which binary64 rounds to 1: (1 + s²)/((1 − s)(1 + s)) = 1e25 (1 + O(1e-50)).
    let gap = DoubleDouble::from_f64(1e-25);
    let found = Start::from_scale_shape([DoubleDouble::ZERO], [DoubleDouble::ONE - gap]);
    let expected = DoubleDouble::LN_2.mul_f64(2.0) - gap.ln();
    // The gap itself is known to 2^-106 of 1.
    assert!((found.log_a[0] - expected).to_f64().abs() < 2.0_f64.powi(-105) / 1e-25, "{:?}", found.log_a[0]);
}
