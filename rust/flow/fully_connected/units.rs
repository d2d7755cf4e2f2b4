//! Units in which data, targets and weights are ordinary numbers. All of them are powers of two, so that scaling is exact.
//!
//! `X = 2^x X̂`, `y = 2^(2h + x) ŷ`, `(a, W) = 2^h (â, Ŵ)`, `t = 2^−2(h + x) t̂` leave the flow as it is: β is of degree 2 in
//! the weights.

/// Logarithm of the largest weight that is left as it is: its squares, times the squares of the data, are far from overflow.
const LARGEST: f64 = 200.0;

/// Exponents of the units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) struct Units {
    /// Of the data.
    pub(in crate::flow) data: i32,
    /// Of the weights.
    pub(in crate::flow) weights: i32,
}

impl Units {
    /// For data and targets of these largest magnitudes, and weights of this logarithm.
    pub(in crate::flow) fn of(data: f64, targets: f64, log_weights: f64) -> Self {
        let data = exponent(data);
        let of_targets = if targets > 0.0 { (exponent(targets) - data).div_euclid(2) } else { 0 };
        let natural = log_weights / core::f64::consts::LN_2;
        // At most ±2^31: a weight beyond that has no units that would make it ordinary.
        #[allow(clippy::cast_possible_truncation)]
        let of_weights = natural.clamp(-1e9, 1e9).ceil() as i32;
        let far = log_weights - f64::from(of_targets) * core::f64::consts::LN_2;
        let alone = targets == 0.0 && natural.abs() < 1000.0;
        Self { data, weights: if far > LARGEST || alone { of_weights } else { of_targets } }
    }

    /// Exponent of the unit of y.
    pub(in crate::flow) fn targets(self) -> i32 {
        2 * self.weights + self.data
    }

    /// Exponent of the unit of β.
    pub(in crate::flow) fn predictor(self) -> i32 {
        2 * self.weights
    }

    /// Times of the run are those of the flow times this power of two.
    pub(in crate::flow) fn time(self) -> i32 {
        2 * (self.weights + self.data)
    }
}

/// `value · 2^e`; 0 where it underflows, infinite where it overflows.
pub(in crate::flow) fn times_power(value: f64, e: i32) -> f64 {
    let (mut value, mut left) = (value, e.clamp(-5000, 5000));
    while left != 0 {
        let part = left.clamp(-1000, 1000);
        value *= 2.0_f64.powi(part);
        left -= part;
    }
    value
}

/// The same for many.
pub(in crate::flow) fn multiply_by_power(values: &mut [f64], e: i32) {
    if (-1000..=1000).contains(&e) {
        let power = 2.0_f64.powi(e);
        for value in values {
            *value *= power;
        }
    } else {
        for value in values {
            *value = times_power(*value, e);
        }
    }
}

/// `⌊log₂ v⌋` of a positive finite number, 0 for 0.
pub(in crate::flow) fn exponent(v: f64) -> i32 {
    if v == 0.0 {
        return 0;
    }
    // At most ±1074, so the cast is exact.
    #[allow(clippy::cast_possible_truncation)]
    let exponent = v.log2().floor() as i32;
    exponent
}

/// `max|v|`.
pub(in crate::flow) fn peak(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |peak: f64, v| peak.max(v.abs()))
}
