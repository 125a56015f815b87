"""Matrix products of 8-bit tensors.

A constant matrix runs as a 1x1 convolution over the rows of the other operand (conv_packed.c, conv_integer.c), or as
products of vectors where there are few rows (fully_connected_packed.c, fully_connected_integer.c); two matrices that
are computed at run time have a kernel of their own (matmul_integer.c).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node, Tensor
from tilewright.kernels.c_structs import BlockFinish, CStruct, Int32, ScratchOffset
from tilewright.kernels.integer import (
    BLOCK,
    EIGHT_BIT,
    as_signed,
    block_sums_bytes,
    columns_of,
    constant_bias,
    largest_sums,
    magnitude,
    packed_rows,
    steps_product,
)
from tilewright.kernels.kernel import (
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import MATRIX_ORDER
from tilewright.kernels.requantization import ROW_WORDS, Finish, Limits, finish_of, rule_cycles
from tilewright.kernels.scalar.compact import compact
from tilewright.kernels.scalar.conv_integer import of_pixels
from tilewright.kernels.scalar.fully_connected_integer import vector_choices
from tilewright.kernels.scalar.geometry import SINGLE_PIXELS
from tilewright.kernels.scalar.pixel_product import OF_ROWS, PixelProduct
from tilewright.kernels.scalar.vector_product import MOST_ROWS, OF_MATMUL, VectorProduct
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.matmul import nest as nest_of
from tilewright.operators.nest import Nest, blocks, whole

MATMUL_SOURCES = ("matmul_integer.c", "integer_core.c", "integer_finish.c")


@dataclass(frozen=True, slots=True)
class MatmulInteger(CStruct):
    """Products of two 8-bit matrices that are computed at run time, with up to two batch axes. Operands:
    a [b0, b1, m, k]; b [b0, b1, k, n]; constants [n][4]; y [b0, b1, m, n]; scratch: four rows of a, four columns of
    b as int16, constants of these columns. Partial results, where k is cut: 64 bytes for 4 rows by
    4 columns.
    """

    a_zero_point: Annotated[Int32, "of int8: less 128 if a is uint8"]
    a_is_unsigned: Annotated[Int32, "1: a is uint8"]
    b_zero_point: Annotated[Int32, "in b's own type"]
    b_is_unsigned: Annotated[Int32, "1: b is uint8"]
    finish: BlockFinish
    limits: Limits
    weights_at: ScratchOffset = 0
    rows_at: ScratchOffset = 0


@dataclass(frozen=True, slots=True)
class Product:
    """The parts of a MatMul node. ``k_axis`` and ``m_axis`` are axes of a."""

    node: Node
    nest: Nest
    a: Tensor
    b: Tensor
    y: Tensor
    bias: Array
    a_zero_point: int
    b_zero_points: Array
    any_values: bool = False

    @property
    def transposed_a(self) -> bool:
        """Whether rows and columns of a change places."""
        return self.node.given(MatMulAttributes).transpose_a

    @property
    def batch(self) -> tuple[int, ...]:
        """Extents of the batch axes of y."""
        return self.y.shape[:-2]

    @property
    def has_matrix(self) -> bool:
        """Whether b is a constant that all batches share."""
        return self.b.data is not None and prod(self.b.shape[:-2]) == 1 and len(self.a.shape) == len(self.y.shape)

    @property
    def matrix(self) -> Array | None:
        """b as int64[n, k], zero point removed, if b is a constant that all batches share; else None."""
        return columns_of(self.b, self.node.given(MatMulAttributes)) if self.has_matrix else None

    @property
    def views(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The views [n, c, h, w] of a and y: first batch axis, k (of y: n), second batch axis, m."""
        rank = len(self.a.shape)
        m_axis, k_axis = (rank - 1, rank - 2) if self.transposed_a else (rank - 2, rank - 1)
        first, second = (0 if rank > 2 else -1), (1 if rank > 3 else -1)
        return (first, k_axis, second, m_axis), (first, rank - 1, second, rank - 2)


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for MatMul with 8-bit operands and a constant bias, at most two batch axes."""
    product = product_of(node, graph)
    if product is None:
        return ()
    return _with_variables(product) if product.matrix is None else _with_constant(product, product.matrix, graph)


def product_of(node: Node, graph: Graph) -> Product | None:
    """The parts of a MatMul node; None if integer kernels cannot run the node."""
    a, b = (graph.tensor(name) for name in node.inputs[:2])
    y = graph.tensor(node.outputs[0])
    bias = constant_bias(node, graph, y.shape[-1])
    if a.dtype not in EIGHT_BIT or b.dtype not in EIGHT_BIT or bias is None or len(y.shape) > 4:
        return None
    given = node.given(MatMulAttributes)
    zero_points = np.asarray(given.b_zero_point, np.int64)
    return Product(node, nest_of(node, graph), a, b, y, bias, given.a_zero_point, zero_points, graph.any_weights)


def _with_constant(product: Product, weights: Array, graph: Graph) -> tuple[KernelChoice, ...]:
    few = product.y.shape[-2] <= MOST_ROWS and prod(product.batch) == 1
    return _vectors(product, weights) if few else _pixels(product, weights, graph)


def _vectors(product: Product, weights: Array) -> tuple[KernelChoice, ...]:
    largest = largest_sums(weights, product.bias, product.a.dtype, product.a_zero_point)
    folded = product.bias - product.a_zero_point * weights.sum(axis=1)
    finish = finish_of(product.node.epilogue, product.y.dtype, folded, largest, any_values=product.any_values)
    if finish is None:
        return ()
    rank = len(product.a.shape)
    x_view = (rank - 1, rank - 2) if product.transposed_a else (rank - 2, rank - 1)
    x = TensorOperand(product.a.name, product.nest.reads[0], x_view)
    y = TensorOperand(product.y.name, product.nest.writes[0], (rank - 2, rank - 1))
    matrix, finish = weights[None, :, None], compact(finish, largest)
    return vector_choices(VectorProduct(product.nest, x, y, product.a.dtype, matrix, finish, OF_MATMUL, whole(1)))


def _pixels(product: Product, weights: Array, graph: Graph) -> tuple[KernelChoice, ...]:
    largest = largest_sums(weights, product.bias, product.a.dtype, product.a_zero_point)
    folded = product.bias - as_signed(product.a_zero_point, product.a.dtype) * weights.sum(axis=1)
    finish = finish_of(product.node.epilogue, product.y.dtype, folded, largest, any_values=product.any_values)
    if finish is None:
        return ()
    views = product.views
    pixels = PixelProduct(
        product.nest,
        TensorOperand(product.a.name, product.nest.reads[0], views[0]),
        TensorOperand(product.y.name, product.nest.writes[0], views[1]),
        weights[None, :, None],
        compact(finish, largest),
        windows=SINGLE_PIXELS,
        is_padded=False,
        padding=product.a_zero_point & 0xFF,
        is_unsigned=int(product.a.dtype is DType.UINT8),
        names=OF_ROWS,
        group=whole(1),
    )
    return of_pixels(pixels, graph)


def computed_finish(product: Product) -> tuple[Finish, Array] | None:
    """How sums of a product of two computed matrices are finished, and their largest magnitudes, int64[n].

    None if b has several zero points, or sums could leave 32 bits, or no rule is exact.
    """
    if len(set(product.b_zero_points.tolist())) != 1:
        return None
    b_reach = magnitude(product.b.dtype, int(product.b_zero_points[0]))
    reach = product.nest.dimension("k").extent * magnitude(product.a.dtype, product.a_zero_point) * b_reach
    if 2 * reach + int(np.abs(product.bias).max()) >= 1 << 31:
        return None
    largest = np.abs(product.bias) + reach
    finish = finish_of(product.node.epilogue, product.y.dtype, product.bias, largest, any_values=product.any_values)
    return None if finish is None else (finish, largest)


def _with_variables(product: Product) -> tuple[KernelChoice, ...]:
    found = computed_finish(product)
    if found is None:
        return ()
    finish, nest = found[0], product.nest
    rows = packed_rows(finish.rows, 1)
    only = replace(rows, shape=rows.shape[1:], pack=lambda steps: rows.pack(steps)[0])
    constants = ConstantOperand("requantization", only, (blocks("n", BLOCK), whole(BLOCK), whole(ROW_WORDS)))
    channels = product.y.shape[-1]
    transposed_b = product.node.given(MatMulAttributes).transpose_b

    def partial_bytes(steps: TileSteps) -> int:
        batch = steps_product(nest, steps, "b0", "b1")
        return batch * block_sums_bytes(steps_product(nest, steps, "m"), steps_product(nest, steps, "n"), BLOCK)

    return (
        KernelChoice(
            kernel=_VARIABLES,
            called=f"tilewright_matmul_integer_{finish.rule.value}",
            sources=MATMUL_SOURCES,
            nest=nest,
            reads=(
                TensorOperand(product.a.name, nest.reads[0], batched_view(product.a, product.transposed_a)),
                TensorOperand(product.b.name, nest.reads[1], batched_view(product.b, transposed_b)),
                constants,
            ),
            writes=(TensorOperand(product.y.name, nest.writes[0], batched_view(product.y, False)),),
            attributes=MatmulInteger(
                a_zero_point=as_signed(product.a_zero_point, product.a.dtype),
                a_is_unsigned=int(product.a.dtype is DType.UINT8),
                b_zero_point=int(product.b_zero_points[0]),
                b_is_unsigned=int(product.b.dtype is DType.UINT8),
                finish=finish.block,
                limits=finish.limits,
            ),
            partial_bytes=partial_bytes,
            multiples={"n": BLOCK, "k": BLOCK},
            uncut=frozenset() if channels > BLOCK else frozenset({"n"}),
        ),
    )


def batched_view(tensor: Tensor, transposed: bool) -> tuple[int, ...]:
    """The view [b0, b1, row, column] of a tensor; batch axes that the tensor lacks come first."""
    rank = len(tensor.shape)
    batch = (-1,) * (4 - rank) + tuple(range(rank - 2))
    return (*batch, rank - 1, rank - 2) if transposed else (*batch, rank - 2, rank - 1)


def _variable_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile: packing of columns, gathering of rows, products, and elements that are stored
    (RV32IMAC, GCC 12.2, -O2).
    """
    nest, given = choice.nest, choice.given(MatmulInteger)
    depth, channels = steps_product(nest, steps, "k"), steps_product(nest, steps, "n")
    batch = steps_product(nest, steps, "b0", "b1")
    row_blocks = -(-steps_product(nest, steps, "m") // BLOCK)
    each = (53.0 + 5.0 * given.a_is_unsigned) * depth + 320.0
    stored = channels * row_blocks * (34.0 + BLOCK * rule_cycles(given.finish))
    return 300.0 + batch * (-(-channels // BLOCK) * (35.0 * depth + 350.0 + row_blocks * each) + stored)


def _variable_scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """Four rows of a, four columns of b in 16 bits, and the constants of these columns."""
    depth = steps_product(choice.nest, steps, "k")
    return {"taps": BLOCK * depth, "weights": 2 * BLOCK * depth, "rows": 4 * BLOCK * ROW_WORDS}


_VARIABLES = Kernel(
    "tilewright_matmul_integer", MatmulInteger, _variable_cycles, scratch=_variable_scratch, likes=MATRIX_ORDER
)

DECLARATION = Declaration(
    operators={"MatMul": choices},
    kernels=(_VARIABLES,),
    stack_bytes={"matmul_integer_rescale": 544},
)
