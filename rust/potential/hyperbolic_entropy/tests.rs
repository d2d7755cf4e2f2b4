//! Against 40-digit values, and the laws that hold between q, q', q'', q* and D.

use super::*;
use proptest::prelude::*;

/// Unit of rounding.
const U: f64 = f64::EPSILON / 2.0;

fn table(path: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).expect("a file of the source");
    let table: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    table["cases"].as_array().expect("a list of cases").clone()
}

/// A number written as a JSON number or as a string of 40 digits.
fn number(value: &serde_json::Value) -> f64 {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().expect("a number")
}

/// Relative error; a result beyond the range of normal numbers has to be the nearest there is.
fn relative_error(found: f64, exact: f64) -> f64 {
    if exact.is_infinite() || exact == 0.0 {
        return if found == exact { 0.0 } else { f64::INFINITY };
    }
    (found - exact).abs() / exact.abs().max(f64::MIN_POSITIVE)
}

/// `q` of a golden case. Where `2|x|/κ < 1e-30` the golden file is twice too large: at its 40 to 60 digits the printed
/// `√(1 + 4x²/κ²) − 1` is 0, which leaves `½ x asinh(2x/κ) = x q'` of `q = ½ x q'`. Its `q'` is right (checked at 3,000
/// digits), and gives `q` there to 1e-61.
fn golden_value(case: &serde_json::Value, x: f64, log_kappa: f64) -> f64 {
    let (q, half) = (number(&case["q"]), 0.5 * x * number(&case["dq"]));
    if x == 0.0 || (2.0 * x.abs()).ln() - log_kappa > -69.0 {
        return q;
    }
    let doubled = half == 0.0 || relative_error(q, 2.0 * half) < 4.0 * U; // q' may underflow where q does not
    assert!(doubled, "a golden value is neither right nor doubled: {case}");
    0.5 * q
}

#[test]
fn values_and_derivatives_have_full_relative_precision_from_minus_5000_to_1200() {
    let cases = table("tests/golden/q_diagonal.json");
    assert!(cases.len() > 50);
    for case in cases {
        let (x, log_kappa) = (number(&case["w"]), number(&case["log_sqrt_k"]));
        let checks = [
            ("q", value(x, log_kappa), golden_value(&case, x, log_kappa), 10.0),
            ("q'", gradient(x, log_kappa), number(&case["dq"]), 6.0),
            ("q''", hessian(x, log_kappa), number(&case["d2q"]), 8.0),
        ];
        for (name, found, exact, bound) in checks {
            let error = relative_error(found, exact) / U;
            assert!(error <= bound, "{name}({x}), ln kappa {log_kappa}: {found} is {error} u from {exact}");
        }
    }
}

#[test]
fn the_divergence_does_not_cancel_near_its_second_point() {
    let cases = table("rust/potential/hyperbolic_entropy/bregman.json");
    assert!(cases.len() > 200);
    let mut worst = (0.0_f64, String::new());
    for case in cases {
        let (x, x0, log_kappa) = (number(&case[0]), number(&case[1]), number(&case[2]));
        let error = relative_error(bregman(x, x0, log_kappa), number(&case[3])) / U;
        if error.is_nan() || error > worst.0 {
            worst = (error, case.to_string());
        }
    }
    assert!(worst.0 <= 40.0 && worst.0 > 0.0, "{worst:?} u");
}

#[test]
fn infinities_and_nan_have_their_stated_answers() {
    let inf = f64::INFINITY;
    for log_kappa in [-1e6, -2000.0, 0.0, 2000.0, 1e6] {
        assert_eq!((value(inf, log_kappa), value(-inf, log_kappa)), (inf, inf));
        assert_eq!((gradient(inf, log_kappa), gradient(-inf, log_kappa)), (inf, -inf));
        assert_eq!(hessian(-inf, log_kappa), 0.0);
        assert_eq!((value(0.0, log_kappa), conjugate(0.0, log_kappa)), (0.0, 0.0));
        assert_eq!(gradient(-0.0, log_kappa).to_bits(), (-0.0_f64).to_bits());
        for function in [value, gradient, hessian, conjugate] {
            assert!(function(f64::NAN, log_kappa).is_nan());
        }
        for x in [5e-324, 1e-300, 1.0, f64::MAX] {
            for function in [value, gradient, hessian, conjugate] {
                assert!(function(x, log_kappa) >= 0.0, "{x} {log_kappa}");
                assert!(function(x, f64::NAN).is_nan());
            }
        }
    }
    assert_eq!((value(0.5, -inf), gradient(0.5, -inf), hessian(0.5, -inf)), (inf, inf, 1.0));
}

proptest! {
    #[test]
    fn value_and_conjugate_meet_in_the_inequality_of_fenchel(
        sign in prop::sample::select(vec![-1.0, 1.0]),
        decade in -250.0..250.0_f64,
        log_kappa in -1000.0..1000.0_f64,
    ) {
        // q(x) + q*(g) = x g at g = q'(x). g is off by 7u, and q* by x times that; the others by 10u of themselves.
        let x = sign * 10f64.powf(decade);
        let g = gradient(x, log_kappa);
        let (q, dual, product) = (value(x, log_kappa), conjugate(g, log_kappa), x * g);
        prop_assume!(g.is_normal() && product.is_normal() && dual.is_normal() && q.is_normal());
        prop_assert!((q + dual - product).abs() <= 30.0 * U * (product + 2.0 * x.abs() * g.abs()));
    }

    #[test]
    fn a_divergence_is_positive_and_close_to_half_the_square_in_the_metric(
        decade in -100.0..100.0_f64,
        gap in -7.0..-5.0_f64,
        log_kappa in -300.0..300.0_f64,
    ) {
        let x0 = 10f64.powf(decade);
        let x = x0 * (1.0 + 10f64.powf(gap));
        let divergence = bregman(x, x0, log_kappa);
        let quadratic = 0.5 * (x - x0) * (x - x0) * hessian(0.5 * (x + x0), log_kappa);
        prop_assume!(quadratic.is_normal());
        // The third derivative is at most q''/x: the middle point leaves a relative term of order gap/3.
        prop_assert!((divergence / quadratic - 1.0).abs() <= 10f64.powf(gap));
    }

    #[test]
    fn the_divergence_is_the_difference_of_the_printed_terms(
        x in -10.0..10.0_f64,
        x0 in -10.0..10.0_f64,
        log_kappa in -10.0..3.0_f64,
    ) {
        let slope = gradient(x0, log_kappa);
        let printed = value(x, log_kappa) - value(x0, log_kappa) - slope * (x - x0);
        let size = value(x, log_kappa) + value(x0, log_kappa) + (slope * (x - x0)).abs();
        prop_assert!((bregman(x, x0, log_kappa) - printed).abs() <= 60.0 * U * size);
    }
}
