"""What users pass to `sweep`, checked before anything is computed, as a `Job`."""

import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .. import _validate as check
from .._diagonal import DiagonalNetwork
from .._flow import gradient_flow
from .._limit import limit
from . import points
from .measures import NAMED
from .points import Job, Source
from .result import OUTCOME

SOLVERS: dict[str, Callable[..., Any]] = {"limit": limit, "flow": gradient_flow}
#: Options of the solvers that the sweep has itself.
OURS = {"n_jobs", "progress", "on_interrupt"}


def job(make_network: object, data: object, grid: object, measures: object, solve: object, options: object) -> Job:
    """The sweep that the arguments describe."""
    axes = _axes(grid)
    if not callable(make_network):
        raise ValueError(f"make_network must be a function of a point: got {check.shown(make_network)}")
    network = _source("make_network", make_network, axes)
    drawn = _source("data", data, axes) if callable(data) else _arrays(data)
    taken = {*network.axes, *(drawn.axes if isinstance(drawn, Source) else ())}
    seeded = network.seeded or (isinstance(drawn, Source) and drawn.seeded)
    for name in axes:
        if name not in taken and not (seeded and name == "seed"):
            raise ValueError(f"grid[{name!r}] must be a parameter of make_network or data: neither takes {name!r}")
    solver = check.choice("solve", solve, tuple(SOLVERS))
    found = _measures(measures, axes)
    chosen = _options(options, solver)
    if solver == "limit" and "error_bound" in found.values() and not chosen.get("bounds", True):
        raise ValueError("measures must not hold 'error_bound' with bounds=False in solve_options")
    if chosen:  # the solver's own checks of them, on a problem that is solved where it starts
        SOLVERS[solver](DiagonalNetwork(*np.ones((4, 1))), [[1.0]], [0.0], n_jobs=1, **chosen)
    return Job(points.new_key(), network, drawn, axes, found, solver, chosen)


def _axes(grid: object) -> dict[str, tuple[Any, ...]]:
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(f"grid must be a dict of values for every axis, not empty: got {check.shown(grid)}")
    axes = {}
    for name, values in grid.items():
        if not (isinstance(name, str) and name.isidentifier()) or name in (*OUTCOME, "seed_sequence"):
            taken = ", ".join(map(repr, (*OUTCOME, "seed_sequence")))
            raise ValueError(f"grid must have names of parameters as keys, none of {taken}: got {check.shown(name)}")
        axes[name] = _values(name, values)
    return axes


def _values(name: str, values: Any) -> tuple[Any, ...]:
    if name == "seed" and isinstance(values, int | np.integer) and not isinstance(values, bool):
        return tuple(range(check.integer("grid['seed']", values)))
    # A string is a sequence of letters and a set has no order: neither can be meant.
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not isinstance(values, Iterable):
        count = " (or a number of seeds)" if name == "seed" else ""
        raise ValueError(f"grid[{name!r}] must be a sequence of values{count}: got {check.shown(values)}")
    try:
        found = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    except TypeError:  # an array of no dimensions says that it can be iterated over
        raise ValueError(f"grid[{name!r}] must be a sequence of values: got {check.shown(values)}") from None
    if not found:
        raise ValueError(f"grid[{name!r}] must not be empty: got {check.shown(values)}")
    return found


def _source(role: str, function: Callable[..., Any], axes: Mapping[str, tuple[Any, ...]]) -> Source:
    """What the function can be told by name; everything, if it takes anything or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return Source(role, function, tuple(axes), seeded=False)
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for name in needed:
        if name not in named or (name not in axes and name != "seed_sequence"):
            raise ValueError(
                f"{role} must not need more than the axes of grid: it needs {name!r}, grid has {_list(axes)}"
            )
    seeded = "seed_sequence" in needed
    if seeded and not all(isinstance(s, int) and not isinstance(s, bool) and s >= 0 for s in axes.get("seed", (-1,))):
        raise ValueError(f"grid['seed'] must hold integers of at least 0, because {role} takes seed_sequence")
    return Source(role, function, tuple(axes) if anything else tuple(n for n in axes if n in named), seeded)


def pickles(found: Job) -> None:
    """Processes are sent functions by their names, which a lambda does not have."""
    parts: dict[str, object] = {"make_network": found.make_network, "grid": found.axes, "measures": found.measures}
    if isinstance(found.data, Source):  # arrays do, and may be large
        parts["data"] = found.data
    for name, part in parts.items():
        try:
            pickle.dumps(part)
        except Exception as error:
            needs = "must pickle for an executor of processes, as what is defined at the top of a module does"
            raise ValueError(f"{name} {needs}: {error}") from error


def _arrays(data: object) -> tuple[check.Array, check.Array]:
    try:
        pair = points.pair(data)
    except ValueError:
        raise ValueError(
            f"data must be (X, y), have the attributes X and y, or be a function of a point: got {check.shown(data)}"
        ) from None
    return check.data(*pair)


def _measures(measures: Any, axes: Mapping[str, Any]) -> dict[str, str | Callable[[Any], Any]]:
    if isinstance(measures, np.ndarray):  # one of no dimensions says that it can be iterated over
        measures = measures.tolist()
    if isinstance(measures, str) or callable(measures):
        measures = [measures]
    if isinstance(measures, Mapping):
        pairs = list(measures.items())
    elif isinstance(measures, Iterable):
        pairs = [(m if isinstance(m, str) else getattr(m, "__name__", None), m) for m in measures]
    else:
        raise ValueError(
            f"measures must be names, functions of a result or a dict of them: got {check.shown(measures)}"
        )
    found: dict[str, str | Callable[[Any], Any]] = {}
    for name, measure in pairs:
        if isinstance(measure, str):
            check.choice("measures", measure, tuple(NAMED))
        elif not callable(measure):
            raise ValueError(f"measures must be names or functions of a result: got {check.shown(measure)}")
        if name in (None, "<lambda>"):
            raise ValueError(f"measures must be a dict where a function has no name: got {check.shown(measure)}")
        if not isinstance(name, str):
            raise ValueError(f"measures must have words as names: got {check.shown(name)}")
        if name in found or name in axes or name in OUTCOME:
            raise ValueError(f"measures must have names of their own, unlike the other columns: got {name!r} twice")
        found[name] = measure
    return found


def _options(options: Any, solver: str) -> dict[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"solve_options must be a dict of options of the solver: got {check.shown(options)}")
    parameters = inspect.signature(SOLVERS[solver]).parameters.values()
    allowed = [p.name for p in parameters if p.name not in {"net", "X", "y", *OURS}]
    for name in options:
        if name not in allowed:
            raise ValueError(f"solve_options must be among {_list(allowed)}: got {check.shown(name)}")
    return dict(options)


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
