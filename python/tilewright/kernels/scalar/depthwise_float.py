"""Float32 depthwise convolution: four channels at a time (runtime/kernels/depthwise_f32.c).

Before:  w[M, 1, kh, kw], b[M]
After:   packed[M/4, 1 + kh*kw, 4], the four biases first
"""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Clamp, Node
from tilewright.kernels.c_structs import CStruct
from tilewright.kernels.float_common import CALL_CYCLES, ClampF32, clamp_attributes, points, step_of
from tilewright.kernels.kernel import (
    HEIGHT,
    WIDTH,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TensorOperand,
    TileSteps,
    raster_over,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar.float_blocks import BLOCK, block_count, packed_bias, packed_weights
from tilewright.kernels.scalar.geometry import PlaneWindows, plane_view, plane_windows
from tilewright.kernels.work_parts import WorkParts
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.nest import Nest, blocks, whole

_FOURS_TAP_CYCLES, _ALONE_TAP_CYCLES = 2.9, 4.1
"""Cycles of a tap of depthwise kernels, of four outputs together and of one alone."""
_FOURS_CYCLES, _ALONE_CYCLES, _BLOCK_CYCLES = 320.0, 190.0, 225.0
"""Cycles beside taps of four channels: of four outputs together, of one alone, and of a call."""
_SLIDE_OUTPUT_CYCLES, _SLIDE_REST_CYCLES, _SLIDE_ROW_CYCLES = 25.6, 85.9, 54.2
"""Cycles of outputs whose windows slide along a row: of one of three, of one that remains, and of a channel's row."""
_SLIDE_ALONE_CYCLES, _SLIDE_BLOCK_CYCLES, _SLIDE_CALL_CYCLES = 121.0, 717.0, 1650.0
"""The same of four channels of an output in a row that does not slide, of four channels, and of a call."""

_ROWS_RING_CYCLES, _COLUMNS_RING_CYCLES = 1_330.0, 135.0
"""More where windows slide over a ring: of rows, for four channels, which begin again behind the ring's end; of
columns, for each output, none of which slides."""


@dataclass(frozen=True, slots=True)
class DepthwiseF32(CStruct):
    """Operands: x [n, c, h, w]; weights [block][1 + kh * kw][4], the biases first; y [n, c, h, w]."""

    windows: PlaneWindows
    clamp: ClampF32


def depthwise(node: Node, nest: Nest, clamp: Clamp, weights: Array, bias: Array) -> KernelChoice:
    """The kernel for one input and one output channel in each group."""
    window, biases = packed_weights(weights.reshape(1, weights.shape[0], -1, 1)), packed_bias(bias, 1)
    _, channel_blocks, taps, _, _ = window.shape
    view = plane_view(weights.ndim)

    def pack(steps: TileSteps) -> Array:
        return np.concatenate([biases.pack(steps)[0][:, None], window.pack(steps)[0, :, :, 0]], axis=1)

    packing = Packing((channel_blocks, taps + 1, BLOCK), window.dtype, pack)
    constant = ConstantOperand("weights", packing, (blocks("group", BLOCK), whole(taps + 1), whole(BLOCK)))
    return KernelChoice(
        kernel=_DEPTHWISE,
        sources=("depthwise_f32.c",),
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], view), constant),
        writes=(TensorOperand(node.outputs[0], nest.writes[0], view),),
        attributes=DepthwiseF32(plane_windows(node.given(ConvAttributes)), clamp_attributes(clamp)),
        multiples={"group": BLOCK},
        uncut=frozenset({"kh", "kw"}),
    )


def _depthwise_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Four outputs of a row are computed together where their windows lie inside the input, others one by one."""
    windows = choice.given(DepthwiseF32).windows
    blocks = block_count(choice.nest, steps, "group")
    rows, columns = (step_of(choice.nest, steps, name) for name in ("oh", "ow"))
    images = step_of(choice.nest, steps, "n")
    if _slides(windows):
        _, rows_inside = _taps_inside(windows, 0, step_of(choice.nest, {}, "oh"))
        return _SLIDE_CALL_CYCLES + blocks * (_SLIDE_BLOCK_CYCLES + images * rows * _row_cycles(columns, rows_inside))
    row_taps, _ = _taps_inside(windows, 0, step_of(choice.nest, {}, "oh"))
    column_taps, inside = _taps_inside(windows, 1, step_of(choice.nest, {}, "ow"))
    fours = int(columns * inside) // 4
    alone = columns - 4 * fours
    taps_of_fours = 4 * fours * windows.kernel[1]
    taps_alone = columns * column_taps - taps_of_fours
    cycles = BLOCK * row_taps * (taps_of_fours * _FOURS_TAP_CYCLES + taps_alone * _ALONE_TAP_CYCLES)
    cycles += fours * _FOURS_CYCLES + alone * _ALONE_CYCLES
    return CALL_CYCLES + blocks * (_BLOCK_CYCLES + images * rows * cycles)


def _depthwise_parts(choice: KernelChoice, steps: TileSteps, ring: int | None) -> WorkParts:
    windows = choice.given(DepthwiseF32).windows
    if not _slides(windows) or ring is None:
        return WorkParts()
    blocks = block_count(choice.nest, steps, "group")
    if ring == HEIGHT:
        return WorkParts(ring=blocks * _ROWS_RING_CYCLES)
    return WorkParts(ring=blocks * BLOCK * points(choice.nest, steps, ("n", "oh", "ow")) * _COLUMNS_RING_CYCLES)


def _slides(windows: PlaneWindows) -> bool:
    """Whether windows slide along a row, each reading three columns of which the one before has read two."""
    return windows.kernel == (3, 3) and windows.strides[1] == windows.dilations[1] == 1


def _row_cycles(columns: int, inside: float) -> float:
    """Cycles of four channels of a row of outputs, of which the share ``inside`` slides.

    The first and the last column cost what a row costs; between them three outputs are computed at a time.
    """
    if columns < 3:
        return columns * _SLIDE_ALONE_CYCLES
    threes, rest = divmod(columns - 2, 3)
    slid = 3 * threes * _SLIDE_OUTPUT_CYCLES + rest * _SLIDE_REST_CYCLES + _SLIDE_ROW_CYCLES
    return inside * BLOCK * slid + (1.0 - inside) * columns * _SLIDE_ALONE_CYCLES


def _taps_inside(windows: PlaneWindows, axis: int, outputs: int) -> tuple[float, float]:
    """Taps of a window that lie inside the input, and the share of windows with all: means over an axis.

    There is taken to be as much padding behind as in front.
    """
    taps, stride, pad = windows.kernel[axis], windows.strides[axis], windows.pads[axis]
    outside = [min(-(-(pad - place * stride) // windows.dilations[axis]), taps) for place in range(-(-pad // stride))]
    return max(taps - 2 * sum(outside) / outputs, 1.0), max(1 - 2 * len(outside) / outputs, 0.0)


_DEPTHWISE = Kernel(
    "tilewright_depthwise_f32",
    DepthwiseF32,
    _depthwise_cycles,
    # Four channels at a time, and for these all pixels; no channel writes elements that another one reads.
    stores=raster_over("n", "oh", "ow", apart=("group",)),
    ring_axes=frozenset({HEIGHT, WIDTH}),
    likes=CONVOLUTION_ORDER,
    parts=_depthwise_parts,
)

DECLARATION = Declaration(kernels=(_DEPTHWISE,), stack_bytes={"depthwise_f32": 592})
