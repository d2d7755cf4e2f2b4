"""Why a computation stopped: a value with one sentence that says what to do about it, not an exception."""

from enum import StrEnum


class Status(StrEnum):
    """Why a flow or a limit ended. Compares equal to its plain string, so ``flow.status == "converged"`` works."""

    CONVERGED = "converged"
    REACHED_END = "reached_end"
    ROUNDOFF_FLOOR = "roundoff_floor"
    LEAST_SQUARES = "least_squares"
    INFEASIBLE_SIGN = "infeasible_sign"
    SADDLE = "saddle"
    AMBIGUOUS = "ambiguous"
    MAX_STEPS = "max_steps"
    MAX_SECONDS = "max_seconds"
    MAX_EVENTS = "max_events"
    INTERRUPTED = "interrupted"
    STEP_TOO_SMALL = "step_too_small"

    @property
    def at_the_end(self) -> bool:
        """Whether the state that came with it is the end of the flow, t = infinity, to working precision."""
        return self in _AT_THE_END

    @property
    def message(self) -> str:
        """What happened and what to do about it, in one sentence."""
        return _MESSAGES[self]


_AT_THE_END = frozenset({Status.CONVERGED, Status.ROUNDOFF_FLOOR, Status.LEAST_SQUARES, Status.INFEASIBLE_SIGN})

_MESSAGES = {
    Status.CONVERGED: "the residual is within tol: nothing to do",
    Status.REACHED_END: "the last requested time was reached: pass t=None to go on until the residual is within tol",
    Status.ROUNDOFF_FLOOR: (
        "the residual is at its round-off floor, above tol: raise tol if that is a failure to you, a smaller residual "
        "cannot be represented"
    ),
    Status.LEAST_SQUARES: (
        "y is not in the range of X, or X has more rows than columns: this is the least-squares end, with feasibility "
        "measured on the projected y; drop samples if you expected to interpolate"
    ),
    Status.INFEASIBLE_SIGN: (
        "coordinates that start on one side keep their sign and the data need the other one: this is the constrained "
        "least-squares end; start with |u_plus| != |v_plus| or |u_minus| != |v_minus| to "
        "interpolate"
    ),
    Status.SADDLE: (
        "the flow rests at a saddle of the loss that is no minimum (weights that are all 0, or ReLU samples that no "
        "neuron sees): move the start off it"
    ),
    Status.AMBIGUOUS: (
        "a pre-activation lies on a kink that repels, and the flow could go on to either side: move the start a "
        "little, to the side you mean"
    ),
    Status.MAX_STEPS: "max_steps were taken before the end: raise max_steps or rtol",
    Status.MAX_SECONDS: "max_seconds passed before the end: raise max_seconds or rtol",
    Status.MAX_EVENTS: "max_events were passed before the end: raise max_events",
    Status.INTERRUPTED: "interrupted: the rows up to then are kept, call again to compute the rest",
    Status.STEP_TOO_SMALL: (
        "binary64 cannot go on: the step no longer changes the time, or a time or a coefficient is beyond the largest "
        "float; raise rtol, ask for an earlier last time, or rescale X or y"
    ),
}

#: A limit has no steps that could be raised: what it needs more of than it has are digits.
#: Steps of an integration that stands for a limit: more than a hundred times what well-conditioned data take.
LIMIT_STEPS = 20_000

_LIMIT_MESSAGES = {
    Status.MAX_STEPS: (
        "the search ended before the residual was within tol, for the start, X and y are too far apart for binary64, X "
        "is too ill conditioned, or coefficients are beyond it: rescale X or y, raise tol, or follow gradient_flow"
    ),
}


def message_of_limit(status: Status) -> str:
    """`Status.message` for what knows neither time nor steps."""
    return _LIMIT_MESSAGES.get(status, status.message)
