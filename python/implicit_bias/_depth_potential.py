"""What gradient flow on a tied diagonal network of any depth implicitly minimises, as an object."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from . import _core, _depth_start
from . import _double_double as dd
from . import _validate as check
from ._depth_start import DepthStart
from ._results import Limit
from ._validate import Array


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DepthPotential:
    r"""Implicit regulariser of a tied diagonal network of depth D, as a function of the predictor.

    .. math:: Q(\beta) = \sum_i (\alpha w_i)^2\, q_D\!\left(\frac{\beta_i}{(\alpha w_i)^D}\right), \qquad
              q_D(x) = \int_0^x h_D^{-1}, \qquad
              h_D(z) = (1-z)^{-\frac{D}{D-2}} - (1+z)^{-\frac{D}{D-2}}

    for :math:`\beta = u_+^D - u_-^D` that starts at :math:`u_\pm = \alpha w` [1]_; :math:`h_2(z) = 2\sinh z`. It goes
    from a weighted ℓ2 norm for :math:`\alpha \to \infty` to a weighted ℓ1 norm for :math:`\alpha \to 0`, the faster the
    deeper: polynomially, where depth 2 takes logarithms.

    Parameters
    ----------
    depth : int
        :math:`D \ge 2`.
    scale : float, optional
        :math:`\alpha > 0`. Exactly one of `scale` and `log_scale` must be given.
    weights : float or array_like of shape (n_features,), default 1.0
        :math:`w > 0`. For unequal weights the factor of :math:`q_D` is the square of :math:`\alpha w_i`, whatever D.
    log_scale : float, optional
        :math:`\ln\alpha`, at most 1e12 in absolute value.
    precision : {"double", "double-double"}, default "double"
        "double-double": value, gradient, Hessian and divergence have 28 digits, less :math:`\log_{10}|D\ln\alpha|`, and
        each is returned as a pair ``(high, low)`` whose sum it is.

    Attributes
    ----------
    depth : int
        As given.
    start : DepthStart
        What the core takes: a private type, the logarithms of the weights at time 0.

    Raises
    ------
    ValueError
        If an argument is outside of its interval.

    See Also
    --------
    HyperbolicEntropy : half of it at depth 2, for :math:`\kappa = 4(\alpha w)^2`.
    implicit_bias.special.q_depth : the function of one coefficient, elementwise.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorem 3.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> Q = ib.DepthPotential(3, scale=0.1)
    >>> Q.gradient([0.0, 1.0]).round(3)
    array([0., 9.])
    >>> Q.interpolate([[1.0, 2.0]], [2.0]).beta.round(4)
    array([0.0057, 0.9972])
    """

    start: DepthStart
    precision: str

    def __init__(
        self,
        depth: int,
        scale: ArrayLike | None = None,
        weights: ArrayLike = 1.0,
        log_scale: ArrayLike | None = None,
        *,
        precision: str = "double",
    ) -> None:
        object.__setattr__(self, "precision", check.choice("precision", precision, dd.PRECISIONS))
        object.__setattr__(self, "start", _depth_start.read(depth, scale, weights, log_scale, None))

    @classmethod
    def _from_start(cls, start: DepthStart, precision: str = "double") -> "DepthPotential":
        potential = object.__new__(cls)
        object.__setattr__(potential, "start", start)
        object.__setattr__(potential, "precision", check.choice("precision", precision, dd.PRECISIONS))
        return potential

    def __repr__(self) -> str:
        precision = "" if self.precision == "double" else f", precision={self.precision!r}"
        return f"DepthPotential(depth={self.depth}, log_start={check.shown(self.start.high)}{precision})"

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.start.depth

    def __call__(self, beta: ArrayLike) -> Any:
        r"""Value :math:`Q(\beta)`, non-negative and 0 at 0; inf where it exceeds the largest float.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        float or (float, float)

        Raises
        ------
        ValueError
            If `beta` is not a finite vector of the right length.
        """
        high, low = self._evaluate("value", beta)
        return float(high[0]) if self.precision == "double" else dd.DoubleDouble(float(high[0]), float(low[0]))

    def gradient(self, beta: ArrayLike) -> Any:
        r"""Gradient, :math:`(\alpha w_i)^{2-D} h_D^{-1}(\beta_i/(\alpha w_i)^D)`.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        ndarray, shape (n_features,), or two of them
            At the limit of the flow it is :math:`X^\top\nu`.
        """
        return self._vector("gradient", beta)

    def hessian(self, beta: ArrayLike) -> Any:
        r"""Diagonal of the Hessian, :math:`(\alpha w_i)^{2-2D}/h_D'(z_i)`; the rest of it is 0.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        ndarray, shape (n_features,), or two of them
            Its inverse is, up to a factor, the metric in which the predictor flows.
        """
        return self._vector("hessian", beta)

    def bregman(self, beta: ArrayLike, beta0: ArrayLike) -> Any:
        r"""Bregman divergence, the excess of Q over its tangent at another point.

        .. math:: D(\beta, \beta_0) = Q(\beta) - Q(\beta_0) - \langle\nabla Q(\beta_0), \beta - \beta_0\rangle

        Parameters
        ----------
        beta, beta0 : array_like, shape (n_features,)
            Predictor coefficients. The digits do not cancel where the two are close.

        Returns
        -------
        float or (float, float)
            Non-negative, 0 only at ``beta == beta0``.
        """
        point = dd.parts("beta", beta, "(n_features,)")
        start = self._for(point[0].size, "beta")
        centre = dd.vector_parts("beta0", beta0, point[0].size, "one for every entry of beta")
        high, low = _core.depth_bregman(point, centre, start.depth, start.parts)
        return high if self.precision == "double" else dd.DoubleDouble(high, low)

    def interpolate(self, X: ArrayLike, y: ArrayLike) -> Limit:
        r"""Minimiser under the data, :math:`\operatorname{argmin}_{X\beta = y} Q(\beta)`.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
            One sample per row.
        y : array_like, shape (n_samples,)
            Targets.

        Returns
        -------
        Limit
            The same as `implicit_bias.limit` of a network with this potential, in binary64 whatever the precision.
        """
        from ._deep_diagonal import limit_from

        X, y = check.data(X, y)
        options = {"bounds": True, "tol": check.tol(None), "n_jobs": check.jobs(None)}
        return limit_from(self._for(X.shape[1], "X"), X, y, options)

    def _vector(self, what: str, beta: ArrayLike) -> Any:
        high, low = self._evaluate(what, beta)
        return high if self.precision == "double" else dd.DoubleDouble(high, low)

    def _evaluate(self, what: str, beta: ArrayLike) -> tuple[Array, Array]:
        point = dd.parts("beta", beta, "(n_features,)")
        start = self._for(point[0].size, "beta")
        return _core.depth_potential(what, point, start.depth, start.parts)

    def _for(self, n_features: int, name: str) -> DepthStart:
        own = self.start.high.size
        if own not in (1, n_features):
            raise ValueError(f"{name} must have {own} features, as weights has: got {n_features}")
        return self.start.for_features(n_features)
