"""Float32 functions of one tensor, one C file each, so that firmware holds those that it calls."""

from __future__ import annotations

from tilewright.graph import Clamp, Graph, Node
from tilewright.kernels.float_common import all_float, clamp_attributes, clamp_of, fits_rank
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar.elementwise_float import elementwise
from tilewright.operators.unary import AlphaAttributes, ClipAttributes, HardSigmoidAttributes

_STEMS = {
    "Clip": "clip_f32",
    "LeakyRelu": "leaky_relu_f32",
    "HardSigmoid": "hard_sigmoid_f32",
    "HardSwish": "hard_swish_f32",
    "Sigmoid": "sigmoid_f32",
    "Tanh": "tanh_f32",
}
_CYCLES = {"Clip": 9.0, "LeakyRelu": 12.0, "HardSigmoid": 14.0, "HardSwish": 34.0, "Sigmoid": 100.0, "Tanh": 140.0}


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a float32 node of at most six axes."""
    clamp = clamp_of(node)
    stem = _STEMS.get(node.operator)
    names = (*node.inputs, *node.outputs)
    if clamp is None or stem is None or not all_float(graph, names) or not fits_rank(graph, names):
        return ()
    parameters: tuple[tuple[str, float], ...] = ()
    if isinstance(node.attributes, ClipAttributes):
        clamp = _both(node.attributes, clamp)
    elif isinstance(node.attributes, HardSigmoidAttributes):
        parameters = (("alpha", node.attributes.alpha), ("beta", node.attributes.beta))
    elif isinstance(node.attributes, AlphaAttributes):
        parameters = (("alpha", node.attributes.alpha),)
    return (elementwise(node, graph, stem, (*parameters, *clamp_attributes(clamp)), _CYCLES[node.operator]),)


def _both(own: ClipAttributes, outer: Clamp) -> Clamp:
    """One clamp for the node's own bounds followed by those of its epilogue."""
    return Clamp(_clamped(own.minimum, outer), _clamped(own.maximum, outer))


def _clamped(value: float, clamp: Clamp) -> float:
    return min(max(value, clamp.minimum), clamp.maximum)
