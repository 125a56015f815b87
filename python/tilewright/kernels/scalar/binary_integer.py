"""Add, Sub and Mul of integer tensors (runtime/kernels/binary_integer.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node, Requantize, RequantizeShift, Rescale
from tilewright.kernels.c_structs import CStruct, CType, Int32, LineFinish, RowFunction
from tilewright.kernels.element_types import ELEMENT_TYPES, INTEGERS, ElementType
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, magnitude, per_element
from tilewright.kernels.kernel import (
    MAX_RANK,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    elementwise_over_tensors,
)
from tilewright.kernels.requantization import ROW_WORDS, Limits, Rule, finish_of, fixed_point
from tilewright.kernels.scalar.add_products import SOURCES, add_products
from tilewright.kernels.scalar.mul_bytes import mul_bytes
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.elementwise import nest as nest_of
from tilewright.operators.nest import whole

_INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Elements(CStruct):
    """Types of a and b, and zero points in these types."""

    a_type: ElementType
    b_type: ElementType
    a_zero_point: Int32
    b_zero_point: Int32


@dataclass(frozen=True, slots=True)
class BinaryInteger(CStruct):
    """Add, Sub and Mul of 8-, 16- and 32-bit integers with broadcasting. Operands: a, b, constants [1][4], y; all
    tensors have TILEWRIGHT_MAX_RANK axes, leading ones of extent 1.
    """

    row: Annotated[RowFunction, "how long the pieces of a row are that lie on the stack"]
    combine: Annotated[str, CType("tilewright_combine *", is_pointer=True)]
    finish: LineFinish
    elements: Elements
    limits: Limits


@dataclass(frozen=True, slots=True)
class AddRescaled(CStruct):
    """y = limit(round half even of (((a - za) << left) * ma + ((b - zb) << left) * mb) / 2^(32 + shift) + zero
    point), for 8-bit operands; multipliers may be negative. Operands: a, b, y.
    """

    elements: Elements
    a_multiplier: Int32
    b_multiplier: Int32
    left: Int32
    shift: Annotated[Int32, "from 1 to 30"]
    zero_point: Int32
    minimum: Int32
    maximum: Int32


@dataclass(frozen=True, slots=True)
class AddShifted(CStruct):
    """y = limit((((a ^ flip) + (b ^ flip)) * multiplier + addend) >> shift) for 8-bit operands, modulo 2^32; an
    operand's flip is 128 for int8, 0 for uint8. Operands: a, b, y.
    """

    a_flip: Int32
    b_flip: Int32
    multiplier: Int32
    addend: Int32
    shift: Int32
    minimum: Int32
    maximum: Int32


def add(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for Add of 8-, 16- and 32-bit integers."""
    if isinstance(node.epilogue, Requantize):
        return add_products(node, graph, 1) or _rescaled(node, graph, 1)
    return _shifted(node, graph) or _exact(node, graph, "add")


