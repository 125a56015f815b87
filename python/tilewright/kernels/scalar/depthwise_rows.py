"""Depthwise convolution of 8-bit images row by row, for groups of layers (runtime/kernels/depthwise_rows.c)."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.kernels.c_structs import PREFIX, CStruct, Rule
from tilewright.kernels.integer import BLOCK, is_wide, steps_product, words
from tilewright.kernels.kernel import (
    HEIGHT,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TileSteps,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, rule_cycles
from tilewright.kernels.scalar.spatial_integer import IntegerConv, PaddedInput
from tilewright.operators.nest import along, whole

SOURCES = ("depthwise_rows.c", "integer_finish.c")

_SIDE = 3
"""Rows and columns of a window."""


@dataclass(frozen=True, slots=True)
class DepthwiseRows(CStruct):
    """Depthwise convolution of int8 images by windows of 3x3 taps side by side. The channels, a multiple of 4, lie
    side by side in x, and rows of y have 4 pixels or more. Nothing is set up for each channel, so that a row is as
    fast as an image. `strided`: windows are two columns apart, else one. Operands: x [n, c, h, w]; weights int8
    [c][kernel]; constants [c][words of the rule]; y [n, c, h, w]; scratch: a pixel of padding.
    """

    x: PaddedInput
    rule: Rule
    limits: LayerLimits


def rows_of_windows(conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for 3x3 depthwise convolutions of int8 images with channels last."""
    windows = conv.padded_input.windows
    kernel = _KERNELS.get(windows.strides[1])
    is_square = (windows.kernel, windows.dilations) == ((_SIDE, _SIDE), (1, 1))
    order = graph.tensor(conv.node.inputs[0]).order
    groups, width = int(conv.weights.shape[0]), conv.nest.dimension("ow").extent
    if not conv.is_depthwise or is_wide(conv.weights) or conv.is_unsigned or not is_square or kernel is None:
        return ()
    if len(order) != 4 or order[-1] != 1 or groups % BLOCK or width < BLOCK:
        return ()
    x, y = conv.operands
    return (
        KernelChoice(
            kernel=kernel,
            called=f"{kernel.symbol}_{conv.finish.rule.value}",
            sources=SOURCES,
            nest=conv.nest,
            reads=(x, taps_of_channels(conv), conv.constants_of_groups),
            writes=(y,),
            attributes=DepthwiseRows(conv.padded_input, conv.finish.block_rule, conv.finish.layer_limits),
            uncut=frozenset({"group", "ic", "oc", "ow"}),
            in_groups=True,
        ),
    )


def taps_of_channels(conv: IntegerConv) -> ConstantOperand:
    """The weights of a 3x3 depthwise convolution: int8 [channels, 9], taps in raster order."""
    shape = (int(conv.weights.shape[0]), _SIDE * _SIDE)
    packed = Packing(shape, np.dtype(np.int8), lambda _: conv.weights.reshape(shape).astype(np.int8))
    return ConstantOperand("weights", packed, (along("group"), whole(_SIDE * _SIDE)))


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements on RV32IMAC."""
    nest = choice.nest
    channels, rows = steps_product(nest, steps, "group"), steps_product(nest, steps, "n", "oh")
    step = choice.given(DepthwiseRows).x.windows.strides[1]
    blocks, rest = divmod(steps_product(nest, steps, "ow"), BLOCK)
    # One pixel more than whole blocks makes the last block longer; of two or three C makes a block.
    fives, fours = (1, blocks - 1) if rest == 1 else (0, blocks + (rest > 1))
    each = rule_cycles(choice.given(DepthwiseRows).rule)
    setup, four = 200.0 + 90.0 * step, 180.0 + 16.0 * step + BLOCK * each
    row = fours * (setup + four * channels) + fives * (setup + 40.0 + (four + 60.0 + each) * channels)
    return 200.0 + 5.0 * channels + rows * (20.0 + row)


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    return {"padding": words(steps_product(choice.nest, steps, "group"))}


_KERNELS = {
    step: Kernel(
        symbol,
        DepthwiseRows,
        _cycles,
        scratch=_scratch,
        ring_axes=frozenset({HEIGHT}),
        likes=CONVOLUTION_ORDER,
    )
    for step, symbol in ((1, "tilewright_depthwise_rows"), (2, "tilewright_depthwise_rows_strided"))
}

_STACK_BYTES = {"long": 544, "even": 528, "layer_even": 528, "twice_any": 528, "rescale": 576}

DECLARATION = Declaration(
    kernels=tuple(_KERNELS.values()),
    stack_bytes={
        f"{kernel.symbol.removeprefix(PREFIX)}_{rule}": size
        for kernel in _KERNELS.values()
        for rule, size in _STACK_BYTES.items()
    },
)
