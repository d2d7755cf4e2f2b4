"""Tangent kernels: of a model at any weights, how they turn along a flow, and where it ends if they do not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from . import _validate as check
from ._network import Network, network
from ._trajectory import Flow
from ._validate import Array


def tangent_kernel(net: Network, X: ArrayLike, parameters: Sequence[ArrayLike] | None = None) -> Array:
    r"""Tangent kernel of a model on a data set, at its start or at other weights.

    .. math:: K(x, x') = \langle\nabla_\theta f_\theta(x), \nabla_\theta f_\theta(x')\rangle

    Of a linear model it is :math:`x^\top H^{-1} x'` with the metric of [1]_; of neurons with inputs
    :math:`p_i = w_i^\top x` it is
    :math:`\sum_i \sigma(p_i)\sigma(p_i') + a_i^2\sigma'(p_i)\sigma'(p_i')\langle x, x'\rangle`.

    Parameters
    ----------
    net : network
        The model; its weights at time 0 where `parameters` are not given.
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    parameters : sequence of array_like, optional
        Weights as `Flow.parameters` has them: one array for every group of weights, in its order, either one set of
        weights or one a time as the first axis.

    Returns
    -------
    ndarray, shape (n_samples, n_samples) or (n_times, n_samples, n_samples)
        Over- and underflow give inf and 0. At a kink :math:`\sigma'` is the slope to the right.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape or not finite.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Section 3.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1.0)
    >>> ib.tangent_kernel(net, [[1.0, 2.0], [0.0, 1.0]])
    array([[20.,  8.],
           [ 8.,  4.]])
    """
    model = network("net", net)
    samples = _samples(X, model)
    if parameters is None:
        weights, log_unit = model._start_weights()
        return _scaled(model, *_unit_kernel(model, samples, weights), log_unit)
    start, _ = model._start_weights()
    rows = _rows(parameters, start)
    found = np.array([_scaled(model, *_unit_kernel(model, samples, row), 0.0) for row in rows])
    given_one = np.ndim(parameters[0]) == np.ndim(start[0])
    return np.asarray(found[0] if given_one else found)


def kernel_distance(flow: Flow, X: ArrayLike | None = None) -> Array:
    r"""How far the tangent kernel has turned from that of the start, at every time of a flow.

    .. math:: 1 - \frac{\langle K_t, K_0\rangle}{\|K_t\|\,\|K_0\|}

    with both kernels on the same data [1]_: 0 in the kernel regime, where the flow is that of a linearised model.

    Parameters
    ----------
    flow : Flow
        With the rows of its coefficients (``save_beta=True``).
    X : array_like, shape (n_samples, n_features), optional
        The data of the kernels; those that the flow was run on by default.

    Returns
    -------
    ndarray, shape (n_times,)
        In [0, 1]; 0 at the start.

    Raises
    ------
    ValueError
        If the flow has no rows, X is of the wrong shape, or a kernel has no float to it: the weights of a start below
        1e-308 underflow.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 5.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    >>> flow = ib.gradient_flow(net, [[1.0, 0.5]], [1.0])
    >>> ib.kernel_distance(flow)[[0, -1]].round(3)
    array([0., 0.])

    One sample has one number for a kernel, which cannot turn; two have three.

    >>> flow = ib.gradient_flow(net, [[1.0, 0.5], [0.0, 1.0]], [1.0, 0.0])
    >>> bool(ib.kernel_distance(flow)[-1] > 0.01)
    True
    """
    model = flow._net
    samples = flow._X if X is None else _samples(X, model)
    weights, _ = model._start_weights()
    start = _unit_kernel(model, samples, weights)[0]
    rows = [_unit_kernel(model, samples, row)[0] for row in _rows(flow.parameters, weights)]
    return np.array([0.0, *(_turned(row, start) for row in rows[1:])])


def parameter_movement(flow: Flow) -> Array:
    r"""How far all weights have moved, relative to their start, at every time of a flow.

    .. math:: \frac{\|\theta(t) - \theta(0)\|}{\|\theta(0)\|}

    Small in the kernel regime.

    Parameters
    ----------
    flow : Flow
        With the rows of its coefficients (``save_beta=True``).

    Returns
    -------
    ndarray, shape (n_times,)
        0 at the start; inf where the start is 0, or no float beside the weights.

    Raises
    ------
    ValueError
        If the flow has no rows.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(1, scale=1.0)
    >>> flow = ib.gradient_flow(net, [[1.0]], [1e-3])
    >>> bool(ib.parameter_movement(flow)[-1] < 1e-3)
    True
    """
    weights = np.column_stack([np.reshape(group, (flow.t.size, -1)) for group in flow.parameters])
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        top = np.abs(weights).max()
        unit = weights / top if top > 0.0 else weights
        found = np.linalg.norm(unit - unit[0], axis=1) / np.linalg.norm(unit[0])
    return np.asarray(np.where(np.isnan(found), np.where(np.arange(flow.t.size) == 0, 0.0, np.inf), found))


@dataclass(frozen=True, eq=False)
class KernelLimit:
    r"""Where gradient flow would end if the model stayed linearised at its start.

    .. math:: f_\infty(x) = f_0(x) + K(x, X)\,K(X, X)^{-1}\,(y - f_0(X))

    Attributes
    ----------
    beta : ndarray, shape (n_features,), or None
        The predictor of a model that is linear in x; None for others.
    residual : ndarray, shape (n_samples,)
        Targets minus outputs: what the kernel cannot fit.
    """

    beta: Array | None = field(repr=False)
    residual: Array = field(repr=False)
    _net: Network = field(repr=False)
    _X: Array = field(repr=False)
    _least: Array = field(repr=False)

    def predict(self, X: ArrayLike) -> Array:
        """Outputs on new samples.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
            One sample per row.

        Returns
        -------
        ndarray, shape (n_samples,)
            One output a sample.
        """
        samples = _samples(X, self._net)
        if self.beta is not None:
            return np.asarray(samples @ self.beta)
        weights, log_unit = self._net._start_weights()
        kernel = self._net._tangent_kernel(samples, self._X, weights)
        moved: Array = kernel @ self._least
        return self._net._outputs(samples, weights, log_unit) + moved


def kernel_limit(net: Network, X: ArrayLike, y: ArrayLike) -> KernelLimit:
    r"""End of the gradient flow of the model linearised at its start, in closed form.

    .. math:: \beta_{\mathrm{NTK}} = \beta(0) + H_0^{-1} X^\top (X H_0^{-1} X^\top)^{-1} (y - X\beta(0))

    the predictor that fits the data and is nearest to the start in the norm of the tangent kernel [1]_. Where no
    predictor fits, the nearest of those that fit best. The scale of the start drops out of the kernel: it may be as
    small as that of any network.

    Parameters
    ----------
    net : network
        The start.
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets.

    Returns
    -------
    KernelLimit
        With `beta`, if the model is linear in x, and `KernelLimit.predict`.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape or not finite, or all weights are 0.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 2.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=[1.0, 3.0])
    >>> ib.kernel_limit(net, [[1.0, 1.0]], [1.0]).beta.round(12)
    array([0.25, 0.75])
    """
    model = network("net", net)
    X, y = check.data(model._observed(X), y, model.n_features)
    weights, log_unit = model._start_weights()
    if not any(np.any(group) for group in weights):
        raise ValueError("net must have a weight that is not 0: its tangent kernel is 0")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rest = y - model._outputs(X, weights, log_unit)
        linear = model._tangent_features(X, weights)
        matrix, along = (model._tangent_kernel(X, X, weights), None) if linear is None else linear
        if not (np.isfinite(matrix).all() and np.isfinite(rest).all()):
            raise ValueError(
                f"X must have a kernel and outputs that are floats: got entries up to {np.abs(X).max():.1e}"
            )
        # Of a kernel these are coefficients of its columns.
        least = np.asarray(np.linalg.lstsq(matrix, rest)[0])
        beta = None if along is None else model.beta0 + along(least)
        residual = rest - matrix @ least if beta is None else y - X @ beta
    if not np.isfinite(residual).all():
        raise ValueError(
            f"y must not need coefficients beyond the largest float: got targets up to {np.abs(y).max():.1e}"
        )
    return KernelLimit(beta, residual, model, X, least)


def _samples(X: ArrayLike, net: Network) -> Array:
    samples = check.array("X", net._observed(X), "(n_samples, n_features)")
    if samples.shape[1] != net.n_features:
        raise ValueError(f"X must have {net.n_features} columns, one for every feature of net: got {samples.shape[1]}")
    return samples


def _rows(parameters: Sequence[ArrayLike], start: Sequence[Array]) -> Iterator[tuple[Array, ...]]:
    """The weights at every time."""
    if len(parameters) != len(start):
        raise ValueError(f"parameters must be {len(start)} arrays, as Flow.parameters has them: got {len(parameters)}")
    groups = [check.any_shape("parameters", group) for group in parameters]
    one = [group[None] if group.ndim == first.ndim else group for group, first in zip(groups, start, strict=True)]
    for group, first in zip(one, start, strict=True):
        if group.shape[1:] != first.shape or group.shape[0] != one[0].shape[0]:
            raise ValueError(
                f"parameters must have arrays of shape {first.shape} for these weights, or with the times as one more "
                f"axis in front: got {group.shape}"
            )
    return zip(*one, strict=True)


def _unit_kernel(net: Network, X: Array, weights: Sequence[Array]) -> tuple[Array, int]:
    """The kernel at the weights divided by a power of two next to the largest of them, and that."""
    power = int(np.frexp(max(float(np.abs(group).max()) for group in weights))[1])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return net._tangent_kernel(X, X, [np.ldexp(group, -power) for group in weights]), power


def _scaled(net: Network, kernel: Array, power: int, log_unit: float) -> Array:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        factor = np.exp(net._tangent_degree * log_unit)
        return np.where(kernel == 0.0, 0.0, np.ldexp(factor * kernel, net._tangent_degree * power))


def _turned(kernel: Array, start: Array) -> float:
    """1 - cos of the angle between two kernels, from the difference of their directions: exact where it is small."""
    directions = []
    for matrix in (kernel, start):
        top = float(np.abs(matrix).max())
        if not 0.0 < top < np.inf:
            raise ValueError(
                "flow must have kernels that are floats at every time, not weights below 1e-308 or data beyond 1e150: "
                f"got one of size {top}"
            )
        unit = matrix / top
        directions.append(unit / np.linalg.norm(unit))
    return 0.5 * float(np.linalg.norm(directions[0] - directions[1])) ** 2
