//! A step kept compactly in double-double, for rows whose times are known only when the run is over. Knows no method.
//!
//! The dense output of Radau IIA with `s` stages is a polynomial of degree `s` on a step, which its values at `s + 1` points
//! determine. Those at the Chebyshev points of binary64 are as good as any others once the weights of the barycentric
//! formula are those of the points as they are (Berrut & Trefethen, *SIAM Review* 46 (2004) 501–517, eqs. (3.2), (4.2)).

use super::numbers::Path;
use crate::real::{DoubleDouble, Real};
use core::f64::consts::PI;

/// Degree of the dense output: at most that of Radau IIA with eleven stages.
const DEGREE: usize = 11;

/// The states on one step.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    start: DoubleDouble,
    end: DoubleDouble,
    /// States at the nodes, one after another.
    samples: Vec<DoubleDouble>,
}

fn nodes() -> [f64; DEGREE + 1] {
    core::array::from_fn(|j| 0.5 * (1.0 - (PI * j as f64 / DEGREE as f64).cos()))
}

impl Path<DoubleDouble> for Kept {
    fn nodes() -> Vec<f64> {
        nodes().to_vec()
    }

    fn new(start: DoubleDouble, end: DoubleDouble, samples: Vec<DoubleDouble>) -> Self {
        Self { start, end, samples }
    }

    fn span(&self) -> (DoubleDouble, DoubleDouble) {
        (self.start, self.end)
    }

    fn last(&self) -> &[DoubleDouble] {
        let n = self.samples.len() / (DEGREE + 1);
        &self.samples[DEGREE * n..]
    }

    fn at(&self, t: DoubleDouble, out: &mut [DoubleDouble]) {
        // A time that the caller can be told is one of binary64, and so is that of the end to him.
        if t.high >= self.end.high {
            out.copy_from_slice(self.last());
            return;
        }
        let exact = DoubleDouble::from_f64;
        let theta = (t - self.start) / (self.end - self.start);
        let (n, nodes) = (out.len(), nodes());
        out.fill(DoubleDouble::ZERO);
        for (j, node) in nodes.iter().enumerate() {
            let others = || nodes.iter().enumerate().filter(move |(m, _)| *m != j);
            let above = others().fold(DoubleDouble::ONE, |p, (_, other)| p * theta.add_f64(-*other));
            let below = others().fold(DoubleDouble::ONE, |p, (_, other)| p * (exact(*node) - exact(*other)));
            let basis = above / below;
            out.iter_mut().zip(&self.samples[j * n..]).for_each(|(out, sample)| *out += basis * *sample);
        }
    }
}
