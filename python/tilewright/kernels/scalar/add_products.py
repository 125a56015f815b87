"""Sums of 8-bit tensors by two products, an addend and a shift in 32 bits (runtime/kernels/binary_integer.c).

Before:  y = round(0.31 * (a - 3) + 0.62 * (b + 7)) - 128, limited
After:   y = ((a ^ 128) * 2600469 + (b ^ 128) * 5200938 - 1543503872) >> 23, limited: equal for all 65,536 pairs

Multipliers are as exact as 32 bits allow. Each pair of elements says between which two numbers the addend must be.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.add_split import Sum, sum_of
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, per_element, stored_range
from tilewright.kernels.kernel import MAX_RANK, Declaration, Kernel, KernelChoice, elementwise_over_tensors
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.elementwise import nest as nest_of

SOURCES = ("binary_integer.c", "integer_line.c", "integer_finish.c", "walk.c")

LARGEST = (1 << 31) - 1

NEAR = (0, 1, -1)
"""What is added to the nearest multipliers until an addend is right for all pairs."""


@dataclass(frozen=True, slots=True)
class AddProducts(CStruct):
    """y = limit(((a ^ flip) * ma + (b ^ flip) * mb + addend) >> shift) for 8-bit operands, modulo 2^32; an operand's
    flip is 128 for int8, 0 for uint8. Operands: a, b, y.
    """

    a_flip: Int32
    b_flip: Int32
    a_multiplier: Int32
    b_multiplier: Int32
    addend: Int32
    shift: Int32
    minimum: Int32
    maximum: Int32


def add_products(node: Node, graph: Graph, sign: int) -> tuple[KernelChoice, ...]:
    """The kernel for Add, or with ``sign`` -1 for Sub; none where no numbers give the reference's elements."""
    return products_for(node, graph, sum_of(node.given(BinaryAttributes), node.epilogue, sign))


def products_for(node: Node, graph: Graph, wanted: Sum | None) -> tuple[KernelChoice, ...]:
    """The kernel for a node that computes ``wanted``; none where no numbers give the reference's elements."""
    tensors = [graph.tensor(name) for name in (*node.inputs, *node.outputs)]
    if any(tensor.dtype not in EIGHT_BIT or len(tensor.shape) > MAX_RANK for tensor in tensors):
        return ()
    attributes = None if wanted is None else exact_products(wanted, (tensors[0].dtype, tensors[1].dtype))
    if attributes is None:
        return ()
    nest = nest_of(node, graph)
    return (flat_choice(node, graph, kernel=_KERNEL, sources=SOURCES, nest=nest, attributes=attributes),)


def exact_products(wanted: Sum, dtypes: tuple[DType, DType]) -> AddProducts | None:
    """The attributes with which C gives the reference's element for every pair of elements; None if none are found."""
    a, b = (np.arange(low, high + 1, dtype=np.int64) for low, high in map(stored_range, dtypes))
    a, b = a[:, None] - wanted.zero_points[0], b[None, :] - wanted.zero_points[1]
    if not np.isfinite(wanted.factors).all():
        return None
    found = wanted.wanted(a, b)
    reach = float(np.abs(a * wanted.factors[0] + b * wanted.factors[1]).max()) + abs(wanted.addend) + 1.0
    shift = fitting_shift(reach)
    nearest = [round(factor * 2.0**shift) for factor in wanted.factors]
    if shift < 0 or max(map(abs, nearest)) > LARGEST - 1:
        return None
    for first, second in product(NEAR, NEAR):
        multipliers = (nearest[0] + first, nearest[1] + second)
        addend = fitting_addend(a * multipliers[0] + b * multipliers[1], found, shift, wanted.limits)
        if addend is not None:
            return _attributes(wanted, dtypes, multipliers, addend, shift)
    return None


def fitting_shift(reach: float) -> int:
    """The most bits behind the point that numbers up to ``reach`` can have in 32 bits."""
    return min(30, int(np.floor(np.log2(LARGEST / reach))))


def fitting_addend(products: Array, found: Array, shift: int, limits: tuple[int, int]) -> int | None:
    """The number that, added to ``products``, gives the elements ``found`` once shifted and limited; None if none does.

    Where a limit was reached, the sum may be anywhere beyond it.
    """
    lowest, highest = -LARGEST - 1 - int(products.min()), LARGEST - int(products.max())
    above, below = found > limits[0], found < limits[1]
    if above.any():
        lowest = max(lowest, int(((found << shift) - products)[above].max()))
    if below.any():
        highest = min(highest, int((((found + 1) << shift) - 1 - products)[below].min()))
    return (lowest + highest) // 2 if lowest <= highest else None


def _attributes(
    wanted: Sum, dtypes: tuple[DType, DType], multipliers: tuple[int, int], addend: int, shift: int
) -> AddProducts:
    """With the products of what C's elements are beyond those of the reference in the addend."""
    flips = [128 if dtype is DType.INT8 else 0 for dtype in dtypes]
    for multiplier, zero, flip in zip(multipliers, wanted.zero_points, flips, strict=True):
        addend -= multiplier * (zero + flip)
    stored = addend & 0xFFFFFFFF
    return AddProducts(
        flips[0], flips[1], *multipliers, stored - (1 << 32) if stored >> 31 else stored, shift, *wanted.limits
    )


_KERNEL = Kernel("tilewright_add_products", AddProducts, per_element(14.5), elementwise_over_tensors)

DECLARATION = Declaration(kernels=(_KERNEL,))
