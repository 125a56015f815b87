"""Depthwise convolution of 8-bit tensors, all taps of an element per instruction (runtime/kernels/depthwise_mve.c)."""

from __future__ import annotations

from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node
from tilewright.kernels.c_structs import CStruct, CType, Int32
from tilewright.kernels.integer import is_wide, steps_product
from tilewright.kernels.kernel import (
    HEIGHT,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TileSteps,
    raster_over,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, Rule
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.spatial_integer import IntegerConv, PaddedInput, integer_conv, padded_extents
from tilewright.operators.nest import along, whole

_COMPUTED = {Rule.FOLDED: "folded", Rule.LAYER: "high", Rule.HIGH: "high"}
"""Rule to the end of the name of the C function that multiplies and finishes by it."""

_COMPUTE = "depthwise_mve_"

_LANES = 16
"""The most taps: bytes of a vector."""

_FARTHEST = 255
"""The largest offset of a tap from the first one in the window: offsets are bytes."""


@dataclass(frozen=True, slots=True)
class DepthwiseMve(CStruct):
    """Depthwise convolution of 8-bit tensors by up to 16 taps. Operands: x [n, c, h, w]; weights int8 [c][kernel];
    constants [c][words of the rule]; y [n, c, h, w]; scratch: the padded window of one channel.
    """

    x: PaddedInput
    compute: Annotated[str, CType("tilewright_depthwise_compute *", is_pointer=True)]
    biased: Annotated[Int32, "1: rows of the rule begin with the bias"]
    row_words: Annotated[Int32, "words of a row of the rule"]
    limits: LayerLimits


def convolutions(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for one input and one output channel in each group, and weights of 8 bits."""
    conv = integer_conv(node, graph)
    if conv is None or not conv.is_depthwise or is_wide(conv.weights) or conv.finish.rule not in _COMPUTED:
        return ()
    groups, _, window, _ = map(int, conv.weights.shape)
    windows = conv.padded_input.windows
    if window > _LANES or _farthest(conv, windows) > _FARTHEST:
        return ()
    x, y = conv.operands
    packed = Packing(
        (groups, window), np.dtype(np.int8), lambda _: conv.weights.reshape(groups, window).astype(np.int8)
    )
    return (
        KernelChoice(
            kernel=_DEPTHWISE,
            called=f"tilewright_{_COMPUTE}{conv.finish.rule.value}",
            sources=("depthwise_mve.c",),
            nest=conv.nest,
            reads=(
                x,
                ConstantOperand("weights", packed, (along("group"), whole(window))),
                conv.constants_of_groups,
            ),
            writes=(y,),
            attributes=DepthwiseMve(
                conv.padded_input,
                f"tilewright_{_COMPUTE}{_COMPUTED[conv.finish.rule]}",
                biased=int(conv.finish.rule is not Rule.FOLDED),
                row_words=conv.finish.row_words,
                limits=conv.finish.layer_limits,
            ),
            uncut=frozenset({"ic", "oc"}),
        ),
    )


def _farthest(conv: IntegerConv, windows: PlaneWindows) -> int:
    """The largest offset of a tap, whichever axis lines run along."""
    extents = padded_extents(conv.nest, windows, {})
    reaches = [(kernel - 1) * dilation for kernel, dilation in zip(windows.kernel, windows.dilations, strict=True)]
    return max(reaches[0] * extents[1] + reaches[1], reaches[1] * extents[0] + reaches[0])


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements on a Cortex-M55 in QEMU."""
    nest, windows = choice.nest, choice.given(DepthwiseMve).x.windows
    rows, columns = padded_extents(nest, windows, steps)
    shorter, longer = sorted((steps_product(nest, steps, "oh"), steps_product(nest, steps, "ow")))
    copied = min(rows, columns) * (16.0 + 4.0 * -(-max(rows, columns) // 8))
    line = 13.0 + 22.5 * -(-longer // 4)
    return (
        200.0
        + prod((rows, columns)) * 3.0
        + steps_product(nest, steps, "n", "group") * (138.0 + copied + shorter * line)
    )


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    return {"window": prod(padded_extents(choice.nest, choice.given(DepthwiseMve).x.windows, steps))}


_DEPTHWISE = Kernel(
    "tilewright_depthwise_mve",
    DepthwiseMve,
    _cycles,
    scratch=_scratch,
    # The window of a channel is copied whole before the channel's first store.
    stores=raster_over("n", apart=("group",)),
    ring_axes=frozenset({HEIGHT}),
    likes=CONVOLUTION_ORDER,
)

DECLARATION = Declaration(
    operators={"Conv": convolutions},
    kernels=(_DEPTHWISE,),
    pointed={
        "tilewright_depthwise_compute": tuple(f"{_COMPUTE}{name}" for name in sorted(set(_COMPUTED.values()))),
    },
)
