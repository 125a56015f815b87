"""Micro-benchmarks of calibration: layers of float32."""

from __future__ import annotations

import numpy as np
from micro_models import Chain


class Floats(Chain):
    """Layers of float32 one behind the other, on an image or on a sequence."""

    is_float = True
    opset = 20

    def drawn(self, *shape: int) -> str:
        """A constant of small numbers."""
        return self.constant(self.random.normal(0.0, 0.3, shape))

    def conv(self, outputs: int, kernel: int, *, stride: int = 1, depthwise: bool = False) -> str:
        """A convolution with half the kernel as padding, and Relu."""
        channels, pad = self.shape[1], kernel // 2
        group = channels if depthwise else 1
        outputs = channels if depthwise else outputs
        geometry = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "group": group}
        weights = self.drawn(outputs, channels // group, kernel, kernel)
        self.node("Conv", [self.x, weights, self.drawn(outputs)], **geometry)
        self.shape[1:] = [outputs, *((extent + 2 * pad - kernel) // stride + 1 for extent in self.shape[2:])]
        return self.node("Relu", [self.x])

    def pooled(self, operator: str, kernel: int, stride: int) -> str:
        self.shape[2:] = [(extent - kernel) // stride + 1 for extent in self.shape[2:]]
        return self.node(operator, [self.x], kernel_shape=[kernel] * 2, strides=[stride] * 2)

    def average(self) -> str:
        self.shape[2:] = [1, 1]
        return self.node("GlobalAveragePool", [self.x])

    def dense(self, outputs: int) -> str:
        if len(self.shape) == 4:
            self.shape = [1, int(np.prod(self.shape))]
            self.node("Flatten", [self.x])
        weights = self.drawn(self.shape[1], outputs)
        self.shape = [1, outputs]
        return self.node("Gemm", [self.x, weights, self.drawn(outputs)])

    def product(self, outputs: int, x: str = "") -> str:
        """Each row of a sequence times a matrix."""
        weights = self.drawn(self.shape[-1], outputs)
        self.shape[-1] = outputs
        return self.node("MatMul", [x or self.x, weights])

    def attended(self, width: int) -> str:
        """Attention of one head: products of computed matrices, and Softmax between them."""
        x, features = self.x, self.shape[-1]
        parts = []
        for _ in range(3):
            self.shape[-1] = features
            parts.append(self.product(width, x))
        keys = self.node("Transpose", [parts[1]], perm=[0, 2, 1])
        self.node("Softmax", [self.node("MatMul", [parts[0], keys])], axis=-1)
        return self.node("MatMul", [self.x, parts[2]])

    def normalised(self) -> str:
        features = self.shape[-1]
        return self.node("LayerNormalization", [self.x, self.drawn(features), self.drawn(features)])

    def gated(self, operator: str) -> str:
        return self.node(operator, [self.x])

    def recurrent(self, operator: str, units: int) -> str:
        """GRU or LSTM over the sequence."""
        gates = {"GRU": 3, "LSTM": 4}[operator] * units
        steps, _, features = self.shape
        inputs = [self.x, self.drawn(1, gates, features), self.drawn(1, gates, units), self.drawn(1, 2 * gates)]
        self.node(operator, inputs, hidden_size=units)
        self.shape = [steps, 1, units]
        axes = self.stored(np.array([1]), "int64", f"axes{len(self.initializers)}")
        return self.node("Squeeze", [self.x, axes])


def float_images() -> Floats:
    chain = Floats(31, 6, 26, 30)
    chain.conv(18, 3)
    chain.conv(30, 1)
    chain.conv(0, 3, depthwise=True)
    chain.conv(22, 5, stride=2)
    chain.conv(0, 5, depthwise=True)
    chain.conv(44, 1)
    chain.conv(0, 3, stride=2, depthwise=True)
    before = chain.conv(52, 3)
    chain.conv(52, 1)
    chain.node("Add", [chain.x, before])
    chain.average()
    for outputs in (140, 33):
        chain.dense(outputs)
    return chain


def float_pools() -> Floats:
    chain = Floats(32, 14, 34, 38)
    chain.pooled("MaxPool", 3, 1)
    chain.pooled("AveragePool", 2, 1)
    chain.conv(40, 1)
    chain.pooled("MaxPool", 2, 2)
    chain.pooled("AveragePool", 3, 1)
    chain.conv(72, 1)
    chain.pooled("MaxPool", 3, 2)
    chain.average()
    return chain


def float_gates() -> Floats:
    chain = Floats(33, 10, 20, 22)
    for channels in (10, 36):
        chain.conv(channels, 1)
        for operator in ("Gelu", "Tanh", "Sigmoid", "HardSwish", "LeakyRelu"):
            chain.gated(operator)
        before = chain.x
        chain.node("Mul", [chain.gated("Tanh"), before])
        chain.node("Div", [chain.x, chain.drawn(channels, 1, 1)])
        chain.node("Sub", [chain.x, before])
        chain.node("Mul", [chain.x, chain.gated("Sigmoid")])
        chain.pooled("MaxPool", 2, 2)
    return chain


def float_sequences() -> Floats:
    chain = Floats(34, 42, 1, 1)
    chain.shape, chain.input_shape = [1, 42, 28], (1, 42, 28)
    for width, hidden in ((20, 76), (44, 132)):
        before = chain.product(width + 8)
        chain.normalised()
        chain.attended(width)
        chain.product(width + 8)
        chain.node("Add", [chain.x, before])
        chain.normalised()
        chain.product(hidden)
        chain.gated("Gelu")
        chain.product(24)
    return chain


def float_steps() -> Floats:
    chain = Floats(35, 1, 1, 1)
    chain.shape, chain.input_shape = [26, 1, 10], (26, 1, 10)
    for operator, units in (("LSTM", 12), ("GRU", 18), ("LSTM", 28)):
        chain.recurrent(operator, units)
    return chain


FLOATS = {
    "float_images": float_images,
    "float_pools": float_pools,
    "float_gates": float_gates,
    "float_sequences": float_sequences,
    "float_steps": float_steps,
}
