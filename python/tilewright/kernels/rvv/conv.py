"""Convolution and products of 8-bit tensors, a vector of channels per instruction (runtime/kernels/rvv_block.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilewright.graph import Graph, Node
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.requantization import Rule
from tilewright.kernels.runs import AS_ONE_RUN, PIXELS, ConvRuns, Family, conv_choices, kernels_of, product_choices
from tilewright.plan import Core

LEAST_BLOCK = 32
"""Channels of a block where vectors have 16 bytes: 32-bit sums of a pixel's block fill eight vectors."""


_CALL, _THREE, _BLOCK = 288.0, 86.0, 119.0
"""Instructions of a call, for three pixels, and for three pixels of a block of channels."""
_LISTED_ROW, _LISTED_INSIDE, _LISTED_BESIDE, _RUN = 111.0, 50.0, 57.0, 11.0
"""Instructions that list a row of a window as one run, or a single tap within x or beside padding, and those of a run
besides its taps."""
_GATHERED, _GATHERED_TAP = 90.0, 9.0
"""Instructions that gather a pixel, and each of its taps."""
_DEPTHWISE_CALL, _DEPTHWISE_ROW, _DEPTHWISE_INSIDE, _DEPTHWISE_BESIDE = 1090.0, 94.0, 23.0, 39.0
"""Depthwise: instructions of a call, and those that list a row of a window, and a tap of it within x or beside
padding."""
_DEPTHWISE_BLOCK, _DEPTHWISE_TAP = 142.0, 20.0
"""Depthwise: instructions for three pixels of a block of channels, and for each tap of these."""
_FOUR_TAPS, _TAP = {1: 25.0, 3: 41.0}, {1: 10.0, 3: 14.0}
"""Instructions for four taps of a run, and for each of up to three that are left, by the pixels that they multiply."""
_FINISHED_IN_C = 29.0
"""Instructions for each element by rules that the family does not finish in vectors."""


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps: those of rvv_block.c, the rest fitted to measurements."""
    given, nest = choice.given(ConvRuns), choice.nest
    names = _names(choice)
    pixels = steps_product(nest, steps, "oh", "ow", "m", "b1")
    images = steps_product(nest, steps, "n" if "oc" in names else "b0")
    if given.is_depthwise:
        channels = steps_product(nest, steps, "group")
    else:
        images *= steps_product(nest, steps, "group")
        channels = steps_product(nest, steps, "oc" if "oc" in names else "n")
    blocks = -(-channels // given.block)
    threes = images * -(-pixels // given.pixels)
    in_c = 0.0 if given.finishing.finish == "NULL" else _FINISHED_IN_C * images * pixels * channels
    beside = _beside(given, steps.get("ow", 1))
    if given.is_depthwise:
        rows, taps = given.windows.kernel[0], prod(given.windows.kernel)
        listed = rows * _DEPTHWISE_ROW + taps * (beside * _DEPTHWISE_BESIDE + (1.0 - beside) * _DEPTHWISE_INSIDE)
        return _DEPTHWISE_CALL + threes * (listed + blocks * (_DEPTHWISE_TAP * taps + _DEPTHWISE_BLOCK)) + in_c
    together = 1 if pixels == 1 else 3
    if given.gathers == AS_ONE_RUN:
        listed = together * (_GATHERED + _GATHERED_TAP * given.taps)
        multiplied = _run(given.taps, together)
    else:
        listed, multiplied = _runs(given, beside, together)
    return _CALL + threes * (_THREE + listed + blocks * (multiplied + _BLOCK)) + in_c


def _beside(given: ConvRuns, width: int) -> float:
    """The share of pixels whose windows lie beside padding, of rows of ``width`` pixels."""
    return min(1.0, 2.0 * given.pixels / width) if given.windows.kernel[1] > 1 and given.padding >= 0 else 0.0


def _runs(given: ConvRuns, beside: float, pixels: int) -> tuple[float, float]:
    """Instructions that list and that multiply the runs of three pixels, or of one.

    A row of a window is one run, but for windows beside padding, and dilated ones: each tap of these is a run.
    """
    rows, columns = given.windows.kernel
    row, tap = (_run(count * given.group_inputs, pixels) for count in (columns, 1))
    inside, listed = row, _LISTED_ROW
    if columns > 1 and given.windows.dilations[1] > 1:
        inside, listed = columns * tap, columns * _LISTED_INSIDE
    listed = (1.0 - beside) * listed + beside * columns * _LISTED_BESIDE
    return rows * listed, rows * ((1.0 - beside) * inside + beside * columns * tap)


def _run(taps: int, pixels: int) -> float:
    """Instructions of one run."""
    return _RUN + taps // 4 * _FOUR_TAPS[pixels] + taps % 4 * _TAP[pixels]


def _names(choice: KernelChoice) -> frozenset[str]:
    return frozenset(dimension.name for dimension in choice.nest.dimensions)


FAMILY = Family(
    "rvv",
    ("rvv_block.c", "rvv_block_c.c"),
    (Rule.FOLDED, Rule.LAYER, Rule.HIGH, Rule.AWAY, Rule.TWICE),
    LEAST_BLOCK,
    PIXELS,
    kernels_of(_cycles),
)


def _family(core: Core) -> Family:
    """The family for the core's vectors."""
    return replace(FAMILY, block=max(LEAST_BLOCK, 2 * core.simd_bytes))


def convolutions(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with 8-bit x and constant weights and bias."""
    return conv_choices(node, graph, _family(core), core.pointer_bytes)


def products(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for MatMul of 8 bits with a constant matrix."""
    return product_choices(node, graph, _family(core), core.pointer_bytes)


DECLARATION = Declaration(
    on_core={"Conv": convolutions, "MatMul": products},
    kernels=tuple(FAMILY.kernels.values()),
    pointed=FAMILY.pointed(),
    numbers={"RUN_PIXELS": PIXELS},
)
