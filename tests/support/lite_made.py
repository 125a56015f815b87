"""Random parts of models of one operator, from seeds that are the models' names."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from tilewright.graph import Array

from support.lite_models import Step, Value, lite_model

RUNS = 3
WINDOW = {"padding": "SAME", "stride_w": 2, "stride_h": 1}


@dataclass(frozen=True)
class LiteCase:
    """A model, and the inputs of its runs: arrays with the runs on their first axis.

    Attributes:
        judge: who computes the stored outputs: "tflm", or "litert" for its reference kernels.
        outputs: how many outputs the model has.
        stateful: whether the runs follow each other in one interpreter, else each begins anew.
    """

    content: bytes
    inputs: tuple[Array, ...]
    judge: str = "tflm"
    outputs: int = 1
    stateful: bool = False


class Made:
    """Random parts of a case, from a seed that is its name."""

    def __init__(self, name: str, kind: str = "int8") -> None:
        self.rng = np.random.default_rng(crc32(name.encode()))
        self.kind = kind

    def scale(self, low: float = 0.002, high: float = 0.2) -> tuple[float, ...]:
        return (float(np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high))))),)

    def scales(self, count: int, low: float = 0.001, high: float = 0.02) -> tuple[float, ...]:
        return tuple(float(np.float32(value)) for value in np.exp(self.rng.uniform(np.log(low), np.log(high), count)))

    def zero(self) -> tuple[int, ...]:
        if self.kind == "float32":
            return ()
        if self.kind == "int16":
            return (0,)
        limits = np.iinfo(self.kind)
        return (int(self.rng.integers(limits.min, limits.max, endpoint=True)),)

    def value(self, *shape: int, scale: tuple[float, ...] | None = None) -> Value:
        if self.kind == "float32":
            return Value(shape, self.kind)
        return Value(shape, self.kind, scale or self.scale(), self.zero())

    def weights(self, shape: tuple[int, ...], axis: int, channels: int) -> Value:
        data = self.rng.integers(-127, 127, shape, np.int8, endpoint=True)
        return Value(shape, "int8", self.scales(channels), (0,) * channels, data, axis)

    def bias(self, x: Value, w: Value, count: int) -> Value:
        data = self.rng.integers(-3000, 3000, count).astype(np.int32)
        scale = tuple(float(np.float32(unit) * np.float32(value)) for unit in x.scale for value in w.scale)
        return Value((count,), "int32", scale, (0,) * len(scale), data)

    def inputs(self, value: Value) -> Array:
        if value.type == "float32":
            return self.rng.normal(0, 2, (RUNS, *value.shape)).astype(np.float32)
        if value.type == "bool":
            return self.rng.integers(0, 2, (RUNS, *value.shape)).astype(np.bool_)
        limits = np.iinfo(value.type)
        drawn = self.rng.integers(limits.min, limits.max, (RUNS, *value.shape), np.int64, endpoint=True)
        drawn[1] = np.where(self.rng.random(value.shape) < 0.5, limits.min, limits.max)
        return drawn.astype(value.type)

    def case(self, values: list[Value], step: Step, inputs: tuple[int, ...] = (0,), judge: str = "tflm") -> LiteCase:
        return self.sequence(values, [step], inputs, judge)

    def sequence(
        self, values: list[Value], steps: list[Step], inputs: tuple[int, ...] = (0,), judge: str = "tflm"
    ) -> LiteCase:
        """A case of several operators; the outputs are the last one's."""
        content = lite_model(values, steps, inputs, steps[-1].outputs)
        drawn = tuple(self.inputs(values[number]) for number in inputs)
        return LiteCase(content, drawn, judge, len(steps[-1].outputs))
