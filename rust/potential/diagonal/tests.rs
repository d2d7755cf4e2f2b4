//! Against 40-digit limits of networks from any start, and the laws of one-sided ones.

use super::*;

fn number(value: &serde_json::Value) -> f64 {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().expect("a number")
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(number).collect()
}

/// The potentials of the coordinates of a golden case, from its weights.
fn potentials(case: &serde_json::Value) -> Vec<HyperbolicEntropy> {
    let weights = |name: &str| numbers(&case["shape_of_parameters"][name]);
    let (u_plus, v_plus) = (weights("u_plus"), weights("v_plus"));
    let (u_minus, v_minus) = (weights("u_minus"), weights("v_minus"));
    let log_scale = 2.0 * number(&case["log_parameter_scale"]);
    let log_square = |sum: f64, difference: f64| 2.0 * sum.hypot(difference).ln() + log_scale;
    (0..u_plus.len())
        .map(|i| HyperbolicEntropy {
            log_a: log_square(u_plus[i] + v_plus[i], u_minus[i] - v_minus[i]),
            log_b: log_square(u_plus[i] - v_plus[i], u_minus[i] + v_minus[i]),
        })
        .collect()
}

fn golden_cases() -> Vec<serde_json::Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/diagonal_limits.json");
    let text = std::fs::read_to_string(path).expect("a file of the source");
    let table: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    table["cases"].as_array().expect("a list of cases").clone()
}

#[test]
fn the_cost_of_a_limit_is_the_golden_one_for_any_start() {
    let cases = golden_cases();
    assert!(cases.len() > 10);
    for case in cases {
        let beta = numbers(&case["beta"]);
        let cost: f64 = potentials(&case).iter().zip(&beta).map(|(q, beta)| q.value(*beta)).sum();
        let error = cost / number(&case["Q_bregman"]) - 1.0;
        assert!(error.abs() < 1e-13, "{}: {error:e}", case["kind"]);
    }
}

#[test]
fn the_gradient_at_a_limit_lies_in_the_row_space_with_the_golden_multipliers() {
    for case in golden_cases() {
        let (beta, nu) = (numbers(&case["beta"]), numbers(&case["nu"]));
        let rows: Vec<Vec<f64>> = case["X"].as_array().expect("rows").iter().map(numbers).collect();
        for (i, (q, beta)) in potentials(&case).iter().zip(beta).enumerate() {
            let terms: Vec<f64> = rows.iter().zip(&nu).map(|(row, nu)| row[i] * nu).collect();
            let exact: f64 = terms.iter().sum();
            // Rounding nu and beta (half a unit each), ln A and ln B (their size), and the sum itself.
            let size: f64 = terms.iter().map(|term| term.abs()).sum();
            let logs: f64 = [q.log_a, q.log_b].into_iter().filter(|l| l.is_finite()).map(f64::abs).sum();
            let conditioning = beta.abs() * q.hessian(beta);
            let allowed = f64::EPSILON * (4.0 * size + 2.0 * logs + 2.0 + 2.0 * conditioning);
            let error = (q.gradient(beta) - exact).abs();
            assert!(error <= allowed, "{} coordinate {i}: {error:e} > {allowed:e}", case["kind"]);
        }
    }
}

#[test]
fn the_start_costs_nothing_and_has_no_slope() {
    for (log_a, log_b) in [(1.0, 0.0), (-3.0, -2.5), (-300.0, -310.0), (40.0, 39.999), (500.0, 400.0), (0.0, -2000.0)] {
        let q = HyperbolicEntropy { log_a, log_b };
        assert_eq!(q.gradient(q.start()), 0.0, "{q:?}");
        assert_eq!(q.value(q.start()), 0.0, "{q:?}");
    }
}

#[test]
fn a_one_sided_start_keeps_its_sign() {
    let log_a: f64 = 0.7;
    let right = HyperbolicEntropy { log_a, log_b: f64::NEG_INFINITY };
    let left = HyperbolicEntropy { log_a: f64::NEG_INFINITY, log_b: log_a };
    assert_eq!(right.value(-1e-300), f64::INFINITY);
    assert!(right.gradient(-1.0).is_nan() && right.hessian(-1.0).is_nan());
    // D(0) = A/8, slope −∞: the printed ½x ln(4x/A) − x/2 plus A/8.
    assert!((right.value(0.0) / (log_a.exp() / 8.0) - 1.0).abs() < 4.0 * f64::EPSILON);
    assert_eq!((right.gradient(0.0), left.gradient(0.0)), (f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(right.hessian(0.0), f64::INFINITY);
    for x in [1e-200_f64, 1e-3, 0.3, 2.0, 1e5, 1e200] {
        let printed = 0.5 * x * ((4.0 * x).ln() - log_a) - 0.5 * x + log_a.exp() / 8.0;
        let scale = 0.5 * x * (4.0 * x).ln().abs() + x + 1.0; // the printed form cancels, the other does not
        assert!((right.value(x) - printed).abs() <= 4.0 * f64::EPSILON * scale, "{x}");
        assert_eq!(left.value(-x), right.value(x));
        assert_eq!(left.gradient(-x), -right.gradient(x));
    }
}

#[test]
fn a_nearly_one_sided_start_tends_to_the_one_sided_one() {
    let q = |log_b| HyperbolicEntropy { log_a: -1.0, log_b };
    for x in [0.01, 0.09, 1.0, 30.0] {
        for log_b in [-60.0, -700.0, -5000.0, -1e6] {
            let (near, limit) = (q(log_b).value(x), q(f64::NEG_INFINITY).value(x));
            assert!((near - limit).abs() <= 1e-14 * limit, "{x} {log_b}: {near} {limit}");
        }
    }
}

#[test]
fn no_start_and_no_coefficient_gives_nan() {
    let logs = [f64::NEG_INFINITY, -1e6, -2000.0, -700.0, -1.0, 0.0, 3.0, 300.0, 720.0, 2000.0, 1e6];
    let coefficients = [0.0, 5e-324, 1e-300, 1e-5, 1.0, 1e10, 1e300, f64::MAX, f64::INFINITY];
    for (log_a, log_b) in logs.iter().flat_map(|a| logs.iter().map(move |b| (*a, *b))) {
        let q = HyperbolicEntropy { log_a, log_b };
        assert!(!q.start().is_nan());
        for beta in coefficients.iter().flat_map(|beta| [*beta, -beta]) {
            assert!(q.value(beta) >= 0.0, "{q:?} at {beta}: {}", q.value(beta));
            let derivatives = q.gradient(beta).is_nan() || q.hessian(beta).is_nan();
            assert!(derivatives == q.excludes(beta), "{q:?} at {beta}: {} {}", q.gradient(beta), q.hessian(beta));
        }
    }
}

#[test]
fn a_huge_one_sided_start_is_finite_from_a_tiny_point() {
    // D = ½ [p ln(p/p₀) − p + p₀] = ½ p₀ for p ≪ p₀: the unit of measure goes by the larger of the two.
    let (log_a, beta) = (574.0, 1e-153);
    let value = HyperbolicEntropy { log_a, log_b: f64::NEG_INFINITY }.value(beta);
    let expected = 0.125 * f64::exp(log_a);
    assert!((value - expected).abs() <= 40.0 * f64::EPSILON * expected, "{value}");
}
