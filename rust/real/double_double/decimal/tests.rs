//! What reading and writing promise: nothing is lost that double-double can hold, and every rounding is to nearest.

use super::*;
use crate::real::{Real, two_sum};
use proptest::prelude::*;

fn read(text: &str) -> DoubleDouble {
    let Ok(value) = text.parse() else { panic!("{text:?} is a number") };
    value
}

#[test]
fn a_tie_goes_to_even_until_a_digit_far_behind_breaks_it() {
    // 2^107 + 2^53 + k: the low part has a unit of 2 there.
    let text = |k: u128| ((1_u128 << 107) + (1 << 53) + k).to_string();
    let low = |text: &str| read(text).low - 2.0_f64.powi(53);
    assert_eq!(read(&text(0)).high, 2.0_f64.powi(107));
    assert_eq!([1, 2, 3].map(|k| low(&text(k))), [0.0, 2.0, 4.0]);
    for zeros in [10, 1000, 3000] {
        assert_eq!(low(&format!("{}.{}1", text(1), "0".repeat(zeros))), 2.0);
        assert_eq!(low(&format!("{}.{}", text(1), "0".repeat(zeros))), 0.0);
        assert_eq!(low(&format!("{}{}e-{zeros}", text(1), "0".repeat(zeros))), 0.0);
    }
}

#[test]
fn every_way_to_write_a_number_reads_the_same() {
    let tenth = DoubleDouble { high: 0.1, low: -5.551_115_123_125_783e-18 };
    for text in ["0.1", "+.1", "1e-1", "1E-1", "000.1000", "0.00001e4", "10.e-2"] {
        assert_eq!(read(text), tenth, "{text}");
        assert_eq!(read(&format!("-{}", text.trim_start_matches('+'))), -tenth, "-{text}");
    }
    assert_eq!(read("3"), DoubleDouble::from(3.0));
    assert_eq!(read("18446744073709551617"), DoubleDouble { high: 18_446_744_073_709_551_616.0, low: 1.0 });
}

#[test]
fn beyond_binary64_there_are_zeros_and_infinities() {
    let bits = |text: &str| (read(text).high.to_bits(), read(text).low.to_bits());
    for (text, value) in
        [("1e400", f64::INFINITY), ("-1e999999999999", f64::NEG_INFINITY), ("-0", -0.0), ("1e-400", 0.0)]
    {
        assert_eq!(bits(text), (value.to_bits(), 0), "{text}");
    }
    // The largest number and more than half of its unit, or less.
    assert_eq!(read("1.797693134862315808e308"), DoubleDouble::from(f64::INFINITY));
    let below = read("1.7976931348623158079e308");
    assert!(below.high == f64::MAX && below.low > 0.0 && below.low < 2.0_f64.powi(970));
    // Subnormal numbers have no low part to speak of, and 2^-1074 is the last of one.
    assert_eq!(read("5e-324"), DoubleDouble::from(5e-324));
    let least = 2.0_f64.powi(-1021);
    assert_eq!(read(&format!("{:.1100e}", DoubleDouble { high: least, low: 5e-324 })).low, 5e-324);
}

#[test]
fn what_is_no_number_is_an_error_that_says_what_was_found() {
    for text in ["", " ", "one", "1e", "--1", "1_000", "0x10", "1.2.3", "e5", " 1"] {
        assert_eq!(text.parse::<DoubleDouble>(), Err(ParseDoubleDoubleError { found: text.to_owned() }));
    }
    let Err(error) = "one".parse::<DoubleDouble>() else { panic!("a number") };
    assert_eq!(error.to_string(), "expected a decimal number, found \"one\"");
}

#[test]
fn numbers_are_written_as_people_write_them() {
    let third = DoubleDouble::from(1.0) / DoubleDouble::from(3.0);
    let cases = [
        (DoubleDouble::from(0.0), "0", "0.0000000000000000000000000000000e0"),
        (DoubleDouble::from(-2.5), "-2.5", "-2.5000000000000000000000000000000e0"),
        (third, "0.33333333333333333333333333333333", "3.3333333333333333333333333333333e-1"),
        (read("1e-5"), "0.00001", "1.0000000000000000000000000000000e-5"),
        (read("-1e-6"), "-1e-6", "-1.0000000000000000000000000000000e-6"),
        (read("1e31"), "10000000000000000000000000000000", "1.0000000000000000000000000000000e31"),
        (read("1.5e32"), "1.5e32", "1.5000000000000000000000000000000e32"),
        (DoubleDouble::from(f64::NEG_INFINITY), "-inf", "-inf"),
        (DoubleDouble::from(f64::NAN), "NaN", "NaN"),
    ];
    for (value, plain, scientific) in cases {
        assert_eq!(format!("{value}"), plain);
        assert_eq!(format!("{value:e}"), scientific);
    }
    // Ties to even, a carry through all digits, a width.
    let rounded = |x: f64, digits: usize| format!("{:.digits$}", DoubleDouble::from(x));
    assert_eq!([rounded(2.5, 1), rounded(3.5, 1), rounded(0.125, 2)], ["2", "4", "0.12"]);
    assert_eq!([rounded(9.96, 2), rounded(999.5, 3), rounded(0.999_96, 4)], ["10", "1e3", "1"]);
    assert_eq!(format!("{:>8.2e}|{:<6}|", read("9.996"), read("0.5")), "  1.00e1|0.5   |");
}

/// Normalised numbers of every size that binary64 has.
fn number() -> impl Strategy<Value = DoubleDouble> {
    let finite = any::<f64>().prop_filter("finite", |x| x.is_finite() && x.abs() < 1e308);
    (finite, -1.0..1.0_f64, 53..80_i32).prop_map(|(high, fraction, gap)| {
        let (high, low) = two_sum(high, high * fraction * 2.0_f64.powi(-gap));
        DoubleDouble { high, low }
    })
}

proptest! {
    #[test]
    fn what_is_written_with_all_its_digits_reads_back_bit_by_bit(value in number()) {
        // A number has at most 767 significant digits, a sum of two with 27 bits between them at most 40 more.
        let back = read(&format!("{value:.820e}"));
        prop_assert_eq!((back.high.to_bits(), back.low), (value.high.to_bits(), value.low));
        // 36 digits leave less than 2^-117 of it: it is the nearest number, unless it has more than 107 bits.
        let back = read(&format!("{value:.35e}"));
        let lost = (back - value).abs().high;
        prop_assert!(lost <= 1e-35 * value.high.abs() + f64::from_bits(1), "{} lost", lost);
    }

    #[test]
    fn thirty_one_digits_survive_reading_and_writing(digits in "[1-9][0-9]{30}", exponent in -250..270_i32) {
        // 10^31 < 2^106, and both parts are normal numbers.
        let text = format!("{}.{}e{exponent}", &digits[..1], &digits[1..]);
        prop_assert_eq!(format!("{:.30e}", read(&text)), text);
    }

    #[test]
    fn reading_rounds_to_nearest(integer in any::<u128>()) {
        // Both parts are integers: twice the error is at most the unit of the low one.
        let value = read(&integer.to_string());
        prop_assert_eq!(value.high, integer as f64);
        let exact = |x: f64| {
            let (integer, exponent) = integer_and_exponent(x);
            if exponent < 0 { integer >> -exponent } else { integer << exponent }
        };
        let difference: BigInt = exact(value.high) + exact(value.low) - BigInt::from(integer);
        let error = difference.into_parts().1;
        let unit = (value.low.abs().next_up() - value.low.abs()).max(1.0);
        prop_assert!(error * 2_u32 <= exact(unit).into_parts().1, "{} of {}", value, integer);
    }
}
