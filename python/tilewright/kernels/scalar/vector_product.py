"""Products of few 8-bit vectors with a constant matrix, in the form from which kernels of all families are made."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph
from tilewright.kernels.kernel import CyclesOf, Kernel, TensorOperand
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER, MATRIX_ORDER
from tilewright.kernels.requantization import Finish
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.operators.nest import AxisMap, Nest, along

Names = tuple[str, str, str]
"""Dimensions of a nest that rows of y, channels of y, and elements of x follow."""

OF_MATMUL: Names = ("m", "n", "k")
OF_CONV: Names = ("n", "oc", "ic")

MOST_ROWS = 2
"""The most vectors for these kernels: with more, cores of several pixels read each weight less often."""


@dataclass(frozen=True, slots=True)
class VectorProduct:
    """A product on views [row, element].

    Attributes:
        nest: the node's nest.
        x, y: the views.
        dtype: element type of x. C reads stored bytes as they are, so ``finish`` needs biases for these.
        weights: int64[1, channels, 1, inputs] that fit int8.
        finish: how sums become elements of y.
        names: dimensions of the nest: ``OF_MATMUL`` or ``OF_CONV``.
        group: map of the axis of groups.
    """

    nest: Nest
    x: TensorOperand
    y: TensorOperand
    dtype: DType
    weights: Array
    finish: Finish
    names: Names
    group: AxisMap

    @property
    def sign(self) -> str:
        """The part of C's function names that tells int8 from uint8 elements of x."""
        return "unsigned" if self.dtype is DType.UINT8 else "signed"


def pointwise_product(conv: IntegerConv, graph: Graph) -> VectorProduct | None:
    """A 1x1 convolution of few 1x1 images, as at the end of classifiers; None for any other."""
    shape = graph.tensor(conv.node.inputs[0]).shape
    y_shape = graph.tensor(conv.node.outputs[0]).shape
    groups, _, window, _ = conv.weights.shape
    single = window == 1 and groups == 1 and all(extent == 1 for extent in (*shape[2:], *y_shape[2:]))
    if not single or shape[0] > MOST_ROWS or any(conv.windows.pads):
        return None
    x, y = (TensorOperand(operand.tensor, operand.axes, (0, 1)) for operand in conv.operands)
    return VectorProduct(conv.nest, x, y, conv.dtype, conv.weights, conv.finish, OF_CONV, along("group"))


def kernels_by_names(symbol: str, attributes: type, cycles: dict[Names, CyclesOf]) -> dict[Names, Kernel]:
    """The kernels of products and of convolutions, which like other orders of dimensions in memory."""
    likes = {OF_MATMUL: MATRIX_ORDER, OF_CONV: CONVOLUTION_ORDER}
    return {names: Kernel(symbol, attributes, cycles[names], likes=order) for names, order in likes.items()}
