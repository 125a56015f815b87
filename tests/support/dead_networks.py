"""Int8 convolutions with channels that are constant or that nobody reads, as ONNX models."""

from __future__ import annotations

import numpy as np

from support.onnx_models import ModelBuilder

ZERO = -128
DEAD = (1, 2, 5, 6, 11)
"""More than a four of 16 channels, so that twelve of the 16 stay: eleven, and a dead one that fills up a four."""


class Network(ModelBuilder):
    """Convolutions of int8 tensors of scale 1 / 32, whose stored -128 stands for 0."""

    def __init__(self, seed=3):
        super().__init__()
        self.chance = np.random.default_rng(seed)

    def weights(self, *shape):
        return self.chance.integers(-60, 60, shape).astype(np.int8)

    def real(self, x):
        return self.dequantize(x, 2.0**-5, ZERO)

    def stored(self, x, output=None):
        return self.quantize(x, 2.0**-5, ZERO, output=output)

    def conv(self, x, weights, bias, output=None, **attributes):
        factors = self.dequantize(self.constant(weights), 2.0**-7)
        biases = self.dequantize(self.constant(bias.astype(np.int32)), 2.0**-12, dtype=np.int32)
        return self.stored(self.node("Conv", self.real(x), factors, biases, **attributes), output)

    def dead_conv(self, x, channels, inputs=3, *, dead=DEAD, values=0):
        """A convolution whose channels ``dead`` are ``values`` more than 0 for any x, in stored units."""
        weights, bias = self.weights(channels, inputs, 3, 3), self.chance.integers(-4000, 4000, channels)
        weights[list(dead)] = 0
        bias[list(dead)] = 128 * np.asarray(values)
        return self.conv(x, weights, bias, pads=[1, 1, 1, 1])

    def depthwise(self, x, channels):
        """A depthwise convolution whose stored results are above 0 where x is."""
        weights = np.abs(self.weights(channels, 1, 3, 3))
        return self.conv(x, weights, np.zeros(channels), pads=[1, 1, 1, 1], group=channels)

    def pointwise(self, x, channels, inputs, output=None, *, unread=()):
        weights = self.weights(channels, inputs, 1, 1)
        weights[:, list(unread)] = 0
        return self.conv(x, weights, self.chance.integers(-4000, 4000, channels), output)

    def image(self):
        return self.input("x", [1, 3, 7, 6], np.int8)
