"""Random quantised models, int8 or uint8: QDQ, QOperator and plain integers mixed.

Scales are powers of two, so that sums and products are exact in float32 and every bit of the
reference is what arithmetic says.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tilewright.graph import Array

from support.random_float import windows
from support.random_model import RandomModel, Step, Unfit, grown

_LOOKED_UP = "Relu Sigmoid Tanh HardSwish HardSigmoid LeakyRelu Elu Softmax Abs Neg Identity".split()


@dataclass
class QuantizedModel(RandomModel):
    """A random model some of whose tensors stand for real numbers: their scale and zero point by name."""

    dtype: str = "int8"
    parameters: dict[str, tuple[np.float32, int]] = field(default_factory=dict)

    def known(self, name: str, scale: np.float32, zero_point: int) -> str:
        self.parameters[name] = (scale, zero_point)
        return name

    def zero_point(self) -> int:
        middle = 128 if self.dtype == "uint8" else 0
        return middle + self.chance.choice((0, 0, self.chance.randint(-30, 30)))

    def stored(self, value: int) -> Array:
        return np.asarray(value, self.dtype)

    def pair(self, name: str) -> list[str]:
        """Constants of a tensor's scale and zero point."""
        scale, zero_point = self.parameters[name]
        return [self.constant(scale), self.constant(self.stored(zero_point))]

    def any(self, *ranks: int) -> str:
        """A quantised tensor."""
        return self.pick(lambda name: name in self.parameters and (not ranks or len(self.shape(name)) in ranks))

    def real(self, name: str) -> str:
        return self.add("DequantizeLinear", name, *self.pair(name))

    def fitting(self, values: Array) -> tuple[np.float32, int]:
        """A scale that is a power of two and a zero point, which represent most of the values."""
        # Kernels let scales of one sum differ by at most 16 bits, and values that cancel out would get a tiny scale.
        largest = max(float(np.abs(values).max()), 2.0**-4)
        exponent = int(np.ceil(np.log2(largest / 127.0))) - self.chance.choice((0, 0, 1))
        return np.float32(2.0**exponent), self.zero_point()

    def quantized(self, name: str) -> str:
        scale, zero_point = self.fitting(self.values[name])
        operands = (self.constant(scale), self.constant(self.stored(zero_point)))
        return self.known(self.add("QuantizeLinear", name, *operands), scale, zero_point)

    def whole_range(self, shape: Sequence[int]) -> Array:
        limits = np.iinfo(self.dtype)
        return self.integers(int(limits.min), int(limits.max), shape, self.dtype)


def random_int8(seed: int) -> RandomModel:
    """Always the same model for the same seed."""
    chance = random.Random(seed)
    dtype = chance.choice(("int8", "int8", "uint8"))
    model = QuantizedModel(chance, np.random.default_rng(seed), dtype=dtype)
    shape = (1, chance.randint(1, 8), *(chance.randint(2, 9) for _ in range(chance.choice((0, 1, 2, 2, 2)))))
    for _ in range(chance.choice((1, 2))):
        if chance.random() < 0.3:
            model.quantized(model.input(model.normal(shape)))
        else:
            name = model.input(model.whole_range(shape))
            model.known(name, np.float32(2.0 ** -chance.randint(3, 7)), model.zero_point())
    return grown(model, STEPS, chance.randint(3, 8))


def _quantized(model: RandomModel) -> QuantizedModel:
    assert isinstance(model, QuantizedModel)
    return model


def looked_up(model: RandomModel) -> None:
    net = _quantized(model)
    net.quantized(net.add(net.chance.choice(_LOOKED_UP), net.real(net.any())))


def binary(model: RandomModel) -> None:
    net = _quantized(model)
    name = net.any()
    other = net.pick(lambda found: found in net.parameters and net.shape(found) == net.shape(name))
    net.quantized(net.add(net.chance.choice(("Add", "Mul", "Sub")), net.real(name), net.real(other)))


def _weights(net: QuantizedModel, shape: Sequence[int], channels: int) -> tuple[list[str], Array]:
    """int8 weights with scale and zero point, of each channel or of all, and the scales."""
    data = net.constant(net.integers(-127, 127, shape))
    per_channel = net.chance.random() < 0.5
    count = channels if per_channel else 1
    scales = np.array([2.0 ** -net.chance.randint(5, 9) for _ in range(count)], np.float32)
    zeros = np.zeros(count, np.int8)
    if not per_channel:
        scales, zeros = scales.reshape(()), zeros.reshape(())
    return [data, net.constant(scales), net.constant(zeros)], scales