def subtract(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for Sub of 8-, 16- and 32-bit integers."""
    if isinstance(node.epilogue, Requantize):
        return add_products(node, graph, -1) or _rescaled(node, graph, -1)
    return _exact(node, graph, "sub")


def multiply(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for Mul of 8-, 16- and 32-bit integers."""
    return () if _per_channel(node) else mul_bytes(node, graph) or _exact(node, graph, "mul")


def _exact(node: Node, graph: Graph, name: str) -> tuple[KernelChoice, ...]:
    a, b = (graph.tensor(operand) for operand in node.inputs)
    y = graph.tensor(node.outputs[0])
    unknown = a.dtype not in INTEGERS or b.dtype not in INTEGERS
    if unknown or len(y.shape) > MAX_RANK or _per_channel(node):
        return ()
    values = node.given(BinaryAttributes)
    scaled = {values.a_multiplier, values.b_multiplier} != {1.0}
    if isinstance(node.epilogue, Rescale) and scaled:
        return ()
    reach_a, reach_b = magnitude(a.dtype, values.a_zero_point), magnitude(b.dtype, values.b_zero_point)
    # Sums of int32 operands may overflow, as the model's data decide; results are exact if no sum does.
    largest = min(reach_a * reach_b if name == "mul" else reach_a + reach_b, _INT32_MAX)
    sums = np.asarray([largest], np.int64)
    finish = finish_of(node.epilogue, y.dtype, np.zeros(1, np.int64), sums, wide=True, any_values=graph.any_weights)
    if finish is None:
        return ()
    nest = nest_of(node, graph)
    constants = ConstantOperand("requantization", finish.rows, (whole(1), whole(ROW_WORDS)))
    return (
        flat_choice(
            node,
            graph,
            kernel=_EXACT,
            called=f"tilewright_{name}_integer_{finish.rule.value}",
            sources=SOURCES,
            nest=nest,
            constants=(constants,),
            attributes=BinaryInteger(
                f"tilewright_integer_{'short_' if finish.rule is Rule.RESCALE else ''}row",
                combine=f"tilewright_combine_{name}",
                finish=finish.line,
                elements=elements_of(values.a_zero_point, values.b_zero_point, a.dtype, b.dtype),
                limits=finish.limits,
            ),
        ),
    )


def _shifted(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Add of 8-bit tensors whose sum one multiplier and one shift finish in 32 bits."""
    a, b = (graph.tensor(operand) for operand in node.inputs)
    y = graph.tensor(node.outputs[0])
    eight_bit = all(tensor.dtype in EIGHT_BIT for tensor in (a, b, y))
    if not eight_bit or not isinstance(node.epilogue, RequantizeShift) or _per_channel(node) or len(y.shape) > MAX_RANK:
        return ()
    given = node.given(BinaryAttributes)
    zero_points = (given.a_zero_point, given.b_zero_point)
    largest = sum(magnitude(tensor.dtype, zero) for tensor, zero in zip((a, b), zero_points, strict=True))
    sums = np.asarray([largest], np.int64)
    finish = finish_of(node.epilogue, y.dtype, np.zeros(1, np.int64), sums, any_values=graph.any_weights)
    if finish is None or finish.rule is not Rule.SHIFT:
        return ()
    _, multiplier, addend, shift = map(int, finish.rows[0])
    flips = [128 if tensor.dtype is DType.INT8 else 0 for tensor in (a, b)]
    folded = (addend - (sum(zero_points) + sum(flips)) * multiplier) & 0xFFFFFFFF
    nest = nest_of(node, graph)
    return (
        flat_choice(
            node,
            graph,
            kernel=_SHIFTED,
            sources=SOURCES,
            nest=nest,
            attributes=AddShifted(
                a_flip=flips[0],
                b_flip=flips[1],
                multiplier=multiplier,
                addend=folded - (1 << 32) if folded >> 31 else folded,
                shift=shift,
                minimum=finish.minimum,
                maximum=finish.maximum,
            ),
        ),
    )


def _rescaled(node: Node, graph: Graph, sign: int) -> tuple[KernelChoice, ...]:
    a, b = (graph.tensor(operand) for operand in node.inputs)
    y = graph.tensor(node.outputs[0])
    epilogue = node.epilogue
    eight_bit = a.dtype in EIGHT_BIT and b.dtype in EIGHT_BIT and y.dtype in EIGHT_BIT
    if not eight_bit or not isinstance(epilogue, Requantize) or _per_channel(node) or len(y.shape) > MAX_RANK:
        return ()
    given, unit = node.given(BinaryAttributes), epilogue.multiplier[0]
    scaled = _scaled(given.a_multiplier * unit, sign * (given.b_multiplier * unit))
    if scaled is None:
        return ()
    nest = nest_of(node, graph)
    return (
        flat_choice(
            node,
            graph,
            kernel=_RESCALED,
            sources=SOURCES,
            nest=nest,
            attributes=AddRescaled(
                elements_of(given.a_zero_point, given.b_zero_point, a.dtype, b.dtype),
                a_multiplier=scaled[0],
                b_multiplier=scaled[1],
                left=scaled[2],
                shift=scaled[3],
                zero_point=epilogue.zero_point,
                minimum=epilogue.minimum,
                maximum=epilogue.maximum,
            ),
        ),
    )


def _scaled(a: float, b: float) -> tuple[int, int, int, int] | None:
    """(ma, mb, left, right) with a = ma * 2^left / 2^(32 + right), b likewise, for C's 64-bit sum; None if too large.

    The larger multiplier has 30 significant bits: with operands of 9 bits the error stays below 2^-20
    where the sum is not clipped away.
    """
    common = fixed_point(max(abs(a), abs(b)))
    if common is None:
        return None
    shift = common[1] - 1
    left = max(0, 33 - shift)
    right = shift + left - 32
    if right > 22 or left > 20:
        return None
    return round(a * 2.0**shift), round(b * 2.0**shift), left, right


def elements_of(a_zero_point: int, b_zero_point: int, a: DType, b: DType) -> Elements:
    """Types and zero points of both operands, as C numbers types."""
    return Elements(ELEMENT_TYPES[a], ELEMENT_TYPES[b], a_zero_point, b_zero_point)


def _per_channel(node: Node) -> bool:
    values = getattr(node.epilogue, "multiplier", ()), getattr(node.epilogue, "addend", ())
    return any(len(set(value)) > 1 for value in values)


_EXACT = Kernel("tilewright_binary_integer", BinaryInteger, per_element(32.0), elementwise_over_tensors)
_SHIFTED = Kernel("tilewright_add_shifted", AddShifted, per_element(18.0), elementwise_over_tensors)
_RESCALED = Kernel("tilewright_add_rescaled", AddRescaled, per_element(37.8, 820.0), elementwise_over_tensors)

DECLARATION = Declaration(
    operators={"Add": add, "Sub": subtract, "Mul": multiply},
    kernels=(_SHIFTED, _RESCALED, _EXACT),
    pointed={
        "tilewright_row_body": ("integer_row", "integer_short_row"),
        "tilewright_combine": ("combine_add", "combine_sub", "combine_mul"),
    },
    # Elements that no limit changes take no move then, and loops no numbers for their ends.
    gcc_options={"binary_integer.c": ("-fno-ssa-phiopt", "-fno-tree-scev-cprop")},
)
