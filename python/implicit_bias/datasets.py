"""Data of the published experiments, drawn again from their recipes."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import _validate as check
from ._validate import Array

__all__ = ["SparseRegression", "azulay_sparse_regression", "sparse_regression"]


@dataclass(frozen=True, eq=False)
class SparseRegression:
    """A regression problem with a sparse truth.

    Attributes
    ----------
    X : ndarray, shape (n_samples, n_features)
    y : ndarray, shape (n_samples,)
        ``X @ beta_true`` plus noise.
    beta_true : ndarray, shape (n_features,)
    X_test : ndarray, shape (n_test, n_features), or None
    y_test : ndarray, shape (n_test,), or None
        ``X_test @ beta_true`` without noise.
    """

    X: Array = field(repr=False)
    y: Array = field(repr=False)
    beta_true: Array = field(repr=False)
    X_test: Array | None = field(default=None, repr=False)
    y_test: Array | None = field(default=None, repr=False)


def sparse_regression(
    n_samples: int, n_features: int, n_nonzero: int, noise_std: float = 0.1, seed: Any = None
) -> SparseRegression:
    r"""Gaussian design with a sparse truth, as in the experiments of both papers [1]_ [2]_.

    .. math:: y = X\beta^* + \sigma\varepsilon, \qquad X_{ni}, \varepsilon_n \sim N(0, 1), \qquad
              \beta^*_i \in \{0, 1/\sqrt{r}\}

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    n_nonzero : int
        Number r of coefficients that differ from 0, at random places; at most `n_features`.
    noise_std : float, default 0.1
        :math:`\sigma \ge 0`, in the units of y. With 0 the data are exactly sparse.
    seed : int, numpy.random.Generator or anything `numpy.random.default_rng` takes, optional
        None draws anew on every call.

    Returns
    -------
    SparseRegression
        Without test data.

    Raises
    ------
    ValueError
        If an argument is outside of its interval.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 4.
    .. [2] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Figure 1.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> data = ib.datasets.sparse_regression(n_samples=100, n_features=1000, n_nonzero=4, seed=0)
    >>> data.X.shape, data.beta_true.sum()
    ((100, 1000), np.float64(2.0))
    """
    n_samples, n_features = check.integer("n_samples", n_samples), check.integer("n_features", n_features)
    n_nonzero = check.integer("n_nonzero", n_nonzero)
    if n_nonzero > n_features:
        raise ValueError(f"n_nonzero must be at most n_features ({n_features}): got {n_nonzero}")
    noise_std = check.non_negative("noise_std", noise_std)
    try:
        random = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ValueError(f"seed must be a non-negative integer or a generator: got {check.shown(seed)}") from error
    X = random.standard_normal((n_samples, n_features))
    beta_true = np.zeros(n_features)
    beta_true[random.choice(n_features, n_nonzero, replace=False)] = n_nonzero**-0.5
    with np.errstate(over="ignore"):
        y = X @ beta_true + noise_std * random.standard_normal(n_samples)
    if not np.isfinite(y).all():
        raise ValueError(f"noise_std must be small enough for finite targets: got {check.shown(noise_std)}")
    return SparseRegression(X, y, beta_true)


def azulay_sparse_regression() -> SparseRegression:
    r"""The very data of the paper's figure of population error against scale and shape [1]_.

    .. math:: y = X\beta^* + 0.1\,\varepsilon, \qquad N = 100,\ d = 1000, \qquad \beta^*_i \in \{0, 1/\sqrt{5}\}

    Returns
    -------
    SparseRegression
        With 2,000 test rows without noise.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Figure 1.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> data = ib.datasets.azulay_sparse_regression()
    >>> data.X[0, 0], data.beta_true.nonzero()[0]
    (np.float64(-0.1772075178481986), array([218, 466, 710, 747, 818]))
    """
    return _azulay_draw(np.random.RandomState(1993), n_samples=100, n_features=1000)


def azulay_q_check() -> SparseRegression:
    """Data of the paper's check of the potential: the next draw of the same stream, N = 10, d = 100."""
    random = np.random.RandomState(1993)
    _azulay_draw(random, n_samples=100, n_features=1000)
    return _azulay_draw(random, n_samples=10, n_features=100)


class NeuronStart(NamedTuple):
    """A start of one linear neuron, by the arguments of `FullyConnectedNetwork.from_scale_shape`."""

    orientation: Array
    scale: float
    shape: float
    sign: int


def azulay_single_neuron() -> tuple[SparseRegression, list[NeuronStart]]:
    """Data and the six starts of the paper's experiment with one linear neuron: the stream goes on after the data."""
    random, starts = np.random.RandomState(1993), []
    data = _azulay_draw(random, n_samples=100, n_features=1000)
    for shape in (0.0, 0.5, 0.95):
        for scale in (0.01, 0.1):
            orientation = random.standard_normal((1, 1000))[0]
            sign = 1 if random.standard_normal((1, 1)).item() > 0.0 else -1
            starts.append(NeuronStart(orientation, scale, shape, sign))
    return data, starts


def _azulay_draw(random: "np.random.RandomState", n_samples: int, n_features: int) -> SparseRegression:
    """One draw of the authors' stream, which their next experiment continues.

    They draw from `multivariate_normal` with the identity as covariance, which is these normals times an orthogonal
    matrix that an SVD makes of the identity: the identity. Without that detour nothing depends on the LAPACK in use.
    """
    X = random.standard_normal((n_samples, n_features))
    X_test = random.standard_normal((2000, n_features))
    beta_true = np.zeros(n_features)
    beta_true[random.choice(n_features, 5, replace=False)] = 5**-0.5
    y = X @ beta_true + 0.01**0.5 * random.standard_normal(n_samples)
    return SparseRegression(X, y, beta_true, X_test, X_test @ beta_true)
