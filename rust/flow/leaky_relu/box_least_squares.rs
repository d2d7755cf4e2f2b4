//! `min ½‖Σ_j x_j v_j − b‖²` over a box, for a few vectors: what a neuron decides with when it has samples on their kinks.
//! Knows no network.
//!
//! An active-set method: bounded variables are freed one at a time, the one with the steepest descent first, and a step
//! that leaves the box ends at its border. A vector that depends on those already free has no descent left, so the free
//! ones are always independent, whatever the rank of all of them. (Dense interior-point methods need no such argument,
//! but they end near the border of the box, and the decision is whether a variable is *on* it.)
//!
//! # Source
//! Stark & Parker, *Bounded-variable least-squares*, Comput. Statist. 10 (1995) 129–141.

use super::columns::Columns;
use crate::linalg::norm;
use crate::real::Real;

/// Roundings of a gradient, in units of the sum of its terms.
const ROUND_OFF: f64 = 64.0 * f64::EPSILON;

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At its lower bound.
    Lower,
    /// Between them.
    Inside,
    /// At its upper bound.
    Upper,
}

/// The problem.
#[derive(Clone, Debug)]
pub(super) struct BoxLeastSquares<'a> {
    /// The vectors `v_j`, all of the length of `b`.
    pub(super) vectors: &'a [&'a [f64]],
    /// What they should add up to.
    pub(super) b: &'a [f64],
    /// Bounds, `lower ≤ upper`.
    pub(super) lower: &'a [f64],
    /// Bounds.
    pub(super) upper: &'a [f64],
}

/// Its solution: `x` and where every entry is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Solution {
    /// The variables. Not unique where the vectors are dependent; `Σ x_j v_j` is.
    pub(super) x: Vec<f64>,
    /// Where they are.
    pub(super) places: Vec<Place>,
}

impl BoxLeastSquares<'_> {
    /// Solve it. `None` if the iteration does not end (numbers that are not finite).
    pub(super) fn solve(&self) -> Option<Solution> {
        let n = self.vectors.len();
        let mut now = Solution { x: self.lower.to_vec(), places: vec![Place::Lower; n] };
        let mut barred = vec![false; n];
        // A pass frees a variable and lowers the objective, or bars one: cycles would need rounding on top of ties.
        for _ in 0..100 * (n + 1) {
            let Some(next) = self.steepest(&now, &barred) else { return Some(now) };
            let before = now.clone();
            now.places[next] = Place::Inside;
            if self.minimise(&mut now, next) {
                barred.fill(false);
            } else {
                now = before;
                barred[next] = true;
            }
        }
        None
    }

    /// `b − Σ x_j v_j`.
    pub(super) fn residual(&self, x: &[f64]) -> Vec<f64> {
        let mut rest = self.b.to_vec();
        for (x, v) in x.iter().zip(self.vectors) {
            f64::axpy(-x, v, &mut rest);
        }
        rest
    }

    /// The bounded variable with the steepest descent into the box, if there is any.
    fn steepest(&self, now: &Solution, barred: &[bool]) -> Option<usize> {
        let rest = self.residual(&now.x);
        let terms = |x: f64, v: &[f64]| x.abs() * norm(v.iter().copied());
        let size =
            norm(self.b.iter().copied()) + now.x.iter().zip(self.vectors).map(|(x, v)| terms(*x, v)).sum::<f64>();
        let mut best = (ROUND_OFF * size, None);
        for (j, v) in self.vectors.iter().enumerate() {
            let length = norm(v.iter().copied());
            if barred[j] || now.places[j] == Place::Inside || length == 0.0 || self.lower[j] >= self.upper[j] {
                continue;
            }
            let slope = f64::dot(v, &rest) / length;
            let descent = if now.places[j] == Place::Lower { slope } else { -slope };
            if descent > best.0 {
                best = (descent, Some(j));
            }
        }
        best.1
    }

    /// Minimise over the free variables, giving up those that reach their bounds. False if `freed` gets nowhere.
    fn minimise(&self, now: &mut Solution, freed: usize) -> bool {
        let from = now.x[freed];
        loop {
            let free: Vec<usize> = (0..now.x.len()).filter(|j| now.places[*j] == Place::Inside).collect();
            let mut columns = Columns::new(self.b.len());
            if !free.iter().all(|j| columns.push(self.vectors[*j])) {
                return false;
            }
            let step = columns.solve(&self.residual(&now.x));
            let (mut part, mut first) = (1.0, None);
            for (j, step) in free.iter().zip(&step) {
                let room = if *step > 0.0 { self.upper[*j] - now.x[*j] } else { self.lower[*j] - now.x[*j] };
                if step.abs() > room.abs() && room / step < part {
                    (part, first) = (room / step, Some((*j, *step > 0.0)));
                }
            }
            for (j, step) in free.iter().zip(&step) {
                now.x[*j] += part * step;
            }
            let Some((j, up)) = first else { return now.x[freed] != from || now.places[freed] != Place::Inside };
            if j == freed && now.x[freed] == from {
                return false;
            }
            now.x[j] = if up { self.upper[j] } else { self.lower[j] };
            now.places[j] = if up { Place::Upper } else { Place::Lower };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::leaky_relu::testing::Random;

    /// How far from optimal: the largest violation of the KKT conditions, relative to the size of the terms.
    fn violation(problem: &BoxLeastSquares<'_>, solution: &Solution) -> f64 {
        let rest = problem.residual(&solution.x);
        let mut worst = 0.0_f64;
        for (j, v) in problem.vectors.iter().enumerate() {
            let slope = f64::dot(v, &rest);
            let (x, low, high) = (solution.x[j], problem.lower[j], problem.upper[j]);
            assert!(low <= x && x <= high);
            worst = worst.max(match solution.places[j] {
                Place::Lower => {
                    if x == low {
                        slope
                    } else {
                        f64::INFINITY
                    }
                }
                Place::Upper => {
                    if x == high {
                        -slope
                    } else {
                        f64::INFINITY
                    }
                }
                Place::Inside => slope.abs(),
            });
        }
        worst
    }

    #[test]
    fn the_optimality_conditions_hold_for_independent_dependent_and_more_vectors_than_dimensions() {
        let mut random = Random::new(7);
        let mut seen = [0; 3];
        for round in 0..400 {
            let (n, dim) = (1 + round % 6, 1 + round % 4);
            let mut vectors: Vec<Vec<f64>> = (0..n).map(|_| random.vector(dim)).collect();
            if n > 2 && round % 3 == 0 {
                vectors[1] = vectors[0].iter().map(|v| -v).collect();
                vectors[2] = vectors[0].clone();
            }
            let views: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
            let upper: Vec<f64> = random.vector(n).iter().map(|v| v.abs()).collect();
            let lower: Vec<f64> = upper.iter().map(|v| 0.2 * v).collect();
            let b = random.vector(dim);
            let problem = BoxLeastSquares { vectors: &views, b: &b, lower: &lower, upper: &upper };
            let Some(solution) = problem.solve() else { panic!("round {round} does not end") };
            // Six terms of size 1 at most: gradients are right to some 1e-15.
            assert!(violation(&problem, &solution) < 1e-13, "round {round}: {solution:?}");
            for place in &solution.places {
                seen[*place as usize] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }

    #[test]
    fn numbers_that_are_not_finite_end_without_a_solution_or_at_a_bound() {
        let v = [f64::NAN, 1.0];
        let problem = BoxLeastSquares { vectors: &[&v], b: &[1.0, f64::INFINITY], lower: &[0.0], upper: &[1.0] };
        assert!(problem.solve().is_none_or(|solution| solution.x.len() == 1));
    }
}
