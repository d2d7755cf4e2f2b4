"""Where gradient flow ends, what it implicitly minimised, and a proof.

>>> import implicit_bias as ib
>>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-300)
>>> ib.limit(net, [[1.0, 2.0]], [2.0]).beta.round(12)
array([0., 1.])
"""

from typing import TYPE_CHECKING, Any

from . import baselines, datasets, special
from ._citation import citation
from ._core import __version__
from ._deep_diagonal import DeepDiagonalNetwork, TiedConserved, TiedParameters
from ._depth_potential import DepthPotential
from ._diagonal import DiagonalNetwork
from ._diagonal_flow import ConservedQuantities, Parameters
from ._flow import gradient_flow
from ._flow_progress import FlowProgress
from ._fully_connected import FullyConnectedNetwork
from ._leaky_relu import LeakyReLUNetwork
from ._limit import check_kkt, limit, limit_path
from ._neuron_potential import NeuronPotential
from ._neurons import Balancedness, NeuronParameters
from ._potential import HyperbolicEntropy
from ._results import KKTReport, Limit, LimitPath
from ._status import Status
from ._trajectory import Event, Flow, FlowInterrupted

if TYPE_CHECKING:
    from . import plot, theory, warp
    from ._matrix_factorization import FactorBalance, Factors, MatrixFactorization
    from ._observations import Observations
    from ._saddles import SaddleToSaddle, saddle_to_saddle
    from ._scale_to_l1 import ScaleToL1, scale_to_l1
    from ._sweep import SweepInterrupted, SweepResult, sweep
    from ._tangent_kernel import KernelLimit, kernel_distance, kernel_limit, parameter_movement, tangent_kernel

#: Loaded when first asked for, from the module named here or as one: half of the time to import the package, and a
#: program that finds one limit needs none of it.
_LATER = {
    "FactorBalance": "_matrix_factorization",
    "Factors": "_matrix_factorization",
    "MatrixFactorization": "_matrix_factorization",
    "KernelLimit": "_tangent_kernel",
    "Observations": "_observations",
    "SaddleToSaddle": "_saddles",
    "ScaleToL1": "_scale_to_l1",
    "SweepInterrupted": "_sweep",
    "SweepResult": "_sweep",
    "kernel_distance": "_tangent_kernel",
    "kernel_limit": "_tangent_kernel",
    "parameter_movement": "_tangent_kernel",
    "plot": None,
    "saddle_to_saddle": "_saddles",
    "scale_to_l1": "_scale_to_l1",
    "sweep": "_sweep",
    "tangent_kernel": "_tangent_kernel",
    "theory": None,
    "warp": None,
}

__all__ = [
    "Balancedness",
    "ConservedQuantities",
    "DeepDiagonalNetwork",
    "DepthPotential",
    "DiagonalNetwork",
    "Event",
    "FactorBalance",
    "Factors",
    "Flow",
    "FlowInterrupted",
    "FlowProgress",
    "FullyConnectedNetwork",
    "HyperbolicEntropy",
    "KKTReport",
    "KernelLimit",
    "LeakyReLUNetwork",
    "Limit",
    "LimitPath",
    "MatrixFactorization",
    "NeuronParameters",
    "NeuronPotential",
    "Observations",
    "Parameters",
    "SaddleToSaddle",
    "ScaleToL1",
    "Status",
    "SweepInterrupted",
    "SweepResult",
    "TiedConserved",
    "TiedParameters",
    "__version__",
    "baselines",
    "check_kkt",
    "citation",
    "datasets",
    "gradient_flow",
    "kernel_distance",
    "kernel_limit",
    "limit",
    "limit_path",
    "parameter_movement",
    "plot",
    "saddle_to_saddle",
    "scale_to_l1",
    "special",
    "sweep",
    "tangent_kernel",
    "theory",
    "warp",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = _LATER[name]
    found = import_module(f".{module or name}", __name__)
    found = found if module is None else getattr(found, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
