"""The truth for the diagonal network: its limit and its trajectory in arithmetic of as many digits as it takes.

Nothing here knows the package, NumPy or binary64 beyond the exact conversion of the inputs, so agreement with it is
evidence and not an echo. `decimal` is used instead of mpmath because its C implementation multiplies thirty times
faster and because its exponents reach 10^(10^18): ln kappa = -230258 is an ordinary number. `test_reference.py` holds
this module against the golden files, which came from yet another program.

Notation: G = X^T nu, p = (A/4) e^{2G}, m = (B/4) e^{-2G}, beta = p - m, S = 2(p + m) = d beta / d G, and the limit is
the minimiser of the convex dual with gradient X beta - y (Azulay et al. 2021, Theorem 1, in the dual form).
"""

from collections.abc import Sequence
from contextlib import contextmanager
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from itertools import pairwise
from operator import add, mul
from typing import NamedTuple

Vector = list[Decimal]
Matrix = list[Vector]

ZERO, ONE, TWO, FOUR = Decimal(0), Decimal(1), Decimal(2), Decimal(4)
DIGITS = 34  # of every returned number, relative to the largest entry
GUARD = 16  # for the condition of ordinary data; all digits are doubled where that is not enough
MOST_DIGITS = 400  # beyond, `decimal` becomes fifty times slower


class Start(NamedTuple):
    """ln A_i and ln B_i; -Infinity where the coordinate has one side only."""

    log_a: Vector
    log_b: Vector


class Limit(NamedTuple):
    """The end of gradient flow; `potential` is D_Q(beta, beta(0)), `digits` the working precision it took."""

    beta: Vector
    multipliers: Vector
    potential: Decimal
    digits: int


class Point(NamedTuple):
    """One row of a trajectory."""

    t: Decimal
    beta: Vector
    loss: Decimal
    dual: Vector


class NotEnoughDigitsError(ArithmeticError):
    """The working precision is the obstacle; the caller takes more of it."""


