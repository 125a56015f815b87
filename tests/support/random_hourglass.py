"""Random networks that shrink images, grow them again and join them with what they were: long skips and Concat."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from support.random_int8 import QuantizedModel
from support.random_model import RandomModel, Unfit

NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
LINEAR = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
REDRAWN = 100_000
"""From the seed of a model that cannot be computed to the one that is taken instead."""


@dataclass
class _Builder:
    """Layers of one kind, on float32 or on integers."""

    model: RandomModel

    @property
    def chance(self) -> random.Random:
        return self.model.chance

    def real(self, name: str) -> str:
        return self.model.real(name) if isinstance(self.model, QuantizedModel) else name

    def stored(self, name: str) -> str:
        return self.model.quantized(name) if isinstance(self.model, QuantizedModel) else name

    def weights(self, *shape: int) -> str:
        if not isinstance(self.model, QuantizedModel):
            return self.model.constant(self.model.normal(shape) * np.float32(0.3))
        data = self.model.constant(self.model.integers(-127, 127, shape))
        scale = self.model.constant(np.float32(2.0 ** -self.chance.randint(6, 9)))
        return self.model.add("DequantizeLinear", data, scale, self.model.constant(np.int8(0)))

    def convolution(self, name: str, stride: int = 1) -> str:
        """Of unit stride as many rows as before; windows of 2, 3 and 7 rows, dilated ones, more padding on one side."""
        inputs, outputs = self.model.shape(name)[1], self.chance.randint(1, 6)
        kernel = self.chance.choice((1, 2, 3, 3, 7))
        dilation = self.chance.choice((1, 1, 2)) if kernel == 3 else 1
        reach = (kernel - 1) * dilation
        pads = [reach // 2, reach // 2, reach - reach // 2, reach - reach // 2]
        weights = self.weights(outputs, inputs, kernel, kernel)
        found = self.model.add(
            "Conv", self.real(name), weights, pads=pads, dilations=[dilation] * 2, strides=[stride] * 2
        )
        if self.chance.random() < 0.5:
            found = self.model.add("Relu", found)
        return self.stored(found)

    def smaller(self, name: str) -> str:
        if self.chance.random() < 0.5:
            return self.convolution(name, stride=self.chance.choice((2, 2, 3)))
        return self.stored(self.model.add("MaxPool", self.real(name), kernel_shape=[2, 2], strides=[2, 2]))

    def larger(self, name: str) -> str:
        if self.chance.random() < 0.3:
            scales = self.model.constant(np.array([1, 1, 2, 2], np.float32))
            way = self.chance.choice((NEAREST, LINEAR))
            return self.stored(self.model.add("Resize", self.real(name), "", scales, **way))
        kernel, stride = self.chance.choice(((2, 2), (2, 2), (3, 2), (3, 3), (2, 3)))
        pads = [0, 0, kernel // 3, 0]
        weights = self.weights(self.model.shape(name)[1], self.chance.randint(1, 5), kernel, kernel)
        found = self.model.add("ConvTranspose", self.real(name), weights, strides=[stride] * 2, pads=pads)
        return self.stored(found)

    def fitted(self, name: str, rows: int, columns: int) -> str:
        """The image cut, or padded, to so many rows and columns."""
        behind = [wanted - have for wanted, have in zip((rows, columns), self.model.shape(name)[2:], strict=True)]
        if min(behind) < 0:
            numbers = ([0, 0], [rows, columns], [2, 3])
            name = self.model.add("Slice", name, *(self.model.constant(np.array(item)) for item in numbers))
        if max(behind) > 0:
            widths = [0, 0, 0, 0, 0, 0, max(behind[0], 0), max(behind[1], 0)]
            name = self.model.add("Pad", name, self.model.constant(np.array(widths)))
        return name

    def joined(self, first: str, second: str) -> str:
        names = [first, second]
        self.chance.shuffle(names)
        rows, columns = self.model.shape(second)[2:]
        fitted = [self.fitted(self.real(name), rows, columns) for name in names]
        return self.stored(self.model.add("Concat", *fitted, axis=1))


def random_hourglass(seed: int) -> RandomModel:
    """Always the same model for the same seed: int8, uint8 or float32, one or two long skips.

    One that cannot be computed, as where a window is larger than its image, is drawn anew.
    """
    try:
        return _drawn(seed)
    except Unfit:
        return random_hourglass(seed + REDRAWN)


def _drawn(seed: int) -> RandomModel:
    chance = random.Random(seed)
    numbers = np.random.default_rng(seed)
    shape = (1, chance.randint(1, 3), chance.randint(18, 30), chance.randint(2, 6))
    model: RandomModel
    if chance.random() < 0.4:
        model = RandomModel(chance, numbers)
        name = model.input(model.normal(shape))
    else:
        quantized = QuantizedModel(chance, numbers, dtype=chance.choice(("int8", "int8", "uint8")))
        name = quantized.input(quantized.whole_range(shape))
        model, name = quantized, quantized.known(name, np.float32(2.0 ** -chance.randint(3, 7)), quantized.zero_point())
    builder = _Builder(model)
    skips = []
    for _ in range(chance.randint(1, 2)):
        skips.append(builder.convolution(name))
        name = builder.smaller(skips[-1])
    name = builder.convolution(name)
    for skip in reversed(skips):
        name = builder.convolution(builder.joined(builder.larger(name), skip))
    read = {operand for node in model.nodes for operand in node.input}
    model.outputs = [made for node in model.nodes for made in node.output if made not in read]
    return model
