"""Convolution of 8-bit tensors (runtime/kernels/conv_integer.c)."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels.integer import BLOCK, block_sums_bytes, is_wide, packed_operands, steps_product, words
from tilewright.kernels.kernel import HEIGHT, KernelChoice, TileSteps
from tilewright.kernels.scalar import depthwise_integer, fully_connected_integer
from tilewright.kernels.scalar.spatial_integer import IntegerConv, block_cycles, integer_conv
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
    variant = "wide" if is_wide(conv.weights) else "integer"
    x, y = conv.operands
    nest = conv.nest

    def scratch_bytes(steps: TileSteps) -> int:
        inputs = steps_product(nest, steps, "ic")
        return BLOCK * window * inputs + words(conv.windows.kernel[1] * inputs)

    def partial_bytes(steps: TileSteps) -> int:
        pixels = steps_product(nest, steps, "oh", "ow")
        return steps_product(nest, steps, "n") * block_sums_bytes(pixels, steps_product(nest, steps, "oc"), BLOCK)

    return KernelChoice(
        symbol=f"tilewright_conv_{variant}_{conv.finish.rule.value}",
        sources=SOURCES,
        nest=nest,
        reads=(x, *packed_operands(conv.weights, conv.finish.rows, along("group"), "oc", "ic")),
        writes=(y,),
        attributes=(
            *conv.geometry,
            ("group_inputs", group_inputs),
            ("group_outputs", group_outputs),
            *conv.zero,
            *conv.finish.fields,
        ),
        cycles=lambda steps: block_cycles(nest, steps, window, ("oc", "ic"), ("n", "group"), ("oh", "ow")),
        scratch_bytes=scratch_bytes,
        # C could not tell channels of one group from channels of several.
        partial_bytes=partial_bytes if groups == 1 else None,
        multiples={"oc": BLOCK, "ic": BLOCK},
        uncut=frozenset() if group_outputs > BLOCK else frozenset({"oc"}),
        ring_axes=frozenset({HEIGHT}),
    )
