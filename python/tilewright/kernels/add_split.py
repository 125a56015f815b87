"""Add and Sub of 8-bit tensors by multipliers in two parts (runtime/kernels/add_split.c).

Two products and an addend, with 12 bits below those that 32 bits hold, are added up and shifted. Whether that gives
the reference's element is tried for each of the 65,536 pairs of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor, frexp
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Epilogue, Graph, Node, Requantize, RequantizeShift
from tilewright.kernels.c_structs import CStruct, Int32, Int32x2
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, per_element, stored_range
from tilewright.kernels.kernel import MAX_RANK, Declaration, Kernel, KernelChoice, elementwise_over_tensors
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.elementwise import nest as nest_of

SOURCES = ("add_split.c", "walk.c")

BELOW = 12
"""Bits of a multiplier's low part."""

_LARGEST = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class AddSplit(CStruct):
    """y = limit((((a ^ flip) * high + (b ^ flip) * high + high) + (((a ^ flip) * low + (b ^ flip) * low + low) >> 12))
    >> shift). Each of a and b is multiplied by `high` and `low` of its own multiplier; the last `high` and `low` are
    those of the addend; low parts have 12 bits. An operand's flip is 128 for int8, 0 for uint8. Operands: a, b, y.
    """

    a_flip: Int32
    b_flip: Int32
    a_multiplier: Annotated[Int32x2, "high, low"]
    b_multiplier: Annotated[Int32x2, "high, low"]
    addend: Annotated[Int32x2, "high, low"]
    shift: Int32
    minimum: Int32
    maximum: Int32


def add_choices(node: Node, graph: Graph, kernel: Kernel, sign: int = 1) -> tuple[KernelChoice, ...]:
    """The kernel for Add of 8-bit tensors of one shape; with ``sign`` -1 for Sub."""
    attributes = attributes_of(node, graph, sign)
    return () if attributes is None else (add_choice(node, graph, kernel, SOURCES, attributes),)


def attributes_of(node: Node, graph: Graph, sign: int, below: int = BELOW) -> AddSplit | None:
    """What C needs to give the reference's elements; None where no such numbers exist, or shapes differ."""
    a, b = (graph.tensor(operand) for operand in node.inputs)
    y = graph.tensor(node.outputs[0])
    eight_bit = all(tensor.dtype in EIGHT_BIT for tensor in (a, b, y))
    if not eight_bit or len(y.shape) > MAX_RANK or a.shape != y.shape or b.shape != y.shape:
        return None
    wanted = sum_of(node.given(BinaryAttributes), node.epilogue, sign)
    return None if wanted is None else constants(wanted, (a.dtype, b.dtype), below)


def add_choice(
    node: Node, graph: Graph, kernel: Kernel, sources: tuple[str, ...], attributes: AddSplit
) -> KernelChoice:
    """A kernel on the views of a, b and y."""
    return flat_choice(node, graph, kernel=kernel, sources=sources, nest=nest_of(node, graph), attributes=attributes)


def declaration(each: float, **numbers: int) -> Declaration:
    """The declaration for a family that spends ``each`` instructions on an element, with ``numbers`` for C."""
    kernel = Kernel("tilewright_add_split", AddSplit, per_element(each), elementwise_over_tensors)
    return Declaration(
        operators={
            "Add": lambda node, graph: add_choices(node, graph, kernel),
            "Sub": lambda node, graph: add_choices(node, graph, kernel, -1),
        },
        kernels=(kernel,),
        numbers=numbers,
    )


@dataclass(frozen=True, slots=True)
class Sum:
    """An Add or Sub with its epilogue, on elements less their zero points.

    Attributes:
        zero_points: of a and b.
        factors: what a and b are multiplied by.
        addend: what is added before rounding down.
        limits: the clamp, in stored units.
        shift: bits of the factors behind the point, where they are exact; None for real factors.
        wanted: the elements of y for integers a and b, zero points removed.
    """

    zero_points: tuple[int, int]
    factors: tuple[float, float]
    addend: float
    limits: tuple[int, int]
    shift: int | None
    wanted: Callable[[Array, Array], Array]


