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
use super::vectors::Vectors;
use crate::linalg::norm;
use crate::real::Real;

/// Roundings of a gradient, in units of round-off of the sum of its terms.
const ROUND_OFF: f64 = 128.0;

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
pub(super) struct BoxLeastSquares<'a, R = f64> {
    /// The vectors `v_j`, all of the length of `b`.
    pub(super) vectors: &'a Vectors,
    /// What they should add up to.
    pub(super) b: &'a [R],
    /// Bounds, `lower ≤ upper`.
    pub(super) lower: &'a [R],
    /// Bounds.
    pub(super) upper: &'a [R],
}

/// Its solution: `x` and where every entry is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Solution<R = f64> {
    /// The variables. Not unique where the vectors are dependent; `Σ x_j v_j` is.
    pub(super) x: Vec<R>,
    /// Where they are.
    pub(super) places: Vec<Place>,
}

impl<R: Real> BoxLeastSquares<'_, R> {
    /// Solve it. `None` if the iteration does not end (numbers that are not finite).
    pub(super) fn solve(&self) -> Option<Solution<R>> {
        let n = self.lower.len();
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
    pub(super) fn residual(&self, x: &[R]) -> Vec<R> {
        let mut rest = self.b.to_vec();
        for (j, x) in x.iter().enumerate() {
            self.vectors.axpy(j, -*x, &mut rest);
        }
        rest
    }

    /// `‖v_j‖`.
    fn length(&self, j: usize) -> f64 {
        norm(self.vectors.high(j).iter().copied())
    }

    /// The bounded variable with the steepest descent into the box, if there is any.
    fn steepest(&self, now: &Solution<R>, barred: &[bool]) -> Option<usize> {
        let rest = self.residual(&now.x);
        let size = norm(self.b.iter().map(|b| b.to_f64()))
            + now.x.iter().enumerate().map(|(j, x)| x.to_f64().abs() * self.length(j)).sum::<f64>();
        let mut best = (ROUND_OFF * R::UNIT_ROUNDOFF * size, None);
        for (j, barred) in barred.iter().enumerate() {
            let length = self.length(j);
            if *barred || now.places[j] == Place::Inside || length == 0.0 || self.lower[j] >= self.upper[j] {
                continue;
            }
            let slope = self.vectors.dot(j, &rest).to_f64() / length;
            let descent = if now.places[j] == Place::Lower { slope } else { -slope };
            if descent > best.0 {
                best = (descent, Some(j));
            }
        }
        best.1
    }

    /// Minimise over the free variables, giving up those that reach their bounds. False if `freed` gets nowhere.
    fn minimise(&self, now: &mut Solution<R>, freed: usize) -> bool {
        let from = now.x[freed];
        loop {
            let free: Vec<usize> = (0..now.x.len()).filter(|j| now.places[*j] == Place::Inside).collect();
            let mut columns = Columns::new(self.b.len());
            if !free.iter().all(|j| columns.push(&self.vectors.get(*j))) {
                return false;
            }
            let step = columns.solve(&self.residual(&now.x));
            let (mut part, mut first) = (R::ONE, None);
            for (j, step) in free.iter().zip(&step) {
                let room = if *step > R::ZERO { self.upper[*j] - now.x[*j] } else { self.lower[*j] - now.x[*j] };
                if step.abs() > room.abs() && room / *step < part {
                    (part, first) = (room / *step, Some((*j, *step > R::ZERO)));
                }
            }
            for (j, step) in free.iter().zip(&step) {
                now.x[*j] += part * *step;
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
        for j in 0..solution.x.len() {
            let slope = problem.vectors.dot(j, &rest);
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
            let vectors = Vectors::exact(dim, vectors.concat());
            let upper: Vec<f64> = random.vector(n).iter().map(|v| v.abs()).collect();
            let lower: Vec<f64> = upper.iter().map(|v| 0.2 * v).collect();
            let b = random.vector(dim);
            let problem = BoxLeastSquares { vectors: &vectors, b: &b, lower: &lower, upper: &upper };
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
        let v = Vectors::exact(2, vec![f64::NAN, 1.0]);
        let problem = BoxLeastSquares { vectors: &v, b: &[1.0, f64::INFINITY], lower: &[0.0], upper: &[1.0] };
        assert!(problem.solve().is_none_or(|solution| solution.x.len() == 1));
    }
}
