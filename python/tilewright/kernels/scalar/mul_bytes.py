"""Mul of 8-bit tensors whose products one short rule finishes (runtime/kernels/mul_bytes.c).

Before:  y = round(0.0117 * (a + 3) * (b - 5)) - 128, limited
After:   y = (high word of ((a ^ 128) - 125) * ((b ^ 128) - 133) * 1608114733 + addend) >> 5, limited
"""

from __future__ import annotations

from functools import cache
from itertools import takewhile
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node, Tensor
from tilewright.kernels.c_structs import CStruct, Int32, RowFunction
from tilewright.kernels.float_common import per_row
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, magnitude
from tilewright.kernels.kernel import (
    MAX_RANK,
    Declaration,
    Kernel,
    KernelChoice,
    elementwise_over_tensors,
)
from tilewright.kernels.requantization import Rule, finish_of
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.elementwise import nest as nest_of

_RULES = (Rule.HIGH, Rule.SHIFT, Rule.TWICE)
"""Rules that are part of the loop over elements; others finish pieces of rows (binary_integer.py)."""

_CALL_CYCLES, _ROW_CYCLES = 450.0, 90.0
"""Instructions of a tile and of a row of it beside their elements, on RV32IMAC."""

_PAIR_CYCLES, _FIXED_CYCLES, _APART_CYCLES = 15.2, 11.4, 19.0
"""Instructions of an element whose factors both lie beside the next ones, whose second factor is that of the whole row,
and of any other.
"""

_TWICE_CYCLES = 5.0
"""Instructions of an element that rule TWICE takes beyond the others."""


@dataclass(frozen=True, slots=True)
class MulBytes(CStruct):
    """y = finish(((a ^ flip) + offset) * ((b ^ flip) + offset)) for 8-bit operands; an operand's flip is 128 for int8,
    0 for uint8, its offset -(zero point + flip). Operands: a, b, y.
    """

    row: Annotated[RowFunction, "of the rule that finishes products"]
    a_flip: Int32
    a_offset: Int32
    b_flip: Int32
    b_offset: Int32
    multiplier: Int32
    addend: Int32
    shift: Int32
    minimum: Int32
    maximum: Int32


def mul_bytes(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Mul of 8-bit tensors with one multiplier; none where the rule is a longer one."""
    tensors = [graph.tensor(name) for name in (*node.inputs, *node.outputs)]
    if any(tensor.dtype not in EIGHT_BIT or len(tensor.shape) > MAX_RANK for tensor in tensors):
        return ()
    given = node.given(BinaryAttributes)
    dtypes, zero_points = (tensors[0].dtype, tensors[1].dtype), (given.a_zero_point, given.b_zero_point)
    largest = magnitude(dtypes[0], zero_points[0]) * magnitude(dtypes[1], zero_points[1])
    sums = np.asarray([largest], np.int64)
    finish = finish_of(node.epilogue, tensors[2].dtype, np.zeros(1, np.int64), sums, any_values=graph.any_weights)
    if finish is None or finish.rule not in _RULES:
        return ()
    flips = [128 if dtype is DType.INT8 else 0 for dtype in dtypes]
    offsets = [-(zero + flip) for zero, flip in zip(zero_points, flips, strict=True)]
    _, multiplier, addend, shift = map(int, finish.rows[0])
    name = f"tilewright_mul_bytes_{finish.rule.value}"
    row, each = _row_of(tensors)
    return (
        flat_choice(
            node,
            graph,
            kernel=_kernel(row, each + (_TWICE_CYCLES if finish.rule is Rule.TWICE else 0.0)),
            called=name,
            sources=("mul_bytes.c", "walk.c"),
            nest=nest_of(node, graph),
            attributes=MulBytes(
                name,
                flips[0],
                offsets[0],
                flips[1],
                offsets[1],
                multiplier,
                addend,
                shift,
                finish.minimum,
                finish.maximum,
            ),
        ),
    )


def _row_of(tensors: list[Tensor]) -> tuple[tuple[str, ...], float]:
    """Dimensions of the longest row along which each operand moves or does not, innermost first, and what its elements
    cost.

    Example: y [n, c, h, w] in this order and a factor for each channel: ("d3", "d2").
    """
    *operands, y = tensors
    inwards = [axis for axis in reversed(y.order) if y.shape[axis] > 1]
    moves = {axis: [_moves(x, y, axis) for x in operands] for axis in inwards}
    row = list(takewhile(lambda axis: moves[axis] == moves[inwards[0]], inwards))
    beside = all(x.order == y.order for x in operands if len(x.shape) == len(y.shape))
    names = tuple(f"d{axis}" for axis in row)
    if not row or not beside or not moves[row[0]][0]:
        return names, _APART_CYCLES
    return names, _PAIR_CYCLES if moves[row[0]][1] else _FIXED_CYCLES


def _moves(x: Tensor, y: Tensor, axis: int) -> bool:
    """Whether x, whose axes are the last ones of y, has more than one element along an axis of y."""
    own = axis - len(y.shape) + len(x.shape)
    return own >= 0 and x.shape[own] > 1


@cache
def _kernel(row: tuple[str, ...], each: float) -> Kernel:
    """The kernel whose elements take ``each`` instructions, in rows along the named dimensions."""

    cycles = per_row(each, row, _ROW_CYCLES, _CALL_CYCLES)
    return Kernel("tilewright_mul_bytes", MulBytes, cycles, elementwise_over_tensors)


DECLARATION = Declaration(
    kernels=(_kernel((), _PAIR_CYCLES),),
    pointed={"tilewright_row_body": tuple(f"mul_bytes_{rule.value}" for rule in _RULES)},
    # As for binary_integer.c.
    gcc_options={"mul_bytes.c": ("-fno-ssa-phiopt", "-fno-tree-scev-cprop")},
)
