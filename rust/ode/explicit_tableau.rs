//! The explicit method as the integrator uses it; the numbers are in
//! [`explicit_coefficients`](super::explicit_coefficients).

use super::explicit_coefficients::{DENSE, ERROR_3, ERROR_5, NODES, Pair, ROWS};
use crate::real::Real;

/// Coefficients that are not 0, with the stage each belongs to.
pub type Row<R> = Vec<(usize, R)>;

/// Dormand & Prince 8(5,3) in the numbers of the state.
#[derive(Clone, Debug)]
pub struct ExplicitTableau<R> {
    /// `c_i`, stage by stage.
    pub nodes: Vec<R>,
    /// The rows of `A`; row 12 is `b`.
    pub rows: Vec<Row<R>>,
    /// `b − b̂` of order 3 and of order 5.
    pub errors: [Row<R>; 2],
    /// The four rows of the dense output.
    pub dense: Vec<Row<R>>,
}

impl<R: Real> ExplicitTableau<R> {
    /// The coefficients.
    #[must_use]
    pub fn new() -> Self {
        let real = |pair: &Pair| R::from_parts(pair.0, pair.1);
        let row = |row: &[(usize, Pair)]| row.iter().map(|(j, pair)| (*j, real(pair))).collect();
        Self {
            nodes: NODES.iter().map(real).collect(),
            rows: ROWS.iter().map(|a| row(a)).collect(),
            errors: [row(ERROR_3), row(ERROR_5)],
            dense: DENSE.iter().map(|a| row(a)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::DoubleDouble;

    type D = DoubleDouble;

    /// A rooted tree: its order, its density `γ`, and the elementary weights `φ_i` of all stages (Hairer, Nørsett &
    /// Wanner I, II.2): `φ_i = ∏ Σ_j a_ij φ_j(subtree)`.
    struct Tree {
        order: usize,
        density: f64,
        weights: Vec<D>,
        /// `Σ_j a_ij φ_j`.
        sums: Vec<D>,
    }

    /// All rooted trees up to an order, each built from smaller ones joined at a new root.
    fn trees(tableau: &ExplicitTableau<D>, most: usize) -> Vec<Tree> {
        let mut list: Vec<Tree> = Vec::new();
        for order in 1..=most {
            let mut forests = Vec::new();
            choose(&list, order - 1, list.len(), &mut Vec::new(), &mut forests);
            for forest in forests {
                let mut weights = vec![D::ONE; tableau.rows.len()];
                for child in &forest {
                    weights.iter_mut().zip(&list[*child].sums).for_each(|(w, sum)| *w *= *sum);
                }
                let density = order as f64 * forest.iter().map(|child| list[*child].density).product::<f64>();
                let sums = tableau.rows.iter().map(|row| apply(row, &weights)).collect();
                list.push(Tree { order, density, weights, sums });
            }
        }
        list
    }

    /// Multisets of trees before `limit` with `total` vertices, largest first.
    fn choose(list: &[Tree], total: usize, limit: usize, chosen: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
        if total == 0 {
            out.push(chosen.clone());
        }
        for k in (0..limit).filter(|k| list[*k].order <= total) {
            chosen.push(k);
            choose(list, total - list[k].order, k + 1, chosen, out);
            chosen.pop();
        }
    }

    fn apply(row: &[(usize, D)], v: &[D]) -> D {
        row.iter().fold(D::ZERO, |sum, (j, a)| sum + *a * v[*j])
    }

    fn distance(a: D, b: D) -> f64 {
        (a - b).abs().to_f64()
    }

    #[test]
    fn the_rows_sum_to_the_nodes_and_the_method_is_explicit() {
        // Rows hold up to 12 numbers up to 43: rounding 1e-32 · 43 · 12.
        let tableau = ExplicitTableau::<D>::new();
        for (i, (row, c)) in tableau.rows.iter().zip(&tableau.nodes).enumerate() {
            assert!(distance(row.iter().fold(D::ZERO, |sum, (_, a)| sum + *a), *c) < 1e-29, "row {i}");
            assert!(row.iter().all(|(j, _)| *j < i), "row {i} looks ahead");
        }
    }

    #[test]
    fn first_same_as_last() {
        // The end of the step is a stage at c = 1 whose row is b, so its slope is the first of the next step.
        let tableau = ExplicitTableau::<D>::new();
        assert_eq!(tableau.nodes[12], D::ONE);
        assert!(tableau.rows[12].iter().all(|(j, _)| *j < 12));
    }

    #[test]
    fn all_two_hundred_order_conditions_up_to_order_eight_hold_to_thirty_digits() {
        let tableau = ExplicitTableau::<D>::new();
        let list = trees(&tableau, 8);
        let count = |order| list.iter().filter(|tree| tree.order == order).count();
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(count), [1, 1, 2, 4, 9, 20, 48, 115]);
        for (k, tree) in list.iter().enumerate() {
            let residual = distance(apply(&tableau.rows[12], &tree.weights), D::ONE / D::from_f64(tree.density));
            // Up to seven nested rows with entries up to 43: products cancel down from 1e3 at most.
            assert!(residual < 1e-28, "tree {k} of order {}: {residual}", tree.order);
        }
    }

    #[test]
    fn the_error_estimates_vanish_up_to_their_orders_and_no_further() {
        let tableau = ExplicitTableau::<D>::new();
        let list = trees(&tableau, 6);
        for (row, order) in tableau.errors.iter().zip([3, 5]) {
            let residual = |tree: &Tree| apply(row, &tree.weights).abs().to_f64();
            assert!(list.iter().filter(|tree| tree.order <= order).all(|tree| residual(tree) < 1e-30));
            assert!(list.iter().filter(|tree| tree.order == order + 1).any(|tree| residual(tree) > 1e-5));
        }
    }

    #[test]
    fn the_dense_output_has_order_seven_everywhere_in_the_step() {
        let tableau = ExplicitTableau::<D>::new();
        for theta in [0.1, 0.5, 0.77].map(D::from_f64) {
            for tree in trees(&tableau, 7) {
                let (w, rise) = (&tree.weights, apply(&tableau.rows[12], &tree.weights));
                let mut f = vec![rise, w[0] - rise, rise + rise - w[0] - w[12]];
                f.extend(tableau.dense.iter().map(|row| apply(row, w)));
                let factors = [theta, D::ONE - theta];
                let value = (0..7).rev().fold(D::ZERO, |sum, k| (sum + f[k]) * factors[k % 2]);
                let exact = (0..tree.order).fold(D::ONE / D::from_f64(tree.density), |p, _| p * theta);
                // Dense coefficients are up to 390.
                assert!(distance(value, exact) < 1e-27, "order {}: {}", tree.order, distance(value, exact));
            }
        }
    }
}
