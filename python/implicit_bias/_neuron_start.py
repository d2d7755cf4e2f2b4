"""What binary64 leaves out of the weights of a network of neurons at time 0."""

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import numpy as np

from ._validate import Array

if TYPE_CHECKING:
    from ._neurons import Neurons

#: Digits of the roots: twenty more than the two parts of a weight hold.
DIGITS = 50

#: Of a, of W and of the logarithm of their unit; None where nothing is left out.
Rests = tuple[Array | None, Array | None, float]


def rests(net: "Neurons") -> Rests:
    """What was given beyond binary64; of a neuron by its scale and shape what the roots have beyond it."""
    outer, hidden = getattr(net, "_a_low", None), getattr(net, "_W_low", None)
    logarithm = float(getattr(net, "_log_magnitude_low", None) or 0.0)
    if outer is None and hidden is None and net.shape is not None and net._orientation is not None:
        outer, hidden = _of_roots(net, net._orientation, net.shape)
    return outer, hidden, logarithm


def _of_roots(net: "Neurons", orientation: Array, shape: float) -> tuple[Array, Array]:
    r""":math:`|a| = \sqrt{\alpha(1+s)/(1-s)}` and :math:`\sqrt{\alpha(1-s)/(1+s)}\,u/\|u\|`, less their binary64."""
    with localcontext(prec=DIGITS):
        s, u = Decimal(shape), [Decimal(float(entry)) for entry in orientation]
        alpha = Decimal(1) if net.scale is None else Decimal(net.scale)
        ratio = (1 + s) / (1 - s)
        outer = (alpha * ratio).sqrt().copy_sign(Decimal(float(net.a[0])))
        size = (alpha / ratio).sqrt() / sum((entry * entry for entry in u), Decimal(0)).sqrt()
        rest = [float(size * entry - Decimal(float(w))) for entry, w in zip(u, net.W[0], strict=True)]
        return np.array([float(outer - Decimal(float(net.a[0])))]), np.array([rest])
