"""Operators in LiteRT's fixed-point arithmetic (runtime/kernels/{add_scaled,softmax_fixed}.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node, RequantizeTwice
from tilewright.kernels.add_split import Sum
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, magnitude, per_element
from tilewright.kernels.kernel import (
    MAX_RANK,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    elementwise_over_tensors,
)
from tilewright.kernels.requantization import doubled
from tilewright.kernels.scalar.add_products import products_for
from tilewright.kernels.scalar.binary_integer import Elements, elements_of
from tilewright.operators import elementwise
from tilewright.operators.fixed_point import divided_by_power, multiplied
from tilewright.operators.fixed_softmax import FixedLogSoftmaxAttributes, powers, scaled_differences
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.nest import whole
from tilewright.operators.scaled_sum import ScaledSumAttributes


@dataclass(frozen=True, slots=True)
class AddScaled(CStruct):
    """y = limit(((a - za) * 2^left * fa + sign * (b - zb) * 2^left * fb) * f + zero point), each product rounded as
    rule twice does. f is doubled / 2^32 / 2^shift, where doubled is unsigned; fa and fb likewise. Operands: a, b, y
    of 8 bits; add_scaled_halves: of int16 without zero points.
    """

    elements: Elements
    left: Int32
    sign: Annotated[Int32, "1 or -1"]
    a_doubled: Int32
    a_shift: Annotated[Int32, "from 0 to 31"]
    b_doubled: Int32
    b_shift: Int32
    doubled: Int32
    shift: Int32
    zero_point: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True, slots=True)
class SoftmaxFixed(CStruct):
    """Softmax of 8-bit tensors over the last axis of the view. Operands: x; exp(-d) for differences d = 0 ... 255,
    Q0.31 int32; y of 8 bits, or, if offset is 32768, int16.
    """

    flip: Annotated[Int32, "128: x is int8; 0: uint8"]
    offset: Annotated[Int32, "y is the probability, from 0 to 255 or 65535, less this"]


@dataclass(frozen=True, slots=True)
class LogSoftmaxFixed(CStruct):
    """LogSoftmax of 8-bit tensors over the last axis of the view, in 1/16 below the largest y. Operands: x; exp(-d) for
    differences d = 0 ... 255, Q12.19 int32, then -d as Q5.26; y of x's type.
    """

    flip: Annotated[Int32, "128: x is int8; 0: uint8"]
    lowest: Annotated[Int32, "the lowest -d that counts"]
    divisor: Annotated[Int32, "a Q5.26 number * divisor / 2^31 / 2^right is a difference"]
    right: Int32


_INT32_MAX = (1 << 31) - 1
_MOST_ELEMENTS = 1 << 12
_SUM_SHIFT = 12
"""From powers as Q0.31 to those that are added up, Q12.19."""
_OFFSETS = {DType.INT8: 128, DType.UINT8: 0, DType.INT16: 32768}


def add(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for ScaledSum of 8-bit tensors, or of int16 without zero points."""
    return products_for(node, graph, _sum_of(node)) or _by_factors(node, graph)


def _sum_of(node: Node) -> Sum | None:
    """The sum, whose factors as real numbers are next to what three rounded products give."""
    given, epilogue = node.given(ScaledSumAttributes), node.epilogue
    if not isinstance(epilogue, RequantizeTwice) or len(epilogue.multiplier) != 1:
        return None
    unit = _real(epilogue.multiplier[0], epilogue.shift[0] + given.left)
    a = _real(given.a_multiplier, given.a_shift) * unit
    b = _real(given.b_multiplier, given.b_shift) * unit * given.sign
    zero_points, limits = (given.a_zero_point, given.b_zero_point), (epilogue.minimum, epilogue.maximum)

    def wanted(x: Array, y: Array) -> Array:
        scaled_x = multiplied(x << given.left, given.a_multiplier, given.a_shift)
        scaled_y = multiplied(y << given.left, given.b_multiplier, given.b_shift)
        total = multiplied(scaled_x + given.sign * scaled_y, epilogue.multiplier[0], epilogue.shift[0])
        limited: Array = np.clip(total + epilogue.zero_point, *limits)
        return limited

    return Sum(zero_points, (a, b), 0.5 + epilogue.zero_point, limits, None, wanted)


def _real(multiplier: int, shift: int) -> float:
    return multiplier * 2.0 ** (shift - 31)


