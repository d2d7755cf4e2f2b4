//! Reading and writing double-double numbers in decimal, exactly rounded. Knows digits and powers of ten, no mathematics.
//!
//! Both ways go through integers without a limit: the part of the fraction that a shortcut would drop is what correct
//! rounding is about. Reading: `high` is what the standard library reads (correctly rounded), `low` the difference to the
//! text, rounded once. Writing: `high + low` is an integer times a power of two, its decimal digits a quotient of integers.

use super::DoubleDouble;
use core::fmt::{Display, Formatter, LowerExp};
use core::str::FromStr;
use num_bigint::{BigInt, BigUint, Sign};

/// Significant digits written where none are asked for.
const DIGITS: usize = 32;

/// Significant digits read one by one. The points between two neighbours, at which rounding changes, are multiples of
/// 2^-1075 below 2^1024: they end before this digit, and beyond it counts only whether there is anything.
const MOST_DIGITS: usize = 1400;

/// What is not a decimal number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDoubleDoubleError {
    /// The text that was found.
    pub found: String,
}

impl Display for ParseDoubleDoubleError {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        write!(f, "expected a decimal number, found {:?}", self.found)
    }
}

impl core::error::Error for ParseDoubleDoubleError {}

/// The double-double number nearest to a decimal one of any length, within 2^-106 of it: `high` is the binary64 number
/// nearest to the text, `low` the one nearest to what `high` leaves.
///
/// The grammar is that of `f64`. What is beyond binary64 is ±inf, what is below half of its least number ±0.
impl FromStr for DoubleDouble {
    type Err = ParseDoubleDoubleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseDoubleDoubleError { found: text.to_owned() };
        let high: f64 = text.parse().map_err(|_| error())?;
        if high == 0.0 || !high.is_finite() {
            return Ok(Self::from(high));
        }
        let Decimal { digits, exponent } = Decimal::read(text).ok_or_else(error)?;
        let (integer, binary) = integer_and_exponent(high);
        let size = BigInt::from_biguint(integer.sign(), digits);
        // text − high = (size · 10^exponent · 2^−binary − integer) · 2^binary over a common denominator
        let (ten_up, ten_down) = (power_of_ten(exponent), power_of_ten(-exponent));
        let (two_up, two_down) = (power_of_two(binary), power_of_two(-binary));
        let numerator = size * BigInt::from(ten_up * &two_down) - integer * BigInt::from(two_up * &ten_down);
        let low = nearest(&numerator, &(ten_down * two_down));
        Ok(Self::normalised(high, low)) // `low` may be half a unit of an odd `high`, by rounding
    }
}

/// `{:e}`: 32 significant digits, or one before the point and as many after it as asked for (`{:.20e}`), the last one
/// rounded to nearest, ties to even.
impl LowerExp for DoubleDouble {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        if !self.high.is_finite() {
            return LowerExp::fmt(&self.high, f);
        }
        let (digits, exponent) = self.decimal(f.precision().map_or(DIGITS, |after| after.saturating_add(1)));
        let point = if digits.len() > 1 { "." } else { "" };
        let text = format!("{}{point}{}e{exponent}", &digits[..1], &digits[1..]);
        f.pad_integral(!self.high.is_sign_negative(), "", &text)
    }
}

/// `{}`: 32 significant digits, or as many as asked for (`{:.20}`), without the zeros at their end; with an exponent below
/// 1e-5 and where digits before the point would be missing.
impl Display for DoubleDouble {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        if !self.high.is_finite() {
            return Display::fmt(&self.high, f);
        }
        let asked = f.precision().unwrap_or(DIGITS).max(1);
        let (digits, exponent) = self.decimal(asked);
        let kept = digits.trim_end_matches('0');
        let kept = if kept.is_empty() { "0" } else { kept };
        let before = usize::try_from(exponent + 1).unwrap_or(0); // digits before the point
        let text = if before > asked || exponent < -5 {
            let point = if kept.len() > 1 { "." } else { "" };
            format!("{}{point}{}e{exponent}", &kept[..1], &kept[1..])
        } else if before == 0 {
            format!("0.{}{kept}", "0".repeat(exponent.unsigned_abs() as usize - 1))
        } else if kept.len() > before {
            format!("{}.{}", &kept[..before], &kept[before..])
        } else {
            format!("{kept:0<before$}")
        };
        f.pad_integral(!self.high.is_sign_negative(), "", &text)
    }
}

