//! What holds for all kernels alike.

use super::testing::rows;
use super::{Cholesky, RowBasis, RowwiseQr, ShiftedLu, SquareMatrix, SymmetricTridiagonal, ThinQr, WeightedGram};

#[test]
fn empty_problems_are_answered() {
    let none = SquareMatrix::zeros(0);
    let mut out = none.clone();
    for d in [0, 3] {
        let x = rows(&[], 0, d);
        WeightedGram::new(0, d).form(x, &vec![1.0; d], &mut out);
        assert_eq!(RowBasis::of(x).rank(), 0);
        assert!(RowwiseQr::of(x).apply_qt(&[]).is_empty());
        let mut solved = vec![1.0];
        Cholesky::new(0).solve_lower_rows(x, &mut solved);
        assert!(solved.is_empty() && Cholesky::new(0).factor_by_qr(x, &vec![1.0; d]));
    }
    let no_features = rows(&[], 2, 0);
    let mut h = SquareMatrix::from_fn(2, |_, _| f64::NAN);
    WeightedGram::new(2, 0).form(no_features, &[], &mut h);
    assert_eq!(h, SquareMatrix::zeros(2));
    assert_eq!(RowBasis::of(no_features).rank(), 0);
    assert!(RowwiseQr::of(no_features).apply_qt(&[1.0, 2.0]).is_empty());
    assert!(!Cholesky::new(2).factor_by_qr(no_features, &[]));

    let mut factor = Cholesky::new(0);
    assert!(factor.factor(&none) && factor.factor_scaled(&none) == Some(0.0));
    factor.solve(&mut []);
    assert_eq!((factor.inverse_lower(), factor.condition_estimate(&none)), (none.clone(), 0.0));
    let (mut t, mut lu) = (SymmetricTridiagonal::new(0), ShiftedLu::new(0));
    t.reduce(&none);
    lu.set(&none);
    assert!(
        t.factor_real(1.0) && t.factor_complex(0, 1.0, 1.0) && lu.factor_real(1.0) && lu.factor_complex(0, 1.0, 1.0)
    );
    t.to_basis(&mut []);
    t.solve_real(&mut []);
    t.solve_complex(0, &mut [], &mut []);
    lu.solve_real(&mut []);
    lu.solve_complex(0, &mut [], &mut []);
}

#[test]
fn workspaces_can_move_between_threads_and_be_copied() {
    fn check<T: Send + Sync + Clone>() {}
    check::<WeightedGram>();
    check::<Cholesky>();
    check::<SymmetricTridiagonal>();
    check::<ShiftedLu>();
    check::<RowBasis>();
    check::<ThinQr>();
    check::<RowwiseQr>();
}
