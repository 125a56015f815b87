"""Convolution and products of 8-bit tensors, 16 taps or channels per instruction (runtime/kernels/mve_block.c)."""

from __future__ import annotations

from math import prod

from tilewright.graph import Array, Graph, Node
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.requantization import Rule
from tilewright.kernels.runs import ConvRuns, Family, conv_choices, in_blocks, kernels_of, product_choices
from tilewright.plan import Core

PIXELS = 3
"""Pixels that are multiplied together."""

_LANES = 16
_BLOCK = 64
"""Channels for which sums are kept at once where a rule's function in C finishes them."""


def _packed(weights: Array, block: int) -> Array:
    """Taps of a channel side by side, as they are; of depthwise convolutions channels of a tap."""
    return weights


def _gathered_bytes(taps: int) -> int:
    """All pixels, each in whole vectors."""
    return PIXELS * -(-taps // _LANES) * _LANES


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements on a Cortex-M55 in QEMU."""
    given, nest = choice.given(ConvRuns), choice.nest
    is_conv = any(dimension.name == "oc" for dimension in nest.dimensions)
    images = steps_product(nest, steps, "n") if is_conv else steps_product(nest, steps, "b0")
    pixels = steps_product(nest, steps, "oh", "ow", "m", "b1")
    window = prod(given.windows.kernel)
    threes = -(-pixels // PIXELS)
    if given.is_depthwise:
        vectors = -(-steps_product(nest, steps, "group") // _LANES)
        return 150.0 + images * threes * (150.0 + 70.0 * window + vectors * (PIXELS * 19.0 * window + 250.0))
    groups = images * steps_product(nest, steps, "group")
    channels = steps_product(nest, steps, "oc" if is_conv else "n")
    vectors, fours = -(-given.taps // _LANES), -(-channels // 4)
    rows = given.windows.kernel[0]
    of_pixel = 60.0 + rows * (7.0 + 4.0 * -(-given.taps // rows // _LANES))
    if pixels == 1:
        return 150.0 + groups * (200.0 + of_pixel + fours * (10.0 * vectors + 60.0))
    pairs = -(-channels // 2)
    of_three = 250.0 + PIXELS * of_pixel + pairs * (13.0 + 12.0 * vectors) + 27.0 * fours + 2.5 * channels
    return 150.0 + groups * threes * of_three


FAMILY = Family(
    "mve",
    ("mve_block.c", "mve_finish.c"),
    (Rule.FOLDED, Rule.LAYER, Rule.HIGH),
    _BLOCK,
    PIXELS,
    kernels_of(_cycles, _gathered_bytes),
    packed=_packed,
    packed_channels=in_blocks,
    gathers=True,
    as_stored=False,
)


def convolutions(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with 8-bit x and constant weights and bias."""
    return conv_choices(node, graph, FAMILY, core.pointer_bytes)


def products(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for MatMul of 8 bits with a constant matrix."""
    return product_choices(node, graph, FAMILY, core.pointer_bytes)


DECLARATION = Declaration(
    on_core={"Conv": convolutions, "MatMul": products},
    kernels=tuple(FAMILY.kernels.values()),
    pointed=FAMILY.pointed(),
)
