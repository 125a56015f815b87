"""Convolution and products of 8-bit tensors, two taps per instruction (runtime/kernels/dsp_block.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tilewright.graph import Array, Graph, Node
from tilewright.kernels.integer import is_wide, steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.requantization import Rule
from tilewright.kernels.runs import ConvRuns, Family, conv_choices, kernels_of, product_choices
from tilewright.kernels.scalar import depthwise_integer
from tilewright.kernels.scalar.depthwise_integer import DepthwiseInteger
from tilewright.kernels.scalar.spatial_integer import integer_conv
from tilewright.plan import Core

PIXELS = 3
"""Pixels that are multiplied together."""

_BLOCK = 64
"""Channels for which sums are kept at once where a rule's function in C finishes them; even."""

_QUAD = 4
"""Taps whose weights are a word."""


def in_pairs(weights: Array, block: int) -> Array:
    """int8[channels, taps], taps in whole words; bytes are [pair of channels][word of taps][channel][tap of the word].

    A last channel without another stands alone.
    """
    pairs = [weights[at : at + 2] for at in range(0, len(weights), 2)]
    parts = [np.moveaxis(pair.reshape(len(pair), -1, _QUAD), 0, 1).reshape(-1) for pair in pairs]
    return np.concatenate(parts).reshape(weights.shape)


_APART_CYCLES, _APART_INPUT_CYCLES = 200.0, 2.2
"""Instructions of a tap that does not lie beside the one before it, and of each of its channels."""


def _gathered_bytes(taps: int) -> int:
    """All pixels of 16-bit elements, in whole words of weights, and the bytes of one pixel."""
    return (2 * PIXELS + 1) * taps


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements on a Cortex-M4 in QEMU."""
    given, nest = choice.given(ConvRuns), choice.nest
    is_conv = any(dimension.name == "oc" for dimension in nest.dimensions)
    images = steps_product(nest, steps, "n", "group") if is_conv else steps_product(nest, steps, "b0")
    channels = steps_product(nest, steps, "oc" if is_conv else "n")
    pixels = steps_product(nest, steps, "oh", "ow", "m", "b1")
    taps = prod(given.windows.kernel) * given.group_inputs
    padded = -(-taps // _QUAD) * _QUAD
    start = 520.0 + 95.0 * given.windows.kernel[0]
    if given.windows.dilations[1] > 1:
        # Each tap of a row is gathered for itself.
        tap = _APART_CYCLES + _APART_INPUT_CYCLES * given.group_inputs
        start += PIXELS * prod(given.windows.kernel) * tap
    if pixels == 1:
        return 150.0 + images * (start + 3.2 * padded + channels * (1.235 * padded + 22.0))
    pair = 4.94 * padded + 24.0
    of_three = start + 9.6 * padded + -(-channels // 2) * pair + 26.7 * channels
    return 150.0 + images * -(-pixels // PIXELS) * of_three


FAMILY = Family(
    "dsp",
    ("dsp_block.c",),
    (Rule.FOLDED, Rule.LAYER, Rule.HIGH, Rule.AWAY, Rule.TWICE),
    _BLOCK,
    PIXELS,
    kernels_of(_cycles, _gathered_bytes),
    packed=in_pairs,
    is_depthwise=False,
    gathers=True,
    multiple=_QUAD,
)


def convolutions(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with 8-bit x and constant weights and bias."""
    return (*conv_choices(node, graph, FAMILY, core.pointer_bytes), *_depthwise(node, graph))


def products(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for MatMul of 8 bits with a constant matrix."""
    return product_choices(node, graph, FAMILY, core.pointer_bytes)


def _depthwise(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The scalar kernel for depthwise convolutions, whose sums for 3x3 taps side by side are the family's."""
    conv = integer_conv(node, graph)
    if conv is None or is_wide(conv.weights) or conv.windows.kernel != (3, 3) or conv.windows.dilations != (1, 1):
        return ()
    found = depthwise_integer.depthwise(conv)
    return tuple(
        replace(
            choice,
            kernel=replace(choice.kernel, cycles=_depthwise_cycles),
            called=f"tilewright_depthwise_dsp_{conv.finish.rule.value}",
            sources=("depthwise_dsp.c", *choice.sources),
            attributes=replace(choice.given(DepthwiseInteger), sums=_SUMS, stores=0),
        )
        for choice in found
    )


def _depthwise_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps."""
    nest, windows = choice.nest, choice.given(DepthwiseInteger).x.windows
    rows, columns = steps_product(nest, steps, "oh"), steps_product(nest, steps, "ow")
    window = depthwise_integer.window_bytes(nest, windows, steps)
    channel = 4.0 * window + columns * (20.0 + 26.0 * rows) + 220.0
    return 200.0 + steps_product(nest, steps, "n", "group") * channel


_SUMS = "tilewright_depthwise_dsp"

DECLARATION = Declaration(
    on_core={"Conv": convolutions, "MatMul": products},
    kernels=tuple(FAMILY.kernels.values()),
    pointed={**FAMILY.pointed(), "tilewright_depthwise_sums": ("depthwise_dsp",)},
    stack_bytes={"conv_runs": 688},
)
