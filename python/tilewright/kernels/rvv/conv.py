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


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements in QEMU."""
    given, nest = choice.given(ConvRuns), choice.nest
    window = prod(given.windows.kernel)
    pixels = steps_product(nest, steps, "oh", "ow", "m", "b1")
    images = steps_product(nest, steps, "n" if "oc" in _names(choice) else "b0")
    if given.is_depthwise:
        blocks = -(-steps_product(nest, steps, "group") // given.block)
        of_block = 20.0 * window
    else:
        images *= steps_product(nest, steps, "group")
        blocks = -(-steps_product(nest, steps, "oc" if "oc" in _names(choice) else "n") // given.block)
        taps = window * given.group_inputs
        of_block = 9.2 * taps + 12.0 * (given.windows.kernel[0] if given.group_inputs > 1 else window)
    threes = -(-pixels // given.pixels)
    return 150.0 + images * threes * (130.0 + 28.0 * window + blocks * (of_block + 110.0))


def _names(choice: KernelChoice) -> frozenset[str]:
    return frozenset(dimension.name for dimension in choice.nest.dimensions)


FAMILY = Family(
    "rvv",
    ("rvv_block.c", "rvv_block_c.c"),
    (Rule.FOLDED, Rule.LAYER, Rule.HIGH),
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
