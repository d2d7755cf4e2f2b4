//! What double-double arithmetic promises: exact transformations, the stated bounds, and sane ends of the range.

use super::*;
use proptest::prelude::*;

/// The unit in which bounds are stated: 2^-104, four times u².
const UNIT: f64 = DoubleDouble::UNIT_ROUNDOFF;

/// Rows of `reference.json`: arguments, then the result as the exact sum of three binary64 numbers.
fn reference(name: &str) -> Vec<Vec<f64>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rust/real/double_double/reference.json");
    let text = std::fs::read_to_string(path).expect("the table is part of the source");
    let table: serde_json::Value = serde_json::from_str(&text).expect("the table is JSON");
    let rows = table[name].as_array().expect("an array of rows");
    assert!(rows.len() > 50, "{name} has {} rows", rows.len());
    let number = |value: &serde_json::Value| value.as_number().and_then(|n| n.as_str().parse().ok()).expect("a number");
    rows.iter().map(|row| row.as_array().expect("a row").iter().map(number).collect()).collect()
}

/// Relative error in units of 2^-104. The differences of like parts are exact or far below the unit.
fn error_in_units(value: DoubleDouble, exact: &[f64]) -> f64 {
    ((value.high - exact[0]) + (value.low - exact[1]) - exact[2]).abs() / exact[0].abs() / UNIT
}

fn worst(name: &str, function: impl Fn(&[DoubleDouble]) -> DoubleDouble) -> f64 {
    let mut worst = 0.0_f64;
    for row in reference(name) {
        let (arguments, exact) = row.split_at(row.len() - 3);
        let arguments: Vec<_> = arguments.chunks(2).map(|p| DoubleDouble { high: p[0], low: p[1] }).collect();
        let error = error_in_units(function(&arguments), exact);
        assert!(!error.is_nan(), "{name}({arguments:?}) is not a number");
        worst = worst.max(error);
    }
    worst
}

#[test]
fn arithmetic_keeps_its_bounds_even_where_thirty_digits_cancel() {
    // 3 u², 5 u², 15 u², 25/8 u² in units of 4 u².
    let bounds = [
        ("add", worst("add", |x| x[0] + x[1]), 0.75),
        ("mul", worst("mul", |x| x[0] * x[1]), 1.25),
        ("div", worst("div", |x| x[0] / x[1]), 3.75),
        ("sqrt", worst("sqrt", |x| x[0].sqrt()), 0.79),
    ];
    for (name, worst, bound) in bounds {
        assert!(worst <= bound, "{name}: {worst} units");
    }
}

#[test]
fn functions_are_within_sixteen_units_also_where_the_plain_formula_cancels() {
    let errors = [worst("exp", |x| x[0].exp()), worst("exp_m1", |x| x[0].exp_m1()), worst("ln", |x| x[0].ln())];
    assert!(errors.iter().all(|error| *error <= 16.0), "{errors:?}");
}
