//! Steps kept compactly, for rows whose times are known only when the run is over. Knows no method: whatever the dense
//! output is, it is a polynomial of degree at most [`DEGREE`] on a step.
//!
//! The values at `DEGREE + 1` Chebyshev points of the second kind, both ends among them, determine it; the barycentric
//! formula evaluates it (Berrut & Trefethen, *SIAM Review* 46 (2004) 501–517, eqs. (4.2) and (5.4)).

use super::outcome::AUTOMATIC_ROWS;
use core::f64::consts::PI;

/// The time of the second automatic row is at most this fraction of the last one, and at least the next.
const LATEST_FIRST: f64 = 1e-3;
const EARLIEST_FIRST: f64 = 1e-12;
/// Degree of the dense output: 7 for Radau IIA with seven stages and for Dormand and Prince 8(5,3).
const DEGREE: usize = 7;

/// The states on one step, or on a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// States at the nodes, one after another.
    samples: Vec<f64>,
}

/// The nodes `θ_j = (1 − cos(πj/7))/2` of the unit step.
pub(crate) fn nodes() -> [f64; DEGREE + 1] {
    core::array::from_fn(|j| 0.5 * (1.0 - (PI * j as f64 / DEGREE as f64).cos()))
}

impl Segment {
    /// From the states at the [`nodes`].
    pub(crate) fn new(start: f64, end: f64, samples: Vec<f64>) -> Self {
        Self { start, end, samples }
    }

    /// The state at the end.
    pub(crate) fn last(&self) -> &[f64] {
        let n = self.samples.len() / (DEGREE + 1);
        &self.samples[DEGREE * n..]
    }

    /// The state at `t`, times beyond the end clamped to it.
    pub(crate) fn at(&self, t: f64, out: &mut [f64]) {
        let n = out.len();
        let theta = (t - self.start) / (self.end - self.start);
        let nodes = nodes();
        let exact = if t >= self.end { Some(DEGREE) } else { nodes.iter().position(|node| *node == theta) };
        if let Some(j) = exact {
            out.copy_from_slice(&self.samples[j * n..(j + 1) * n]);
            return;
        }
        out.fill(0.0);
        let mut sum = 0.0;
        for (j, node) in nodes.iter().enumerate() {
            let half = if j == 0 || j == DEGREE { 0.5 } else { 1.0 };
            let weight = if j % 2 == 0 { half } else { -half } / (theta - node);
            sum += weight;
            out.iter_mut().zip(&self.samples[j * n..]).for_each(|(out, sample)| *out += weight * sample);
        }
        for out in out.iter_mut() {
            *out /= sum;
        }
    }
}

/// [`AUTOMATIC_ROWS`]` − 1` times from about `first` to exactly `end`.
pub(crate) fn spread(first: f64, end: f64) -> Vec<f64> {
    let first = first.clamp(EARLIEST_FIRST * end, LATEST_FIRST * end);
    let last = AUTOMATIC_ROWS - 2;
    let time = |k: usize| if k == last { end } else { first * (end / first).powf(k as f64 / last as f64) };
    (0..=last).map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_of_the_degree_of_the_dense_output_is_kept() {
        // Condition of barycentric interpolation at Chebyshev points is its Lebesgue constant, below 3 for degree 7.
        let value = |theta: f64| theta * (1.0 + theta * (2.0 - theta * theta * (3.0 - theta.powi(3))));
        let (start, end) = (2.0, 2.5);
        let segment = Segment::new(start, end, nodes().iter().map(|node| value(*node)).collect());
        for k in 0..=100 {
            let theta = f64::from(k) / 100.0;
            let mut out = [f64::NAN];
            segment.at(start + 0.5 * theta, &mut out);
            assert!((out[0] - value(theta)).abs() < 1e-14, "theta {theta}: {} for {}", out[0], value(theta));
        }
        assert_eq!(segment.last(), [value(1.0)]);
    }

    #[test]
    fn times_beyond_the_end_give_the_end() {
        let segment = Segment::new(0.0, 1.0, nodes().to_vec());
        let mut out = [f64::NAN];
        segment.at(1.5, &mut out);
        assert_eq!(out, [1.0]);
    }
}
