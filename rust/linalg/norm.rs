//! Lengths of vectors.

use crate::real::Real;

/// `‖v‖₂` without under- or overflow of the squares. Infinite if an entry is, NaN if one is and none is infinite.
pub(crate) fn norm<R: Real>(v: impl Iterator<Item = R> + Clone) -> R {
    let peak = v.clone().fold(0.0, |most: f64, v| most.max(v.to_f64().abs()));
    if peak == f64::INFINITY {
        return R::from_f64(peak);
    }
    // A quotient by a subnormal peak would lose its digits, and its reciprocal overflow.
    let unit = R::from_f64(peak.max(f64::MIN_POSITIVE));
    let squares = v.fold(R::ZERO, |sum, v| {
        let quotient = v / unit;
        sum + quotient * quotient
    });
    unit * squares.sqrt()
}

/// [`norm`] of a slice.
pub(crate) fn length<R: Real>(v: &[R]) -> R {
    norm(v.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_square_over_or_underflows() {
        for unit in [5e-324, 1e-310, 1e-200, 1.0, 1e300] {
            let v = [3.0 * unit, -4.0 * unit, 0.0];
            // Subnormal numbers are multiples of the least one.
            assert!((norm(v.into_iter()) - 5.0 * unit).abs() <= 1e-15 * 5.0 * unit + 5e-324, "{unit:e}");
        }
    }

    #[test]
    fn what_is_not_finite_is_seen() {
        assert_eq!(norm([0.0; 2].into_iter()), 0.0);
        assert!(norm([0.0, f64::NAN].into_iter()).is_nan());
        assert_eq!(norm([f64::NAN, f64::NEG_INFINITY].into_iter()), f64::INFINITY);
    }
}
