"""Products of few 8-bit vectors with a constant matrix (runtime/kernels/fully_connected_integer.c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tilewright.graph import Array, DType, Graph
from tilewright.kernels.c_structs import CStruct, CType, Rule
from tilewright.kernels.integer import BLOCK, block_sums_bytes, is_wide, packed_operands, steps_product
from tilewright.kernels.kernel import CyclesOf, Declaration, Kernel, KernelChoice, TensorOperand, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER, MATRIX_ORDER
from tilewright.kernels.requantization import Finish, LayerLimits
from tilewright.kernels.scalar.fully_connected_packed import OF_CONV, OF_MATMUL, packed_vectors
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.operators.nest import AxisMap, Nest, along

SOURCES = ("fully_connected_integer.c", "integer_finish.c")


@dataclass(frozen=True, slots=True)
class FullyConnectedInteger(CStruct):
    """Products of 8-bit vectors with a constant matrix: y[row, n] = bias[n] + sum x[row, k] * w[n, k]. Operands:
    x [row, k]; weights int8 [block][k][4]; constants [n][words of the rule]; y [row, n]. No scratch. Partial
    results, where k is cut: 16 bytes for 4 channels of a row.
    """

    products: Annotated[str, CType("tilewright_vector_products *", is_pointer=True)]
    rule: Rule
    limits: LayerLimits


MOST_ROWS = 2
"""The most vectors for this kernel: with more, the 4x4 core of conv_integer.c reads each weight less often."""


def vector_choices(
    nest: Nest,
    x: TensorOperand,
    y: TensorOperand,
    dtype: DType,
    weights: Array,
    finish: Finish,
    names: tuple[str, str, str],
    group: AxisMap,
) -> tuple[KernelChoice, ...]:
    """The kernels on views [row, element], two channels with each multiplication where that is possible first.

    Args:
        dtype: element type of x. C reads uint8 elements as they are, so ``finish`` needs biases for these.
        weights: int64[1, channels, 1, inputs] that fit int8.
        names: the dimensions of the nest that rows and channels of y, and elements of x, follow: ``OF_MATMUL``
            or ``OF_CONV``.
        group: map of the axis of groups.
    """
    given = (nest, x, y, dtype, weights, finish, names, group)
    return (*packed_vectors(*given), _vector_choice(*given))


def _vector_choice(
    nest: Nest,
    x: TensorOperand,
    y: TensorOperand,
    dtype: DType,
    weights: Array,
    finish: Finish,
    names: tuple[str, str, str],
    group: AxisMap,
) -> KernelChoice:
    """The kernel that takes one channel with each multiplication; its reduction can be cut."""
    sign, variant = ("unsigned", "unsigned") if dtype is DType.UINT8 else ("signed", "integer")
    channels = int(weights.shape[1])
    row, channel, reduction = names

    def partial_bytes(steps: TileSteps) -> int:
        return block_sums_bytes(steps_product(nest, steps, row), steps_product(nest, steps, channel), 1)

    return KernelChoice(
        kernel=_KERNELS[names],
        called=f"tilewright_fully_connected_{variant}_{finish.rule.value}",
        sources=SOURCES,
        nest=nest,
        reads=(x, *packed_operands(weights, finish.rows, group, channel, reduction)),
        writes=(y,),
        attributes=FullyConnectedInteger(f"tilewright_vector_{sign}", finish.block_rule, finish.layer_limits),
        partial_bytes=partial_bytes,
        multiples={channel: BLOCK, reduction: BLOCK},
        uncut=frozenset() if channels > BLOCK else frozenset({channel}),
    )


def pointwise(conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a 1x1 convolution of 1x1 images, as at the end of classifiers."""
    shape = graph.tensor(conv.node.inputs[0]).shape
    groups, _, window, _ = conv.weights.shape
    single = window == 1 and groups == 1 and all(extent == 1 for extent in shape[2:]) and conv.windows.pads == (0, 0)
    if not single or shape[0] > MOST_ROWS or is_wide(conv.weights) or conv.dtype is DType.UINT8:
        return ()
    if any(extent != 1 for extent in graph.tensor(conv.node.outputs[0]).shape[2:]):
        return ()
    x, y = (TensorOperand(operand.tensor, operand.axes, (0, 1)) for operand in conv.operands)
    return vector_choices(conv.nest, x, y, conv.dtype, conv.weights, conv.finish, OF_CONV, along("group"))


def _cycles(row: str, channel: str, reduction: str) -> CyclesOf:
    """Instructions of a call on a tile; the names are dimensions of the nest."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        nest = choice.nest
        block_count = -(-steps_product(nest, steps, channel) // BLOCK)
        inputs = steps_product(nest, steps, reduction)
        return 100.0 + steps_product(nest, steps, row) * block_count * (13.8 * inputs + 120.0)

    return cycles


_KERNELS = {
    names: Kernel("tilewright_fully_connected_integer", FullyConnectedInteger, _cycles(*names), likes=likes)
    for names, likes in ((OF_MATMUL, MATRIX_ORDER), (OF_CONV, CONVOLUTION_ORDER))
}

DECLARATION = Declaration(
    kernels=tuple(_KERNELS.values()),
    pointed={"tilewright_vector_products": ("vector_signed", "vector_unsigned")},
)
