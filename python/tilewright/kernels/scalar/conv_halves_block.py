"""Convolution of int16 tensors, four channels of y at a time (runtime/kernels/conv_halves_block.c)."""

from __future__ import annotations

from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.c_structs import PREFIX, CStruct, Int32, Int32x2
from tilewright.kernels.float_common import step_of
from tilewright.kernels.integer import BLOCK, alternating, steps_product
from tilewright.kernels.kernel import HEIGHT, ConstantOperand, Declaration, Kernel, KernelChoice, Packing, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar.geometry import PlaneWindows, channels_lie_beside
from tilewright.kernels.scalar.int16_convolution import (
    HIGH,
    INT32_MAX,
    ONCE,
    HalvesConv,
    high_factors,
    mean_met_taps,
)
from tilewright.kernels.work_parts import WorkParts
from tilewright.operators.nest import whole

_ROW_WORDS = 3
"""Words of a channel: bias, multiplier, shift."""

_RUN_BYTES = 12


@dataclass(frozen=True, slots=True)
class ConvHalvesBlock(CStruct):
    """Convolution of one group whose sums fit 32 bits. Operands: x [n, c, h, w] of int16, whose channels lie side by
    side; weights int8 [c of y / 4][h][w][c of x][4], and those of the last channels, fewer than four, one channel
    behind the other; for each channel three words: bias, multiplier, shift; y [n, c, h, w] of int16, or float32 where
    `finish` says so; scratch: three words for each tap of a window.
    """

    windows: PlaneWindows
    spread: Annotated[Int32x2, "steps of a window from one element of x to the next, zeros between them"]
    inputs: Annotated[Int32, "channels of x"]
    finish: Annotated[Int32, "TILEWRIGHT_HALVES_HIGH, TWICE or REAL"]
    minimum: Int32
    maximum: Int32


def choices(conv: HalvesConv) -> tuple[KernelChoice, ...]:
    """The kernel for one group, if the channels of x lie side by side and sums fit 32 bits."""
    if conv.groups != 1:
        return ()
    inputs = conv.weights.shape[2]
    attributes = ConvHalvesBlock(conv.windows, conv.spread, inputs, short_finish(conv), conv.minimum, conv.maximum)
    return blocks_of(conv, _KERNEL, attributes, "oc")


def blocks_of(conv: HalvesConv, kernel: Kernel, attributes: CStruct, channels: str) -> tuple[KernelChoice, ...]:
    """The choice of a kernel for four channels of dimension ``channels`` at a time.

    There is none if the channels of x do not lie side by side, or sums need more than 32 bits.
    """
    rows = _short_rows(conv)
    if rows is None or not channels_lie_beside(conv.graph, conv.node.inputs[0]):
        return ()
    shape = (conv.weights.shape[0], prod(conv.weights.shape[1:]))
    packed = Packing(shape, np.dtype(np.int8), lambda _: alternating(conv.weights))
    x, y = conv.operands
    return (
        KernelChoice(
            kernel=kernel,
            sources=(f"{kernel.symbol.removeprefix(PREFIX)}.c",),
            nest=conv.nest,
            reads=(
                x,
                ConstantOperand("weights", packed, (conv.channel, whole(shape[1]))),
                ConstantOperand("requantization", rows, (conv.channel, whole(_ROW_WORDS))),
            ),
            writes=(y,),
            attributes=attributes,
            multiples={channels: BLOCK},
            uncut=frozenset({"ic", "kh", "kw"}),
        ),
    )


def short_finish(conv: HalvesConv) -> int:
    """The rule for sums of 32 bits."""
    return HIGH if conv.finish == ONCE else conv.finish


def _short_rows(conv: HalvesConv) -> Array | None:
    """int32 [channels, 3]: bias, multiplier and shift of each channel; None if sums or multipliers need more bits."""
    factors = high_factors(conv) if conv.finish == ONCE else conv.factors
    if factors is None or int(conv.reach.max()) > INT32_MAX:
        return None
    return np.column_stack([conv.bias, np.array(factors, np.int64)]).astype(np.uint32).view(np.int32)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile, fitted to RV32IMAC."""
    together, lone = _pixels(choice, steps)
    return 120.0 + together + lone


def _parts(choice: KernelChoice, steps: TileSteps, ring: int | None) -> WorkParts:
    """What pixels take that are computed one by one."""
    return WorkParts(lone=_pixels(choice, steps)[1])


def _pixels(choice: KernelChoice, steps: TileSteps) -> tuple[float, float]:
    """Instructions for pixels in pairs, which are those whose windows lie in x, and for the others."""
    given, nest = choice.given(ConvHalvesBlock), choice.nest
    rows, columns = mean_met_taps(given.windows, given.spread, (step_of(nest, {}, "oh"), step_of(nest, {}, "ow")))
    taps, width = rows * columns, steps_product(nest, steps, "ow")
    elements = taps * given.inputs
    blocks, rest = divmod(steps_product(nest, steps, "oc"), BLOCK)
    inside = 0.0 if max(given.spread) > 1 else max(2.0 * columns / given.windows.kernel[1] - 1.0, 0.0)
    pairs = width * inside // 2
    lone = width - 2.0 * pairs
    runs = taps if inside == 0.0 or given.windows.dilations[1] > 1 else rows
    of_channel = 70.0 + 12.0 * runs + 7.0 * elements
    of_pair = 80.0 + blocks * (220.0 + 12.0 * runs + 26.0 * elements) + 2.0 * rest * of_channel
    of_one = 80.0 + blocks * (140.0 + 12.0 * runs + 16.0 * elements) + rest * of_channel
    listed, images = 20.0 + 28.0 * taps, steps_product(nest, steps, "n", "oh")
    return images * (60.0 + listed + pairs * of_pair), images * (lone * of_one + max(lone - 1.0, 0.0) * listed)


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    kernel = choice.given(ConvHalvesBlock).windows.kernel
    return {"runs": _RUN_BYTES * kernel[0] * kernel[1]}


_KERNEL = Kernel(
    "tilewright_conv_halves_block",
    ConvHalvesBlock,
    _cycles,
    ring_axes=frozenset({HEIGHT}),
    likes=CONVOLUTION_ORDER,
    scratch=_scratch,
    parts=_parts,
)

DECLARATION = Declaration(
    kernels=(_KERNEL,), numbers={"HALVES_BLOCK": BLOCK, "HALVES_WORDS": _ROW_WORDS, "HALVES_RUN_BYTES": _RUN_BYTES}
)
