//! Shifts `z = 2XᵀΔν` of the stages of a step, from one Newton iteration to the next. Knows no flow.
//!
//! Newton asks for the size of the corrections `e`, which needs `Xᵀe`, and then for the flow at `Δν + e`, whose shifts
//! are then known: `z + 2Xᵀe`. One product with the data an iteration instead of two. Rounding adds what a product of
//! its own would: `u|z|` and the error of `Xᵀe`, which is the smaller the later the iteration.

use crate::linalg::Rows;

/// The states and corrections seen last, and their products with the data.
#[derive(Debug, Default)]
pub(super) struct Shifts {
    states: Vec<f64>,
    z: Vec<f64>,
    corrections: Corrections,
}

/// What Newton has corrected the states seen last by, and `Xᵀe` of it; of other errors only the products are kept.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    pub(super) values: Vec<f64>,
    pub(super) products: Vec<f64>,
}

impl Corrections {
    /// `Xᵀe` of several errors, one after another; they are corrections if there are as many as `states`.
    pub(super) fn of_errors(&mut self, x: Rows<'_>, errors: &[f64], states: usize) -> &[f64] {
        self.values.clear();
        if errors.len() == states {
            self.values.extend_from_slice(errors);
        }
        self.products.resize(errors.len() / x.n().max(1) * x.d(), 0.0);
        x.apply_transposed_many(errors, &mut self.products);
        &self.products
    }
}

impl Shifts {
    /// The shifts of several states, one after another.
    pub(super) fn of_states(&mut self, x: Rows<'_>, states: &[f64]) -> &[f64] {
        if self.are_corrected(0, states) && states.len() == self.states.len() {
            self.z.iter_mut().zip(&self.corrections.products).for_each(|(z, product)| *z += 2.0 * product);
        } else {
            self.z.resize(states.len() / x.n().max(1) * x.d(), 0.0);
            x.apply_transposed_many(states, &mut self.z);
            for z in &mut self.z {
                *z *= 2.0;
            }
        }
        self.states.clear();
        self.states.extend_from_slice(states);
        self.corrections.values.clear();
        &self.z
    }

    /// `Xᵀe` of several errors, one after another.
    pub(super) fn of_errors(&mut self, x: Rows<'_>, errors: &[f64]) -> &[f64] {
        self.corrections.of_errors(x, errors, self.states.len())
    }

    /// The shift of one state, often that of the corrected last stage.
    pub(super) fn of_state(&self, x: Rows<'_>, state: &[f64], shift: &mut [f64]) {
        let (first, from) = (self.states.len().saturating_sub(x.n()), self.z.len().saturating_sub(x.d()));
        if self.are_corrected(first, state) {
            let parts = self.z[from..].iter().zip(&self.corrections.products[from..]);
            shift.iter_mut().zip(parts).for_each(|(shift, (z, product))| *shift = z + 2.0 * product);
        } else {
            x.apply_transposed_many(state, shift);
            for z in shift {
                *z *= 2.0;
            }
        }
    }

    /// True if `states` are those from `first` on after their corrections, to the bit.
    fn are_corrected(&self, first: usize, states: &[f64]) -> bool {
        let known = self.states[first..].iter().zip(self.corrections.values.get(first..).unwrap_or(&[]));
        known.len() == states.len() && known.zip(states).all(|((old, e), new)| old + e == *new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers and powers of two: every product and sum is exact, so that both roads must meet to the bit.
    const DATA: [f64; 6] = [1.0, -2.0, 3.0, 0.5, 4.0, -1.0];

    fn data() -> Rows<'static> {
        let Some(x) = Rows::new(&DATA, 2, 3) else { panic!("shape") };
        x
    }

    fn shifts(states: &[f64]) -> Vec<f64> {
        states.chunks_exact(2).flat_map(|nu| (0..3).map(|i| 2.0 * (DATA[i] * nu[0] + DATA[3 + i] * nu[1]))).collect()
    }

    #[test]
    fn corrected_states_have_the_shifts_of_a_product_of_their_own() {
        let (x, old, e) = (data(), [1.0, 2.0, -3.0, 5.0], [0.5, -1.0, 8.0, 0.25]);
        let new = [1.5, 1.0, 5.0, 5.25];
        let mut cache = Shifts::default();
        assert_eq!(cache.of_states(x, &old), shifts(&old));
        let products: Vec<f64> = shifts(&e).iter().map(|z| 0.5 * z).collect();
        assert_eq!(cache.of_errors(x, &e), products);
        let mut last = [f64::NAN; 3];
        cache.of_state(x, &new[2..], &mut last);
        assert_eq!(last, shifts(&new)[3..]);
        assert_eq!(cache.of_states(x, &new), shifts(&new));
    }

    #[test]
    fn states_that_are_no_corrections_of_the_last_ones_are_multiplied_out() {
        let (x, old, e) = (data(), [1.0, 2.0, -3.0, 5.0], [0.5, -1.0, 8.0, 0.25]);
        // One entry is another; the corrections were used up; fewer states; one error in between.
        let mut cache = Shifts::default();
        cache.of_states(x, &old);
        cache.of_errors(x, &e);
        for states in [&[1.5, 1.0, 5.0, 5.5][..], &[2.0, 0.0, 13.0, 5.75], &[1.5, 1.0], &[]] {
            assert_eq!(cache.of_states(x, states), shifts(states));
        }
        cache.of_states(x, &old);
        cache.of_errors(x, &e);
        cache.of_errors(x, &e[..2]);
        let mut last = [f64::NAN; 3];
        for state in [[5.0, 5.25], [1.5, 1.0], [0.0, 0.0]] {
            cache.of_state(x, &state, &mut last);
            assert_eq!(last[..], shifts(&state));
        }
    }
}
