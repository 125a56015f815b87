"""Float32 functions of one tensor, one C file each, so that firmware links only the functions that it calls."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Clamp, Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp
from tilewright.kernels.kernel import Declaration, KernelChoice
from tilewright.kernels.scalar.elementwise_float import clamped_elementwise, clamping_kernel
from tilewright.operators.unary import AlphaAttributes, ClipAttributes, HardSigmoidAttributes


@dataclass(frozen=True, slots=True)
class AlphaF32(CStruct):
    """LeakyRelu: y = x, or alpha * x where x is negative. Swish: y = x / (1 + exp(-alpha * x))."""

    alpha: Float32
    clamp: ClampF32


@dataclass(frozen=True, slots=True)
class HardSigmoidF32(CStruct):
    """y = alpha * x + beta, clamped to [0, 1]."""

    alpha: Float32
    beta: Float32
    clamp: ClampF32


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a float32 node of at most six axes."""
    clamp = float_clamp(node, graph)
    if clamp is None:
        return ()
    return (clamped_elementwise(node, graph, _KERNELS[node.operator], _attributes(node, clamp), clamp),)


def _attributes(node: Node, clamp: Clamp) -> CStruct:
    given = node.attributes
    if isinstance(given, ClipAttributes):
        return clamp_attributes(_both(given, clamp))
    if isinstance(given, HardSigmoidAttributes):
        return HardSigmoidF32(given.alpha, given.beta, clamp_attributes(clamp))
    if isinstance(given, AlphaAttributes):
        return AlphaF32(given.alpha, clamp_attributes(clamp))
    return clamp_attributes(clamp)


def _both(own: ClipAttributes, outer: Clamp) -> Clamp:
    """One clamp for the Clip's own bounds followed by the bounds of its epilogue."""
    return Clamp(_clamped(own.minimum, outer), _clamped(own.maximum, outer))


def _clamped(value: float, clamp: Clamp) -> float:
    return min(max(value, clamp.minimum), clamp.maximum)


_KERNELS = {
    "Clip": clamping_kernel("clip_f32", ClampF32, 9.0),
    "LeakyRelu": clamping_kernel("leaky_relu_f32", AlphaF32, 12.0, 6.6),
    "HardSigmoid": clamping_kernel("hard_sigmoid_f32", HardSigmoidF32, 14.0, 10.1),
    "HardSwish": clamping_kernel("hard_swish_f32", ClampF32, 14.3, 8.4),
    "Sigmoid": clamping_kernel("sigmoid_f32", ClampF32, 34.0),
    "Tanh": clamping_kernel("tanh_f32", ClampF32, 33.0),
    "Swish": clamping_kernel("swish_f32", AlphaF32, 24.3),
}

DECLARATION = Declaration(
    operators=dict.fromkeys(_KERNELS, choices), kernels=tuple(item.bounded for item in _KERNELS.values())
)
