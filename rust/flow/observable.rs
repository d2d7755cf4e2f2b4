//! Numbers kept of every row in place of the row: what a long run in many dimensions can afford to remember. Knows no model;
//! what a model has to say of a row comes in with it.

use crate::linalg::norm;
use crate::real::Real;

/// A number that one row of a flow has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observable {
    /// `Σ r² / (2N)`.
    Loss,
    /// `max|r|`, y projected onto the range of X.
    Residual,
    /// `Σ|β_i|`.
    L1Norm,
    /// `√(Σβ_i²)`.
    L2Norm,
    /// `max|β_i|`.
    MaxNorm,
    /// `D_Q(β, β(0))`.
    Potential,
    /// `√(Σ(β_i − β(∞)_i)²)`, β(∞) as the options give it.
    Distance,
}

impl Observable {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Loss, Self::Residual, Self::L1Norm, Self::L2Norm, Self::MaxNorm, Self::Potential, Self::Distance];

    /// The name users know it by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Residual => "residual",
            Self::L1Norm => "l1_norm",
            Self::L2Norm => "l2_norm",
            Self::MaxNorm => "max_norm",
            Self::Potential => "potential",
            Self::Distance => "distance",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|observable| observable.name() == name)
    }
}

/// A row, as far as observables look at it.
pub(crate) struct Row<'a, R = f64> {
    /// β.
    pub(crate) beta: &'a [R],
    /// The loss.
    pub(crate) loss: R,
    /// `max|r|`; computed where it is asked for.
    pub(crate) residual: &'a dyn Fn() -> R,
    /// `D_Q(β, β(0))`; computed where it is asked for.
    pub(crate) potential: &'a dyn Fn() -> R,
}

/// The columns that are asked for, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Columns<'p, R = f64> {
    wanted: &'p [Observable],
    /// β(∞).
    end: Vec<R>,
    values: Vec<Vec<R>>,
}

impl<'p, R: Real> Columns<'p, R> {
    /// Without rows.
    pub(crate) fn new(wanted: &'p [Observable], end: Vec<R>) -> Self {
        Self { wanted, end, values: vec![Vec::new(); wanted.len()] }
    }

    /// One more row.
    pub(crate) fn push(&mut self, row: &Row<'_, R>) {
        for (observable, column) in self.wanted.iter().zip(&mut self.values) {
            column.push(match observable {
                Observable::Loss => row.loss,
                Observable::Residual => (row.residual)(),
                Observable::L1Norm => row.beta.iter().fold(R::ZERO, |sum, b| sum + b.abs()),
                Observable::L2Norm => norm(row.beta.iter().copied()),
                Observable::MaxNorm => {
                    row.beta.iter().fold(R::ZERO, |most, b| if b.abs() > most { b.abs() } else { most })
                }
                Observable::Potential => (row.potential)(),
                Observable::Distance => norm(row.beta.iter().zip(&self.end).map(|(b, end)| *b - *end)),
            });
        }
    }

    /// The last row, `count` times more.
    pub(crate) fn repeat(&mut self, count: usize) {
        for column in &mut self.values {
            let Some(last) = column.last().copied() else { continue };
            column.resize(column.len() + count, last);
        }
    }

    /// One column for every observable asked for.
    pub(crate) fn into_values(self) -> Vec<Vec<R>> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_observable_is_found_by_its_name_and_no_other() {
        for observable in Observable::ALL {
            assert_eq!(Observable::named(observable.name()), Some(observable));
        }
        assert_eq!(Observable::named("l3_norm"), None);
    }

    #[test]
    fn norms_of_numbers_near_the_ends_of_the_range_are_numbers() {
        for unit in [1e-310, 1e-200, 1.0, 1e300] {
            let wanted = [Observable::L1Norm, Observable::L2Norm, Observable::MaxNorm, Observable::Distance];
            let beta = [3.0 * unit, -4.0 * unit];
            let mut columns = Columns::new(&wanted, vec![0.0; 2]);
            columns.push(&Row { beta: &beta, loss: 0.0, residual: &|| 0.0, potential: &|| 0.0 });
            columns.repeat(2);
            // Subnormal numbers at 1e-310 carry 12 digits.
            for (column, expected) in columns.into_values().iter().zip([7.0, 5.0, 4.0, 5.0]) {
                assert_eq!(column.len(), 3);
                assert!((column[2] / unit - expected).abs() < 1e-11, "{unit:e}: {column:?}");
            }
        }
    }
}
