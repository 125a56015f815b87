"""Convolution and products of 8-bit tensors, 16 taps or channels per instruction (runtime/kernels/mve_block.c)."""

from __future__ import annotations

from math import prod

from tilewright.graph import Array, Graph, Node
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.requantization import Rule
from tilewright.kernels.runs import ConvRuns, Family, conv_choices, in_blocks, kernels_of, product_choices
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.operators.nest import Nest
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
    of_pixel = _gather_cycles(given, choice.nest)
    if pixels == 1:
        # Vectors that are not whole take their own instructions.
        four = 70.0 + 10.0 * vectors + (25.0 if given.taps % _LANES else 0.0)
        return 150.0 + groups * (580.0 + of_pixel + fours * four)
    of_three = 275.0 + PIXELS * of_pixel + fours * (44.0 + 24.0 * vectors)
    return 150.0 + groups * threes * of_three


def _gather_cycles(given: ConvRuns, nest: Nest) -> float:
    """Instructions that copy a pixel's taps, on average over those within x and those at its edge."""
    rows = given.windows.kernel[0]
    vectors = -(-given.taps // rows // _LANES)
    within = 45.0 + rows * (9.0 + 4.0 * vectors)
    at_edge = 55.0 + rows * (34.0 + 4.0 * vectors)
    share = _share_within(nest, given.windows)
    return share * within + (1.0 - share) * at_edge


def _share_within(nest: Nest, windows: PlaneWindows) -> float:
    """The part of all pixels whose taps lie within x, if as many lie over one edge of x as over the other."""
    share = 1.0
    for name, pad, stride in zip(("oh", "ow"), windows.pads, windows.strides, strict=True):
        extents = [dimension.extent for dimension in nest.dimensions if dimension.name == name]
        for extent in extents:
            share *= 1.0 - min(extent, -(-max(pad, 0) // stride) * 2) / extent
    return share


FAMILY = Family(
    "mve",
    ("mve_block.c", "mve_finish.c"),
    (Rule.FOLDED, Rule.LAYER, Rule.HIGH, Rule.AWAY, Rule.TWICE),
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
