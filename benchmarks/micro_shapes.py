"""Micro-benchmarks of calibration: windows, channels and outputs that the chains of micro_models.py do not have."""

from __future__ import annotations

import numpy as np
from micro_models import Chain, QdqChain
from onnx import numpy_helper


class Shapes(QdqChain):
    """A chain with dilated and transposed convolutions, and with MaxPool beside padding."""

    def dilated(self, outputs: int, kernel: int, dilation: int) -> str:
        """A convolution of windows whose taps lie ``dilation`` apart; the image keeps its size."""
        weights = self.random.integers(-127, 128, (outputs, self.shape[1], kernel, kernel))
        self.shape[1] = outputs
        geometry = {"kernel_shape": [kernel] * 2, "dilations": [dilation] * 2, "pads": [dilation * (kernel // 2)] * 4}
        return self.weighted("Conv", weights, -128, **geometry)

    def transposed(self, outputs: int) -> str:
        """A transposed convolution that doubles height and width."""
        weights = self.random.integers(-127, 128, (self.shape[1], outputs, 2, 2))
        scales = self.scale * 2.0 ** -self.random.uniform(0.0, self.spread, outputs)
        weight = self.dequantized(weights, "int8", scales, axis=1)
        bias = self.dequantized(self.random.integers(-3000, 3000, outputs), "int32", 0.02 * scales)
        self.node("ConvTranspose", [self.x, weight, bias], kernel_shape=[2, 2], strides=[2, 2])
        self.shape[1:] = [outputs, *(2 * extent for extent in self.shape[2:])]
        return self.quantized(0.02, 0)

    def largest(self, kernel: int, stride: int, pad: int) -> str:
        """MaxPool."""
        self.node("MaxPool", [self.x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        self.shape[2:] = [(extent + 2 * pad - kernel) // stride + 1 for extent in self.shape[2:]]
        return self.quantized(0.02, 0)


def copied() -> Shapes:
    """Windows of so few channels that their taps are copied: in words of four channels, or one by one."""
    chain = Shapes(21, 8, 13, 13, 0.5)
    for outputs, kernel in ((12, 3), (10, 5), (6, 3), (12, 5), (24, 5)):
        chain.conv(outputs, kernel)
    return chain


def far_taps() -> Shapes:
    chain = Shapes(22, 16, 20, 20, 0.5)
    chain.dilated(24, 3, 2)
    chain.dilated(40, 3, 3)
    chain.dilated(16, 5, 2)
    return chain


def doubled() -> Shapes:
    chain = Shapes(23, 64, 4, 5, 0.5)
    for outputs in (36, 24, 10):
        chain.transposed(outputs)
    return chain


def pools() -> Shapes:
    chain = Shapes(24, 48, 14, 18, 0.5)
    for kernel, stride, pad in ((3, 1, 1), (3, 2, 1), (2, 1, 0), (5, 1, 2)):
        chain.largest(kernel, stride, pad)
    return chain


def remainders() -> Shapes:
    """Outputs that are no multiple of four, of 1x1 convolutions and of fully connected layers."""
    chain = Shapes(25, 32, 12, 12, 0.5)
    for outputs in (7, 40, 9, 30):
        chain.conv(outputs, 1)
    for outputs in (10, 100, 14, 64):
        chain.dense(outputs)
    return chain


def products() -> Chain:
    """Products of two computed matrices, as attention has them, in Deeploy's dialect."""
    chain = Chain(26, 1, 1, 1)
    chain.shape, chain.input_shape = [1, 36, 20], (1, 36, 20)
    for columns in (24, 44, 36, 92):
        before = chain.x
        weights = chain.random.integers(-128, 128, (chain.shape[2], columns))
        chain.node("MatMul", [before, chain.constant(weights)])
        wide = chain.requantize(200)
        turned = chain.node("Transpose", [wide], perm=[0, 2, 1])
        chain.node("MatMul", [wide, turned])
        chain.requantize(100)
        chain.node("MatMul", [chain.x, wide])
        chain.requantize(100)
        chain.shape[2] = columns
    return chain


def attention(zero_point: int) -> QdqChain:
    """Products of two computed matrices of int8: of each head with its transposed one, and of that with the head."""
    chain = QdqChain(27, 4, 36, 20, 0.5)
    for heads, rows, columns in ((4, 36, 20), (8, 30, 12), (8, 90, 4), (2, 20, 72), (16, 30, 6)):
        chain.node("Reshape", [chain.x, chain.stored(np.array([1, heads, rows, columns]), "int64", f"r{heads}_{rows}")])
        head = chain.quantized(0.02, zero_point)
        turned = chain.node("Transpose", [head], perm=[0, 1, 3, 2])
        chain.node("MatMul", [head, turned])
        chain.quantized(0.05, 3)
        chain.node("MatMul", [chain.x, head])
        chain.shape = [1, heads, rows, columns]
        chain.quantized(0.04, 0)
    return chain


def attention_symmetric() -> QdqChain:
    return attention(0)


def attention_with_zero_points() -> QdqChain:
    return attention(5)


def normalised() -> Chain:
    """Layer normalisation in integers, in Deeploy's dialect: lines of 16 to 192 elements."""
    chain = Chain(28, 1, 1, 1)
    chain.shape, chain.input_shape = [1, 96, 64], (1, 96, 64)
    for rows, columns in ((96, 64), (32, 192), (384, 16), (48, 128)):
        wanted = chain.stored(np.array([1, rows, columns]), "int64", f"r{columns}")
        chain.node("Reshape", [chain.x, wanted])
        weight = chain.constant(chain.random.integers(200_000, 300_000, columns))
        bias = chain.constant(chain.random.integers(-9_000, 9_000, columns))
        levels = {"D": numpy_helper.from_array(np.float32(16384)), "n_levels": numpy_helper.from_array(np.float32(256))}
        chain.node("iLayerNorm", [chain.x, weight, bias], **levels)
        chain.shape = [1, rows, columns]
    return chain


SHAPES = {
    "copied": copied,
    "far_taps": far_taps,
    "doubled": doubled,
    "pools": pools,
    "remainders": remainders,
    "products": products,
    "normalised": normalised,
    "attention_symmetric": attention_symmetric,
    "attention_with_zero_points": attention_with_zero_points,
}
