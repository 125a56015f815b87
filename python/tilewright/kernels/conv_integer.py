"""Convolution of 8-bit tensors (runtime/kernels/conv_integer.c)."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels import depthwise_integer, fully_connected_integer
from tilewright.kernels.integer import BLOCK, is_wide, packed_operands, words
from tilewright.kernels.kernel import KernelChoice, TileSteps
from tilewright.kernels.spatial_integer import IntegerConv, block_cycles, integer_conv
from tilewright.operators.nest import along

SOURCES = ("conv_integer.c", "integer_core.c", "integer_finish.c")


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with 8-bit x and constant weights and bias."""
    conv = integer_conv(node, graph)
    if conv is None:
        return ()
    special = (*fully_connected_integer.pointwise(conv, graph), *depthwise_integer.depthwise(conv))
    return (*special, _general(conv))


def _general(conv: IntegerConv) -> KernelChoice:
    groups, group_outputs, window, group_inputs = map(int, conv.weights.shape)
    flat = conv.weights.reshape(groups, group_outputs, -1)
    variant = "wide" if is_wide(flat) else "integer"
    x, y = conv.operands
    nest = conv.nest

    def scratch_bytes(steps: TileSteps) -> int:
        return BLOCK * window * group_inputs + words(conv.kernel[1] * group_inputs)

    return KernelChoice(
        symbol=f"tilewright_conv_{variant}_{conv.finish.rule.value}",
        sources=SOURCES,
        nest=nest,
        reads=(x, *packed_operands(flat, conv.finish.rows, along("group"), "oc")),
        writes=(y,),
        attributes=(
            *conv.geometry,
            ("group_inputs", group_inputs),
            ("group_outputs", group_outputs),
            *conv.zero,
            *conv.finish.limits,
        ),
        cycles=lambda steps: block_cycles(nest, steps, window * group_inputs, "oc", ("n", "group"), ("oh", "ow")),
        scratch_bytes=scratch_bytes,
        multiples={"oc": BLOCK} if group_outputs > BLOCK else {},
        uncut=frozenset({"ic", *(() if group_outputs > BLOCK else ("oc",))}),
    )
