"""Makes the small networks beside this file, with their vectors. Everything is seeded.

    python make_models.py

Run by hand, with onnx and onnxruntime, when a network is to change; the results are committed.

qdq_residual      standard int8 as onnxruntime writes it: convolution, depthwise, pointwise, a
                  residual addition, pooling, dense layer, softmax; vectors by onnxruntime
float_mixture     float32: asymmetric pads, dilation, groups, HardSwish, Concat, Transpose, batched
                  MatMul, LeakyRelu, pooling; vectors by onnxruntime
deeploy_residual  integers stored in float tensors, RequantShift per channel and per tensor, a
                  uint8 input; vectors by plain NumPy below
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

HERE = Path(__file__).resolve().parent
RUNS = 3
OPSET = 17
Array = np.ndarray[Any, Any]


class Builder:
    """Nodes and initialisers of a graph, named in order."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, array: Array) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def normal(self, *shape: int, fan_in: int = 1) -> str:
        return self.constant((self.random.standard_normal(shape) * (2.0 / fan_in) ** 0.5).astype(np.float32))

    def node(self, operator: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def conv(self, x: str, inputs: int, outputs: int, kernel: Sequence[int], **attributes: Any) -> str:
        """A float convolution with bias."""
        group = attributes.get("group", 1)
        fan_in = inputs // group * int(np.prod(kernel))
        weights = self.normal(outputs, inputs // group, *kernel, fan_in=fan_in)
        bias = self.normal(outputs, fan_in=200)
        return self.node("Conv", [x, weights, bias], kernel_shape=list(kernel), **attributes)

    def model(self, input_shape: Sequence[int], output: str, output_shape: Sequence[int]) -> onnx.ModelProto:
        graph = helper.make_graph(
            [*self.nodes, helper.make_node("Identity", [output], ["scores"], name="last")],
            "graph",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, list(input_shape))],
            [helper.make_tensor_value_info("scores", TensorProto.FLOAT, list(output_shape))],
            self.initializers,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def main() -> None:
    write_qdq("qdq_residual", residual_network(), (1, 3, 16, 16))
    write_float("float_mixture", float_mixture(), (1, 6, 18, 14))
    write_deeploy("deeploy_residual")


def residual_network() -> onnx.ModelProto:
    b = Builder(1)
    x = b.node("Relu", [b.conv("image", 3, 16, (3, 3), pads=[1, 1, 1, 1])])
    y = b.node("Relu", [b.conv(x, 16, 16, (3, 3), group=16, pads=[1, 1, 1, 1])])
    y = b.conv(y, 16, 16, (1, 1))
    x = b.node("Relu", [b.node("Add", [x, y])])
    x = b.node("Relu", [b.conv(x, 16, 24, (3, 3), strides=[2, 2], pads=[0, 0, 1, 1])])
    x = b.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("GlobalAveragePool", [x])
    x = b.node("Flatten", [x])
    x = b.node("Gemm", [x, b.normal(24, 10, fan_in=100), b.normal(10, fan_in=200)])
    x = b.node("Softmax", [x], axis=1)
    return b.model((1, 3, 16, 16), x, (1, 10))


def float_mixture() -> onnx.ModelProto:
    b = Builder(2)
    x = b.node("HardSwish", [b.conv("image", 6, 20, (5, 3), pads=[2, 0, 1, 2])])
    left = b.node("LeakyRelu", [b.conv(x, 20, 12, (3, 3), dilations=[2, 2], pads=[2, 2, 2, 2])], alpha=0.1)
    right = b.node("Tanh", [b.conv(x, 20, 8, (1, 3), group=4, pads=[0, 1, 0, 1])])
    x = b.node("Concat", [left, right], axis=1)
    x = b.node("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Reshape", [x, b.constant(np.array([1, 20, 56], np.int64))])
    y = b.node("Transpose", [x], perm=[0, 2, 1])
    x = b.node("MatMul", [x, y])
    x = b.node("Mul", [x, b.constant(np.array(0.1, np.float32))])
    x = b.node("Softmax", [x], axis=-1)
    x = b.node("MatMul", [x, b.normal(20, 4, fan_in=1)])
    return b.model((1, 6, 18, 14), b.node("Sigmoid", [x]), (1, 20, 4))


def write_qdq(name: str, model: onnx.ModelProto, shape: tuple[int, ...]) -> None:
    """Quantised by onnxruntime, per channel, from the inputs that the vectors have."""
    images = np.random.default_rng(10).standard_normal((RUNS, *shape)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        plain, quantised = Path(folder) / "float.onnx", Path(folder) / "qdq.onnx"
        onnx.save(model, plain)
        quantize_static(
            plain,
            quantised,
            Calibration(images),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
        )
        write(name, onnx.load(quantised), images, run(onnx.load(quantised), images))


def write_float(name: str, model: onnx.ModelProto, shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(11).standard_normal((RUNS, *shape)).astype(np.float32)
    write(name, model, images, run(model, images))


class Calibration(CalibrationDataReader):  # type: ignore[misc]
    """Images one by one."""

    def __init__(self, images: Array) -> None:
        self.images = iter(images)

    def get_next(self) -> dict[str, Array] | None:
        image = next(self.images, None)
        return None if image is None else {"image": image}


def run(model: onnx.ModelProto, images: Array) -> Array:
    """onnxruntime with graph optimisations off, image by image."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return np.stack([session.run(None, {"image": image})[0] for image in images])


def write_deeploy(name: str) -> None:
    """conv, then a branch of depthwise and pointwise convolutions that is added, pool, dense."""
    b, shape = Builder(3), (1, 3, 16, 16)
    images = np.random.default_rng(12).integers(0, 256, (RUNS, *shape))
    random = b.random
    first, depthwise = small(random, 16, 3, 3, 3), small(random, 16, 1, 3, 3)
    pointwise, dense = small(random, 16, 16, 1, 1), small(random, 10, 16 * 16)
    shifts = [
        Shift(random.integers(150, 300, (16, 1, 1)), random.integers(-9000, 9000, (16, 1, 1)), 16, True),
        Shift(random.integers(600, 900, (16, 1, 1)), random.integers(-9000, 9000, (16, 1, 1)), 16, False),
        Shift(np.array([450]), np.array([1000]), 16, True),
        Shift(np.array([36000]), np.array([32768]), 16, False),
        Shift(random.integers(8, 14, 10), random.integers(-99, 99, 10), 14, True),
    ]

    def floats(array: Array) -> str:
        return b.constant(array.astype(np.float32))

    def shifted(x: str, shift: Shift) -> str:
        attributes = {"div": float(2**shift.bits), "n_levels": 256.0, "signed": float(shift.signed)}
        constants = {
            key: numpy_helper.from_array(np.array([value], np.float32), key) for key, value in attributes.items()
        }
        return b.node("RequantShift", [x, floats(shift.mul), floats(shift.add)], domain="PACTOps", **constants)

    padded = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    x = shifted(b.node("Conv", ["image", floats(first)], **padded), shifts[0])
    y = shifted(b.node("Conv", [x, floats(depthwise)], group=16, **padded), shifts[1])
    y = shifted(b.node("Conv", [y, floats(pointwise)], kernel_shape=[1, 1]), shifts[2])
    x = shifted(b.node("Add", [x, y]), shifts[3])
    x = b.node("MaxPool", [x], kernel_shape=[4, 4], strides=[4, 4])
    x = b.node("Flatten", [x])
    x = shifted(b.node("Gemm", [x, floats(dense), floats(np.zeros(10))], transB=1), shifts[4])
    model = b.model(shape, x, (1, 10))
    model.opset_import.append(helper.make_opsetid("PACTOps", 1))

    def reference(image: Array) -> Array:
        x = shifts[0].apply(convolve(image, first, 1, 1))
        y = shifts[1].apply(convolve(x, depthwise, 16, 1))
        y = shifts[2].apply(convolve(y, pointwise, 1, 0))
        x = shifts[3].apply(x + y)
        x = x.reshape(1, 16, 4, 4, 4, 4).max(axis=(3, 5)).reshape(1, -1)
        return shifts[4].apply(x @ dense.T)

    write(name, model, images, np.stack([reference(image) for image in images]), {"image": "uint8"})


class Shift:
    """RequantShift: clip((x * mul + add + half) >> bits), rounding half up."""

    def __init__(self, mul: Array, add: Array, bits: int, signed: bool) -> None:
        self.mul, self.add, self.bits, self.signed = mul, add, bits, signed

    def apply(self, x: Array) -> Array:
        y = (x * self.mul + self.add + (1 << (self.bits - 1))) >> self.bits
        return np.clip(y, -128, 127) if self.signed else np.clip(y, 0, 255)


def small(random: np.random.Generator, *shape: int) -> Array:
    return random.integers(-128, 128, shape)


def convolve(x: Array, weights: Array, groups: int, pad: int) -> Array:
    """Stride 1, the same padding on all sides, in exact integers."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    taps = np.lib.stride_tricks.sliding_window_view(x, weights.shape[2:], axis=(2, 3))
    taps = np.stack(np.split(taps, groups, axis=1))
    kernels = np.stack(np.split(weights, groups, axis=0))
    y = np.einsum("gnchwij,gocij->ngohw", taps, kernels)
    return y.reshape(x.shape[0], weights.shape[0], *y.shape[3:])


def write(name: str, model: onnx.ModelProto, x: Array, y: Array, types: dict[str, str] | None = None) -> None:
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    onnx.save(model, folder / "network.onnx")
    np.savez_compressed(folder / "inputs.npz", image=x)
    np.savez_compressed(folder / "outputs.npz", scores=y)
    if types:
        (folder / "types.json").write_text(json.dumps(types, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
