"""The whole trajectory of gradient flow, from a start over any horizon."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from . import _certify
from . import _validate as check
from ._double_double import data
from ._flow_progress import FlowProgress, reporting
from ._network import FlowOptions, Network, network
from ._status import Status
from ._trajectory import Event, Flow, FlowInterrupted

#: Numbers that can be kept of every row; `gradient_flow` says what they are.
OBSERVABLES = ("loss", "residual", "l1_norm", "l2_norm", "max_norm", "potential", "distance")
TIME_UNITS = ("flow", "log_scale")
METHODS = ("auto", "radau", "explicit", "weights")


def gradient_flow(
    net: Network,
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
    max_events: int | None = None,
    certify: bool | float = False,
    time_unit: str = "flow",
    observables: Iterable[str] = (),
    save_beta: bool = True,
    progress: bool | Callable[[FlowProgress], object] | None = None,
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
    net : DiagonalNetwork or another network
        The start.
    X : array_like, shape (n_samples, n_features)
        One sample per row. Any real dtype and memory order; never written to. For a `MatrixFactorization`:
        `Observations`, or matrices, (n_samples, n_rows, n_columns).
    y : array_like, shape (n_samples,), or a pair of them
        Targets; a tuple of two arrays is their high and low parts, whose sum they are.
    t : array_like, shape (n_times,), optional
        Times to report, in `time_unit`, non-negative and strictly increasing. None runs until the residual is within
        `tol` and reports 200 rows: t = 0 first, the others spaced logarithmically, the last one the stopping state.
        Rows at given times are as accurate as the steps; those of None, all but the last, are interpolated inside
        steps, to about 2e-6 of the largest coefficient at worst, in double-double 1e-15.
    rtol : float, optional
        Relative tolerance of the coefficients in one step, in [1e-14, 0.1]; 1e-10 by default. In double-double in
        [1e-30, 0.1], 1e-28 by default.
    tol : float, optional
        Largest residual, relative to the largest target, that counts as converged; in [1e-16, 0.1], 1e-12 by default.
        In double-double in [1e-31, 0.1], 1e-29 by default.
    precision : {"double", "double-double"}, default "double"
        Arithmetic of the state. "double-double" has 31 digits, each array of the result a companion ``…_low``, and a
        step costs some ten times as much; without ``method="weights"``. `X`, times and those of events are binary64 in
        either.
    method : {"auto", "radau", "explicit", "weights"}, default "auto"
        "radau": implicit Runge-Kutta, orders 5 to 13, in double-double to 21. "explicit": an explicit one. "auto":
        explicit as long as the problem is not stiff. "weights": the raw weights, explicitly, as an independent check;
        for weights between 1e-150 and 1e150. Coefficients are differences of products of weights there, and off by
        about ``rtol * (u**2 + v**2)``: with abs(shape) near 1 that is far more than the other methods leave.
    max_steps : int, optional
        Most steps to take, at least 1; no limit by default.
    max_seconds : float, optional
        Most seconds to take, above 0; no limit by default. Rows of a run without `t` are written after that.
    max_events : int, optional
        Most events to pass, at least 1; no limit by default. Only leaky-ReLU networks have any.
    certify : bool or float, default False
        Whether to prove a bound of the error of every coefficient in every row, `Flow.error_bound`, for a
        `DiagonalNetwork` and any `method`. It costs ten to fifty times the flow itself. A number, in [1e-14, 0.1], asks
        for a bound of at most that part of the largest coefficient of all rows: `rtol` is lowered until it is met; if
        the least one does not meet it, ``success`` is False and ``message`` says what was reached. What is proven and
        what is sampled: the range of the exponents over a step is bounded, the integral of the squared defect of the
        interpolant is taken from 28 samples a step, with a safety factor of 1.25 on its root.
    time_unit : {"flow", "log_scale"}, default "flow"
        Unit of `t` and of the times of the result. "log_scale" is :math:`\ln(1/\mathrm{scale})`, in which the jumps
        from saddle to saddle come to rest as the scale vanishes; the scale must be below 1. It is the one given to
        `DiagonalNetwork.from_scale_shape`, the geometric mean where there are several, and :math:`\kappa/4`, the scale
        of the same :math:`\kappa` at shape 0, for a start given by its weights.
    observables : iterable of str, default ()
        Numbers to keep of every row, in `Flow.observables`, each (n_times,):

        ============= ==================================================================================
        "loss"        :math:`\sum_n r_n^2 / (2N)`, the same as `Flow.loss`
        "residual"    :math:`\max_n|r_n|`, with y projected onto the range of X
        "l1_norm"     :math:`\sum_i|\beta_i|`
        "l2_norm"     :math:`(\sum_i\beta_i^2)^{1/2}`
        "max_norm"    :math:`\max_i|\beta_i|`
        "potential"   :math:`D(\beta, \beta(0))`, what the flow minimises: ``net.potential()(beta)``
        "distance"    :math:`\|\beta - \beta(\infty)\|_2`, to the `limit` of the flow, which is found first
        ============= ==================================================================================

        They are exact functions of the rows, evaluated where rows are made.
    save_beta : bool, default True
        Whether to keep coefficients, multipliers and weights of every row. False keeps those of the last row alone, and
        the memory of a long run is that of `loss` and `observables`.
    progress : bool or callable, optional
        Called with a `FlowProgress` from the calling thread at most ten times a second, and once at the end; what it
        raises ends the run and is raised here. True shows a bar of tqdm (extra "cli"), which is quiet where standard
        error is not a terminal.
    on_interrupt : {"raise", "return"}, default "raise"
        What Ctrl-C does: raise `KeyboardInterrupt` with the result so far as its attribute ``partial``, or return it.
        A run without `t` has then at least 16 rows, the first and the last among them, if it had come to any step.
    n_jobs : int, optional
        Number of threads, all cores by default. The answer is the same bit by bit for any number.

    Returns
    -------
    Flow
        Every requested time that was reached has its row.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval; if `X` and `y` are of sizes with
        which the flow has no times or no start within the range of floats; if `certify` is asked of a network whose
        flow no theorem bounds the error of.
    KeyboardInterrupt
        On Ctrl-C, unless ``on_interrupt="return"``.
    ImportError
        If ``progress=True`` and tqdm is missing.

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

    A long run that keeps three numbers a row:

    >>> flow = ib.gradient_flow(net, [[1.0, 2.0]], [2.0], observables=["l1_norm", "distance"], save_beta=False)
    >>> flow.beta.shape, flow.observables["l1_norm"].shape
    ((1, 2), (200,))
    """
    start = network("net", net)
    precision = check.precision(precision)
    X, y, y_low = data(start._observed(X), y, start.n_features)
    unit = _unit(start, check.choice("time_unit", time_unit, TIME_UNITS))
    times = None if t is None else check.times(t)
    rtol, tol = check.rtol(rtol, precision), check.tol(tol, precision)
    start._check_method(check.choice("method", method, METHODS))
    target = _certify.wanted(certify)
    if target is not False:
        start._check_certify()
        if precision != "double":
            raise ValueError("certify must be False with precision='double-double': only rows in binary64 are proven")
    max_steps = None if max_steps is None else check.integer("max_steps", max_steps)
    max_seconds = None if max_seconds is None else check.positive("max_seconds", max_seconds)
    max_events = None if max_events is None else check.integer("max_events", max_events)
    on_interrupt = check.choice("on_interrupt", on_interrupt, ("raise", "return"))
    save_beta = check.flag("save_beta", save_beta)
    wanted = check.choices("observables", observables, OBSERVABLES)
    threads = check.jobs(n_jobs)
    with reporting(progress) as report:
        options = FlowOptions(
            times=times,
            time_unit=unit,
            rtol=rtol,
            tol=tol,
            method=method,
            max_steps=max_steps,
            max_seconds=max_seconds,
            observables=wanted,
            save_beta=save_beta,
            progress=report,
            n_jobs=threads,
        )
        if precision == "double-double":
            found, proof = start._integrate_exactly(X, (y, y_low), options, max_events), None
        elif target is False:
            found, proof = start._integrate(X, y, options, max_events), None
        else:
            proof = _certify.integrate(start, X, y, options, max_events, target)
            found = proof.found
    status = Status(found["status"])
    message, success = status.message, status.at_the_end if times is None else found["t"].size == times.size
    if proof is not None and proof.ended is not None:
        status, message, success = proof.ended, proof.ended.message, False
    elif proof is not None and proof.shortfall is not None and success:
        message, success = proof.shortfall, False
    flow = Flow(
        t=found["t"],
        beta=found["beta"],
        loss=found["loss"],
        observables=found["observables"],
        multipliers=found["multipliers"],
        events=tuple(Event(*event) for event in found["events"]),
        status=status,
        message=message,
        success=success,
        stats=found["stats"],
        time_unit=time_unit,
        beta_low=found.get("beta_low"),
        loss_low=found.get("loss_low"),
        multipliers_low=found.get("multipliers_low"),
        observables_low=found.get("observables_low"),
        error_bound=None if proof is None else proof.error_bound,
        _save_beta=save_beta,
        _net=start,
        _X=X,
        _y=y,
        _path=found["path"],
        _method=method,
    )
    if found["interrupted"] and on_interrupt == "raise":
        raise FlowInterrupted(flow)
    return flow


def _unit(net: Network, time_unit: str) -> float:
    """The unit of time, in the time of the flow."""
    if time_unit == "flow":
        return 1.0
    log_scale = net._log_scale()
    if not np.exp(min(log_scale, 0.0)) < 1.0:  # -1e-300 is no logarithm of a float below 1
        raise ValueError(
            f"time_unit 'log_scale' needs a scale below 1: got ln(scale) = {log_scale:.6g}; allowed here is 'flow'"
        )
    return -log_scale
