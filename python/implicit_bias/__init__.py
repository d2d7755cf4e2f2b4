"""Where gradient flow ends, what it implicitly minimised, and a proof.

>>> import implicit_bias as ib
>>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-300)
>>> ib.limit(net, [[1.0, 2.0]], [2.0]).beta.round(12)
array([0., 1.])
"""

from . import baselines, datasets, plot, special, warp
from ._citation import citation
from ._core import __version__
from ._diagonal import DiagonalNetwork
from ._diagonal_flow import ConservedQuantities, Parameters
from ._flow import gradient_flow
from ._flow_progress import FlowProgress
from ._leaky_relu import LeakyReLUConserved, LeakyReLUNetwork, LeakyReLUParameters
from ._limit import check_kkt, limit, limit_path
from ._neuron_potential import NeuronPotential
from ._potential import HyperbolicEntropy
from ._results import KKTReport, Limit, LimitPath
from ._saddles import SaddleToSaddle, saddle_to_saddle
from ._scale_to_l1 import ScaleToL1, scale_to_l1
from ._status import Status
from ._sweep import SweepInterrupted, SweepResult, sweep
from ._trajectory import Event, Flow, FlowInterrupted

__all__ = [
    "ConservedQuantities",
    "DiagonalNetwork",
    "Event",
    "Flow",
    "FlowInterrupted",
    "FlowProgress",
    "HyperbolicEntropy",
    "KKTReport",
    "LeakyReLUConserved",
    "LeakyReLUNetwork",
    "LeakyReLUParameters",
    "Limit",
    "LimitPath",
    "NeuronPotential",
    "Parameters",
    "SaddleToSaddle",
    "ScaleToL1",
    "Status",
    "SweepInterrupted",
    "SweepResult",
    "__version__",
    "baselines",
    "check_kkt",
    "citation",
    "datasets",
    "gradient_flow",
    "limit",
    "limit_path",
    "plot",
    "saddle_to_saddle",
    "scale_to_l1",
    "special",
    "sweep",
    "warp",
]
