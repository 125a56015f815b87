"""Quotients, inverse roots, lines divided by their lengths (runtime/kernels/{div,l2}_fixed.c, {div,rsqrt}_halves.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, per_element
from tilewright.kernels.kernel import (
    MAX_RANK,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    elementwise_over_tensors,
)
from tilewright.kernels.requantization import doubled
from tilewright.operators import elementwise
from tilewright.operators.fixed_quotients import (
    DivFixedAttributes,
    L2FixedAttributes,
    RsqrtHalvesAttributes,
    reciprocals,
)
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.nest import whole

_MOST_ELEMENTS = 1 << 15
"""The most elements of a line: the sum of their squares fits 32 bits."""

_MOST_SHIFT = 23
"""The most ``shift`` of a quotient.

Each numerator is shifted to the left by at least as many bits first, so that only shifts to the right remain.
"""

_MOST_HALVES_SHIFT = 15
"""Likewise for int16."""

_ROOT_BITS = 20
_MOST_LEFT = 10
"""Bits of an inverse root below 1, before it gets its factor."""


@dataclass(frozen=True, slots=True)
class DivFixed(CStruct):
    """y = (a - za) / (b - zb) * doubled / 2^32 * 2^shift + zero point, limited; the numerator is shifted to 31 bits
    before its product with the reciprocal. Operands: a, b; 2^bits / d as Q0.31 for d from 0 to 255; y, all but the
    table of 8 bits and of one type. The kernel of int16 has no table, and zero points of 0.
    """

    is_unsigned: Annotated[Int32, "1: uint8"]
    a_zero_point: Int32
    b_zero_point: Int32
    doubled: Int32
    shift: Int32
    zero_point: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True, slots=True)
class RsqrtHalves(CStruct):
    """y = 1 / sqrt(x) * 2^left * doubled / 2^12 / 2^right, limited; the largest y where x is 0 or below.

    Operands: x and y of int16.
    """

    doubled: Int32
    left: Int32
    right: Int32


@dataclass(frozen=True, slots=True)
class L2Fixed(CStruct):
    """Each line of the view's last axis divided by its length, in steps of 1/128. Operands: x and y of 8 bits."""

    is_unsigned: Annotated[Int32, "1: x and y are uint8, and 128 stands for 0 in y"]
    x_zero_point: Int32


def divide(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels for DivFixed."""
    tensors = [graph.tensor(name) for name in (*node.inputs, *node.outputs)]
    given = node.given(DivFixedAttributes)
    kinds = {tensor.dtype for tensor in tensors}
    if len(kinds) != 1 or not kinds & {*EIGHT_BIT, DType.INT16} or len(tensors[2].shape) > MAX_RANK:
        return ()
    halves = kinds == {DType.INT16}
    if given.shift > (_MOST_HALVES_SHIFT if halves else _MOST_SHIFT):
        return ()
    if halves and (given.a_zero_point, given.b_zero_point, given.zero_point) != (0, 0, 0):
        return ()
    table = ConstantOperand("reciprocals", reciprocals().astype(np.int32), (whole(256),))
    return (
        flat_choice(
            node,
            graph,
            kernel=_DIVIDE_HALVES if halves else _DIVIDE,
            sources=("div_halves.c" if halves else "div_fixed.c", "walk.c"),
            nest=elementwise.nest(node, graph),
            constants=() if halves else (table,),
            attributes=DivFixed(
                int(tensors[0].dtype is DType.UINT8),
                given.a_zero_point,
                given.b_zero_point,
                doubled(given.multiplier),
                given.shift,
                given.zero_point,
                given.minimum,
                given.maximum,
            ),
        ),
    )


def rsqrt(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for RsqrtHalves."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    given = node.given(RsqrtHalvesAttributes)
    right = _ROOT_BITS - given.shift
    if {x.dtype, y.dtype} != {DType.INT16} or len(y.shape) > MAX_RANK or not -_MOST_LEFT <= right <= 31:
        return ()
    return (
        flat_choice(
            node,
            graph,
            kernel=_RSQRT,
            sources=("rsqrt_halves.c", "walk.c"),
            nest=elementwise.nest(node, graph),
            attributes=RsqrtHalves(doubled(given.multiplier), max(-right, 0), max(right, 0)),
        ),
    )


def l2(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for L2Fixed."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype not in EIGHT_BIT or y.dtype is not x.dtype or not 0 < len(y.shape) <= MAX_RANK:
        return ()
    if x.shape[-1] > _MOST_ELEMENTS:
        return ()
    return (
        flat_choice(
            node,
            graph,
            kernel=_L2,
            sources=("l2_fixed.c", "walk.c"),
            nest=last_axis_nest(node, graph),
            attributes=L2Fixed(int(x.dtype is DType.UINT8), node.given(L2FixedAttributes).x_zero_point),
            uncut=frozenset({f"d{len(y.shape) - 1}"}),
        ),
    )


_DIVIDE = Kernel("tilewright_div_fixed", DivFixed, per_element(90.0), elementwise_over_tensors)
_DIVIDE_HALVES = Kernel("tilewright_div_halves", DivFixed, per_element(170.0), elementwise_over_tensors)
_RSQRT = Kernel("tilewright_rsqrt_halves", RsqrtHalves, per_element(220.0), elementwise_over_tensors)
_L2 = Kernel("tilewright_l2_fixed", L2Fixed, per_element(40.0))

DECLARATION = Declaration(
    operators={"DivFixed": divide, "RsqrtHalves": rsqrt, "L2Fixed": l2},
    kernels=(_DIVIDE, _DIVIDE_HALVES, _RSQRT, _L2),
)
