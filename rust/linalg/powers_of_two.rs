//! Powers of two that bring numbers near 1. Scaling by them is exact.

/// The power of two `p` with `1 ≤ p² h < 4`; `None` unless `h` is positive and finite.
pub(super) fn unit_scale_of_square(h: f64) -> Option<f64> {
    (h > 0.0 && h.is_finite()).then(|| power_of_two(-exponent(h).div_euclid(2)))
}

/// The power of two `p` with `1 ≤ p h < 2`, or the nearest normal one; `None` unless `h` is positive and finite.
pub(super) fn unit_scale(h: f64) -> Option<f64> {
    (h > 0.0 && h.is_finite()).then(|| power_of_two((-exponent(h)).clamp(-1022, 1023)))
}

/// `⌊log₂ h⌋` of a positive finite number, subnormal ones included.
fn exponent(h: f64) -> i32 {
    const SUBNORMAL_SHIFT: i32 = 54;
    let biased = |h: f64| i32::try_from(h.to_bits() >> 52).unwrap_or(0);
    if h < f64::MIN_POSITIVE {
        biased(h * power_of_two(SUBNORMAL_SHIFT)) - 1023 - SUBNORMAL_SHIFT
    } else {
        biased(h) - 1023
    }
}

/// `2^e` for `−1022 ≤ e ≤ 1023`.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(u64::from((e + 1023).unsigned_abs()) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_found_at_both_ends_of_the_range() {
        for h in [1.0, 3.999, 4.0, 0.25, f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX, 1e-310, 1e200] {
            let Some(p) = unit_scale_of_square(h) else { panic!("no scale for {h}") };
            assert!((1.0..4.0).contains(&(h * p * p)), "{h} scaled to {}", h * p * p);
            let Some(p) = unit_scale(h) else { panic!("no scale for {h}") };
            assert!((1.0..4.0).contains(&(h * p)) || h < f64::MIN_POSITIVE, "{h} scaled to {}", h * p);
        }
    }
}
