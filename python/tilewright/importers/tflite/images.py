"""Geometry of windows, and the axes of images: channels last in the file, first in the graph."""

from __future__ import annotations

from tilewright.importers.onnx.context import Unsupported
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
