"""The end of the flow, t = infinity, without integration; and the check of any predictor against it."""

from collections.abc import Iterable

from numpy.typing import ArrayLike

from . import _validate as check
from ._double_double import data, vector_parts
from ._network import LimitOptions, Network, network
from ._results import KKTReport, Limit, LimitPath
from ._validate import Array


def limit(
    net: Network,
    X: ArrayLike,
    y: ArrayLike,
    *,
    tol: float | None = None,
    bounds: bool = True,
    precision: str = "double",
    n_jobs: int | None = None,
) -> Limit:
    r"""Limit of gradient flow as t goes to infinity, with a proven error bound for every coefficient.

    .. math:: \beta(\infty) = \operatorname{argmin}_{X\beta = y} D(\beta, \beta(0))

    for the loss :math:`\sum_n (y_n - \langle\beta, x_n\rangle)^2 / (2N)` [1]_. No trajectory is integrated: an
    interior-point method on an equivalent entropic program and Newton's method on the dual take ten to twenty
    n_samples × n_samples systems, at any scale. The answer is always polished to the round-off floor.

    Parameters
    ----------
    net : DiagonalNetwork or another network
        The start.
    X : array_like, shape (n_samples, n_features)
        One sample per row. Any real dtype and memory order; never written to.
    y : array_like, shape (n_samples,)
        Targets. Outside of the range of X they are projected onto it, as the flow does (status "least_squares").
    tol : float, optional
        Largest residual, relative to the largest target, that counts as success; in [1e-16, 0.1], 1e-12 by default. In
        double-double in [1e-31, 0.1], 1e-29 by default.
    bounds : bool, default True
        Whether to compute `error_bound`, which costs about as much as one more system.
    precision : {"double", "double-double"}, default "double"
        Arithmetic of the answer. In "double-double" values have 31 digits, in two parts (`Limit.beta_low`), and y may
        be a pair of arrays (high, low), decimal strings or exact numbers.
    n_jobs : int, optional
        Number of threads, all cores by default. The answer is the same bit by bit for any number.

    Returns
    -------
    Limit
        The end, its proof, and why the computation stopped.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval.

    See Also
    --------
    limit_path : many starts on one data set, faster than one by one.
    gradient_flow : the whole trajectory.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, log_scale=-2000.0)
    >>> end = ib.limit(net, [[1.0, 2.0]], [2.0])
    >>> end.beta, end.status == "converged"
    (array([0., 1.]), True)
    """
    start = network("net", net)
    options = _options(tol, bounds, precision, n_jobs)
    X, y, low = data(start._observed(X), y, start.n_features)
    return start._limit(X, y, _with_digits(options, precision, low))


def limit_path(
    nets: Iterable[Network],
    X: ArrayLike,
    y: ArrayLike,
    *,
    tol: float | None = None,
    bounds: bool = True,
    precision: str = "double",
    n_jobs: int | None = None,
) -> LimitPath:
    r"""Limits of many starts on one data set; starts with neighbouring :math:`\ln\kappa` help each other.

    The same answers as `limit` one by one, to the round-off floor, in a fraction of the time: X is factorized once, and
    each start begins from the multipliers of the nearest one that is done.

    Parameters
    ----------
    nets : iterable of networks
        The starts, at least one, in any order.
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets.
    tol : float, optional
        As in `limit`.
    bounds : bool, default True
        As in `limit`.
    precision : {"double", "double-double"}, default "double"
        As in `limit`.
    n_jobs : int, optional
        As in `limit`.

    Returns
    -------
    LimitPath
        In the order of `nets`.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> nets = [ib.DiagonalNetwork.from_scale_shape(2, scale=a) for a in (1e3, 1e-3, 1e-300)]
    >>> ib.limit_path(nets, [[1.0, 2.0]], [2.0]).beta.round(3)
    array([[0.4  , 0.8  ],
           [0.031, 0.984],
           [0.   , 1.   ]])
    """
    try:
        starts = list(nets)
    except TypeError:
        raise ValueError(f"nets must be networks, one for every start: got {check.shown(nets)}") from None
    if not starts:
        raise ValueError("nets must not be empty: got no network")
    n_features = network("nets[0]", starts[0]).n_features
    for k, net in enumerate(starts):
        if network(f"nets[{k}]", net).n_features != n_features:
            raise ValueError(f"nets[{k}] must have {n_features} features, as nets[0] has: got {net.n_features}")
    options = _options(tol, bounds, precision, n_jobs)
    X, y, low = data(starts[0]._observed(X), y, n_features)
    return starts[0]._limit_path(starts, X, y, _with_digits(options, precision, low))


def check_kkt(
    net: Network,
    X: ArrayLike,
    y: ArrayLike,
    beta: ArrayLike,
    *,
    precision: str = "double",
    n_jobs: int | None = None,
) -> KKTReport:
    r"""How far a predictor, however it was found, is from the limit of the flow.

    .. math:: \nabla Q(\beta) = X^\top\nu, \qquad X\beta = y

    The multipliers are fitted with weights :math:`1/q''(\beta_i)`, for a coefficient near 0 says nothing about them.

    Parameters
    ----------
    net : DiagonalNetwork or another network
        The start.
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets.
    beta : array_like, shape (n_features,)
        The predictor to check.
    precision : {"double", "double-double"}, default "double"
        Arithmetic of the answer. In "double-double" y and beta may be pairs of arrays (high, low).
    n_jobs : int, optional
        Number of threads, all cores by default.

    Returns
    -------
    KKTReport
        Residuals of both conditions, and a bound of the distance to the limit.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval.

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    >>> ib.check_kkt(net, [[1.0, 2.0]], [2.0], [0.0, 1.0]).satisfied(1e-6)
    False
    """
    start = network("net", net)
    X, y, y_low = data(start._observed(X), y, start.n_features)
    beta, beta_low = vector_parts("beta", beta, X.shape[1], "one coefficient for every column of X")
    low = (y_low, beta_low) if check.precision(precision) == "double-double" else None
    return start._check_kkt(X, y, beta, check.jobs(n_jobs), low)


def _options(tol: float | None, bounds: bool, precision: str, n_jobs: int | None) -> LimitOptions:
    arithmetic = check.precision(precision)
    return LimitOptions(bounds=check.flag("bounds", bounds), tol=check.tol(tol, arithmetic), n_jobs=check.jobs(n_jobs))


def _with_digits(options: LimitOptions, precision: str, y_low: Array) -> LimitOptions:
    """The rest of the targets among the options, where it counts."""
    if precision == "double-double":
        options["y_low"] = y_low
    return options
