"""The hyperbolic entropy as an object: what gradient flow on a diagonal network implicitly minimises."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _start
from . import _double_double as dd
from . import _validate as check
from ._results import Limit
from ._start import Start
from ._validate import Array


@dataclass(frozen=True, init=False, eq=False, repr=False)
class HyperbolicEntropy:
    r"""Hyperbolic entropy, the implicit regulariser of the diagonal network, as a function of the predictor.

    .. math:: Q(\beta) = \sum_i q_{\kappa_i}(\beta_i), \qquad
              q_\kappa(x) = \tfrac12 x \operatorname{arcsinh}\frac{2x}{\kappa}
                            - \tfrac{\kappa}{4}\Bigl(\sqrt{1 + 4x^2/\kappa^2} - 1\Bigr)

    It goes from :math:`\sum\beta_i^2/(2\kappa_i)` for :math:`\kappa \to \infty` to
    :math:`\tfrac12\ln(1/\kappa)\,\|\beta\|_1` for :math:`\kappa \to 0`. With `beta0` it is the Bregman divergence from
    there, :math:`Q(\beta) = D(\beta, \beta_0)`, which only adds a linear term [1]_.

    Parameters
    ----------
    kappa : float or array_like of shape (n_features,), optional
        :math:`\kappa > 0`, in the units of :math:`\beta`. Exactly one of `kappa` and `log_kappa` must be given. As a
        decimal string it may be smaller or larger than any float, ``"1e-400"``.
    log_kappa : float or array_like of shape (n_features,), optional
        :math:`\ln\kappa`, at most 1e12 in absolute value.
    beta0 : array_like of shape (n_features,), optional
        Where value and gradient vanish; 0 by default.
    precision : {"double", "double-double"}, default "double"
        "double-double": value, gradient, Hessian and divergence have 28 digits and more, and each is returned as a pair
        ``(high, low)`` whose sum it is. All arguments may have as many: decimal strings, `decimal.Decimal`,
        `fractions.Fraction`, `mpmath.mpf` or pairs of arrays.

    Attributes
    ----------
    start : Start
        What the core takes: a private type, the logarithms of the two exponentials that the predictor is made of.

    Raises
    ------
    ValueError
        If neither or both of `kappa` and `log_kappa` are given, or an argument is not finite, not positive or of the
        wrong length, or `precision` is neither of the two.

    See Also
    --------
    implicit_bias.DiagonalNetwork.potential : the same for the start of a network.
    implicit_bias.special.q_diagonal : the function of one coefficient, elementwise.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1 and Appendix A.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> Q = ib.HyperbolicEntropy(log_kappa=-2000.0)
    >>> Q.gradient([0.0, 1.0, -1.0])
    array([    0.        ,  1000.69314718, -1000.69314718])
    >>> Q.interpolate([[1.0, 2.0]], [2.0]).beta
    array([0., 1.])

    Thirty digits:

    >>> Q = ib.HyperbolicEntropy(kappa="1e-400", precision="double-double")
    >>> import mpmath
    >>> mpmath.nstr(Q(["0.1"]).to_mpmath(), 30)
    '45.9558873232872059271006527331'
    """

    start: Start
    precision: str

    def __init__(
        self,
        kappa: ArrayLike | None = None,
        log_kappa: ArrayLike | None = None,
        beta0: ArrayLike | None = None,
        *,
        precision: str = "double",
    ) -> None:
        check.exactly_one(("kappa", "log_kappa"), (kappa, log_kappa))
        object.__setattr__(self, "precision", check.choice("precision", precision, dd.PRECISIONS))
        centre = (np.zeros(1), np.zeros(1)) if beta0 is None else dd.parts("beta0", beta0, "(n_features,)")
        n_features = None if beta0 is None else centre[0].size
        if kappa is not None:
            logarithm = dd.log_parts("kappa", kappa, n_features)
        else:
            logarithm = dd.per_coordinate_parts("log_kappa", log_kappa, n_features)
            check.logarithms("log_kappa", logarithm[0])
        object.__setattr__(self, "start", _start.from_kappa(logarithm, centre))

    @classmethod
    def _from_start(cls, start: Start, precision: str = "double") -> "HyperbolicEntropy":
        """The potential of any start, biased and one-sided ones included, which no kappa and beta0 can express."""
        potential = object.__new__(cls)
        object.__setattr__(potential, "start", start)
        object.__setattr__(potential, "precision", check.choice("precision", precision, dd.PRECISIONS))
        return potential

    def __repr__(self) -> str:
        precision = "" if self.precision == "double" else f", precision={self.precision!r}"
        return f"HyperbolicEntropy(log_kappa={check.shown(self.log_kappa)}{precision})"

    @property
    def log_kappa(self) -> Array:
        r""":math:`\ln\kappa`, of length 1 if it was given by one number; -inf where a coordinate keeps its sign."""
        return self.start.log_kappa

    def __call__(self, beta: ArrayLike) -> Any:
        r"""Value :math:`Q(\beta)`, non-negative and 0 at `beta0`; inf outside of the domain of a one-sided coordinate.

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
        if self.precision != "double":
            return dd.DoubleDouble(*(float(part[0]) for part in self._precise("value", beta)))
        with np.errstate(over="ignore"):
            return float(self._evaluate(beta)[0].sum())

    def gradient(self, beta: ArrayLike) -> Any:
        r"""Gradient, :math:`\tfrac12\operatorname{arcsinh}(2\beta_i/\kappa_i)` for ``beta0 = 0``.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        ndarray, shape (n_features,), or two of them
            At the limit of the flow it is :math:`X^\top\nu`.
        """
        return self._evaluate(beta)[1] if self.precision == "double" else self._precise("gradient", beta)

    def hessian(self, beta: ArrayLike) -> Any:
        r"""Diagonal of the Hessian, :math:`1/\sqrt{4\beta_i^2 + \kappa_i^2}`; the rest of it is 0.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        ndarray, shape (n_features,), or two of them
            Its inverse is the metric in which the predictor flows, :math:`\beta' = -(\nabla^2 Q)^{-1}\nabla L`.
        """
        return self._evaluate(beta)[2] if self.precision == "double" else self._precise("hessian", beta)

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
        if self.precision != "double":
            return dd.DoubleDouble(*_core.diagonal_bregman_double_double(point, centre, start))
        with np.errstate(over="ignore"):
            return float(_core.diagonal_bregman(point[0], centre[0], start).sum())

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
            The same as `implicit_bias.limit` of a network with this potential, in its precision.
        """
        X, y, y_low = dd.data(X, y)
        start, tol = self._for(X.shape[1], "X"), check.tol(None, self.precision)
        low = None if self.precision == "double" else y_low
        return Limit._from_core(
            _core.diagonal_limit(X, y, start, bounds=True, tol=tol, n_jobs=check.jobs(None), y_low=low)
        )

    def _evaluate(self, beta: ArrayLike) -> list[Array]:
        """Value, gradient and second derivative of every coordinate."""
        point, _ = dd.parts("beta", beta, "(n_features,)")
        return _core.diagonal_potential(point, self._for(point.size, "beta"))

    def _precise(self, what: str, beta: ArrayLike) -> dd.DoubleDouble:
        """One of them in two parts; the value is that of all coordinates."""
        point = dd.parts("beta", beta, "(n_features,)")
        start = self._for(point[0].size, "beta")
        return dd.DoubleDouble(*_core.diagonal_potential_double_double(what, point, start))

    def _for(self, n_features: int, name: str) -> Start:
        own = self.start.log_a_high.size
        if own not in (1, n_features):
            raise ValueError(f"{name} must have {own} features, as kappa or beta0 has: got {n_features}")
        return self.start.for_features(n_features)
