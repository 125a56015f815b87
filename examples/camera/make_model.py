#!/usr/bin/env python3
"""Trains a network that tells a disc, a square and a cross in a small camera's picture, and writes the example's files.

Pictures are synthetic and seeded: a bright shape of any size at any place on a darker, noisy ground. The filters are
random; the last layer is solved by least squares. Then the network is quantised to 8 bits. Run with onnx and
onnxruntime installed; building the example needs none of them.

Writes, beside this script: camera.onnx (picture [1, 1, 64, 64] -> scores [1, 3], stored integers); pictures.h (some
pictures as a sensor gives them, line by line, and what onnxruntime sees in each); vectors_inputs.npz and
vectors_outputs.npz (the same pictures and their scores).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

HERE = Path(__file__).resolve().parent
SEED = 5
SIDE = 64
KINDS = ("disc", "square", "cross")
TRAINED, SHIPPED = 1200, 4
FEATURES = 48


def picture(chance: np.random.Generator, kind: str) -> np.ndarray:
    """A shape in a picture: [64, 64] from -1 to 1."""
    size = chance.uniform(9, 18)
    x, y = (chance.uniform(size, SIDE - size) for _ in range(2))
    columns, rows = np.meshgrid(np.arange(SIDE) - x, np.arange(SIDE) - y)
    inside = {
        "disc": columns**2 + rows**2 < size**2,
        "square": np.maximum(abs(columns), abs(rows)) < 0.88 * size,
        "cross": (np.minimum(abs(columns), abs(rows)) < 0.3 * size) & (np.maximum(abs(columns), abs(rows)) < size),
    }[kind]
    ground = chance.uniform(-0.9, -0.3)
    seen = np.where(inside, chance.uniform(0.3, 0.9), ground) + chance.normal(scale=0.05, size=(SIDE, SIDE))
    return np.clip(seen, -1, 1).astype(np.float32)


def pictures(chance: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures [count, 1, 64, 64] and their kinds [count]."""
    kinds = chance.integers(0, len(KINDS), count)
    return np.stack([picture(chance, KINDS[kind])[None] for kind in kinds]), kinds


def network(chance: np.random.Generator, last: np.ndarray | None) -> onnx.ModelProto:
    """Convolutions with random filters, their mean and largest values, and the last layer [features, 3] if known."""
    constants: list[onnx.TensorProto] = []

    def weights(name: str, *shape: int) -> str:
        values = chance.normal(scale=np.sqrt(2 / np.prod(shape[1:])), size=shape)
        constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    nodes, source = [], "picture"

    def conv(name: str, channels: int, inputs: int, side: int, stride: int = 1, group: int = 1) -> None:
        nonlocal source
        pads = [side // 2] * 4
        w = weights(f"{name}.weights", channels, inputs // group, side, side)
        given = {"kernel_shape": [side, side], "pads": pads, "strides": [stride, stride], "group": group}
        nodes.append(helper.make_node("Conv", [source, w], [f"{name}.sum"], name, **given))
        nodes.append(helper.make_node("Relu", [f"{name}.sum"], [f"{name}.out"], f"{name}.relu"))
        source = f"{name}.out"

    conv("edges", 12, 1, 3, stride=2)
    conv("across", 12, 12, 3, group=12)
    conv("mix", 24, 12, 1)
    conv("down", 24, 24, 3, stride=2, group=24)
    conv("join", 48, 24, 1)
    conv("wide", 48, 48, 3, group=48)
    conv("last", FEATURES, 48, 1)
    nodes.append(helper.make_node("GlobalAveragePool", [source], ["means"], "mean"))
    nodes.append(helper.make_node("Flatten", ["means"], ["features"], "flat"))
    result = "features"
    if last is not None:
        constants.append(numpy_helper.from_array(last[:-1].astype(np.float32), "seen.weights"))
        constants.append(numpy_helper.from_array(last[-1].astype(np.float32), "seen.bias"))
        nodes.append(helper.make_node("Gemm", ["features", "seen.weights", "seen.bias"], ["scores"], "seen"))
        result = "scores"
    info = helper.make_tensor_value_info
    ends = [info("picture", TensorProto.FLOAT, [1, 1, SIDE, SIDE])], [info(result, TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "camera", *ends, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model: onnx.ModelProto, given: np.ndarray) -> np.ndarray:
    """The model's output for each picture: [count, ...]."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (name,) = (item.name for item in session.get_inputs())
    return np.concatenate([session.run(None, {name: one[None]})[0] for one in given])


class Calibration(CalibrationDataReader):
    """Pictures from which the ranges of tensors follow."""

    def __init__(self, given: np.ndarray) -> None:
        self.given = iter(given)

    def get_next(self) -> dict[str, np.ndarray] | None:
        """The next picture."""
        one = next(self.given, None)
        return None if one is None else {"picture": one[None]}


def quantized(model: onnx.ModelProto, given: np.ndarray) -> onnx.ModelProto:
    """The model in 8 bits, with QuantizeLinear and DequantizeLinear."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("float.onnx", "int8.onnx")]
        onnx.save(model, paths[0])
        options = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8, "per_channel": True}
        quantize_static(*paths, Calibration(given), quant_format=QuantFormat.QDQ, **options)
        return onnx.load(paths[1])


def main() -> None:
    """Train, quantise, write."""
    chance = np.random.default_rng(SEED)
    given, kinds = pictures(chance, TRAINED)
    features = run(network(np.random.default_rng(SEED), None), given)
    with_one = np.hstack([features, np.ones((TRAINED, 1))])
    last = np.linalg.lstsq(with_one, np.eye(len(KINDS))[kinds], rcond=None)[0]
    model = quantized(network(np.random.default_rng(SEED), last), given[:100])
    shown, truth = pictures(chance, 200)
    print(f"{np.mean(np.argmax(run(model, shown), 1) == truth) * 100:.1f} % right")
    sensor = np.rint((shown[:SHIPPED, 0] + 1) * 127.5).astype(np.uint8)
    shown = (sensor[:, None] / np.float32(127.5) - 1).astype(np.float32)
    scores = run(model, shown)
    onnx.save(model, HERE / "camera.onnx")
    write_pictures(sensor, np.argmax(scores, 1))
    np.savez_compressed(HERE / "vectors_inputs.npz", picture=shown[:, None])
    np.savez_compressed(HERE / "vectors_outputs.npz", scores=scores[:, None])


def write_pictures(sensor: np.ndarray, seen: np.ndarray) -> None:
    """The pictures as a sensor's bytes, 0 to 255, and what is seen in them."""
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Written by make_model.py. */",
        "/* clang-format off */",
        "#include <stdint.h>",
        f"#define PICTURES {len(sensor)}",
        f"static const int seen_by_onnxruntime[PICTURES] = {{{', '.join(map(str, seen))}}};",
        f"static const uint8_t pictures[PICTURES][{SIDE}][{SIDE}] = {{",
        *(f"    {{{', '.join('{' + ','.join(map(str, row)) + '}' for row in one)}}}," for one in sensor),
        "};",
    ]
    (HERE / "pictures.h").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
