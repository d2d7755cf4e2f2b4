//! The golden limits: 40 digits by mpmath, independent of this project.

use super::*;
use crate::potential::Weights;
use serde_json::Value;

fn number(value: &Value) -> f64 {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().expect("a number")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(number).collect()
}

/// A decimal string of 40 digits as a double-double: its nearest binary64 and the digits that one leaves out.
fn digits(value: &Value) -> DoubleDouble {
    let text = value.as_str().expect("digits come as strings");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut exponent: i32 = exponent.parse().expect("an exponent");
    let negative = mantissa.starts_with('-');
    let mut sum = DoubleDouble::ZERO;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    for digit in whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit) {
        sum = sum.mul_f64(10.0).add_f64(f64::from(digit - b'0'));
    }
    exponent -= i32::try_from(fraction.len()).expect("a few digits");
    let ten = DoubleDouble::from_f64(10.0);
    for _ in 0..exponent.abs() {
        sum = if exponent < 0 { sum / ten } else { sum * ten };
    }
    if negative { -sum } else { sum }
}

pub(super) struct Golden {
    pub problem: Problem,
    pub beta: Vec<DoubleDouble>,
    pub nu: Vec<DoubleDouble>,
    pub cost: DoubleDouble,
}

pub(super) fn cases() -> Vec<Golden> {
    let text = include_str!("../../../../tests/golden/diagonal_limits.json");
    let file: Value = serde_json::from_str(text).expect("JSON");
    let read = |case: &Value| {
        let [u_plus, v_plus, u_minus, v_minus] =
            ["u_plus", "v_plus", "u_minus", "v_minus"].map(|name| numbers(&case["shape_of_parameters"][name]));
        let log_magnitude = number(&case["log_parameter_scale"]);
        let weights = (0..u_plus.len()).map(|i| Weights {
            u_plus: u_plus[i],
            v_plus: v_plus[i],
            u_minus: u_minus[i],
            v_minus: v_minus[i],
            log_magnitude,
        });
        let start = Start::from_weights(weights);
        let x = case["X"].as_array().expect("rows").iter().flat_map(numbers).collect();
        let beta = case["beta"].as_array().expect("coefficients").iter().map(digits).collect();
        let problem = Problem { x, y: numbers(&case["y"]), start };
        let nu = case["nu"].as_array().expect("multipliers").iter().map(digits).collect();
        Golden { problem, beta, nu, cost: digits(&case["Q_bregman"]) }
    };
    file["cases"].as_array().expect("cases").iter().map(read).collect()
}

#[test]
fn limits_multipliers_and_costs_are_the_golden_ones_and_bounds_hold() {
    let cases = cases();
    assert_eq!(cases.len(), 30);
    for (k, case) in cases.iter().enumerate() {
        let found = case.problem.limit();
        assert_eq!(found.status, Status::Converged, "case {k}");
        let errors = errors(&found.beta, &case.beta);
        let bound = found.error_bound.unwrap_or_default();
        assert_eq!(bound.len(), errors.len());
        let size = largest(&found.beta);
        for (i, (error, bound)) in errors.iter().zip(&bound).enumerate() {
            assert!(*error <= 1e-11 * size, "case {k}, coefficient {i} is off by {error:e}");
            assert!(error <= bound, "case {k}, coefficient {i}: {error:e} > {bound:e}");
        }
        assert!(largest(&bound) <= 1e-10 * size, "case {k}: the bound {:e} says nothing", largest(&bound));
        // Targets known to u move β by cond(X) u and ν through ln β: 1e-11 is granted as for β, of the largest.
        let expected: Vec<f64> = case.nu.iter().map(|nu| nu.to_f64()).collect();
        let size_of_nu = largest(&expected);
        for (nu, expected) in found.multipliers.iter().zip(&expected) {
            assert!((nu - expected).abs() <= 1e-11 * size_of_nu, "case {k}: ν = {nu} instead of {expected}");
        }
        let (cost, expected) = (found.conditions.potential_value, case.cost.to_f64());
        assert!((cost - expected).abs() <= 1e-11 * expected, "case {k}: D_Q = {cost} instead of {expected}");
    }
}

#[test]
fn limits_satisfy_the_optimality_conditions_as_definitions() {
    for (k, case) in cases().iter().enumerate() {
        let found = case.problem.limit();
        let nu: Vec<DoubleDouble> = found.multipliers.iter().map(|v| DoubleDouble::from_f64(*v)).collect();
        let (stationary, slope) = case.problem.predictor(&nu);
        let mut path = vec![0.0; slope.len()];
        case.problem
            .rows()
            .apply_transposed_abs(&found.multipliers.iter().map(|v| v.abs()).collect::<Vec<_>>(), &mut path);
        for (i, error) in errors(&found.beta, &stationary).iter().enumerate() {
            // ν is rounded to binary64, which moves 2G by ε|X|ᵀ|ν| and β by half of S times that; β is rounded itself,
            // and binary64 exponents (those up to 100 in size) by 2u(1 + |exponent|), THEORY §1.
            let allowed = f64::EPSILON * (slope[i] * (2.0 * path[i] + 1.0) + 100.0 * found.beta[i].abs());
            assert!(*error <= allowed, "case {k}: β_{i} is {error:e} from β(Xᵀν), {allowed:e} is rounding");
        }
        let exact: Vec<DoubleDouble> = found.beta.iter().map(|b| DoubleDouble::from_f64(*b)).collect();
        let feasibility = largest(&case.problem.residual(&exact)) / largest(&case.problem.y);
        assert!(feasibility <= 1e-12 && found.conditions.feasibility <= 1e-12, "case {k}: {feasibility:e}");
        assert!(found.conditions.stationarity <= 1e-15 && found.conditions.duality_gap <= 1e-12, "case {k}");
    }
}
