//! A few vectors made orthonormal, one after another: what they span, and least squares over them. Knows no network.
//!
//! Gram-Schmidt with a second pass, which is enough for orthonormality to rounding (Giraud, Langou, Rozložník & van den
//! Eshof, *Numer. Math.* 101 (2005) 87–100). Householder's reflections would do as well, but their basis is not at hand
//! vector by vector, and it is the projection with it that a slide needs in every right-hand side.

use super::vectors::Vectors;
use crate::linalg::norm;
use crate::real::Real;

/// A vector whose part outside the span of the others is shorter than this part of itself depends on them, in units of its
/// last place: that much is rounding of products of some hundred terms.
const DEPENDENT: f64 = 1024.0;

/// `V = Q T`: the independent ones among the vectors pushed.
#[derive(Clone, Debug)]
pub(super) struct Columns<R = f64> {
    dim: usize,
    dependent: f64,
    /// Orthonormal, one after another.
    q: Vectors,
    /// The columns of `T`, each as long as its place.
    t: Vec<Vec<R>>,
}

impl<R: Real> Columns<R> {
    /// None yet, of length `dim`.
    pub(super) fn new(dim: usize) -> Self {
        Self { dim, dependent: DEPENDENT * R::UNIT_ROUNDOFF, q: Vectors::new(dim), t: Vec::new() }
    }

    /// The same where a vector is dependent whose part outside the others is shorter than `dependent` times itself.
    pub(super) fn coarse(dim: usize, dependent: f64) -> Self {
        Self { dependent, ..Self::new(dim) }
    }

    /// How many are independent.
    pub(super) fn rank(&self) -> usize {
        self.t.len()
    }

    /// The orthonormal ones.
    pub(super) fn into_basis(self) -> Vectors {
        self.q
    }

    /// The span alone, rounded.
    pub(super) fn rounded(&self) -> Columns {
        let mut q = Vectors::new(self.dim);
        (0..self.rank()).for_each(|j| q.push(self.q.high(j)));
        let t = self.t.iter().map(|column| column.iter().map(|t| t.to_f64()).collect()).collect();
        Columns { dim: self.dim, dependent: self.dependent, q, t }
    }

    /// One more. False, and nothing changes, if it depends on those there are.
    pub(super) fn push(&mut self, v: &[R]) -> bool {
        let size = norm(v.iter().copied());
        let mut rest = v.to_vec();
        let mut column = self.remove(&mut rest);
        let again = self.remove(&mut rest);
        column.iter_mut().zip(&again).for_each(|(t, more)| *t += *more);
        let left = norm(rest.iter().copied());
        if !(left > R::from_f64(self.dependent) * size) {
            return false;
        }
        for v in &mut rest {
            *v /= left;
        }
        self.q.push(&rest);
        column.push(left);
        self.t.push(column);
        true
    }

    /// `v ← (I − QQᵀ) v`; what was removed, `Qᵀv`.
    pub(super) fn remove(&self, v: &mut [R]) -> Vec<R> {
        let mut removed = Vec::with_capacity(self.rank() + 1);
        for j in 0..self.rank() {
            let part = self.q.dot(j, v);
            self.q.axpy(j, -part, v);
            removed.push(part);
        }
        removed
    }

    /// True if `v` depends on them.
    pub(super) fn contains(&self, v: &[R]) -> bool {
        !self.clone().push(v)
    }

    /// `Qᵀ v`.
    pub(super) fn coordinates(&self, v: &[R]) -> Vec<R> {
        (0..self.rank()).map(|j| self.q.dot(j, v)).collect()
    }

    /// The least-squares solution of `V z = b`.
    pub(super) fn solve(&self, b: &[R]) -> Vec<R> {
        let mut z = self.remove(&mut b.to_vec());
        for j in (0..z.len()).rev() {
            z[j] /= self.t[j][j];
            let (head, tail) = z.split_at_mut(j);
            head.iter_mut().zip(&self.t[j]).for_each(|(z, t)| *z -= *t * tail[0]);
        }
        z
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependent_vectors_are_refused_and_the_others_reproduce_what_they_span() {
        let mut columns = Columns::<f64>::new(3);
        assert!(columns.push(&[1.0, 2.0, 0.5]) && columns.push(&[1.0, 2.0, 0.5 + 1e-9]));
        assert!(!columns.push(&[-3.0, -6.0, 0.25]) && !columns.push(&[0.0; 3]));
        // 2 v_1 − 3 v_2, in a basis of condition 1e9: the solution to 1e-7, what it stands for to rounding.
        let b = [-1.0, -2.0, 1.0 - 1.5 - 3e-9];
        let z = columns.solve(&b);
        assert!((z[0] - 2.0).abs() < 1e-6 && (z[1] + 3.0).abs() < 1e-6, "{z:?}");
        let mut rest = b;
        columns.remove(&mut rest);
        assert!(rest.iter().all(|v| v.abs() < 1e-14), "{rest:?}");
    }
}
