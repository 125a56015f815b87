"""Micro-benchmarks of calibration as .tflite models: kernels that round as LiteRT does, int16, and hybrid layers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import numpy as np
from tilewright.graph import Array

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from support.lite_models import Step, Value, lite_model

_SCALE = 0.05


class LiteChain:
    """Operators one behind the other, on random values of a fixed seed.

    Attributes:
        shape: extents of the last tensor, [batch, height, width, channels] or [rows, entries].
        kind: its element type; float32 layers have weights of int8.
        is_steep: whether a product of the scales of input and weights is a quarter to half that of the output, so that
            sums are rounded twice, instead of what fills the range of the output.
    """

    def __init__(self, seed: int, *shape: int, kind: str = "int8", is_steep: bool = False) -> None:
        self.random = np.random.default_rng(seed)
        self.kind, self.shape, self.is_steep = kind, shape, is_steep
        self.values, self.steps = [self.value(shape)], list[Step]()
        self.x = 0

    def value(self, shape: tuple[int, ...]) -> Value:
        """A tensor of the chain's element type."""
        if self.kind == "float32":
            return Value(shape, self.kind)
        zero_point = {"int8": 3, "uint8": 131, "int16": 0}[self.kind]
        return Value(shape, self.kind, (_SCALE if self.kind != "int16" else _SCALE / 256,), (zero_point,))

    def put(self, value: Value) -> int:
        """The number of a further tensor."""
        self.values.append(value)
        return len(self.values) - 1

    def step(self, operator: str, inputs: tuple[int, ...], shape: tuple[int, ...], **options: object) -> LiteChain:
        """One operator; its output is the last tensor."""
        self.x, self.shape = self.put(self.value(shape)), shape
        self.steps.append(Step(operator, inputs, (self.x,), options))
        return self

    def weights(self, shape: tuple[int, ...], axis: int, taps: int) -> tuple[int, int]:
        """Numbers of weights and bias; sums of so many products fill the range of the output."""
        channels = shape[axis]
        scales = 2.0 ** -self.random.uniform(0.0, 1.0, channels)
        scales *= 0.49 if self.is_steep else 1.0 / (40.0 * taps**0.5)
        low, high = (1, 255) if self.kind == "uint8" else (-127, 127)
        data = self.random.integers(low, high, shape, endpoint=True)
        if self.kind == "uint8":
            scales, points, axis = scales[:1], (117,), 0
        else:
            points = (0,) * channels
        listed = tuple(float(np.float32(scale)) for scale in scales)
        stored = "uint8" if self.kind == "uint8" else "int8"
        weights = self.put(Value(shape, stored, listed, points, data.astype(stored), axis))
        return weights, self.put(self._bias(channels, listed))

    def _bias(self, channels: int, scales: tuple[float, ...]) -> Value:
        if self.kind == "float32":
            return Value((channels,), "float32", data=self.random.normal(0, 1, channels).astype(np.float32))
        unit = self.values[self.x].scale[0]
        stored = "int64" if self.kind == "int16" else "int32"
        data = self.random.integers(-900, 900, channels).astype(stored)
        listed = tuple(float(np.float32(unit * scale)) for scale in scales)
        return Value((channels,), stored, listed, (0,) * len(listed), data)

    def conv(self, outputs: int, kernel: int, stride: int = 1) -> LiteChain:
        """CONV_2D that keeps the extents, but for the stride."""
        channels = self.shape[-1]
        pair = self.weights((outputs, kernel, kernel, channels), 0, kernel * kernel * channels)
        return self._windows("CONV_2D", pair, outputs, stride)

    def depthwise(self, kernel: int, stride: int = 1) -> LiteChain:
        """DEPTHWISE_CONV_2D that keeps the extents, but for the stride."""
        channels = self.shape[-1]
        pair = self.weights((1, kernel, kernel, channels), 3, kernel * kernel)
        return self._windows("DEPTHWISE_CONV_2D", pair, channels, stride, multiplier=1)

    def _windows(self, operator: str, pair: tuple[int, int], outputs: int, stride: int, **options: object) -> LiteChain:
        batch, height, width, _ = self.shape
        shape = (batch, -(-height // stride), -(-width // stride), outputs)
        given = {"padding": "SAME", "stride_w": stride, "stride_h": stride, "activation": "NONE", **options}
        return self.step(operator, (self.x, *pair), shape, **given)

    def dense(self, outputs: int) -> LiteChain:
        """FULLY_CONNECTED."""
        rows, entries = self.shape
        pair = self.weights((outputs, entries), 0, entries)
        return self.step("FULLY_CONNECTED", (self.x, *pair), (rows, outputs), activation="NONE")

    def joined(self, operator: str) -> LiteChain:
        """ADD, SUB or MUL of the last tensor with the one before, whose extents are the same."""
        before = self.steps[-1].inputs[0]
        return self.step(operator, (self.x, before), self.shape, activation="NONE")

    def probabilities(self, operator: str) -> LiteChain:
        """SOFTMAX or LOG_SOFTMAX of int8 with the output that LiteRT demands, and back to the chain's scale."""
        scale, zero_point = {"SOFTMAX": (1 / 256, -128), "LOG_SOFTMAX": (16 / 256, 127)}[operator]
        logits, self.x = self.x, self.put(Value(self.shape, "int8", (scale,), (zero_point,)))
        self.steps.append(Step(operator, (logits,), (self.x,), {"beta": 1.0} if operator == "SOFTMAX" else {}))
        return self.step("QUANTIZE", (self.x,), self.shape)

    def quantized(self, kind: str) -> LiteChain:
        """QUANTIZE to an element type."""
        self.kind = kind
        return self.step("QUANTIZE", (self.x,), self.shape)

    def content(self) -> bytes:
        """The file."""
        return lite_model(self.values, self.steps, (0,), (self.x,))

    def vectors(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Random inputs, and outputs of zeros that nobody compares, by name of the tensor."""
        first, last = self.values[0], self.values[self.x]
        if first.type == "float32":
            drawn: Array = self.random.normal(0, 2, first.shape).astype(np.float32)
        else:
            limits = np.iinfo(first.type)
            drawn = self.random.integers(limits.min, limits.max, first.shape, endpoint=True).astype(first.type)
        return {"t0": drawn}, {f"t{self.x}": np.zeros(last.shape, last.type)}


def _convolutions(kind: str = "int8", *, is_steep: bool = False) -> LiteChain:
    chain = LiteChain(31, 1, 18, 15, 6, kind=kind, is_steep=is_steep)
    for outputs, kernel, stride in ((16, 3, 1), (24, 3, 1), (32, 1, 1), (40, 3, 2), (64, 3, 1), (64, 1, 1), (30, 3, 1)):
        chain.conv(outputs, kernel, stride)
    return chain


def _depthwise(kind: str = "int8", *, is_steep: bool = False) -> LiteChain:
    chain = LiteChain(32, 1, 24, 22, 16, kind=kind, is_steep=is_steep)
    for kernel, stride in ((3, 1), (5, 1), (3, 2), (3, 1), (5, 2), (3, 1)):
        chain.depthwise(kernel, stride)
    return chain


def _dense(kind: str = "int8", *, is_steep: bool = False) -> LiteChain:
    chain = LiteChain(33, 1, 256, kind=kind, is_steep=is_steep)
    for outputs in (128, 64, 192, 32, 10, 7, 48):
        chain.dense(outputs)
    return chain


def _rows() -> LiteChain:
    chain = LiteChain(34, 12, 40, kind="float32")
    for outputs in (64, 24, 96, 16):
        chain.dense(outputs)
    return chain


def _sums(kind: str) -> LiteChain:
    chain = LiteChain(35, 1, 12, 11, 8, kind=kind)
    for outputs in (8, 24, 64):
        chain.conv(outputs, 1).conv(outputs, 1).joined("ADD")
    return chain


def _hybrid() -> LiteChain:
    chain = LiteChain(36, 1, 8, 7, 8, kind="float32")
    for outputs, kernel in ((16, 3), (24, 1), (32, 3), (16, 1)):
        chain.conv(outputs, kernel)
    return chain


def _stored() -> LiteChain:
    chain = LiteChain(37, 1, 20, 18, 12, kind="float32")
    return chain.quantized("int8").conv(8, 1).depthwise(3).quantized("uint8").quantized("int8")


def _probabilities() -> LiteChain:
    chain = LiteChain(38, 1, 24)
    for outputs in (2, 10, 35, 120):
        chain.dense(outputs).probabilities("SOFTMAX").probabilities("LOG_SOFTMAX")
    return chain


LITE: MappingProxyType[str, Callable[[], LiteChain]] = MappingProxyType(
    {
        "lite_convolutions": _convolutions,
        "lite_depthwise": _depthwise,
        "lite_dense": _dense,
        "lite_steep_convolutions": lambda: _convolutions(is_steep=True),
        "lite_steep_depthwise": lambda: _depthwise(is_steep=True),
        "lite_steep_dense": lambda: _dense(is_steep=True),
        "lite_probabilities": _probabilities,
        "lite_rows": _rows,
        "lite_sums": lambda: _sums("int8"),
        "lite_stored": _stored,
        "lite_hybrid": _hybrid,
        "lite_wide": lambda: _convolutions("uint8"),
        "lite_wide_depthwise": lambda: _depthwise("uint8"),
        "lite_halves": lambda: _convolutions("int16"),
        "lite_halves_depthwise": lambda: _depthwise("int16"),
        "lite_halves_dense": lambda: _dense("int16"),
        "lite_halves_sums": lambda: _sums("int16"),
    }
)
"""Chains by name of their folder."""


def write_lite(folder: Path) -> list[Path]:
    """A folder for each chain, laid out like those of a corpus."""
    written = []
    for name, build in LITE.items():
        chain, target = build(), folder / name
        target.mkdir(parents=True, exist_ok=True)
        (target / "model.tflite").write_bytes(chain.content())
        inputs, outputs = chain.vectors()
        np.savez_compressed(target / "inputs.npz", **inputs)
        np.savez_compressed(target / "outputs.npz", **outputs)
        written.append(target)
    return written
