"""Small networks whose layers are measured one by one: the micro-benchmarks of calibration.

Integers in float tensors with RequantShift, as Deeploy has them, or QuantizeLinear and DequantizeLinear,
as ONNX Runtime has them; every number comes from a fixed seed. Layers are of sizes that do not occur in
the networks on which predictions are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]


class Chain:
    """Layers one behind the other on an image of uint8; ``x`` is the output of the last layer.

    ``homes`` and ``tiles`` are options of the same names. ``is_float``: the image is of float32, not of uint8.
    """

    is_float = False
    opset = 17

    def __init__(self, seed: int, channels: int, rows: int, columns: int) -> None:
        self.random = np.random.default_rng(seed)
        self.shape = [1, channels, rows, columns]
        self.input_shape = tuple(self.shape)
        self.x = "image"
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.homes: dict[str, str] = {}
        self.tiles: dict[str, dict[str, int]] = {}

    def constant(self, array: Array) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def stored(self, array: Array, dtype: str, name: str) -> str:
        self.initializers.append(numpy_helper.from_array(array.astype(dtype), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"{operator.lower()}_{len(self.nodes)}"
        domain = "PACTOps" if operator in ("RequantShift", "iLayerNorm") else ""
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        self.x = name
        return name

    def requantize(self, multiplier: int, *, channels: int = 0, shift: int = 16) -> str:
        """Requantise the last tensor to uint8, with a multiplier for each channel, or one for all (0 channels)."""
        shape = (channels, 1, 1) if channels else (1,)
        mul = self.random.integers(multiplier, 2 * multiplier, shape)
        add = self.random.integers(-5000, 5000, shape)
        values = {"div": float(1 << shift), "n_levels": 256.0, "signed": 0.0}
        tensors = {key: numpy_helper.from_array(np.array([value], np.float32), key) for key, value in values.items()}
        return self.node("RequantShift", [self.x, self.constant(mul), self.constant(add)], **tensors)

    def conv(self, outputs: int, kernel: int, *, stride: int = 1, depthwise: bool = False) -> str:
        """A convolution with half the kernel as padding, requantised."""
        channels, pad = self.shape[1], kernel // 2
        group = channels if depthwise else 1
        outputs = channels if depthwise else outputs
        weights = self.random.integers(-128, 128, (outputs, channels // group, kernel, kernel))
        geometry = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "group": group}
        self.node("Conv", [self.x, self.constant(weights)], **geometry)
        self.shape[1:] = [outputs, *((extent + 2 * pad - kernel) // stride + 1 for extent in self.shape[2:])]
        return self.requantize(300, channels=outputs)

    def pool(self, kernel: int) -> str:
        self.shape[2:] = [extent // kernel for extent in self.shape[2:]]
        return self.node("MaxPool", [self.x], kernel_shape=[kernel] * 2, strides=[kernel] * 2)

    def add(self, other: str) -> str:
        self.node("Add", [self.x, other])
        return self.requantize(30000)

    def dense(self, outputs: int) -> str:
        """A fully connected layer, requantised; an image is flattened first."""
        if len(self.shape) == 4:
            self.shape = [1, int(np.prod(self.shape))]
            self.node("Flatten", [self.x])
        weights = self.random.integers(-128, 128, (outputs, self.shape[1]))
        self.node("Gemm", [self.x, self.constant(weights), self.constant(np.zeros(outputs))], transB=1)
        self.shape = [1, outputs]
        return self.requantize(100)

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            [*self.nodes, helper.make_node("Identity", [self.x], ["scores"], name="last")],
            "graph",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, list(self.input_shape))],
            [helper.make_tensor_value_info("scores", TensorProto.FLOAT, self.shape)],
            self.initializers,
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("PACTOps", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


class QdqChain(Chain):
    """Layers between QuantizeLinear and DequantizeLinear, int8 with zero points.

    ``scale``: the largest scale of a layer's channels; ``spread``: by how many powers of two others are
    smaller. The two decide the rule.
    """

    is_float = True

    def __init__(self, seed: int, channels: int, rows: int, columns: int, spread: float, scale: float = 0.002) -> None:
        super().__init__(seed, channels, rows, columns)
        self.spread = spread
        self.scale = scale
        self.quantized(0.02, 0)

    def quantized(self, scale: float, zero_point: int) -> str:
        """The last tensor through QuantizeLinear and DequantizeLinear."""
        at = len(self.initializers)
        scales = self.stored(np.array(scale), "float32", f"s{at}")
        zeros = self.stored(np.array(zero_point), "int8", f"z{at}")
        for operator in ("QuantizeLinear", "DequantizeLinear"):
            self.node(operator, [self.x, scales, zeros])
        return self.x

    def dequantized(self, array: Array, dtype: str, scales: Array, axis: int = 0) -> str:
        """A constant behind DequantizeLinear, with a scale for each element of an axis."""
        at, x = len(self.initializers), self.x
        names = [
            self.stored(array, dtype, f"w{at}"),
            self.stored(scales, "float32", f"s{at}"),
            self.stored(np.zeros(len(scales)), dtype, f"z{at}"),
        ]
        found = self.node("DequantizeLinear", names, axis=axis)
        self.x = x
        return found

    def weighted(self, operator: str, weights: Array, zero_point: int, **attributes: Any) -> str:
        outputs = len(weights)
        scales = self.scale * 2.0 ** -self.random.uniform(0.0, self.spread, outputs)
        w = self.dequantized(weights, "int8", scales)
        bias = self.dequantized(self.random.integers(-3000, 3000, outputs), "int32", 0.02 * scales)
        self.node(operator, [self.x, w, bias], **attributes)
        if zero_point:
            self.node("Relu", [self.x])
        return self.quantized(0.02, zero_point)

    def conv(self, outputs: int, kernel: int, *, stride: int = 1, depthwise: bool = False) -> str:
        channels, pad = self.shape[1], kernel // 2
        group = channels if depthwise else 1
        outputs = channels if depthwise else outputs
        weights = self.random.integers(-127, 128, (outputs, channels // group, kernel, kernel))
        self.shape[1:] = [outputs, *((extent + 2 * pad - kernel) // stride + 1 for extent in self.shape[2:])]
        geometry = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "group": group}
        return self.weighted("Conv", weights, -128 if kernel > 1 else 0, **geometry)

    def add(self, other: str) -> str:
        self.node("Add", [self.x, other])
        return self.quantized(0.03, 3)

    def average(self) -> str:
        self.shape[2:] = [1, 1]
        self.node("GlobalAveragePool", [self.x])
        return self.quantized(0.02, 0)

    def dense(self, outputs: int) -> str:
        self.shape = [1, int(np.prod(self.shape))]
        self.node("Flatten", [self.x])
        weights = self.random.integers(-127, 128, (outputs, self.shape[1]))
        self.shape = [1, outputs]
        return self.weighted("Gemm", weights, 0, transB=1)


def quantized(seed: int, spread: float) -> QdqChain:
    chain = QdqChain(seed, 3, 24, 24, spread)
    chain.conv(20, 3)
    chain.conv(0, 3, depthwise=True)
    chain.conv(44, 1)
    chain.conv(0, 5, stride=2, depthwise=True)
    before = chain.conv(28, 1)
    chain.conv(52, 1)
    chain.conv(0, 7, depthwise=True)
    chain.conv(28, 1)
    chain.add(before)
    chain.conv(36, 3, stride=2)
    chain.conv(72, 1)
    chain.conv(0, 3, depthwise=True)
    chain.average()
    for outputs in (200, 90, 12):
        chain.dense(outputs)
    return chain


def narrowing(spread: float) -> QdqChain:
    """Images of few channels, and products that widen and narrow, as small networks have them."""
    chain = QdqChain(8, 3, 44, 52, spread)
    chain.conv(12, 3, stride=2)
    chain.conv(0, 3, depthwise=True)
    before = chain.conv(8, 1)
    chain.conv(24, 1)
    chain.conv(0, 7, depthwise=True)
    chain.conv(8, 1)
    chain.add(before)
    chain.conv(40, 1)
    chain.conv(0, 5, stride=2, depthwise=True)
    before = chain.conv(20, 1)
    chain.conv(100, 1)
    chain.conv(0, 3, depthwise=True)
    chain.conv(20, 1)
    chain.add(before)
    chain.conv(60, 1)
    chain.conv(0, 3, stride=2, depthwise=True)
    chain.conv(128, 1)
    chain.average()
    chain.dense(6)
    return chain


def quantized_narrow() -> QdqChain:
    return narrowing(4.0)


def quantized_high() -> QdqChain:
    """Depthwise layers whose channels differ so much that each needs a shift of its own."""
    chain = QdqChain(9, 3, 30, 34, 13.0, 0.08)
    chain.conv(20, 3)
    chain.conv(0, 3, depthwise=True)
    chain.conv(44, 1)
    chain.conv(0, 7, depthwise=True)
    chain.conv(0, 3, stride=2, depthwise=True)
    chain.conv(84, 1)
    chain.conv(0, 5, depthwise=True)
    chain.conv(0, 7, stride=2, depthwise=True)
    chain.conv(132, 1)
    chain.conv(0, 3, depthwise=True)
    return chain


def quantized_alike() -> QdqChain:
    return quantized(6, 0.5)


def quantized_apart() -> QdqChain:
    return quantized(7, 20.0)


def convolutions() -> Chain:
    chain = Chain(1, 3, 20, 20)
    chain.conv(24, 3)
    chain.conv(40, 1)
    chain.conv(0, 3, depthwise=True)
    chain.conv(24, 3)
    chain.conv(48, 3, stride=2)
    chain.conv(96, 1)
    chain.conv(0, 3, depthwise=True)
    chain.conv(56, 1)
    chain.conv(56, 1, stride=2)
    chain.dense(10)
    return chain


def residuals() -> Chain:
    chain = Chain(2, 8, 28, 28)
    before = chain.conv(20, 5)
    chain.conv(20, 3)
    chain.add(before)
    chain.pool(2)
    before = chain.x
    chain.requantize(50000)
    chain.conv(20, 1)
    chain.add(before)
    chain.pool(2)
    chain.dense(32)
    return chain


def narrow() -> Chain:
    chain = Chain(3, 16, 12, 12)
    chain.conv(0, 3, depthwise=True)
    chain.conv(80, 1)
    chain.requantize(50000)
    chain.pool(3)
    chain.conv(80, 3)
    chain.conv(100, 1)
    chain.dense(20)
    return chain


def rows() -> Chain:
    """Sums beside a tensor that stays in l1, some columns at a time: its rows lie apart."""
    chain = Chain(10, 14, 18, 32)
    image, kept = chain.x, chain.requantize(50000)
    chain.homes[kept], chain.x = "l1", image
    for columns, shift in product((32, 16, 12, 11, 5), (16, 28)):
        layer = chain.node("Add", [chain.x, kept])
        chain.homes[chain.requantize(30000 << shift - 16, shift=shift)] = "l2"
        chain.tiles[layer] = {"d3": columns}
    chain.requantize(50000)
    return chain


def dense() -> Chain:
    chain = Chain(4, 12, 6, 6)
    for outputs in (200, 60, 300, 24, 10):
        chain.dense(outputs)
    return chain


def windows(chain: Chain) -> Chain:
    """Depthwise windows of three rows, each shape with outputs of neighbouring and of every second row."""
    chain.conv(0, 3, stride=2, depthwise=True)
    for channels in (40, 96, 200):
        chain.conv(channels, 1)
        chain.conv(0, 3, depthwise=True)
        chain.conv(0, 3, stride=2, depthwise=True)
        chain.conv(0, 3, depthwise=True)
    return chain


def windows_folded() -> Chain:
    chain = Chain(11, 16, 40, 48)
    chain.conv(16, 1)
    return windows(chain)


def windows_layer() -> Chain:
    return windows(QdqChain(12, 16, 40, 48, 0.5))


def windows_high() -> Chain:
    return windows(QdqChain(13, 16, 40, 48, 13.0, 0.08))


MODELS: dict[str, Callable[[], Chain]] = {
    "convolutions": convolutions,
    "residuals": residuals,
    "narrow": narrow,
    "dense": dense,
    "rows": rows,
    "quantized_alike": quantized_alike,
    "quantized_apart": quantized_apart,
    "quantized_narrow": quantized_narrow,
    "quantized_high": quantized_high,
    "windows_folded": windows_folded,
    "windows_layer": windows_layer,
    "windows_high": windows_high,
}


def write_models(folder: Path, models: Mapping[str, Callable[[], Chain]]) -> list[Path]:
    """A folder for each model, laid out like those of a corpus; outputs are zeros that nobody compares."""
    written = []
    for name, build in models.items():
        chain, target = build(), folder / name
        target.mkdir(parents=True, exist_ok=True)
        onnx.save(chain.model(), target / "network.onnx")
        image = np.random.default_rng(5).integers(0, 256, chain.input_shape)
        np.savez_compressed(target / "inputs.npz", image=image.astype(np.float32) / 100 if chain.is_float else image)
        np.savez_compressed(target / "outputs.npz", scores=np.zeros(chain.shape))
        types = "{}" if chain.is_float else '{"image": "uint8"}'
        tables = {"homes": chain.homes, **{f"tiles.{layer}": steps for layer, steps in chain.tiles.items()}}
        (target / "options.toml").write_text("".join(map(_table, tables, tables.values())), encoding="utf-8")
        (target / "types.json").write_text(f"{types}\n", encoding="utf-8")
        written.append(target)
    return written


def _table(name: str, entries: dict[str, Any]) -> str:
    """A table of a file of options."""
    return f"[{name}]\n" + "".join(f"{key} = {value!r}\n" for key, value in entries.items())