def sum_of(given: BinaryAttributes, epilogue: Epilogue | None, sign: int) -> Sum | None:
    """What an Add, or with ``sign`` -1 a Sub, computes; None where its elements are no such sums."""
    zero_points = (given.a_zero_point, given.b_zero_point)
    if isinstance(epilogue, Requantize) and len(set(epilogue.multiplier)) == 1:
        unit = epilogue.multiplier[0]
        factors = (given.a_multiplier * unit, sign * (given.b_multiplier * unit))
        limits = (epilogue.minimum, epilogue.maximum)
        return Sum(zero_points, factors, 0.5 + epilogue.zero_point, limits, None, _rounded(epilogue, factors))
    plain = (given.a_multiplier, given.b_multiplier) == (1.0, 1.0)
    if not isinstance(epilogue, RequantizeShift) or not plain:
        return None
    if len(set(epilogue.multiplier)) > 1 or len(set(epilogue.addend)) > 1:
        return None
    unit = epilogue.multiplier[0] * 2.0**-epilogue.shift
    addend = (epilogue.addend[0] + ((1 << epilogue.shift) >> 1)) * 2.0**-epilogue.shift
    limits = (epilogue.minimum, epilogue.maximum)
    return Sum(zero_points, (unit, sign * unit), addend, limits, epilogue.shift, _shifted(epilogue, sign))


def constants(wanted: Sum, dtypes: tuple[DType, DType], below: int = BELOW) -> AddSplit | None:
    """The attributes with which C gives the reference's element for every pair of elements; None if there are none.

    Args:
        below: bits of the low parts of multipliers; 0 for multipliers without them.
    """
    flips = [128 if dtype is DType.INT8 else 0 for dtype in dtypes]
    reach = 512.0 * sum(map(abs, wanted.factors)) + abs(wanted.addend)
    if reach == 0.0 or reach >= _LARGEST:
        return None
    # The most bits behind the point with which sums stay below 2^31.
    most = min(31, 30 - frexp(reach)[1])
    bits = most if wanted.shift is None else wanted.shift - below
    if not 0 <= bits <= most:
        return None
    point = 1 << bits + below
    scaled = [round(Fraction(factor) * point) for factor in wanted.factors]
    addend = floor(Fraction(wanted.addend) * point)
    for value, zero, flip in zip(scaled, wanted.zero_points, flips, strict=True):
        addend -= value * (zero + flip)
    a, b, last = ((value >> below, value & (1 << below) - 1) for value in (*scaled, addend))
    given = AddSplit(flips[0], flips[1], a, b, last, bits, *wanted.limits)
    return given if _is_exact(given, wanted, dtypes) else None


def _rounded(epilogue: Requantize, factors: tuple[float, float]) -> Callable[[Array, Array], Array]:
    def wanted(a: Array, b: Array) -> Array:
        values = np.rint(a * factors[0] + b * factors[1]) + epilogue.zero_point
        limited: Array = np.clip(values, epilogue.minimum, epilogue.maximum).astype(np.int64)
        return limited

    return wanted


def _shifted(epilogue: RequantizeShift, sign: int) -> Callable[[Array, Array], Array]:
    def wanted(a: Array, b: Array) -> Array:
        half = (1 << epilogue.shift) >> 1
        values = ((a + sign * b) * epilogue.multiplier[0] + epilogue.addend[0] + half) >> epilogue.shift
        limited: Array = np.clip(values, epilogue.minimum, epilogue.maximum)
        return limited

    return wanted


def _is_exact(given: AddSplit, wanted: Sum, dtypes: tuple[DType, DType]) -> bool:
    """Whether C gives the wanted element for every pair of elements, without overflow."""
    lows, highs = zip(*map(stored_range, dtypes), strict=True)
    a, b = (np.arange(low, high + 1, dtype=np.int64) for low, high in zip(lows, highs, strict=True))
    a, b = a[:, None], b[None, :]
    x, y = (a & 0xFF) ^ given.a_flip, (b & 0xFF) ^ given.b_flip
    low = x * given.a_multiplier[1] + y * given.b_multiplier[1] + given.addend[1]
    partial = np.abs(x * given.a_multiplier[0]) + np.abs(y * given.b_multiplier[0])
    sums = x * given.a_multiplier[0] + y * given.b_multiplier[0] + given.addend[0] + (low >> BELOW)
    found = np.clip(sums >> given.shift, given.minimum, given.maximum)
    fits = int(partial.max()) + abs(given.addend[0]) + int(low.max()) <= _LARGEST
    return fits and bool((found == wanted.wanted(a - wanted.zero_points[0], b - wanted.zero_points[1])).all())
