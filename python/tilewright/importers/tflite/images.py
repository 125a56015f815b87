"""Geometry of windows, and the axes of images: channels last in the file, first in the graph."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall
from tilewright.operators.spatial import Windows

FIRST = (0, 3, 1, 2)
"""From channels last, as the file has them, to channels first, as the graph has them."""
LAST = (0, 2, 3, 1)


def windows_of(call: LiteCall, extents: tuple[int, int], kernel: tuple[int, int]) -> tuple[Windows, tuple[int, ...]]:
    """Geometry of a node over [h, w], and the extents of its output."""
    strides = (call.integer("stride_h"), call.integer("stride_w"))
    dilations = (1, 1)
    if "dilation_h" in call.node.options:
        dilations = (call.integer("dilation_h"), call.integer("dilation_w"))
    if min(*strides, *dilations, *kernel) < 1 or max(*strides, *dilations, *kernel) > 1 << 30:
        raise Unsupported(f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)}")
    outputs, begins, ends = [], [], []
    for extent, taps, stride, dilation in zip(extents, kernel, strides, dilations, strict=True):
        reach = (taps - 1) * dilation + 1
        same = call.text("padding") == "SAME"
        count = -(-extent // stride) if same else (extent - reach) // stride + 1
        if count < 1:
            raise Unsupported(f"a window of {reach} positions over {extent}")
        total = max((count - 1) * stride + reach - extent, 0) if same else 0
        outputs.append(count)
        begins.append(total // 2)
        ends.append(total - total // 2)
    return Windows(kernel, strides, dilations, (*begins, *ends)), tuple(outputs)


def last(call: LiteCall, name: str, part: str) -> str:
    """The tensor with channels last, as the file has it."""
    return call.transposed(name, LAST, part)


def nearest_positions(extent: int, size: int, *, aligned: bool, centred: bool) -> Array:
    """The positions on an axis that the outputs of a resized axis take; float32, as LiteRT computes them."""
    scale = _step(extent, size, aligned=aligned)
    at = (np.arange(size, dtype=np.float32) + np.float32(0.5 if centred else 0.0)) * scale
    rounded = np.trunc(at + np.float32(0.5)) if aligned else np.floor(at)
    positions: Array = np.clip(rounded.astype(np.int64), 0, extent - 1)
    return positions


def line_positions(extent: int, size: int, *, aligned: bool, centred: bool, real: bool) -> tuple[Array, Array]:
    """Two positions on an axis for each output of a resized axis, and their shares, [size, 2] each.

    Shares are float32 where ``real``, else integers that stand for 1/1024.
    """
    if real:
        scale = _step(extent, size, aligned=aligned)
        outputs = np.arange(size, dtype=np.float32)
        at = (outputs + np.float32(0.5)) * scale - np.float32(0.5) if centred else outputs * scale
        low = np.maximum(np.floor(at), 0).astype(np.int64)
        high = np.minimum(np.ceil(at).astype(np.int64), extent - 1)
        share = at - low.astype(np.float32)
        return np.stack([low, np.maximum(high, 0)], axis=1), np.stack([1 - share, share], axis=1)
    unit = 1 << 10
    step = (unit * extent + size // 2) // size
    if aligned and size > 1:
        step = (unit * (extent - 1) + (size - 1) // 2) // (size - 1)
    at_unit = np.arange(size, dtype=np.int64) * step + (step // 2 - unit // 2 if centred else 0)
    low = np.maximum(np.trunc(at_unit / unit).astype(np.int64), 0)
    high = np.minimum(np.trunc((at_unit + unit - 1) / unit).astype(np.int64), extent - 1)
    share = at_unit - unit * low
    return np.stack([low, high], axis=1), np.stack([unit - share, share], axis=1)


def _step(extent: int, size: int, *, aligned: bool) -> Array:
    """Positions of the input from one output to the next."""
    least = 1 if aligned and size > 1 else 0
    step: Array = np.asarray(extent - least, np.float32) / np.float32(size - least)
    return step
