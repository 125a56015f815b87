"""Products of few 8-bit vectors with a constant matrix, four at a time (runtime/kernels/vector_xpulpv2.c).

The core of four pixels would compute a single vector four times.
"""

from __future__ import annotations

from tilewright.graph import Array, DType, Graph
from tilewright.kernels.integer import BLOCK, block_sums_bytes, steps_product
from tilewright.kernels.kernel import CyclesOf, Declaration, Kernel, KernelChoice, TensorOperand, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER, MATRIX_ORDER
from tilewright.kernels.requantization import Finish
from tilewright.kernels.scalar.fully_connected_integer import MOST_ROWS, FullyConnectedInteger
from tilewright.kernels.scalar.fully_connected_packed import OF_CONV, OF_MATMUL
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.kernels.xpulpv2 import family as xpulpv2
from tilewright.operators.nest import AxisMap, Nest, along

SOURCES = (
    "fully_connected_integer.c",
    "vector_xpulpv2.c",
    "xpulpv2_vector.c",
    "integer_core.c",
    "integer_finish.c",
)

_PRODUCTS = "tilewright_vector_xpulpv2_"


def vector_choice(
    nest: Nest,
    x: TensorOperand,
    y: TensorOperand,
    dtype: DType,
    weights: Array,
    finish: Finish,
    names: tuple[str, str, str],
    group: AxisMap,
) -> tuple[KernelChoice, ...]:
    """The kernel on views [row, element]; empty where a vector is not whole words.

    Args:
        dtype: element type of x, whose elements lie side by side. C reads stored bytes as they are, so ``finish``
            needs biases for these.
        weights: int64[1, channels, 1, inputs] that fit int8.
        names: the dimensions of the nest that rows and channels of y, and elements of x, follow: ``OF_MATMUL``
            or ``OF_CONV``.
    """
    if weights.shape[3] % xpulpv2.WORD != 0:
        return ()
    row, channel, reduction = names
    sign = "unsigned" if dtype is DType.UINT8 else "signed"
    by_rule = f"{finish.rule.value}_{sign}" if finish.rule in xpulpv2.FINISHED else sign

    def partial_bytes(steps: TileSteps) -> int:
        return block_sums_bytes(steps_product(nest, steps, row), steps_product(nest, steps, channel), 1)

    return (
        KernelChoice(
            kernel=_KERNELS[names],
            called=f"tilewright_fully_connected_xpulpv2_{finish.rule.value}",
            sources=SOURCES,
            nest=nest,
            reads=(x, *xpulpv2.packed_operands(weights, finish, group, channel, reduction)),
            writes=(y,),
            attributes=FullyConnectedInteger(f"{_PRODUCTS}{by_rule}", finish.block_rule, finish.layer_limits),
            partial_bytes=partial_bytes,
            multiples={channel: BLOCK, reduction: xpulpv2.WORD},
            uncut=frozenset() if weights.shape[1] > BLOCK else frozenset({channel}),
        ),
    )


def pointwise(conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a 1x1 convolution of 1x1 images, as at the end of classifiers."""
    shape = graph.tensor(conv.node.inputs[0]).shape
    y_shape = graph.tensor(conv.node.outputs[0]).shape
    groups, _, window, _ = conv.weights.shape
    single = window == 1 and groups == 1 and all(extent == 1 for extent in (*shape[2:], *y_shape[2:]))
    if not single or shape[0] > MOST_ROWS or conv.windows.pads != (0, 0):
        return ()
    x, y = (TensorOperand(operand.tensor, operand.axes, (0, 1)) for operand in conv.operands)
    return vector_choice(conv.nest, x, y, conv.dtype, conv.weights, conv.finish, OF_CONV, along("group"))


def _cycles(row: str, channel: str, reduction: str) -> CyclesOf:
    """Cycles of a call on a tile; the names are dimensions of the nest."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        nest, products = choice.nest, choice.given(FullyConnectedInteger).products
        whole = nest.dimension(reduction).extent == steps_product(nest, steps, reduction)
        finishes = whole and products not in (f"{_PRODUCTS}signed", f"{_PRODUCTS}unsigned")
        words = steps_product(nest, steps, reduction) // xpulpv2.WORD
        block = 9.0 * words + (_FINISHED_CYCLES if finishes else _RETURNED_CYCLES)
        return 300.0 + steps_product(nest, steps, row) * xpulpv2.channel_blocks(nest, steps, channel) * block

    return cycles


_FINISHED_CYCLES = 45.0
"""Cycles for four channels beside their products, where assembler finishes the sums."""

_RETURNED_CYCLES = 200.0
"""The same where the rule's C function finishes the sums."""

_KERNELS = {
    names: Kernel("tilewright_fully_connected_integer", FullyConnectedInteger, _cycles(*names), likes=likes)
    for names, likes in ((OF_MATMUL, MATRIX_ORDER), (OF_CONV, CONVOLUTION_ORDER))
}

DECLARATION = Declaration(
    kernels=tuple(_KERNELS.values()),
    pointed={
        "tilewright_vector_products": (
            "vector_xpulpv2_signed",
            "vector_xpulpv2_unsigned",
            *(f"vector_xpulpv2_{rule.value}_{sign}" for rule in xpulpv2.FINISHED for sign in ("signed", "unsigned")),
        )
    },
)
