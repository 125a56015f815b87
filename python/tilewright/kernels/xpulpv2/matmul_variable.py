"""Products of two computed matrices of 8 bits (runtime/kernels/matmul_xpulpv2.c)."""

from __future__ import annotations

from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, ScratchOffset
from tilewright.kernels.integer import BLOCK, as_signed, steps_product, words
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, ScratchOf, TensorOperand, TileSteps
from tilewright.kernels.liked_orders import MATRIX_ORDER
from tilewright.kernels.requantization import Finish
from tilewright.kernels.scalar.compact import compact
from tilewright.kernels.scalar.matmul_integer import Product, batched_view, computed_finish, product_of
from tilewright.kernels.xpulpv2 import family as xpulpv2
from tilewright.kernels.xpulpv2.conv import POINTER_BYTES
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.nest import whole
from tilewright.plan import Core

SOURCES = ("matmul_xpulpv2.c", *xpulpv2.SOURCES)

_LEAST_INT8 = -128

_CALL_BYTES, _CALL_POINTERS = 80, 17
"""Bytes of C's ``struct product`` besides its pointers, and the number of these."""


@dataclass(frozen=True, slots=True)
class MatmulXpulpv2(CStruct):
    """Product of two computed matrices of 8 bits, four products per instruction.

    Scratch: numbers of the call, the columns of b as weights, their constants; four rows of a unless ``is_direct``.
    """

    a_zero_point: Annotated[Int32, "in a's own type"]
    is_unsigned: Annotated[Int32, "1: a is uint8"]
    b_zero_point: Annotated[Int32, "of int8: less 128 if b is uint8"]
    b_is_unsigned: Annotated[Int32, "1: b is uint8"]
    is_direct: Annotated[Int32, "1: k is a multiple of 4 and its elements lie side by side in a"]
    finishing: xpulpv2.Finishing
    weights_at: ScratchOffset = 0
    rows_at: ScratchOffset = 0
    taps_at: ScratchOffset = 0


def choices(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """The kernel for MatMul of two computed matrices of 8 bits with constant bias; the reduction is never cut.

    A zero point of b is subtracted by weights of its own, which must fit int8 as its negative.
    """
    product = product_of(node, graph)
    found = None if product is None or product.has_matrix else computed_finish(product)
    if product is None or found is None or _b_zero_point(product) == _LEAST_INT8:
        return ()
    finish = compact(*found)
    nest, a_view = product.nest, batched_view(product.a, product.transposed_a)
    transposed_b = product.node.given(MatMulAttributes).transpose_b
    return (
        KernelChoice(
            kernel=_KERNELS[core.pointer_bytes],
            called=f"tilewright_matmul_xpulpv2_{finish.rule.value}",
            sources=SOURCES,
            nest=nest,
            reads=(
                TensorOperand(product.a.name, nest.reads[0], a_view),
                TensorOperand(product.b.name, nest.reads[1], batched_view(product.b, transposed_b)),
                xpulpv2.packed_constants(finish, 1, whole(1), "n"),
            ),
            writes=(TensorOperand(product.y.name, nest.writes[0], batched_view(product.y, False)),),
            attributes=_attributes(product, finish, is_beside=product.a.order[-1] == a_view[3]),
            multiples={"n": BLOCK},
            uncut=frozenset({"k"} if product.y.shape[-1] > BLOCK else {"k", "n"}),
        ),
    )


def _b_zero_point(product: Product) -> int:
    """The zero point of b as int8."""
    return as_signed(int(product.b_zero_points[0]), product.b.dtype)


def _attributes(product: Product, finish: Finish, *, is_beside: bool) -> MatmulXpulpv2:
    """``is_beside``: the elements of a row of a lie side by side."""
    is_unsigned = int(product.a.dtype is DType.UINT8)
    return MatmulXpulpv2(
        a_zero_point=product.a_zero_point,
        is_unsigned=is_unsigned,
        b_zero_point=_b_zero_point(product),
        b_is_unsigned=int(product.b.dtype is DType.UINT8),
        is_direct=int(is_beside and product.nest.dimension("k").extent % xpulpv2.WORD == 0),
        finishing=xpulpv2.finishing(finish, is_unsigned),
    )


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Cycles of a call on a tile with these steps, fitted to measurements on pulp-open.

    For each matrix its code comes from slow memory anew (1,700), and each four of its columns are packed. Each four
    rows then take the blocks of the core; more where they are copied, or where C finishes the last columns.
    """
    given, nest = choice.given(MatmulXpulpv2), choice.nest
    depth, runs = steps_product(nest, steps, "k"), _runs(given)
    depth_words = words(depth) // xpulpv2.WORD
    fours = -(-steps_product(nest, steps, "m") // BLOCK)
    whole_blocks, single = divmod(steps_product(nest, steps, "n"), BLOCK)
    packing = 363.0 + (18.0 * depth if given.a_zero_point else 0.0) + 45.0 * (runs - 1) * depth_words
    block = xpulpv2.block_cycles(given.finishing.rule, runs * depth_words, runs)
    ends = xpulpv2.block_cycles(given.finishing.rule, 0, 0)
    last = block - ends + 292.0 * single if single else 0.0
    copies = 0.0 if given.is_direct else 347.0 + 10.4 * depth
    starts = 0.0 if given.is_direct and not single else 101.0
    matrix = 1700.0 + xpulpv2.channel_blocks(nest, steps, "n") * packing
    return 2000.0 + steps_product(nest, steps, "b0", "b1") * (
        matrix + fours * (starts + copies + whole_blocks * block + last)
    )


def _scratch(pointer_bytes: int) -> ScratchOf:
    def scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
        given, row_bytes = choice.given(MatmulXpulpv2), words(steps_product(choice.nest, steps, "k"))
        columns = BLOCK * xpulpv2.channel_blocks(choice.nest, steps, "n")
        areas = {
            "call": _CALL_BYTES + _CALL_POINTERS * pointer_bytes,
            "weights": _runs(given) * columns * row_bytes,
            "rows": 4 * columns * given.finishing.row_words,
        }
        return areas if given.is_direct else {**areas, "taps": BLOCK * row_bytes}

    return scratch


def _runs(given: MatmulXpulpv2) -> int:
    """How often the core walks over a row of a: for b, and for b's zero point if there is one."""
    return 2 if given.b_zero_point else 1


_KERNELS = {
    width: Kernel("tilewright_matmul_xpulpv2", MatmulXpulpv2, _cycles, scratch=_scratch(width), likes=MATRIX_ORDER)
    for width in POINTER_BYTES
}
"""By the bytes of a pointer."""

DECLARATION = Declaration(
    on_core={"MatMul": choices},
    kernels=tuple(_KERNELS.values()),
    numbers={"MATMUL_XPULPV2_PLAIN_BYTES": _CALL_BYTES, "MATMUL_XPULPV2_POINTERS": _CALL_POINTERS},
)
