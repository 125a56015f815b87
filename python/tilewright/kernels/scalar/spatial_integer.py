"""Constants and geometry of an 8-bit convolution, for all integer kernels that can run it."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node, Tensor
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import EIGHT_BIT, as_signed, constant_bias, largest_sums, steps_product
from tilewright.kernels.kernel import ConstantOperand, TensorOperand, TileSteps
from tilewright.kernels.requantization import Finish, finish_of
from tilewright.kernels.scalar.compact import compact
from tilewright.kernels.scalar.geometry import PLANE, PlaneWindows, is_plane, plane_view, plane_windows
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.conv import nest as nest_of
from tilewright.operators.epilogue import along_axis
from tilewright.operators.nest import Nest, along, whole
from tilewright.operators.spatial import Windows


@dataclass(frozen=True, slots=True)
class PaddedInput(CStruct):
    """The windows that a depthwise kernel copies from x, and what lies around x."""

    windows: PlaneWindows
    padding: Annotated[Int32, "the stored byte that stands for zero"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]


@dataclass(frozen=True, slots=True)
class IntegerConv:
    """A convolution that integer kernels can run.

    Attributes:
        weights: int64[groups, channels of a group, kernel..., channels of x], zero point removed.
        finish: rule and constants; the zero point of x is folded into the biases.
    """

    node: Node
    nest: Nest
    dtype: DType
    zero_point: int
    weights: Array
    finish: Finish
    windows: Windows

    @property
    def view(self) -> tuple[int, ...]:
        """The view [n, c, h, w] of x and y."""
        return plane_view(len(self.nest.writes[0]))

    @property
    def operands(self) -> tuple[TensorOperand, TensorOperand]:
        """The operands x and y."""
        return (
            TensorOperand(self.node.inputs[0], self.nest.reads[0], self.view),
            TensorOperand(self.node.outputs[0], self.nest.writes[0], self.view),
        )

    @property
    def padding(self) -> int:
        """The stored byte that stands for zero."""
        return self.zero_point & 0xFF

    @property
    def is_unsigned(self) -> int:
        """1 if x is uint8, else 0."""
        return int(self.dtype is DType.UINT8)

    @property
    def is_depthwise(self) -> bool:
        """Whether each of several groups has one channel of x and one of y."""
        groups, group_outputs, _, group_inputs = map(int, self.weights.shape)
        return groups > 1 and group_outputs == 1 and group_inputs == 1

    @property
    def constants_of_groups(self) -> ConstantOperand:
        """The operand ``requantization`` of depthwise kernels: a row of the rule's constants for each group."""
        return ConstantOperand("requantization", self.finish.rows, (along("group"), whole(self.finish.row_words)))

    @property
    def padded_input(self) -> PaddedInput:
        """The attributes of depthwise kernels that describe x and its windows."""
        return PaddedInput(plane_windows(self.windows), self.padding, self.is_unsigned)


def integer_conv(node: Node, graph: Graph, *, as_stored: bool = False) -> IntegerConv | None:
    """The convolution of a node; None if integer kernels cannot run the node.

    Args:
        as_stored: whether biases are for uint8 elements of x as stored; else for x - 128 as int8.
    """
    x, w = (graph.tensor(name) for name in node.inputs[:2])
    if x.dtype not in EIGHT_BIT or w.data is None or w.dtype not in EIGHT_BIT:
        return None
    given = node.given(ConvAttributes)
    weights = conv_weights(w, given)
    channels, flat = w.shape[0], weights.reshape(w.shape[0], -1)
    bias = constant_bias(node, graph, channels)
    if bias is None or not is_plane(given):
        return None
    zero_point = given.x_zero_point
    largest = largest_sums(flat, bias, x.dtype, zero_point)
    offset = zero_point if as_stored else as_signed(zero_point, x.dtype)
    folded = bias - offset * flat.sum(axis=1)
    finish = finish_of(
        node.epilogue, graph.tensor(node.outputs[0]).dtype, folded, largest, any_values=graph.any_weights
    )
    if finish is None:
        return None
    return IntegerConv(
        node,
        nest_of(node, graph),
        x.dtype,
        zero_point,
        np.moveaxis(weights, 1, -1).reshape(given.group, channels // given.group, -1, w.shape[1]),
        compact(finish, largest),
        given.lifted(PLANE),
    )


def conv_weights(w: Tensor, given: ConvAttributes) -> Array:
    """The constant weights of a convolution as int64 of their own shape, zero point removed."""
    assert w.data is not None
    weights: Array = w.data.astype(np.int64) - along_axis(given.w_zero_point, np.int64, w.data.ndim, 0)
    return weights


def padded_extents(nest: Nest, windows: PlaneWindows, steps: TileSteps) -> tuple[int, int]:
    """Rows and columns of x, padding among them, that the windows of a tile of these steps cover."""
    axes = zip(("oh", "ow"), windows.kernel, windows.strides, windows.dilations, strict=True)
    rows, columns = (
        (steps_product(nest, steps, name) - 1) * stride + (kernel - 1) * dilation + 1
        for name, kernel, stride, dilation in axes
    )
    return rows, columns
