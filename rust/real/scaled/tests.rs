//! What numbers with their own exponent promise: the operations of double-double, at any size.

use super::*;
use proptest::prelude::*;

const UNIT: f64 = DoubleDouble::UNIT_ROUNDOFF;

fn number() -> impl Strategy<Value = DoubleDouble> {
    let high = (prop_oneof![Just(-1.0), Just(1.0)], 1.0..2.0_f64, -300..300_i32);
    (high, -1.0..1.0_f64).prop_map(|((sign, mantissa, exponent), low)| {
        let high = sign * mantissa * 2.0_f64.powi(exponent);
        DoubleDouble::from_parts(high, high * low * 2.0_f64.powi(-54))
    })
}

/// The difference in units of 2^-104 of the second.
fn units(found: DoubleDouble, expected: DoubleDouble) -> f64 {
    if found == expected { 0.0 } else { (found - expected).abs().high / expected.abs().high / UNIT }
}

proptest! {
    #[test]
    fn results_are_those_of_double_double_at_any_exponent(x in number(), y in number(), far in -100_000..100_000_i64) {
        // Multiplied by 2^far, which is exact, and back.
        let (a, b) = (Scaled::from(x).times_power_of_two(far), Scaled::from(y).times_power_of_two(far));
        let back = |value: Scaled, powers: i64| value.times_power_of_two(-far * powers).value();
        prop_assert_eq!(back(a, 1), x);
        prop_assert_eq!(back(a * b, 2), x * y);
        prop_assert_eq!(back(a / b, 0), x / y);
        prop_assert!(units(back(a + b, 1), x + y) <= 1.5, "{:?}", (a + b, x + y));
        prop_assert!(units(back(a - b, 1), x - y) <= 1.5);
        prop_assert!(units(back(a.abs().sqrt().square(), 1), x.abs()) <= 3.0);
        prop_assert_eq!(back(a - a, 1), DoubleDouble::ZERO);
    }

    #[test]
    fn exponentials_and_logarithms_undo_each_other_far_beyond_binary64(high in -1e6..1e6_f64, low in -1.0..1.0_f64) {
        let x = DoubleDouble::from_parts(high, high * low * 1e-17);
        // 5 units of the exponential are absolute, 16 of the logarithm relative.
        prop_assert!((Scaled::exp(x).ln() - x).abs().high <= UNIT * (6.0 + 17.0 * high.abs()));
        let (product, one) = (Scaled::exp(x) * Scaled::exp(-x), DoubleDouble::ONE);
        prop_assert!(units(product.value(), one) <= 12.0);
    }

    #[test]
    fn functions_join_where_their_formulas_change(x in number()) {
        let x = x.abs();
        let scaled = Scaled::from(x);
        prop_assert!(units(scaled.asinh().value(), x.asinh()) <= 34.0);
        prop_assert!(units(scaled.ln_1p().value(), x.ln_1p()) <= 34.0);
    }
}

#[test]
fn zeros_infinities_and_nan_behave_as_in_binary64() {
    let special = [0.0, -0.0, 1.0, -2.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for (a, b) in special.iter().flat_map(|a| special.iter().map(move |b| (*a, *b))) {
        let (x, y) = (Scaled::from(a), Scaled::from(b));
        for (found, expected) in [(x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b)] {
            let found = found.value().high;
            assert!(found == expected || found.is_nan() && expected.is_nan(), "{a} and {b}: {found}, not {expected}");
        }
    }
    let far = Scaled::exp(DoubleDouble::from(1e9));
    assert_eq!([far.value().high, (-far).value().high], [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!((Scaled::ONE / far).value(), DoubleDouble::ZERO);
    assert_eq!(
        [f64::NEG_INFINITY, f64::INFINITY].map(|x| Scaled::exp(DoubleDouble::from(x)).value().high),
        [0.0, f64::INFINITY]
    );
    assert!(
        (far / far).value() == DoubleDouble::ONE && Scaled::from(f64::INFINITY).asinh().value().high == f64::INFINITY
    );
}
