"""Convolution and products of 8-bit tensors, a vector of channels per instruction (runtime/kernels/rvv_block.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilewright.graph import Graph, Node
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.requantization import Rule
from tilewright.kernels.runs import PIXELS, ConvRuns, Family, conv_choices, kernels_of, product_choices
from tilewright.plan import Core

LEAST_BLOCK = 32
"""Channels of a block where vectors have 16 bytes: 32-bit sums of a pixel's block fill eight vectors."""


_CALL, _THREE, _BLOCK = 290.0, 92.0, 118.0
"""Instructions of a call, for three pixels, and for three pixels of a block of channels."""
_DEPTHWISE_CALL, _DEPTHWISE_THREE, _DEPTHWISE_BLOCK, _DEPTHWISE_TAP = 810.0, 325.0, 119.0, 20.0
_LISTED_ROW, _LISTED_TAP, _LISTED_CHANNEL, _RUN = 108.0, 84.0, 78.0, 11.0
"""Instructions that list a row of a window as one run, a single tap, or a channel of one, and those of a run besides
its taps."""
_FOUR_TAPS, _TAP = {1: 25.0, 3: 41.0}, {1: 10.0, 3: 14.0}
"""Instructions for four taps of a run, and for each of up to three that are left, by the pixels that they multiply."""
_FINISHED_IN_C = 29.0
"""Instructions for each element by rules that the family does not finish in vectors."""


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps: those of rvv_block.c, the rest fitted to measurements."""
    return _cycles_of(choice, steps, is_apart=False)


def _cycles_apart(choice: KernelChoice, steps: TileSteps) -> float:
    """``_cycles`` where channels of x lie apart."""
    return _cycles_of(choice, steps, is_apart=True)


def _cycles_of(choice: KernelChoice, steps: TileSteps, *, is_apart: bool) -> float:
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
    if given.is_depthwise:
        taps = prod(given.windows.kernel)
        of_block = _DEPTHWISE_TAP * taps + _DEPTHWISE_BLOCK
        return _DEPTHWISE_CALL + threes * (_DEPTHWISE_THREE + _LISTED_TAP * taps + blocks * of_block) + in_c
    listed, multiplied = _runs(given, steps.get("ow", 1), 1 if pixels == 1 else 3, is_apart=is_apart)
    return _CALL + threes * (_THREE + listed + blocks * (multiplied + _BLOCK)) + in_c


def _runs(given: ConvRuns, width: int, pixels: int, *, is_apart: bool) -> tuple[float, float]:
    """Instructions that list and that multiply the runs of three pixels; ``width``: pixels of a row of the tile.

    A row of a window is one run, but for windows beside padding, and dilated ones: each tap of these is a run. Where
    channels lie apart, each is one of its own.
    """
    rows, columns = given.windows.kernel
    if is_apart:
        runs = rows * columns * given.group_inputs
        return runs * _LISTED_CHANNEL, runs * _run(1, pixels)
    single = 0.0
    if columns > 1 and given.windows.dilations[1] > 1:
        single = 1.0
    elif columns > 1 and given.padding >= 0:
        single = min(1.0, 2.0 * given.pixels / width)
    row, tap = (_run(count * given.group_inputs, pixels) for count in (columns, 1))
    listed = rows * ((1.0 - single) * _LISTED_ROW + single * columns * _LISTED_TAP)
    return listed, rows * ((1.0 - single) * row + single * columns * tap)


def _run(taps: int, pixels: int) -> float:
    """Instructions of one run."""
    return _RUN + taps // 4 * _FOUR_TAPS[pixels] + taps % 4 * _TAP[pixels]


def _names(choice: KernelChoice) -> frozenset[str]:
    return frozenset(dimension.name for dimension in choice.nest.dimensions)


FAMILY = Family(
    "rvv",
    ("rvv_block.c", "rvv_block_c.c"),
    (Rule.FOLDED, Rule.LAYER, Rule.HIGH),
    LEAST_BLOCK,
    PIXELS,
    kernels_of(_cycles, cycles_apart=_cycles_apart),
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
