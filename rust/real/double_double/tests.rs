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
    // 3 u², 5 u², 16 u², 25/8 u² in units of 4 u².
    let bounds = [
        ("add", worst("add", |x| x[0] + x[1]), 0.75),
        ("mul", worst("mul", |x| x[0] * x[1]), 1.25),
        ("div", worst("div", |x| x[0] / x[1]), 4.0),
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

#[test]
fn results_are_normalised_and_the_constant_is_exact() {
    for name in ["exp", "exp_m1", "ln"] {
        for row in reference(name) {
            let x = DoubleDouble { high: row[0], low: row[1] };
            for value in [x.exp(), x.exp_m1(), x.abs().ln(), x * x, DoubleDouble::ONE / x] {
                assert_eq!(value.high + value.low, value.high, "{name} near {x:?}");
            }
        }
    }
    // e^(ln 2) = 2 to the last place: ln 2 is right to 2^-107.
    assert!(error_in_units(DoubleDouble::LN_2.exp(), &[2.0, 0.0, 0.0]) <= 4.0);
}

#[test]
fn infinities_nan_and_signed_zeros_behave_as_in_binary64() {
    let special = [0.0, -0.0, 1.0, -2.5, 1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
    let same = |name: &str, a: f64, b: f64, found: DoubleDouble, expected: f64| {
        let equal = found.high == expected && found.high.is_sign_negative() == expected.is_sign_negative();
        assert!(equal || found.high.is_nan() && expected.is_nan(), "{name} of {a} and {b}: {found:?}, not {expected}");
        assert!(found.low.is_finite(), "{name} of {a} and {b}: {found:?}");
    };
    for (a, b) in special.iter().flat_map(|a| special.iter().map(move |b| (*a, *b))) {
        let (x, y) = (DoubleDouble::from(a), DoubleDouble::from(b));
        same("the sum", a, b, x + y, a + b);
        same("the difference", a, b, x - y, a - b);
        same("the product", a, b, x * y, a * b);
        same("the quotient", a, b, x / y, a / b);
        if a != f64::MAX {
            // Its root is a midpoint of two binary64 numbers to 2^-109: either may be the high part.
            same("the root", a, b, x.sqrt(), a.sqrt());
        }
        same("|x|", a, b, x.abs(), a.abs());
        assert_eq!(x.partial_cmp(&y), a.partial_cmp(&b));
    }
    for a in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 800.0, -800.0] {
        let x = DoubleDouble::from(a);
        if a.abs() != 800.0 {
            same("asinh", a, a, x.asinh(), a.asinh());
        }
        same("exp", a, a, x.exp(), a.exp());
        same("exp_m1", a, a, x.exp_m1(), a.exp_m1());
        same("ln", a, a, x.ln(), a.ln());
        same("ln_1p", a, a, x.ln_1p(), a.ln_1p());
        same("sinh", a, a, x.sinh(), a.sinh());
        same("cosh", a, a, x.cosh(), a.cosh());
    }
}

#[test]
fn a_power_of_special_numbers_is_that_of_c() {
    let special = [0.0, -0.0, 0.5, 1.0, -1.0, -0.5, 2.0, -2.0, 3.0, -3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for (a, b) in special.iter().flat_map(|a| special.iter().map(move |b| (*a, *b))) {
        let (found, expected) = (DoubleDouble::from(a).pow(DoubleDouble::from(b)), a.powf(b));
        // Roots are not exact, and their last bits are judged elsewhere.
        let near = (found.high - expected).abs() <= f64::EPSILON * expected.abs() || found.high == expected;
        let same_sign = found.high.is_sign_negative() == expected.is_sign_negative();
        assert!(near && same_sign || found.high.is_nan() && expected.is_nan(), "{a}^{b}: {found:?}, not {expected}");
    }
    // Which side of 1, and which parity, only the low part says.
    let (above, below) = (DoubleDouble { high: 1.0, low: 1e-20 }, DoubleDouble { high: 1.0, low: -1e-20 });
    let infinity = DoubleDouble::from(f64::INFINITY);
    assert_eq!([above.pow(infinity).high, below.pow(infinity).high], [f64::INFINITY, 0.0]);
    let (even, odd) = (DoubleDouble::from(2.0_f64.powi(54)), DoubleDouble { high: 2.0_f64.powi(54), low: 1.0 });
    let minus = -DoubleDouble::ONE;
    assert_eq!([minus.pow(even), minus.pow(odd)], [DoubleDouble::ONE, minus]);
    assert!(minus.pow(DoubleDouble { high: 2.0, low: 1e-20 }).high.is_nan());
}

#[test]
fn products_with_data_are_those_of_the_scalar_operations_at_every_length() {
    let x = |i: usize| ((i * 7919 % 2003) as f64 - 1000.0) / 2003.0;
    for n in (0..70).chain([1000]) {
        let data: Vec<f64> = (0..n).map(x).collect();
        let v: Vec<_> = (0..n).map(|i| DoubleDouble::from_parts(x(i + 5), 1e-17 * x(i + 9))).collect();
        let plain = data.iter().zip(&v).fold(DoubleDouble::ZERO, |sum, (x, v)| sum + *v * DoubleDouble::from(*x));
        let size: f64 = data.iter().zip(&v).map(|(x, v)| (x * v.high).abs()).sum();
        // Both sums round: 4 u² for each of n terms in the plain one, of n/16 + 5 in the other.
        let error = (DoubleDouble::dot(&data, &v) - plain).abs().high;
        assert!(error <= UNIT * 2.0 * (n as f64 + 5.0) * size, "length {n}: {error}");
        let (alpha, mut y) = (DoubleDouble::from_parts(0.7, -3e-18), v.clone());
        DoubleDouble::axpy(alpha, &data, &mut y);
        for (i, y) in y.iter().enumerate() {
            assert_eq!(*y, v[i] + alpha.mul_f64(data[i]), "entry {i} of {n}");
        }
    }
    let mut data = vec![1.0; 40];
    data[33] = f64::INFINITY;
    assert_eq!(DoubleDouble::dot(&data, &[DoubleDouble::ONE; 40]).high, f64::INFINITY);
}

#[test]
fn products_of_double_double_vectors_are_those_of_the_scalar_operations_at_every_length() {
    let x = |i: usize| ((i * 7919 % 2003) as f64 - 1000.0) / 2003.0;
    let vector = |n: usize, from: usize| -> Vec<DoubleDouble> {
        (from..from + n).map(|i| DoubleDouble::from_parts(x(i), 1e-17 * x(i + 9))).collect()
    };
    for n in (0..40).chain([1000]) {
        let (a, b) = (vector(n, 3), vector(n, 50));
        let plain = a.iter().zip(&b).fold(DoubleDouble::ZERO, |sum, (a, b)| sum + *a * *b);
        let size: f64 = a.iter().zip(&b).map(|(a, b)| (a.high * b.high).abs()).sum();
        // Both sums round: 4 u² for each of n terms in the plain one, of n/8 + 4 in the other.
        let error = (DoubleDouble::inner_product(&a, &b) - plain).abs().high;
        assert!(error <= UNIT * 2.0 * (n as f64 + 5.0) * size, "length {n}: {error}");
        let (alpha, mut multiple, mut product) = (DoubleDouble::from_parts(0.7, -3e-18), b.clone(), b.clone());
        DoubleDouble::add_multiple(alpha, &a, &mut multiple);
        DoubleDouble::add_product(&a, &b, &mut product);
        for i in 0..n {
            assert_eq!(multiple[i], b[i] + alpha * a[i], "entry {i} of {n}");
            assert_eq!(product[i], b[i] + a[i] * b[i], "entry {i} of {n}");
        }
    }
}

/// An integer of at most 53 bits times a power of two.
fn scaled_integer() -> impl Strategy<Value = (i64, u32)> {
    (-(1_i64 << 53)..=1 << 53, 0_u32..60)
}

#[allow(clippy::cast_possible_truncation, reason = "integers below 2^120, in steps that i128 holds")]
fn exact(x: f64) -> i128 {
    x as i128
}

proptest! {
    #[test]
    fn a_sum_and_its_error_are_the_exact_sum((m, e) in scaled_integer(), (n, f) in scaled_integer()) {
        let (a, b) = (m as f64 * 2f64.powi(e.cast_signed()), n as f64 * 2f64.powi(f.cast_signed()));
        let (sum, error) = two_sum(a, b);
        prop_assert_eq!(sum, a + b);
        prop_assert_eq!(exact(sum) + exact(error), exact(a) + exact(b));
        let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
        prop_assert_eq!(quick_two_sum(large, small), (sum, error));
    }

    #[test]
    fn a_product_and_its_error_are_the_exact_product(m in -(1_i64 << 53)..=1 << 53, n in -(1_i64 << 53)..=1 << 53) {
        let (product, error) = two_prod(m as f64, n as f64);
        prop_assert_eq!(exact(product) + exact(error), i128::from(m) * i128::from(n));
        // Near the end of the range too, where Dekker's split overflows: powers of two change nothing.
        let (high, low) = two_prod(m as f64 * 2f64.powi(960), n as f64 * 2f64.powi(-60));
        prop_assert_eq!((high, low), (product * 2f64.powi(900), error * 2f64.powi(900)));
    }

    #[test]
    fn inverse_functions_undo_each_other(high in -700.0..700.0_f64, power in -60..0_i32, low in -1.0..1.0_f64) {
        let high = high * 2.0_f64.powi(power);
        let x = DoubleDouble::from_parts(high, low * high * 1e-16);
        let bound = |units: f64| UNIT * units * x.high.abs();
        // 16 units of each function, those of the inner one times the condition of the outer: asinh and ln(1 + ·) damp,
        // t cosh t/sinh t ≤ 1 + |t|.
        prop_assert!((x.sinh().asinh() - x).abs().high <= bound(32.0));
        prop_assert!((x.asinh().sinh() - x).abs().high <= bound(16.0 + 16.0 * (1.0 + x.asinh().high.abs())));
        let y = x.abs();
        prop_assert!((y.exp_m1().ln_1p() - y).abs().high <= bound(32.0));
        // (cosh − sinh)(cosh + sinh) = 1, where neither swamps the other.
        if x.high.abs() < 5.0 {
            let product = (x.cosh() - x.sinh()) * (x.cosh() + x.sinh());
            prop_assert!((product - DoubleDouble::ONE).abs().high <= UNIT * 60.0 * (2.0 * x.high.abs()).exp());
        }
    }

    #[test]
    fn an_integer_power_is_a_product(high in 0.5..2.0_f64, low in -1.0..1.0_f64, n in 1..40_u32) {
        let x = DoubleDouble::from_parts(high, low * 1e-17);
        let product = (0..n).fold(DoubleDouble::ONE, |product, _| product * x);
        let error = (x.pow(DoubleDouble::from(f64::from(n))) - product).abs().high;
        // 5/4 units for each product; |y ln x| < 28.
        prop_assert!(error <= UNIT * (8.0 + 1.25 * f64::from(n)) * product.high, "{}", error / product.high / UNIT);
        prop_assert_eq!((-x).pow(DoubleDouble::from(f64::from(n))).high < 0.0, n % 2 == 1);
    }

    #[test]
    fn the_logarithm_undoes_the_exponential(high in -600.0..600.0_f64, low in -1.0..1.0_f64) {
        let x = DoubleDouble::from_parts(high, low * high * 1e-16);
        // e^x is off by 16 units at most, ln adds as much absolutely below 1 and relatively above.
        prop_assert!((x.exp().ln() - x).abs().high <= UNIT * 16.0 * (1.0 + high.abs()));
    }
}