def _bias(net: QuantizedModel, name: str, scales: Array, channels: int) -> list[Array]:
    """int32 data and the scale of a bias, which is that of the products."""
    data = net.integers(-3000, 3000, (channels,), "int32")
    return [data, (scales * net.parameters[name][0]).astype(np.float32)]


def convolution(model: RandomModel) -> None:
    net = _quantized(model)
    name = net.any(3, 4)
    channels, spatial = net.shape(name)[1], len(net.shape(name)) - 2
    group = net.chance.choice([number for number in (1, 1, 2, channels) if channels % number == 0])
    outputs = group * net.chance.randint(1, 6)
    geometry = {**windows(net, spatial), "group": group}
    kernel = geometry["kernel_shape"]
    weights, scales = _weights(net, (outputs, channels // group, *kernel), outputs)  # type: ignore[misc]
    bias = _bias(net, name, scales, outputs) if net.chance.random() < 0.7 else []
    if net.chance.random() < 0.5:
        axis = {"axis": 0} if scales.ndim else {}
        operands = [net.real(name), net.add("DequantizeLinear", *weights, **axis)]
        if bias:
            zeros = np.zeros(bias[1].shape, np.int32)
            operands.append(net.add("DequantizeLinear", *(net.constant(array) for array in (*bias, zeros)), **axis))
        result = net.add("Conv", *operands, **geometry)
        net.quantized(net.add("Relu", result) if net.chance.random() < 0.3 else result)
        return
    scale, zero_point = np.float32(2.0 ** -net.chance.randint(1, 5)), net.zero_point()
    target = [net.constant(scale), net.constant(net.stored(zero_point))]
    extra = [net.constant(bias[0])] if bias else []
    result = net.add("QLinearConv", name, *net.pair(name), *weights, *target, *extra, **geometry)
    net.known(result, scale, zero_point)


def product(model: RandomModel) -> None:
    net = _quantized(model)
    name = net.any(2, 3, 4)
    depth, columns = net.shape(name)[-1], net.chance.randint(1, 9)
    kind = net.chance.choice(("QDQ", "QLinearMatMul", "MatMulInteger"))
    weights, _ = _weights(net, (depth, columns), 1)
    weights[1:] = [net.constant(net.values[weights[1]].reshape(-1)[:1].reshape(())), net.constant(np.int8(0))]
    if kind == "QDQ":
        net.quantized(net.add("MatMul", net.real(name), net.add("DequantizeLinear", *weights)))
    elif kind == "QLinearMatMul":
        scale, zero_point = np.float32(2.0 ** -net.chance.randint(1, 5)), net.zero_point()
        target = [net.constant(scale), net.constant(net.stored(zero_point))]
        net.known(net.add(kind, name, *net.pair(name), *weights, *target), scale, zero_point)
    else:
        total = net.add(kind, name, weights[0], net.pair(name)[1])
        real = net.add("Cast", total, to=1)
        net.quantized(net.add("Mul", real, net.constant(np.float32(2.0**-8))))


def pooling(model: RandomModel) -> None:
    net = _quantized(model)
    name = net.any(3, 4)
    spatial = len(net.shape(name)) - 2
    kind = net.chance.choice(("MaxPool", "MaxPool", "AveragePool", "GlobalAveragePool"))
    geometry = windows(net, spatial) if not kind.startswith("Global") else {}
    if kind == "MaxPool" and net.chance.random() < 0.4:
        net.known(net.add(kind, name, **geometry), *net.parameters[name])
        return
    if kind != "MaxPool":
        # Means over other counts are not exact in float32, and the reference rounds them in its own way.
        geometry = {"kernel_shape": [2] * spatial, "strides": [net.chance.randint(1, 2)] * spatial}
        kind = "AveragePool"
    net.quantized(net.add(kind, net.real(name), **geometry))


def moved(model: RandomModel) -> None:
    """Elements go elsewhere, on the stored integers or between Dequantize and Quantize."""
    net = _quantized(model)
    name = net.any()
    between = net.chance.random() < 0.5
    source, shape = (net.real(name) if between else name), net.shape(name)
    kind = net.chance.choice(("Transpose", "Reshape", "Slice", "Gather", "Tile", "Flatten"))
    axis = net.axis(name)
    if kind == "Transpose":
        result = net.add(kind, source, perm=net.chance.sample(range(len(shape)), len(shape)))
    elif kind == "Slice":
        step = net.chance.choice((1, 2, -1))
        numbers = (net.chance.randint(0, shape[axis] - 1), 2**31 if step > 0 else -(2**31), axis, step)
        result = net.add(kind, source, *(net.constant(np.array([number])) for number in numbers))
    elif kind == "Gather":
        result = net.add(kind, source, net.constant(net.integers(0, shape[axis] - 1, (3,), "int64")), axis=axis)
    elif kind == "Tile":
        result = net.add(kind, source, net.constant(np.array([net.chance.choice((1, 1, 2)) for _ in shape])))
    elif kind == "Flatten":
        result = net.add(kind, source, axis=axis)
    else:
        result = net.add(kind, source, net.constant(np.array([shape[0], -1])))
    if not between:
        net.known(result, *net.parameters[name])
        return
    scale, zero_point = net.parameters[name]
    if net.chance.random() < 0.5:
        net.quantized(result)
        return
    operands = (net.constant(scale), net.constant(net.stored(zero_point)))
    net.known(net.add("QuantizeLinear", result, *operands), scale, zero_point)


def concat(model: RandomModel) -> None:
    net = _quantized(model)
    name = net.any()
    names = [name, net.pick(lambda found: found in net.parameters and net.shape(found) == net.shape(name))]
    axis = net.axis(name)
    if all(net.parameters[found] == net.parameters[name] for found in names) and net.chance.random() < 0.5:
        net.known(net.add("Concat", *names, axis=axis), *net.parameters[name])
        return
    net.quantized(net.add("Concat", *(net.real(found) for found in names), axis=axis))


def widened(model: RandomModel) -> None:
    """int32 arithmetic on stored integers, cast back through floats."""
    net = _quantized(model)
    name = net.any()
    wide = net.add("Cast", name, to=6)
    kind = net.chance.choice(("Add", "Sub", "Mul", "Max", "Min", "ReduceSum", "ReduceMax", "CumSum"))
    if kind.startswith("Reduce"):
        wide = net.add(kind, wide, net.constant(np.array([net.axis(name)])), keepdims=net.chance.randint(0, 1))
    elif kind == "CumSum":
        wide = net.add(kind, wide, net.constant(np.int64(net.axis(name))))
    else:
        shape = [net.chance.choice((1, extent)) for extent in net.shape(name)]
        wide = net.add(kind, wide, net.constant(net.integers(-50, 50, shape, "int32")))
    if net.chance.random() < 0.5:
        net.quantized(net.add("Cast", wide, to=1))


def arranged(model: RandomModel) -> None:
    net = _quantized(model)
    name = net.any(4)
    kind = net.chance.choice(("DepthToSpace", "SpaceToDepth", "Resize", "Pad"))
    if kind == "Resize":
        scales = net.constant(np.array([1, 1, *(net.chance.choice((1, 2)) for _ in range(2))], np.float32))
        net.quantized(net.add(kind, net.real(name), "", scales, coordinate_transformation_mode="asymmetric"))
    elif kind == "Pad":
        pads = net.constant(np.array([0, 0, 1, net.chance.randint(0, 2), 0, 0, net.chance.randint(0, 2), 1]))
        net.quantized(net.add(kind, net.real(name), pads))
    else:
        net.quantized(net.add(kind, net.real(name), blocksize=2))


def index_of_largest(model: RandomModel) -> None:
    net = _quantized(model)
    name = net.any()
    if any(net.values[found].dtype == np.int64 for found in net.values if found not in net.constants):
        raise Unfit("one is enough")
    net.add("ArgMax", net.real(name), axis=net.axis(name), keepdims=net.chance.randint(0, 1))


STEPS: tuple[Step, ...] = (
    looked_up,
    looked_up,
    binary,
    binary,
    convolution,
    convolution,
    convolution,
    product,
    product,
    pooling,
    pooling,
    moved,
    moved,
    concat,
    widened,
    arranged,
    index_of_largest,
)
