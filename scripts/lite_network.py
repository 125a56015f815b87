#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/firmware/models/lite_residual: a small .tflite network with weights and inputs from a fixed seed.

The outputs are those of TensorFlow Lite Micro; it needs the package ``tflite-micro`` (pip install --pre tflite-micro).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]

from support.lite_models import Step, Value, lite_model  # noqa: E402, for the path above

TARGET = ROOT / "tests" / "firmware" / "models" / "lite_residual"
RUNS = 6


class Network:
    """A network under construction, on tensors of int8."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.values: list[Value] = []
        self.steps: list[Step] = []

    def tensor(self, *shape: int, scale: float, zero_point: int) -> int:
        """A tensor that is computed, or the input."""
        self.values.append(Value(shape, "int8", (float(np.float32(scale)),), (zero_point,)))
        return len(self.values) - 1

    def constant(self, array: np.ndarray, scale: tuple[float, ...] = (), axis: int = 0) -> int:
        """A constant."""
        points = (0,) * len(scale)
        self.values.append(Value(array.shape, array.dtype.name, scale, points, array, axis))
        return len(self.values) - 1

    def weights(self, x: int, shape: tuple[int, ...], axis: int, taps: int, channels: int) -> tuple[int, int]:
        """Weights with a scale for each channel, and a bias."""
        unit = np.exp(self.rng.uniform(-0.7, 0.7, channels)) / (60 * np.sqrt(taps))
        scale = tuple(float(value) for value in unit.astype(np.float32))
        drawn = self.rng.integers(-127, 127, shape, np.int8, endpoint=True)
        bias = self.rng.integers(-400, 400, channels).astype(np.int32)
        x_scale = self.values[x].scale[0]
        named = tuple(float(np.float32(x_scale) * np.float32(value)) for value in scale)
        return self.constant(drawn, scale, axis), self.constant(bias, named)

    def step(self, operator: str, inputs: tuple[int, ...], output: int, **options: object) -> int:
        """Add an operator."""
        self.steps.append(Step(operator, inputs, (output,), options))
        return output


def network() -> bytes:
    """Convolution, a residual block with a depthwise convolution, pooling, a fully connected layer and softmax."""
    net = Network(7)
    same = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    x = net.tensor(1, 14, 14, 3, scale=1 / 64, zero_point=-5)
    w = net.weights(x, (12, 3, 3, 3), 0, 27, 12)
    stem = net.tensor(1, 14, 14, 12, scale=0.02, zero_point=-128)
    net.step("CONV_2D", (x, *w), stem, **same, activation="RELU6")
    w = net.weights(stem, (1, 3, 3, 12), 3, 9, 12)
    deep = net.tensor(1, 14, 14, 12, scale=0.021, zero_point=-128)
    net.step("DEPTHWISE_CONV_2D", (stem, *w), deep, **same, multiplier=1, activation="RELU")
    w = net.weights(deep, (12, 1, 1, 12), 0, 12, 12)
    point = net.tensor(1, 14, 14, 12, scale=0.031, zero_point=9)
    net.step("CONV_2D", (deep, *w), point, **same, activation="NONE")
    total = net.tensor(1, 14, 14, 12, scale=0.034, zero_point=-17)
    net.step("ADD", (stem, point), total, activation="NONE")
    pooled = net.tensor(1, 7, 7, 12, scale=0.034, zero_point=-17)
    pool = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_w": 2, "filter_h": 2, "activation": "NONE"}
    net.step("AVERAGE_POOL_2D", (total,), pooled, **pool)
    mean = net.tensor(1, 12, scale=0.027, zero_point=-30)
    net.step("MEAN", (pooled, net.constant(np.array([1, 2], np.int32))), mean, keep_dims=False)
    w = net.weights(mean, (10, 12), 0, 12, 1)
    drawn = net.rng.integers(-127, 127, (10, 12), np.int8, endpoint=True)
    w = (net.constant(drawn, (0.005,)), net.constant(np.arange(-500, 500, 100, dtype=np.int32), (0.027 * 0.005,)))
    scores = net.tensor(1, 10, scale=0.05, zero_point=3)
    net.step("FULLY_CONNECTED", (mean, *w), scores, activation="NONE")
    shares = net.tensor(1, 10, scale=1 / 256, zero_point=-128)
    net.step("SOFTMAX", (scores,), shares, beta=1.0)
    return lite_model(net.values, net.steps, (x,), (shares,))


def main() -> None:
    """Write the model, its inputs and its outputs."""
    from tflite_micro import runtime

    content = network()
    inputs = np.random.default_rng(8).integers(-128, 127, (RUNS, 1, 14, 14, 3), np.int8, endpoint=True)
    outputs = []
    for image in inputs:
        interpreter = runtime.Interpreter.from_bytes(content)
        interpreter.set_input(image, 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0))
    TARGET.mkdir(exist_ok=True)
    (TARGET / "model.tflite").write_bytes(content)
    np.savez_compressed(TARGET / "inputs.npz", input=inputs)
    np.savez_compressed(TARGET / "outputs.npz", output=np.stack(outputs))


if __name__ == "__main__":
    main()
