"""Random small networks of int8 whose channels Concat joins, as in DenseNet and Inception, in QDQ and QOperator."""

from __future__ import annotations

import numpy as np

from support.onnx_models import ModelBuilder

SIZE = 6


class Joined(ModelBuilder):
    """Layers that draw which of their channels are constant, and which they do not read."""

    def __init__(self, seed, dialect="qdq"):
        super().__init__()
        self.chance, self.dialect, self.meaning, self.channels = np.random.default_rng(seed), dialect, {}, {}

    def known(self, name, channels, meaning=None):
        self.channels[name] = channels
        self.meaning[name] = meaning or (2.0 ** -int(self.chance.integers(4, 7)), int(self.chance.integers(-128, 20)))
        return name

    def pair(self, name):
        scale, zero = self.meaning[name]
        return [self.constant(np.float32(scale)), self.constant(np.int8(zero))]

    def image(self):
        return self.known(self.input("x", [1, 3, SIZE, SIZE], np.int8), 3, (2.0**-5, 3))

    def conv(self, x, channels, size=1, *, dead=0.4, unread=0.3, group=1, output=None):
        """A convolution of which parts of the outputs are the same for any x, and of the inputs are not read."""
        chance, inputs = self.chance, self.channels[x]
        weights = chance.integers(-40, 41, (channels, inputs // group, size, size)).astype(np.int8)
        bias = chance.integers(-900, 900, channels).astype(np.int32)
        if group == 1:
            weights[:, chance.random(inputs) < unread] = 0
        constant = chance.random(channels) < dead
        weights[constant] = 0
        low = constant & (chance.random(channels) < 0.5)
        bias[low] = -(10**6)
        out = output or f"conv{len(self.nodes)}"
        self.known(out, channels)
        attributes = {"pads": [size // 2] * 4, "group": group}
        getattr(self, f"{self.dialect}_conv")(x, weights, bias, out, attributes)
        return out

    def qdq_conv(self, x, weights, bias, out, attributes):
        scale = self.meaning[x][0] * 2.0**-7
        operands = [
            self.dequantize(x, *self.meaning[x]),
            self.dequantize(self.constant(weights), 2.0**-7),
            self.dequantize(self.constant(bias), scale, dtype=np.int32),
        ]
        self.quantize(self.node("Conv", *operands, **attributes), *self.meaning[out], output=out)

    def qoperator_conv(self, x, weights, bias, out, attributes):
        w = [self.constant(weights), self.constant(np.float32(2.0**-7)), self.constant(np.int8(0))]
        self.node("QLinearConv", x, *self.pair(x), *w, *self.pair(out), self.constant(bias), output=out, **attributes)

    def join(self, *parts):
        """The parts behind one another; in another scale than theirs some of the time."""
        channels = sum(self.channels[part] for part in parts)
        same = self.meaning[parts[0]] if self.chance.random() < 0.3 else None
        out = self.known(f"join{len(self.nodes)}", channels, same)
        if self.dialect == "qoperator":
            given = [value for part in parts for value in (part, *self.pair(part))]
            return self.node("QLinearConcat", *self.pair(out), *given, output=out, domain="com.microsoft", axis=1)
        reals = [self.dequantize(part, *self.meaning[part]) for part in parts]
        return self.quantize(self.node("Concat", *reals, axis=1), *self.meaning[out], output=out)

    def fixed(self, channels):
        """A constant image; of some channels all elements are alike."""
        data = self.chance.integers(-128, 128, (1, channels, SIZE, SIZE)).astype(np.int8)
        data[:, ::2] = data[:, ::2, :1, :1]
        return self.known(self.constant(data), channels)

    def pool(self, x):
        out = self.known(f"pool{len(self.nodes)}", self.channels[x], self.meaning[x])
        window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        if self.dialect == "qoperator":
            return self.node("MaxPool", x, output=out, **window)
        real = self.node("MaxPool", self.dequantize(x, *self.meaning[x]), **window)
        return self.quantize(real, *self.meaning[out], output=out)


def dense_network(seed, dialect):
    """Each layer reads what all before it made, as in DenseNet."""
    net = Joined(seed, dialect)
    made = [net.conv(net.image(), 8, 3, unread=0)]
    for _ in range(3):
        x = net.join(*made) if len(made) > 1 else made[0]
        if net.chance.random() < 0.3:
            x = net.conv(x, net.channels[x], 3, group=net.channels[x])
        made.append(net.conv(x, int(net.chance.choice([4, 8, 10])), int(net.chance.choice([1, 3]))))
    net.conv(net.join(*made), 4, output="y", dead=0)
    return net.model("y", dtypes={"y": np.int8})


def inception_network(seed, dialect):
    """Branches of other depths between Concats, as in Inception; a branch may be constant as a whole."""
    net = Joined(seed, dialect)
    x = net.conv(net.image(), 12, 3, unread=0)
    for _ in range(2):
        deaths = [1.0 if net.chance.random() < 0.25 else 0.4 for _ in range(3)]
        branches = [
            net.conv(x, 8, dead=deaths[0]),
            net.conv(net.conv(x, 8), 12, 3, dead=deaths[1]),
            net.conv(net.pool(x), 6, dead=deaths[2]),
        ]
        if net.chance.random() < 0.4:
            branches.append(net.fixed(5))
        x = net.join(*branches)
        if net.chance.random() < 0.3:
            x = net.pool(x)
    net.conv(x, 4, output="y", dead=0)
    return net.model("y", dtypes={"y": np.int8})
