"""Products of few 8-bit vectors with a constant matrix (runtime/kernels/fully_connected_integer.c)."""

from __future__ import annotations

from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph
from tilewright.kernels.c_structs import CStruct, CType, Rule
from tilewright.kernels.integer import BLOCK, block_sums_bytes, is_wide, packed_operands, steps_product
from tilewright.kernels.kernel import ConstantOperand, CyclesOf, Declaration, Kernel, KernelChoice, TileSteps
from tilewright.kernels.requantization import LayerLimits
from tilewright.kernels.scalar.fully_connected_packed import packed_vectors
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.kernels.scalar.vector_product import (
    OF_CONV,
    OF_MATMUL,
    VectorProduct,
    kernels_by_names,
    pointwise_product,
)

SOURCES = ("fully_connected_integer.c", "integer_finish.c")


@dataclass(frozen=True, slots=True)
class FullyConnectedInteger(CStruct):
    """Products of 8-bit vectors with a constant matrix: y[row, n] = bias[n] + sum x[row, k] * w[n, k]. Operands:
    x [row, k]; weights int8, or int16 of `wide` products, [block][k][4]; constants [n][words of the rule]; y [row, n].
    No scratch. Partial results, where k is cut: 16 bytes for 4 channels of a row.
    """

    products: Annotated[str, CType("tilewright_vector_products *", is_pointer=True)]
    rule: Rule
    limits: LayerLimits


def vector_choices(product: VectorProduct) -> tuple[KernelChoice, ...]:
    """The kernels for a product; two channels with each multiplication first, where that is possible."""
    return (*packed_vectors(product), _vector_choice(product))


def _vector_choice(product: VectorProduct) -> KernelChoice:
    """The kernel that takes one channel with each multiplication."""
    wide = is_wide(product.weights)
    variant = "wide" if wide else "unsigned" if product.dtype is DType.UINT8 else "integer"
    _, channel, reduction = product.names
    return one_channel_choice(
        product,
        kernel=_KERNELS[product.names],
        called=f"tilewright_fully_connected_{variant}_{product.finish.rule.value}",
        sources=SOURCES,
        constants=packed_operands(product.weights, product.finish.rows, product.group, channel, reduction),
        products=f"tilewright_vector_{'wide_' if wide else ''}{product.sign}",
        multiple=BLOCK,
    )


def one_channel_choice(
    product: VectorProduct,
    *,
    kernel: Kernel,
    called: str,
    sources: tuple[str, ...],
    constants: tuple[ConstantOperand, ...],
    products: str,
    multiple: int,
) -> KernelChoice:
    """A kernel with the attributes ``FullyConnectedInteger``, whose reduction can be cut.

    Args:
        constants: the operands of weights and of the rule.
        products: the C function that multiplies.
        multiple: of the elements of x of a tile.
    """
    row, channel, reduction = product.names

    def partial_bytes(steps: TileSteps) -> int:
        nest = product.nest
        return block_sums_bytes(steps_product(nest, steps, row), steps_product(nest, steps, channel), 1)

    return KernelChoice(
        kernel=kernel,
        called=called,
        sources=sources,
        nest=product.nest,
        reads=(product.x, *constants),
        writes=(product.y,),
        attributes=FullyConnectedInteger(products, product.finish.block_rule, product.finish.layer_limits),
        partial_bytes=partial_bytes,
        multiples={channel: BLOCK, reduction: multiple},
        uncut=frozenset() if product.weights.shape[1] > BLOCK else frozenset({channel}),
    )


def pointwise(conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels for a 1x1 convolution of 1x1 images."""
    product = pointwise_product(conv, graph)
    if product is None or is_wide(conv.weights) or conv.dtype is DType.UINT8:
        return ()
    return vector_choices(product)


def _cycles(row: str, channel: str, reduction: str) -> CyclesOf:
    """Instructions of a call on a tile; the names are dimensions of the nest."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        nest = choice.nest
        block_count = -(-steps_product(nest, steps, channel) // BLOCK)
        inputs = steps_product(nest, steps, reduction)
        return 100.0 + steps_product(nest, steps, row) * block_count * (13.8 * inputs + 120.0)

    return cycles


_KERNELS = kernels_by_names(
    "tilewright_fully_connected_integer",
    FullyConnectedInteger,
    {names: _cycles(*names) for names in (OF_MATMUL, OF_CONV)},
)

DECLARATION = Declaration(
    kernels=tuple(_KERNELS.values()),
    pointed={
        "tilewright_vector_products": ("vector_signed", "vector_unsigned", "vector_wide_signed", "vector_wide_unsigned")
    },
    # Loops test at their beginning, and no numbers for their ends are computed: less code, as fast.
    gcc_options={"fully_connected_integer.c": ("-fno-tree-ch", "-fno-tree-scev-cprop")},
)
