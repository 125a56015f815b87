"""Random networks over frames: causal and unpadded convolutions, dilated, strided and in branches, pooling, sums."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import onnx

from support.onnx_models import ModelBuilder


@dataclass
class _Signal:
    """A tensor [1, channels, frames, *columns], its extents, and how many frames one row stands for."""

    name: str
    channels: int
    extent: int


class _Stream:
    """A network that grows at its end; quantised to int8 behind each operator unless ``is_float``."""

    def __init__(self, seed: int) -> None:
        self.chance, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.build = ModelBuilder()
        self.is_float = self.chance.random() < 0.4
        self.columns = (self.chance.randint(1, 4),) if self.chance.random() < 0.4 else ()
        self.scale = 0.05

    def quantized(self, name: str) -> str:
        return name if self.is_float else self.build.requantized(name, self.scale, self.chance.randint(-20, 20))

    def weights(self, *shape: int) -> str:
        values = self.numbers.normal(0, 0.3, shape).astype(np.float32)
        if self.is_float:
            return self.build.constant(values)
        stored = np.clip(np.rint(values / 0.01), -127, 127).astype(np.int8)
        return self.build.node(
            "DequantizeLinear",
            self.build.constant(stored),
            self.build.constant(np.float32(0.01)),
            self.build.constant(np.int8(0)),
        )

    def convolution(self, x: _Signal, *, keeps: bool = False) -> _Signal:
        chance = self.chance
        taps, dilation = chance.randint(1, 4), chance.choice((1, 1, 2, 3))
        reach = (taps - 1) * dilation
        is_causal = keeps or chance.random() < 0.6
        stride = 1 if keeps or chance.random() < 0.8 or x.extent % 2 else 2
        before = reach if is_causal else 0
        is_deep = chance.random() < 0.25
        channels = x.channels if is_deep or keeps else chance.randint(1, 9)
        across = tuple(1 for _ in self.columns)
        window = {
            "kernel_shape": [taps, *across],
            "dilations": [dilation, *across],
            "strides": [stride, *across],
            "pads": [before, *(0 for _ in across), 0, *(0 for _ in across)],
            "group": x.channels if is_deep else 1,
        }
        w = self.weights(channels, 1 if is_deep else x.channels, taps, *across)
        name = self.build.node("Conv", x.name, w, **window)
        if chance.random() < 0.5:
            name = self.build.node("Relu", name)
        return _Signal(self.quantized(name), channels, (x.extent + before - reach - 1) // stride + 1)

    def pooling(self, x: _Signal) -> _Signal:
        across = tuple(1 for _ in self.columns)
        taps = self.chance.randint(2, 3)
        name = self.build.node("MaxPool", x.name, kernel_shape=[taps, *across], strides=[1, *across])
        return _Signal(self.quantized(name), x.channels, x.extent - taps + 1)

    def residual(self, x: _Signal) -> _Signal:
        branch = self.convolution(x, keeps=True)
        operator = self.chance.choice(("Add", "Mul", "Sub"))
        return _Signal(self.quantized(self.build.node(operator, branch.name, x.name)), x.channels, x.extent)

    def joined(self, x: _Signal) -> _Signal:
        branch = self.convolution(x, keeps=True)
        name = self.build.node("Concat", x.name, branch.name, axis=1)
        return _Signal(self.quantized(name), x.channels + branch.channels, x.extent)


def random_stream(seed: int) -> onnx.ModelProto:
    """Always the same model for the same seed: input x [1, channels, 48], or with 1 to 4 columns; output y."""
    stream = _Stream(seed)
    channels = stream.chance.randint(1, 6)
    name = stream.build.input("x", [1, channels, 48, *stream.columns], np.float32 if stream.is_float else np.int8)
    if not stream.is_float:
        name = stream.build.dequantize(name, stream.scale, 3)
    found = _Signal(name, channels, 48)
    ways = (stream.convolution, stream.convolution, stream.residual, stream.joined, stream.pooling)
    for _ in range(stream.chance.randint(2, 7)):
        found = stream.chance.choice(ways)(found)
    last = stream.convolution(found)
    if stream.is_float:
        y = stream.build.node("Identity", last.name, output="y")
        return stream.build.model(y)
    y = stream.build.quantize(last.name, stream.scale, 1, output="y")
    return stream.build.model(y, dtypes={"y": np.int8})
