r"""Make the tables of `rust/ode/radau_coefficients.rs`: Radau IIA with any odd number of stages, from its nodes alone.

.. math:: \frac{d^{s-1}}{dx^{s-1}} \left[x^{s-1}(x-1)^s\right] = 0

The roots of this polynomial are the nodes (Hairer & Wanner II, IV.5, (5.3)); derivatives of their Lagrange basis give
the inverse of the matrix A of the method, and its eigenvectors the transformation. All in 120 digits, printed as the
nearest float and the float nearest to what it leaves out. ``python tools/radau_coefficients.py 9`` prints the table of
9 stages (mpmath is needed); ``rustfmt`` lays it out.
"""

import argparse
from math import comb, factorial

from mpmath import mp, mpf

DIGITS = 120


def nodes(s):
    """The nodes, rising; the last is exactly 1."""
    # Coefficient of x^k in the derivative, k = 0..s.
    coefficients = [comb(s, k) * (-1) ** (s - k) * mpf(factorial(s - 1 + k)) / factorial(k) for k in range(s + 1)]
    found = mp.polyroots(coefficients[::-1], maxsteps=500, extraprec=4 * DIGITS)
    found = sorted(mp.re(root) for root in found)
    assert abs(found[-1] - 1) < mpf(10) ** (10 - DIGITS)
    return [*found[:-1], mpf(1)]


def slopes(points, at):
    """Derivatives of the Lagrange basis of `points` at its point number `at`."""
    x = points[at]

    def product(j, skip=()):
        result = mpf(1)
        for m, other in enumerate(points):
            if m != j and m not in skip:
                result *= x - other
        return result

    def scale(j):
        return mp.fprod(points[j] - other for m, other in enumerate(points) if m != j)

    return [sum(product(j, (m,)) for m in range(len(points)) if m != j) / scale(j) for j in range(len(points))]


def inverse(c):
    """A⁻¹: the slopes at the nodes of the polynomial through (0, 0) and the increments of the stages."""
    points = [mpf(0), *c]
    return mp.matrix([slopes(points, i)[1:] for i in range(1, len(points))])


def left_slope(c):
    """Its slope at 0."""
    return slopes([mpf(0), *c], 0)[1:]


def modes(matrix):
    """The real eigenvalue, the complex ones with positive imaginary part, and the real transformation T.

    Columns of T: the real eigenvector, of length 1; real and imaginary part of each complex one, their squares of sum
    2, turned so that they are orthogonal, the longer one first. The sign of a pair is free (in the table of 5 stages
    both are the other ones).
    """
    values, vectors = mp.eig(matrix)
    s = matrix.rows
    order = sorted(range(s), key=lambda k: (abs(mp.im(values[k])) > 1e-50, mp.im(values[k])))
    real = order[0]
    pairs = [k for k in order[1:] if mp.im(values[k]) > 0]
    columns = [normalised([mp.re(v / vectors[s - 1, real]) for v in vectors[:, real]])]
    shifts = []
    for k in pairs:
        v = [vectors[i, k] for i in range(s)]
        # Turned by e^{iφ} the scalar product of the parts is ½ Im(e^{2iφ} Σv²), which vanishes.
        square = mp.fsum(x * x for x in v)
        turn = mp.expj(-mp.arg(square) / 2)
        v = [mp.sqrt(2) * x for x in normalised([turn * x for x in v])]
        if mp.re(v[-1]) < 0:
            v = [-x for x in v]
        # A⁻¹(x + iy) = (α + iβ)(x + iy): with columns (x, -y) the block is [α −β; β α].
        columns += [[mp.re(x) for x in v], [-mp.im(x) for x in v]]
        shifts.append((mp.re(values[k]), mp.im(values[k])))
    return mp.re(values[real]), shifts, mp.matrix(columns).T


def normalised(v):
    """Of length 1."""
    length = mp.sqrt(mp.fsum(abs(x) ** 2 for x in v))
    return [x / length for x in v]


def pair(x):
    """High and low part, as Rust writes them."""
    high, low = float(x), float(x - mpf(float(x)))
    # What is left of an integer is the rounding of this program.
    return f"({high!r}, {low if abs(low) > 1e-60 else 0.0!r})"


def table(s):
    """The Rust source of the table of `s` stages."""
    c = nodes(s)
    matrix = inverse(c)
    real, shifts, transformation = modes(matrix)
    back = transformation**-1

    def rows(m, write):
        return "[" + ", ".join("[" + ", ".join(write(m[i, j]) for j in range(s)) + "]" for i in range(s)) + "]"

    def number(x):
        return repr(float(x))

    return "\n".join(
        [
            f"/// {s} stages, order {2 * s - 1}.",
            f"pub const RADAU_{2 * s - 1}: Coefficients<{s}, {s // 2}> = Coefficients {{",
            f"nodes: [{', '.join(map(pair, c))}],",
            f"inverse: {rows(matrix, pair)},",
            f"left_slope: [{', '.join(map(pair, left_slope(c)))}],",
            f"real_shift: {number(real)},",
            f"complex_shifts: [{', '.join(f'({number(re)}, {number(im)})' for re, im in shifts)}],",
            f"from_modes: {rows(transformation, number)},",
            f"to_modes: {rows(back, number)},",
            "};",
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", type=int, nargs="+", help="odd numbers")
    mp.dps = DIGITS
    for stages in parser.parse_args().stages:
        print(table(stages))
