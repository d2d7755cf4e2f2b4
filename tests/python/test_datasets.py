"""Data: the published draws digit by digit, and the laws of the random ones."""

import json
from pathlib import Path

import numpy as np
import pytest

import implicit_bias as ib
from implicit_bias.datasets import _azulay_draw

PUBLISHED = json.loads((Path(__file__).parents[1] / "golden" / "published.json").read_text())


def check_against_recipe(data, sanity):
    assert data.beta_true.nonzero()[0].tolist() == sanity["support"]
    assert data.X[0, 0] == sanity["X00"]
    assert np.allclose(data.y[:3], sanity["y_first3"], rtol=0.0, atol=0.5e-8)  # printed to eight decimals
    assert np.array_equal(data.y_test, data.X_test @ data.beta_true)


def test_the_published_draws_are_those_of_the_authors():
    stream = np.random.RandomState(1993)
    first, second = _azulay_draw(stream, 100, 1000), _azulay_draw(stream, 10, 100)
    check_against_recipe(first, PUBLISHED["azulay_sparse_regression"]["sanity"])
    check_against_recipe(second, PUBLISHED["azulay_q_check"]["sanity"])
    assert first.X_test.shape == (2000, 1000)
    assert second.X_test.shape == (2000, 100)


def test_the_published_data_do_not_depend_on_the_global_generator():
    state = np.random.get_state()[1].copy()  # noqa: NPY002 (the legacy generator is what must not move)
    a, b = ib.datasets.azulay_sparse_regression(), ib.datasets.azulay_sparse_regression()
    assert np.array_equal(a.y, b.y)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_baselines_of_the_published_data_are_the_printed_ones():
    data, printed = ib.datasets.azulay_sparse_regression(), PUBLISHED["azulay_sparse_regression"]["limits"]
    for name, solve in (("min_l2", ib.baselines.min_l2_norm), ("basis_pursuit", ib.baselines.basis_pursuit)):
        beta = solve(data.X, data.y)
        assert np.abs(data.y - data.X @ beta).max() <= 1e-12 * np.abs(data.y).max()
        # printed to ten decimals
        assert np.abs(beta).sum() == pytest.approx(printed[f"{name}_l1_norm"], abs=1e-10)
        error = np.mean((data.X_test @ beta - data.y_test) ** 2)
        assert error == pytest.approx(printed[f"{name}_test_mse"], abs=1e-10)


def test_basis_pursuit_is_proven_by_a_dual_point():
    data = ib.datasets.sparse_regression(20, 60, 3, seed=4)
    beta = ib.baselines.basis_pursuit(data.X, data.y)
    support = beta.nonzero()[0]
    # At a non-degenerate vertex the signs on the support give the dual point; |X^T nu| <= 1 elsewhere is the proof.
    nu = np.linalg.solve(data.X[:, support].T, np.sign(beta[support]))
    assert np.abs(data.X.T @ nu).max() <= 1.0 + 1e-9
    assert data.y @ nu == pytest.approx(np.abs(beta).sum(), rel=1e-12)


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e30, 1e200])
def test_baselines_do_not_depend_on_the_units(unit):
    data = ib.datasets.sparse_regression(5, 12, 2, seed=1)
    rows = np.logspace(-6, 6, 5)
    beta = ib.baselines.basis_pursuit(data.X, data.y)
    scaled = ib.baselines.basis_pursuit(rows[:, None] * data.X, rows * (unit * data.y))
    assert np.allclose(scaled / unit, beta, rtol=0.0, atol=1e-10 * np.abs(beta).max())
    least = ib.baselines.min_l2_norm(data.X, data.y)
    assert np.allclose(ib.baselines.min_l2_norm(data.X, unit * data.y) / unit, least, rtol=1e-10)


def test_targets_of_zero_have_the_predictor_zero():
    for solve in (ib.baselines.min_l2_norm, ib.baselines.basis_pursuit):
        assert not solve([[1.0, 2.0]], [0.0]).any()


def test_sparse_regression_is_what_it_says():
    data = ib.datasets.sparse_regression(n_samples=50, n_features=300, n_nonzero=9, noise_std=0.0, seed=3)
    assert data.X.shape == (50, 300)
    assert np.unique(data.beta_true).tolist() == [0.0, 1.0 / 3.0]
    assert np.count_nonzero(data.beta_true) == 9
    assert np.array_equal(data.y, data.X @ data.beta_true)
    assert data.X_test is None
    # 15,000 standard normals: mean and variance within five of their standard deviations
    assert abs(data.X.mean()) <= 5 / data.X.size**0.5
    assert abs(data.X.var() - 1.0) <= 5 * (2 / data.X.size) ** 0.5


def test_noise_has_the_standard_deviation_asked_for_and_leaves_the_rest_alone():
    quiet, noisy = (ib.datasets.sparse_regression(4000, 5, 2, noise_std=s, seed=7) for s in (0.0, 0.5))
    assert np.array_equal(quiet.X, noisy.X)
    assert np.std(noisy.y - quiet.y) == pytest.approx(0.5, rel=5 / 8000**0.5)


def test_a_seed_decides_everything():
    draw = ib.datasets.sparse_regression
    assert np.array_equal(draw(3, 4, 2, seed=11).y, draw(3, 4, 2, seed=11).y)
    assert not np.array_equal(draw(3, 4, 2, seed=11).y, draw(3, 4, 2, seed=12).y)
    assert np.array_equal(draw(3, 4, 2, seed=np.random.default_rng(11)).y, draw(3, 4, 2, seed=11).y)
    assert not np.array_equal(draw(3, 4, 2).y, draw(3, 4, 2).y)