impl DoubleDouble {
    /// `(digits, e)` with `|self| = d.ddd · 10^e` rounded to `count ≥ 1` digits; finite numbers only.
    fn decimal(self, count: usize) -> (String, i32) {
        if self.high == 0.0 {
            return ("0".repeat(count), 0);
        }
        let ((high, p), (low, q)) = (integer_and_exponent(self.high), integer_and_exponent(self.low));
        let binary = if self.low == 0.0 { p } else { p.min(q) };
        let low = if self.low == 0.0 { BigInt::ZERO } else { low << (q - binary) };
        let size = ((high << (p - binary)) + low).into_parts().1;
        #[allow(clippy::cast_possible_truncation, reason = "below 309 in size")]
        let mut exponent = self.high.abs().log10().floor() as i32;
        loop {
            // size · 2^binary · 10^shift has `count` digits before the point, if the exponent is right.
            let shift = i32::try_from(count - 1).unwrap_or(i32::MAX).saturating_sub(exponent);
            let numerator = &size * power_of_two(binary) * power_of_ten(shift);
            let digits = rounded(&numerator, &(power_of_two(-binary) * power_of_ten(-shift))).to_string();
            match digits.len().cmp(&count) {
                core::cmp::Ordering::Equal => return (digits, exponent),
                // Off by one next to a power of ten, or rounded up to one.
                core::cmp::Ordering::Greater => exponent += 1,
                core::cmp::Ordering::Less => exponent -= 1,
            }
        }
    }
}

/// `digits · 10^exponent`.
struct Decimal {
    digits: BigUint,
    exponent: i32,
}

impl Decimal {
    /// The size of a number that `f64` has read, neither 0 nor infinite.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim_start_matches(['+', '-']);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (mut digits, mut exponent) = (Vec::with_capacity(40), exponent.parse::<i64>().ok()?);
        let (mut after_point, mut more) = (false, false);
        for character in mantissa.bytes() {
            if character == b'.' {
                after_point = true;
                continue;
            }
            let kept = digits.len() < MOST_DIGITS;
            if kept && (character != b'0' || !digits.is_empty()) {
                digits.push(character);
            }
            more |= !kept && character != b'0';
            exponent += i64::from(!kept) - i64::from(after_point);
        }
        if more {
            digits.push(b'1');
            exponent -= 1;
        }
        Some(Self { digits: BigUint::parse_bytes(&digits, 10)?, exponent: exponent.try_into().ok()? })
    }
}

/// `(m, e)` with `x = m · 2^e`, for a finite `x`.
fn integer_and_exponent(x: f64) -> (BigInt, i32) {
    let fraction = x.to_bits() & ((1 << 52) - 1);
    let biased = i32::try_from((x.to_bits() >> 52) & 0x7ff).unwrap_or(0);
    let integer = if biased == 0 { fraction } else { fraction | (1 << 52) };
    let sign = if x.is_sign_negative() { Sign::Minus } else { Sign::Plus };
    (BigInt::from_biguint(sign, integer.into()), biased.max(1) - 1075)
}

/// `10^e`, 1 for a negative `e`.
fn power_of_ten(e: i32) -> BigUint {
    BigUint::from(10_u32).pow(e.max(0).unsigned_abs())
}

/// `2^e`, 1 for a negative `e`.
fn power_of_two(e: i32) -> BigUint {
    BigUint::from(1_u32) << e.max(0)
}

/// The integer nearest to a quotient, the even one of two.
fn rounded(numerator: &BigUint, denominator: &BigUint) -> BigUint {
    let quotient = numerator / denominator;
    let twice_the_rest = (numerator - &quotient * denominator) << 1;
    let up = twice_the_rest > *denominator || (twice_the_rest == *denominator && quotient.bit(0));
    quotient + u32::from(up)
}

/// The binary64 number nearest to a quotient that is below the largest one, ties to even.
fn nearest(numerator: &BigInt, denominator: &BigUint) -> f64 {
    let size = numerator.magnitude();
    let bits = |x: &BigUint| i32::try_from(x.bits()).unwrap_or(i32::MAX);
    // Numerator · 2^shift over denominator has 53 or 54 bits before the point; 53 are wanted, fewer where subnormal.
    let mut shift = (53 - (bits(size) - bits(denominator))).min(1074);
    let scaled = |shift: i32| rounded(&(size << shift.max(0)), &(denominator << (-shift).max(0)));
    if bits(&scaled(shift)) > 53 {
        shift -= 1;
    }
    // At most 2^53, and a multiple of the least number: every step is exact.
    let integer = u64::try_from(scaled(shift)).unwrap_or(0) as f64;
    let half = shift / 2;
    let value = integer * 2.0_f64.powi(-half) * 2.0_f64.powi(half - shift);
    if numerator.sign() == Sign::Minus { -value } else { value }
}

#[cfg(test)]
mod tests;