def _by_factors(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel that rounds each product twice."""
    a, b = (graph.tensor(name) for name in node.inputs)
    y = graph.tensor(node.outputs[0])
    given, epilogue = node.given(ScaledSumAttributes), node.epilogue
    if not isinstance(epilogue, RequantizeTwice) or len(epilogue.multiplier) != 1 or len(y.shape) > MAX_RANK:
        return ()
    zero_points = (given.a_zero_point, given.b_zero_point, epilogue.zero_point)
    eight_bit = all(tensor.dtype in EIGHT_BIT for tensor in (a, b, y))
    halves = all(tensor.dtype is DType.INT16 for tensor in (a, b, y)) and not any(zero_points)
    shifts = (given.a_shift, given.b_shift, epilogue.shift[0])
    if not (eight_bit or halves) or max(shifts) > 0 or not _fits(given, a.dtype, b.dtype, shifts[2]):
        return ()
    nest = elementwise.nest(node, graph)
    attributes = AddScaled(
        elements_of(given.a_zero_point, given.b_zero_point, a.dtype, b.dtype),
        left=given.left,
        sign=given.sign,
        a_doubled=doubled(given.a_multiplier),
        a_shift=-shifts[0],
        b_doubled=doubled(given.b_multiplier),
        b_shift=-shifts[1],
        doubled=doubled(epilogue.multiplier[0]),
        shift=-shifts[2],
        zero_point=epilogue.zero_point,
        minimum=epilogue.minimum,
        maximum=epilogue.maximum,
    )
    return (
        flat_choice(
            node,
            graph,
            kernel=_BYTES if eight_bit else _HALVES,
            sources=("add_scaled.c", "walk.c"),
            nest=nest,
            attributes=attributes,
        ),
    )


def _fits(given: ScaledSumAttributes, a: DType, b: DType, shift: int) -> bool:
    """Whether no number in C exceeds 32 bits; before a product is shifted, half of the divisor is added."""
    total = 0
    factors = (
        (a, given.a_zero_point, given.a_multiplier, given.a_shift),
        (b, given.b_zero_point, given.b_multiplier, given.b_shift),
    )
    for dtype, zero_point, multiplier, factor_shift in factors:
        reach = magnitude(dtype, zero_point) << given.left
        # Round half up, as Q31 products are.
        product = (reach * multiplier + (1 << 30)) >> 31
        if reach > _INT32_MAX or product + (1 << -factor_shift >> 1) > _INT32_MAX:
            return False
        total += (product >> -factor_shift) + 1
    return total + (1 << -shift >> 1) <= _INT32_MAX


def softmax(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for FixedSoftmax of 8-bit tensors, to 8 bits or int16."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype not in EIGHT_BIT or y.dtype not in _OFFSETS or not 0 < len(y.shape) <= MAX_RANK:
        return ()
    if x.shape[-1] >= _MOST_ELEMENTS:
        return ()
    nest = last_axis_nest(node, graph)
    return (
        flat_choice(
            node,
            graph,
            kernel=_SOFTMAX,
            sources=("softmax_fixed.c", "walk.c"),
            nest=nest,
            constants=(ConstantOperand("powers", powers(node).astype(np.int32), (whole(256),)),),
            attributes=SoftmaxFixed(
                flip=128 if x.dtype is DType.INT8 else 0,
                offset=_OFFSETS[y.dtype],
            ),
            uncut=frozenset({f"d{len(y.shape) - 1}"}),
        ),
    )


def log_softmax(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for FixedLogSoftmax of 8-bit tensors."""
    x, given = graph.tensor(node.inputs[0]), node.given(FixedLogSoftmaxAttributes)
    rank = len(x.shape)
    if x.dtype not in EIGHT_BIT or not 0 < rank <= MAX_RANK or x.shape[-1] >= _MOST_ELEMENTS or given.right < 0:
        return ()
    sums = divided_by_power(powers(node), _SUM_SHIFT)
    differences = np.clip(scaled_differences(node), -_INT32_MAX - 1, 0)
    tables = np.concatenate([sums, differences]).astype(np.int32)
    return (
        flat_choice(
            node,
            graph,
            kernel=_LOG_SOFTMAX,
            sources=("softmax_fixed.c", "walk.c"),
            nest=last_axis_nest(node, graph),
            constants=(ConstantOperand("tables", tables, (whole(512),)),),
            attributes=LogSoftmaxFixed(
                flip=128 if x.dtype is DType.INT8 else 0,
                lowest=given.lowest,
                divisor=given.divisor,
                right=given.right,
            ),
            uncut=frozenset({f"d{rank - 1}"}),
        ),
    )


_BYTES = Kernel("tilewright_add_scaled", AddScaled, per_element(42.0), elementwise_over_tensors)
_HALVES = Kernel("tilewright_add_scaled_halves", AddScaled, per_element(46.0), elementwise_over_tensors)
_SOFTMAX = Kernel("tilewright_softmax_fixed", SoftmaxFixed, per_element(50.0))
_LOG_SOFTMAX = Kernel("tilewright_log_softmax_fixed", LogSoftmaxFixed, per_element(40.0))

DECLARATION = Declaration(
    operators={"ScaledSum": add, "FixedSoftmax": softmax, "FixedLogSoftmax": log_softmax},
    kernels=(_BYTES, _HALVES, _SOFTMAX, _LOG_SOFTMAX),
)