@contextmanager
def digits(n: int):
    """Arithmetic of n significant digits with the largest exponent range there is."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = n, MAX_EMAX, MIN_EMIN
        yield


def exact(values: Sequence[float]) -> Vector:
    """Binary64 numbers (or decimal strings) as they are, without rounding."""
    return [Decimal(v) if isinstance(v, (str, Decimal)) else Decimal(float(v)) for v in values]


def dot(a: Sequence[Decimal], b: Sequence[Decimal]) -> Decimal:
    return sum(map(mul, a, b), ZERO)


# ---------------------------------------------------------------------------------------------------------- starts


def start_from_weights(u_plus, v_plus, u_minus, v_minus, log_magnitude=0.0) -> Start:
    """A = (u+ + v+)^2 + (u- - v-)^2, B = (u+ - v+)^2 + (u- + v-)^2, from binary64 weights taken exactly."""
    d = len(u_plus)
    magnitude = exact(log_magnitude) if hasattr(log_magnitude, "__len__") else exact([log_magnitude]) * d
    with digits(120):  # sums of binary64 numbers of ordinary exponents are exact, so A = 0 is recognised as such
        rows = list(zip(exact(u_plus), exact(v_plus), exact(u_minus), exact(v_minus), magnitude, strict=True))
        log_a = [((a + b) ** 2 + (c - e) ** 2).ln() + 2 * g for a, b, c, e, g in rows]
        log_b = [((a - b) ** 2 + (c + e) ** 2).ln() + 2 * g for a, b, c, e, g in rows]
    return Start(log_a, log_b)


def start_from_scale_shape(n_features, scale=None, shape=0.0, log_scale=None) -> Start:
    """A = B = kappa = 4 scale (1 + s^2) / (1 - s^2); every argument is a number or has one for each feature."""

    def each(value):
        return exact(value) if hasattr(value, "__len__") else exact([value]) * n_features

    with digits(120):
        logs = each(log_scale) if scale is None else [s.ln() for s in each(scale)]
        log_kappa = [(FOUR * (1 + s * s) / (1 - s * s)).ln() + g for g, s in zip(logs, each(shape), strict=True)]
    return Start(log_kappa, log_kappa)


# --------------------------------------------------------------------------------------------------- dense algebra


def cholesky(H: Matrix) -> Matrix:
    """Rows of the lower triangular L with L L^T = H; H holds its lower triangle."""
    L: Matrix = []
    for n, row in enumerate(H):
        new: Vector = []
        for m in range(n):
            new.append((row[m] - dot(new, L[m])) / L[m][m])
        pivot = row[n] - dot(new, new)
        # A pivot that is all rounding error means that H is singular to the working precision.
        if pivot <= abs(row[n]) * Decimal(10) ** (4 - _precision()):
            raise NotEnoughDigitsError("the kernel is singular to the working precision")
        L.append([*new, pivot.sqrt()])
    return L


def _precision() -> int:
    with localcontext() as context:
        return context.prec


def solve(L: Matrix, right: Vector) -> Vector:
    """(L L^T)^-1 right."""
    x: Vector = []
    for row, value in zip(L, right, strict=True):
        x.append((value - dot(row, x)) / row[-1])  # `dot` stops at the end of x, before the pivot
    for n in range(len(x) - 1, -1, -1):
        x[n] = x[n] / L[n][n]
        for m in range(n):
            x[m] -= L[n][m] * x[n]
    return x


def weighted_gram(rows: Matrix, weights: Vector) -> Matrix:
    """Lower triangle of X diag(weights) X^T."""
    weighted = [list(map(mul, row, weights)) for row in rows]
    return [[dot(w, other) for other in rows[: n + 1]] for n, w in enumerate(weighted)]


def transposed_product(columns: Matrix, vector: Vector) -> Vector:
    return [dot(column, vector) for column in columns]


# ------------------------------------------------------------------------------------------------------- the limit


class _Dual:
    """One problem in the current precision: what the two iterations share."""

    def __init__(self, X: Matrix, y: Vector, start: Start):
        self.X, self.y, self.columns = X, y, [list(c) for c in zip(*X, strict=True)]
        log_four = FOUR.ln()
        self.log_p0, self.log_m0 = ([+v - log_four for v in side] for side in start)

    def sides(self, nu: Vector) -> tuple[Vector, Vector]:
        """p and m at nu."""
        z = [2 * g for g in transposed_product(self.columns, nu)]
        p = [(c + v).exp() for c, v in zip(self.log_p0, z, strict=True)]
        m = [(c - v).exp() for c, v in zip(self.log_m0, z, strict=True)]
        return p, m

    def residual(self, beta: Vector) -> Vector:
        return [t - dot(row, beta) for row, t in zip(self.X, self.y, strict=True)]

    def newton(self, nu: Vector, max_iterations: int) -> tuple[Vector, bool]:
        """Damped Newton; the step ln(1 + s)/s with s = 2 ||X^T step||_inf descends without a line search.

        Near the end a step is s times the step before it or smaller (the kernel changes by a factor e^{+-s}), and s
        bounds the relative change of every p and m. So once s < 10^-DIGITS, what is left is smaller still.
        """
        for _ in range(max_iterations):
            p, m = self.sides(nu)
            beta = [a - b for a, b in zip(p, m, strict=True)]
            L = cholesky(weighted_gram(self.X, [2 * v for v in map(add, p, m)]))
            step = solve(L, self.residual(beta))
            s = 2 * max(map(abs, transposed_product(self.columns, step)))
            if s == 0:
                return nu, True
            length = (1 + s).ln() / s if s > Decimal("1e-3") else ONE
            nu = [v + length * w for v, w in zip(nu, step, strict=True)]
            if s < Decimal(10) ** -DIGITS:
                return nu, True
        return nu, False

    def interior_point(self, max_iterations: int = 120) -> Vector:
        """Multipliers near the limit at any scale: min sum x_j (ln(4 x_j/a_j) - 1), x = (p, m) > 0, p - m = beta.

        Primal-dual, Mehrotra's predictor and corrector; only a start for `newton`, so its tolerances are not critical.
        """
        columns, cost = [], []
        for side, sign in ((self.log_p0, 1), (self.log_m0, -1)):
            for column, log_weight in zip(self.columns, side, strict=True):
                if log_weight.is_finite():
                    columns.append([sign * v for v in column])
                    cost.append(-log_weight)
        rows = [list(r) for r in zip(*columns, strict=True)]
        least = transposed_product(columns, solve(cholesky(weighted_gram(rows, [ONE] * len(columns))), self.y))
        mean = sum(map(abs, least), ZERO) / len(least)
        x = [mean + max(v, ZERO) for v in least]
        lam = [ZERO] * len(self.y)
        s = [max(c + v.ln(), ONE) for c, v in zip(cost, x, strict=True)]
        for _ in range(max_iterations):
            mu = dot(x, s) / len(x)
            dual = [c + v.ln() - g - w for c, v, g, w in zip(cost, x, transposed_product(columns, lam), s, strict=True)]
            primal = [t - dot(row, x) for row, t in zip(rows, self.y, strict=True)]
            if mu < mean * Decimal("1e-10") and max(map(abs, primal)) < Decimal("1e-10") * max(map(abs, self.y)):
                break
            D = [v / (1 + w) for v, w in zip(x, s, strict=True)]
            L = cholesky(weighted_gram(rows, D))

            def direction(aims, dual=dual, primal=primal, D=D, L=L, x=x, s=s):
                h = [a / v - w - e for a, v, w, e in zip(aims, x, s, dual, strict=True)]
                right = [e - dot(row, list(map(mul, D, h))) for e, row in zip(primal, rows, strict=True)]
                d_lam = solve(L, right)
                dx = [w * (g + e) for w, g, e in zip(D, transposed_product(columns, d_lam), h, strict=True)]
                ds = [(a - w * e) / v - w for a, w, e, v in zip(aims, s, dx, x, strict=True)]
                return d_lam, dx, ds

            _, dx, ds = direction([ZERO] * len(x))
            affine_x, affine_s = _advance(x, dx, _length(x, dx)), _advance(s, ds, _length(s, ds))
            aim = (dot(affine_x, affine_s) / len(x) / mu) ** 3 * mu
            d_lam, dx, ds = direction([aim - a * b for a, b in zip(dx, ds, strict=True)])
            x = _advance(x, dx, _length(x, dx))
            length = _length(s, ds)
            lam, s = _advance(lam, d_lam, length), _advance(s, ds, length)
        return [v / 2 for v in lam]


def _length(v: Vector, dv: Vector) -> Decimal:
    return min([ONE, *(Decimal("0.999") * a / -b for a, b in zip(v, dv, strict=True) if b < 0)])


def _advance(v: Vector, dv: Vector, length: Decimal) -> Vector:
    return [a + length * b for a, b in zip(v, dv, strict=True)]


def _working_digits(y: Vector, start: Start) -> int:
    """Digits before any condition number: those of the exponent, and those that p - m and the potential cancel."""
    finite = [v for side in start for v in side if v.is_finite()]
    exponent = len(str(int(max(map(abs, finite), default=ONE))))
    largest = max(finite, default=ZERO) / Decimal("2.302585") - min((v for v in map(abs, y) if v), default=ONE).log10()
    return DIGITS + GUARD + exponent + 2 * max(0, int(largest))


def limit(X, y, start: Start, multipliers: Sequence[float] | None = None) -> Limit:
    """The limit of gradient flow to DIGITS digits of the largest entry; X of full row rank and y within reach.

    `multipliers` may give a start for Newton (the result does not depend on it beyond the last digits).
    """
    X, y = [exact(row) for row in X], exact(y)
    wanted = _working_digits(y, start)
    while True:
        with digits(wanted):
            try:
                problem = _Dual(X, y, start)
                nu = _minimise(problem, multipliers)
                p, m = problem.sides(nu)
                beta = [a - b for a, b in zip(p, m, strict=True)]
                return Limit(beta, nu, _potential(problem, nu, p, m), wanted)
            except NotEnoughDigitsError:
                if wanted > MOST_DIGITS / 2:
                    raise
        wanted = 2 * wanted


def _minimise(problem: _Dual, multipliers) -> Vector:
    if not any(problem.y) and all(a == b for a, b in zip(problem.log_p0, problem.log_m0, strict=True)):
        return [ZERO] * len(problem.y)
    if multipliers is not None:
        nu, done = problem.newton(exact(multipliers), 12)
        if done:
            return nu
    finite = [v for side in (problem.log_p0, problem.log_m0) for v in side if v.is_finite()]
    largest = max(map(abs, problem.y))
    # At moderate scale Newton from the start of the flow is the shortest way, and y = 0 leaves no other.
    if largest == 0 or min(finite) - largest.ln() > -12:
        nu, done = problem.newton([ZERO] * len(problem.y), 200)
    else:
        nu, done = problem.newton(problem.interior_point(), 60)
    if not done:
        raise NotEnoughDigitsError("Newton does not settle")
    return nu


def _potential(problem: _Dual, nu: Vector, p: Vector, m: Vector) -> Decimal:
    """D_Q(beta, beta(0)) = sum_i G_i beta_i - (p_i + m_i - (A_i + B_i)/4)/2: gradient G, zero with it at the start."""
    G = transposed_product(problem.columns, nu)
    rest = sum(p, ZERO) + sum(m, ZERO) - sum((v.exp() for v in problem.log_p0 + problem.log_m0), ZERO)
    return dot(G, [a - b for a, b in zip(p, m, strict=True)]) - rest / 2


def primal_of(X, start: Start, multipliers: Vector, working: int = 80) -> Vector:
    """beta(X^T nu) for given multipliers."""
    with digits(working):
        p, m = _Dual([exact(r) for r in X], [ZERO] * len(X), start).sides(exact(multipliers))
        return [a - b for a, b in zip(p, m, strict=True)]


# ---------------------------------------------------------------------------------------------------- trajectories


def trajectory(X, y, start: Start, times: Sequence[float], order: int = 36) -> list[Point]:
    """Rows of the flow nu' = r/N to 25 digits, by Taylor series of the dual.

    -grad of the dual is monotone, so errors of nu never grow and the local ones at most add up: with a local error
    of 10^-32 in z = 2 X^T nu (the relative error of p and m) some 10^5 steps still leave 26 digits.
    """
    X, y, times = [exact(row) for row in X], exact(y), exact(times)
    rows: list[Point] = []
    with digits(_working_digits(y, start)):
        problem, nu, t = _Dual(X, y, start), [ZERO] * len(y), ZERO
        for now in times:
            while t < now:
                series, step = _taylor(problem, nu, order)
                h = min(step, now - t)
                nu = [_horner(coefficients, h) for coefficients in series]
                # A float can have more digits than are worked with: t + (now - t) may stay below now for ever.
                t = t + h if step < now - t else now
            p, m = problem.sides(nu)
            beta = [a - b for a, b in zip(p, m, strict=True)]
            r = problem.residual(beta)
            rows.append(Point(now, beta, dot(r, r) / (2 * len(y)), transposed_product(problem.columns, nu)))
    return rows


def _taylor(problem: _Dual, nu: Vector, order: int) -> tuple[Matrix, Decimal]:
    """Coefficients of every nu_n in time, and a step after which the last two terms move no exponent by 10^-32."""
    p, m = ([[v] for v in side] for side in problem.sides(nu))
    series, n_samples = [[v] for v in nu], len(nu)
    z: Matrix = [[] for _ in p]  # z_i[k-1] holds k times the k-th coefficient of 2 x_i^T nu
    for k in range(order):
        beta = [a[k] - b[k] for a, b in zip(p, m, strict=True)]
        r = [-dot(row, beta) for row in problem.X]
        if k == 0:
            r = list(map(add, r, problem.y))
        for coefficients, value in zip(series, r, strict=True):
            coefficients.append(value / (n_samples * (k + 1)))
        latest = [c[-1] for c in series]
        for i, column in enumerate(problem.columns):
            z[i].append(2 * (k + 1) * dot(column, latest))
            turned = z[i][::-1]
            p[i].append(dot(turned, p[i]) / (k + 1))
            m[i].append(-dot(turned, m[i]) / (k + 1))
    sizes = [max(abs(v[k - 1]) / k for v in z) for k in (order - 1, order)]
    steps = [
        (Decimal("1e-32") / size) ** (ONE / k) for k, size in zip((order - 1, order), sizes, strict=True) if size > 0
    ]
    return series, min(steps, default=Decimal("Infinity"))


def _horner(coefficients: Vector, h: Decimal) -> Decimal:
    value = ZERO
    for c in reversed(coefficients):
        value = value * h + c
    return value


# --------------------------------------------------------------------------------------------------------- helpers


def errors(values: Sequence[float], truth: Sequence[Decimal], low: Sequence[float] | None = None) -> Vector:
    """|value - truth| for every entry, without rounding the difference to binary64 first."""
    with digits(60):
        found = exact(values) if low is None else list(map(add, exact(values), exact(low)))
        return [abs(a - b) for a, b in zip(found, truth, strict=True)]


def relative_error(values: Sequence[float], truth: Sequence[Decimal]) -> float:
    """Largest error, relative to the largest entry of the truth."""
    scale = max(map(abs, truth))
    worst = max(errors(values, truth))
    return float(worst / scale) if scale else float(worst)


def is_increasing(values: Sequence[Decimal]) -> bool:
    return all(a < b for a, b in pairwise(values))
