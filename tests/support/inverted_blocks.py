"""A quantised network of two inverted residual blocks, as MobileNetV2 has them: wide maps between narrow tensors."""

from __future__ import annotations

import numpy as np
import onnx

from support.onnx_models import ModelBuilder

NARROW, WIDE = 8, 32
ROWS, COLUMNS = 12, 16


def inverted_blocks() -> onnx.ModelProto:
    """int8 [1, 8, 12, 16] to int8 [1, 8, 6, 8]; maps of 6,144 bytes between layers that expand and project."""
    chance, build = np.random.default_rng(7), ModelBuilder()

    def conv(name: str, channels: int, kernel: int, *, stride: int = 1, group: int = 1, output: str = "") -> str:
        inputs = NARROW if channels == WIDE and group == 1 else WIDE
        stored = chance.integers(-127, 127, (channels, inputs // group, kernel, kernel)).astype(np.int8)
        scales = build.constant(
            (0.4 / 127 / (stored[0].size ** 0.5) * chance.uniform(0.7, 1.4, channels)).astype(np.float32)
        )
        zero = build.constant(np.zeros(channels, np.int8))
        weights = build.node("DequantizeLinear", build.constant(stored), scales, zero, axis=0)
        made = build.node(
            "Conv", name, weights, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group
        )
        return build.quantize(made, 0.05, output=output) if output else build.requantized(made, 0.05)

    name = build.dequantize(build.input("x", [1, NARROW, ROWS, COLUMNS], np.int8), 0.05)
    for stride, output in ((1, ""), (2, "y")):
        name = conv(name, WIDE, 1)
        name = conv(name, WIDE, 3, stride=stride, group=WIDE)
        name = conv(name, NARROW, 1, output=output)
    return build.model("y", dtypes={"y": np.int8})
