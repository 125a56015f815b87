"""Linear interpolation of 8-bit tensors along two axes (runtime/kernels/interpolate_integer.c)."""

from __future__ import annotations

from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, LineFinish
from tilewright.kernels.integer import EIGHT_BIT, magnitude, steps_product, stored_range
from tilewright.kernels.kernel import (
    HEIGHT,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import POOLING_ORDER
from tilewright.kernels.requantization import ROW_WORDS, Limits, finish_of, rule_cycles
from tilewright.operators.interpolation import InterpolateIntegerAttributes
from tilewright.operators.interpolation import nest as nest_of
from tilewright.operators.nest import along, whole

_SHARE_BITS = 12
_PIECE = 16
"""Channels whose sums lie on the stack: TILEWRIGHT_LINE in C."""

_PIXEL_CYCLES = 73.0
_PIECE_CYCLES = 75.0
_ELEMENT_CYCLES = 32.5


@dataclass(frozen=True, slots=True)
class InterpolateInteger(CStruct):
    """Each element of y is the mean of four of x. Operands: x [n, c, h, w] of 8 bits; a word for each row of y, and
    one for each column: the first of two neighbours in x, << 12, + the share of the second; constants [1][4], whose
    bias takes the zero point and the flip off; y of 8 bits.
    """

    finish: LineFinish
    row_unit: Annotated[Int32, "stands for a share of 1; at most 2^11"]
    column_unit: Int32
    flip: Annotated[Int32, "128: x is int8; 0: uint8"]
    limits: Limits


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for 8-bit tensors: with an epilogue, or rounded towards 0 to the type of x."""
    given = node.given(InterpolateIntegerAttributes)
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype not in EIGHT_BIT or y.dtype not in EIGHT_BIT or max(x.shape) >= 1 << (31 - _SHARE_BITS):
        return ()
    flip = 128 if x.dtype is DType.INT8 else 0
    done = _finish(node, graph, flip)
    if done is None:
        return ()
    finish, row, limits = done
    nest = nest_of(node, graph)
    tables = [
        ConstantOperand(role, _words(*given.along(which, y.shape)), (along(f"d{axis}"),))
        for which, (role, axis) in enumerate(zip(("rows", "columns"), given.axes, strict=True))
    ]
    view = _view(given.axes, len(x.shape))
    return (
        KernelChoice(
            kernel=_KERNEL,
            sources=("interpolate_integer.c", "integer_finish.c"),
            nest=nest,
            reads=(
                TensorOperand(x.name, nest.reads[0], view),
                *tables,
                ConstantOperand("requantization", row, (whole(1), whole(ROW_WORDS))),
            ),
            writes=(TensorOperand(y.name, nest.writes[0], view),),
            attributes=InterpolateInteger(finish, given.units[0], given.units[1], flip, limits),
        ),
    )


def _finish(node: Node, graph: Graph, flip: int) -> tuple[str, Array, Limits] | None:
    """The C function that stores a line of sums, its constants int32[1, 4], and its clamp."""
    given = node.given(InterpolateIntegerAttributes)
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    unit = prod(given.units)
    if node.epilogue is None:
        if y.dtype is not x.dtype or given.x_zero_point != 0:
            return None
        row = np.asarray([[-flip * unit, unit, 0, 0]], np.int32)
        return "tilewright_line_cut", row, Limits(*stored_range(y.dtype))
    bias = np.asarray([-(given.x_zero_point + flip) * unit], np.int64)
    largest = np.asarray([magnitude(x.dtype, given.x_zero_point) * unit], np.int64)
    found = finish_of(node.epilogue, y.dtype, bias, largest, any_values=graph.any_weights)
    return None if found is None else (found.line, found.rows, found.limits)


def _words(first: Array, share: Array) -> Array:
    return ((first << _SHARE_BITS) | share).astype(np.int32)


def _view(axes: tuple[int, int], rank: int) -> tuple[int, ...]:
    """The view [n, c, h, w] in which the interpolated axes are h and w."""
    others = [axis for axis in range(rank) if axis not in axes]
    return (*(-1,) * (2 - len(others)), *others, *axes)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile, whose channels are computed in pieces."""
    names = [dimension.name for dimension in choice.nest.dimensions]
    channel = choice.writes[0].view[1]
    channels = steps_product(choice.nest, steps, names[channel]) if channel >= 0 else 1
    pixels = steps_product(choice.nest, steps, *names) // channels
    element = _ELEMENT_CYCLES + rule_cycles(choice.given(InterpolateInteger).finish)
    return 200.0 + pixels * (_PIXEL_CYCLES + -(-channels // _PIECE) * _PIECE_CYCLES + channels * element)


_KERNEL = Kernel(
    "tilewright_interpolate_integer",
    InterpolateInteger,
    _cycles,
    ring_axes=frozenset({HEIGHT}),
    likes=POOLING_ORDER,
)

DECLARATION = Declaration(
    operators={"InterpolateInteger": choices},
    kernels=(_KERNEL,),
    pointed={"tilewright_line_finish": ("line_cut",)},
)
