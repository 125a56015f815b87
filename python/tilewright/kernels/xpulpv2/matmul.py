"""Products with a constant matrix, as 1x1 convolutions over the rows of the other operand."""

from __future__ import annotations

from math import prod

from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.integer import BLOCK, block_sums_bytes, largest_sums, steps_product
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, ScratchOf, TensorOperand, TileSteps
from tilewright.kernels.liked_orders import MATRIX_ORDER
from tilewright.kernels.requantization import Finish, finish_of
from tilewright.kernels.scalar.compact import compact
from tilewright.kernels.scalar.geometry import SINGLE_PIXELS
from tilewright.kernels.scalar.matmul_integer import Product, product_of
from tilewright.kernels.scalar.vector_product import MOST_ROWS, OF_MATMUL, VectorProduct
from tilewright.kernels.xpulpv2 import family as xpulpv2
from tilewright.kernels.xpulpv2.conv import (
    NO_PADDING,
    POINTER_BYTES,
    SOURCES,
    ConvXpulpv2,
    pixel_scratch_bytes,
)
from tilewright.kernels.xpulpv2.vectors import vector_choice
from tilewright.operators.nest import whole
from tilewright.plan import Core


def choices(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for MatMul of 8 bits with a constant matrix of 8 bits and constant bias."""
    product = product_of(node, graph)
    weights = None if product is None else product.matrix
    if product is None or weights is None or not xpulpv2.fits(weights):
        return ()
    largest = largest_sums(weights, product.bias, product.a.dtype, product.a_zero_point)
    folded = product.bias - product.a_zero_point * weights.sum(axis=1)
    found = finish_of(node.epilogue, product.y.dtype, folded, largest, any_values=product.any_values)
    if found is None:
        return ()
    finish = compact(found, largest)
    channels, taps = map(int, weights.shape)
    views, nest = product.views, product.nest
    can_cut = taps % xpulpv2.WORD == 0
    vectors = _vectors(product, weights, finish) if _side_by_side(product) else ()

    def partial_bytes(steps: TileSteps) -> int:
        pixels = steps_product(nest, steps, "b1", "m")
        return steps_product(nest, steps, "b0") * block_sums_bytes(pixels, steps_product(nest, steps, "n"), BLOCK)

    uncut = (frozenset() if channels > BLOCK else frozenset({"n"})) | (frozenset() if can_cut else frozenset({"k"}))
    return (
        *vectors,
        KernelChoice(
            kernel=_PIXELS[core.pointer_bytes],
            called=f"tilewright_conv_xpulpv2_{finish.rule.value}",
            sources=SOURCES,
            nest=nest,
            reads=(
                TensorOperand(product.a.name, nest.reads[0], views[0]),
                *xpulpv2.packed_operands(weights[None, :, None], finish, whole(1), "n", "k"),
            ),
            writes=(TensorOperand(product.y.name, nest.writes[0], views[1]),),
            attributes=_attributes(product, weights, finish),
            partial_bytes=partial_bytes if can_cut else None,
            multiples={"n": BLOCK, "k": xpulpv2.WORD},
            uncut=uncut,
        ),
    )


def _side_by_side(product: Product) -> bool:
    """Whether the elements of a row of the first operand lie one behind the other."""
    return product.a.order[-1] == product.views[0][1]


def _attributes(product: Product, weights: Array, finish: Finish) -> ConvXpulpv2:
    channels, taps = map(int, weights.shape)
    is_unsigned = int(product.a.dtype is DType.UINT8)
    return ConvXpulpv2(
        SINGLE_PIXELS,
        group_inputs=taps,
        group_outputs=channels,
        padding=NO_PADDING,
        is_unsigned=is_unsigned,
        is_planar=0,
        is_direct=int(taps % xpulpv2.WORD == 0 and _side_by_side(product)),
        finishing=xpulpv2.finishing(finish, is_unsigned),
    )


def _vectors(product: Product, weights: Array, finish: Finish) -> tuple[KernelChoice, ...]:
    """The kernel for few rows, whose elements lie side by side."""
    if product.y.shape[-2] > MOST_ROWS or prod(product.batch) != 1:
        return ()
    row, element = product.views[0][3], product.views[0][1]
    x = TensorOperand(product.a.name, product.nest.reads[0], (row, element))
    y = TensorOperand(product.y.name, product.nest.writes[0], (product.views[1][3], product.views[1][1]))
    matrix = weights[None, :, None]
    return vector_choice(VectorProduct(product.nest, x, y, product.a.dtype, matrix, finish, OF_MATMUL, whole(1)))


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Cycles of a call on a tile with these steps, fitted to measurements on pulp-open."""
    given, nest = choice.given(ConvXpulpv2), choice.nest
    depth = steps_product(nest, steps, "k")
    words = -(-depth // xpulpv2.WORD)
    fours = steps_product(nest, steps, "b0") * -(-steps_product(nest, steps, "b1", "m") // BLOCK)
    block = xpulpv2.block_cycles(given.finishing.rule, words, 1, depth / given.group_inputs)
    gather = 80.0 if given.is_direct else 300.0 + 40.0 * depth
    return 2000.0 + fours * (gather + xpulpv2.channel_blocks(nest, steps, "n") * block)


def _scratch(pointer_bytes: int) -> ScratchOf:
    def scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
        depth, direct = steps_product(choice.nest, steps, "k"), bool(choice.given(ConvXpulpv2).is_direct)
        return {"taps": pixel_scratch_bytes(depth, direct, pointer_bytes)}

    return scratch


_PIXELS = {
    width: Kernel("tilewright_conv_xpulpv2", ConvXpulpv2, _cycles, scratch=_scratch(width), likes=MATRIX_ORDER)
    for width in POINTER_BYTES
}

DECLARATION = Declaration(on_core={"MatMul": choices}, kernels=tuple(_PIXELS.values()))
