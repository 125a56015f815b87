"""Depthwise convolution of int16 tensors with int8 weights (runtime/kernels/depthwise_halves.c)."""

from __future__ import annotations

from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import step_of
from tilewright.kernels.integer import BLOCK, steps_product
from tilewright.kernels.kernel import HEIGHT, Declaration, Kernel, KernelChoice, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar.conv_halves_block import blocks_of, short_finish
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.int16_convolution import HalvesConv, mean_met_taps

_LINE_BYTES = 8


@dataclass(frozen=True, slots=True)
class DepthwiseHalves(CStruct):
    """Depthwise convolution whose sums fit 32 bits. Operands: x [n, c, h, w] of int16, whose channels lie side by
    side; weights int8 [c / 4][h][w][4], and those of the last channels, fewer than four, one channel behind the other;
    for each channel three words: bias, multiplier, shift; y [n, c, h, w] of int16, or float32 where `finish` says so;
    scratch: two words for each row of a window.
    """

    windows: PlaneWindows
    finish: Annotated[Int32, "TILEWRIGHT_HALVES_HIGH, TWICE or REAL"]
    minimum: Int32
    maximum: Int32


def choices(conv: HalvesConv) -> tuple[KernelChoice, ...]:
    """The kernel for a channel of y for each channel of x, which lie side by side, if sums fit 32 bits."""
    channels, _, inputs = conv.weights.shape
    if conv.groups != channels or inputs != 1 or channels == 1:
        return ()
    attributes = DepthwiseHalves(conv.windows, short_finish(conv), conv.minimum, conv.maximum)
    return blocks_of(conv, _KERNEL, attributes, "group")


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile, fitted to RV32IMAC."""
    given, nest = choice.given(DepthwiseHalves), choice.nest
    rows, columns = mean_met_taps(given.windows, (1, 1), (step_of(nest, {}, "oh"), step_of(nest, {}, "ow")))
    blocks, rest = divmod(steps_product(nest, steps, "group"), BLOCK)
    of_block = 150.0 + rows * (14.0 + 19.0 * columns)
    of_one = 70.0 + rows * (16.0 + 8.0 * columns)
    row = 50.0 + 20.0 * given.windows.kernel[0]
    row += steps_product(nest, steps, "ow") * (60.0 + blocks * of_block + rest * of_one)
    return 120.0 + steps_product(nest, steps, "n", "oh") * row


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    return {"lines": _LINE_BYTES * choice.given(DepthwiseHalves).windows.kernel[0]}


_KERNEL = Kernel(
    "tilewright_depthwise_halves",
    DepthwiseHalves,
    _cycles,
    ring_axes=frozenset({HEIGHT}),
    likes=CONVOLUTION_ORDER,
    scratch=_scratch,
)

DECLARATION = Declaration(kernels=(_KERNEL,), numbers={"HALVES_LINE_BYTES": _LINE_BYTES})
