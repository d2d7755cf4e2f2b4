"""The whole trajectory of gradient flow, from a start over any horizon."""

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from . import _validate as check
from ._limit import network
from ._networks import DiagonalNetwork
from ._status import Status
from ._trajectory import Flow, FlowInterrupted
from ._validate import Array

METHODS = ("auto", "radau", "explicit", "weights")
#: Magnitudes of weights that the raw weights can be integrated from: products of two of them are still ordinary floats.
WEIGHT_RANGE = (1e-150, 1e150)


def gradient_flow(
    net: DiagonalNetwork,
    X: ArrayLike,
    y: ArrayLike,
    t: ArrayLike | None = None,
    *,
    rtol: float | None = None,
    tol: float | None = None,
    precision: str = "double",
    method: str = "auto",
    max_steps: int | None = None,
    max_seconds: float | None = None,
    on_interrupt: str = "raise",
    n_jobs: int | None = None,
) -> Flow:
    r"""Trajectory of gradient flow on the weights of a network.

    .. math:: \dot\theta = -\nabla L(\theta), \qquad L = \frac{1}{2N}\sum_n (y_n - \langle\beta, x_n\rangle)^2

    It is integrated in the n_samples multipliers, :math:`\dot\nu = r/N` with
    :math:`\beta(t) = \tfrac12\kappa\sinh(2X^\top\nu + \theta)` [1]_, in which a scale of 10^-100000 is an ordinary
    number and a stiff problem takes tens of steps.

    Parameters
    ----------
    net : DiagonalNetwork
        The start.
    X : array_like, shape (n_samples, n_features)
        One sample per row. Any real dtype and memory order; never written to.
    y : array_like, shape (n_samples,)
        Targets.
    t : array_like, shape (n_times,), optional
        Times to report, non-negative and strictly increasing. None runs until the residual is within `tol` and reports
        200 rows: t = 0 first, the others spaced logarithmically, the last one the stopping state. Rows at given times
        are as accurate as the steps; those of None are interpolated inside steps, to about 1e-7 of the largest
        coefficient at worst, all but the last.
    rtol : float, optional
        Relative tolerance of the coefficients in one step, in [1e-14, 0.1]; 1e-10 by default.
    tol : float, optional
        Largest residual, relative to the largest target, that counts as converged; in [1e-16, 0.1], 1e-12 by default.
    precision : {"double"}, default "double"
        Arithmetic of the state.
    method : {"auto", "radau", "explicit", "weights"}, default "auto"
        "radau": implicit Runge-Kutta, orders 5 to 13. "explicit": an explicit one. "auto": explicit as long as the
        problem is not stiff. "weights": the raw weights, explicitly, as an independent check; for weights between
        1e-150 and 1e150.
    max_steps : int, optional
        Most steps to take, at least 1; no limit by default.
    max_seconds : float, optional
        Most seconds to take, above 0; no limit by default.
    on_interrupt : {"raise", "return"}, default "raise"
        What Ctrl-C does: raise `KeyboardInterrupt` with the result so far as its attribute ``partial``, or return it.
    n_jobs : int, optional
        Number of threads, all cores by default. The answer is the same bit by bit for any number.

    Returns
    -------
    Flow
        Every requested time that was reached has its row.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval.
    KeyboardInterrupt
        On Ctrl-C, unless ``on_interrupt="return"``.

    See Also
    --------
    limit : the end of the flow, without the way.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Appendix A.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    >>> flow = ib.gradient_flow(net, [[1.0, 2.0]], [2.0], t=[0.0, 1.0, 10.0])
    >>> flow.beta.round(4) + 0.0
    array([[0.    , 0.    ],
           [0.0271, 0.7356],
           [0.0313, 0.9843]])
    """
    X, y = check.data(X, y, network("net", net).n_features)
    times = None if t is None else check.times(t)
    rtol, tol = check.rtol(rtol), check.tol(tol)
    check.precision(precision)
    method = check.choice("method", method, METHODS)
    if method == "weights":
        _representable(net)
    max_steps = None if max_steps is None else check.integer("max_steps", max_steps)
    max_seconds = None if max_seconds is None else check.positive("max_seconds", max_seconds)
    on_interrupt = check.choice("on_interrupt", on_interrupt, ("raise", "return"))
    threads = check.jobs(n_jobs)
    found = _core.diagonal_flow(
        X,
        y,
        net.start,
        weights=(net.u_plus, net.v_plus, net.u_minus, net.v_minus, _magnitude(net)) if method == "weights" else None,
        times=times,
        rtol=rtol,
        tol=tol,
        method=method,
        max_steps=max_steps,
        max_seconds=max_seconds,
        n_jobs=threads,
    )
    status = Status(found["status"])
    flow = Flow(
        t=found["t"],
        beta=found["beta"],
        loss=found["loss"],
        multipliers=found["multipliers"],
        status=status,
        message=status.message,
        success=status.at_the_end if times is None else found["t"].size == times.size,
        stats=found["stats"],
        _net=net,
        _X=X,
        _y=y,
        _path=found["path"],
    )
    if found["interrupted"] and on_interrupt == "raise":
        raise FlowInterrupted(flow)
    return flow


def _magnitude(net: DiagonalNetwork) -> Array:
    return np.ascontiguousarray(np.broadcast_to(net.log_magnitude, net.n_features))


def _representable(net: DiagonalNetwork) -> None:
    """The raw weights and their products must be floats; the dual methods need neither."""
    weights = np.abs([net.u_plus, net.v_plus, net.u_minus, net.v_minus])
    with np.errstate(divide="ignore"):
        logs = (np.log(weights) + _magnitude(net))[weights > 0.0]
    low, high = np.log(WEIGHT_RANGE)
    if logs.size and not (low <= logs.min() and logs.max() <= high):
        worst = logs[np.abs(logs).argmax()] / np.log(10.0)
        raise ValueError(
            f"method 'weights' needs every weight in [{WEIGHT_RANGE[0]:g}, {WEIGHT_RANGE[1]:g}] or 0: "
            f"got one of size 10^{worst:.6g}; allowed here are 'auto', 'radau', 'explicit'"
        )
