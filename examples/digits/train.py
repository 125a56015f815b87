#!/usr/bin/env python3
"""Trains the digits network, quantises it and writes what the example ships.

Data: scikit-learn's handwritten digits (1,797 scans, 8 x 8, values 0 to 16), split once
into 1,437 for training and 360 that training never sees. Everything is seeded. Run with
torch, scikit-learn, onnx and onnxruntime installed; building the example needs none of them.

Writes, beside this script: digits.onnx (QDQ int8), images.h (the 360 images, their labels
and the number that onnxruntime classifies correctly with the same file), vectors_inputs.npz
and vectors_outputs.npz (twelve runs for the golden test).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HERE = Path(__file__).resolve().parent
SEED = 20
EPOCHS = 60


def main() -> None:
    """Train, export, quantise, measure, write."""
    digits = load_digits()
    images = digits.images.astype(np.float32)[:, None]
    split = train_test_split(images, digits.target, test_size=360, random_state=SEED, stratify=digits.target)
    train_images, test_images, train_labels, test_labels = split
    network = train(train_images, train_labels)
    with tempfile.TemporaryDirectory() as folder:
        float_model = Path(folder) / "float.onnx"
        onnx.save(to_onnx(network), float_model)
        quantize_static(
            float_model,
            HERE / "digits.onnx",
            Calibration(train_images[:400]),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
        )
    scores = run(HERE / "digits.onnx", test_images)
    correct = int((scores.argmax(axis=1) == test_labels).sum())
    write_images(test_images, test_labels, correct)
    np.savez_compressed(HERE / "vectors_inputs.npz", image=test_images[:12, None])
    np.savez_compressed(HERE / "vectors_outputs.npz", scores=scores[:12, None])
    print(f"int8 accuracy with onnxruntime: {correct} of {len(test_labels)}")


class Network(nn.Sequential):
    """Three convolutions, a global average, one dense layer."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 10),
        )


def train(images: np.ndarray, labels: np.ndarray) -> Network:
    """Adam on cross-entropy, images shifted by up to one pixel."""
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS)
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(inputs)).split(64):
            shift = tuple(int(step) for step in torch.randint(-1, 2, (2,)))
            shifted = torch.roll(inputs[batch], shift, dims=(2, 3))
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(shifted), targets[batch]).backward()
            optimiser.step()
        schedule.step()
    return network.eval()


def to_onnx(network: Network) -> onnx.ModelProto:
    """The trained network as float32 ONNX, one image at a time."""
    weights = {name.replace(".", "_"): value.detach().numpy() for name, value in network.state_dict().items()}
    convolutions = [("0", "image", 1), ("2", "relu_0", 2), ("4", "relu_2", 1)]
    nodes = []
    for layer, source, stride in convolutions:
        names = [source, f"{layer}_weight", f"{layer}_bias"]
        nodes.append(
            helper.make_node(
                "Conv",
                names,
                [f"conv_{layer}"],
                f"conv_{layer}",
                strides=[stride] * 2,
                pads=[1] * 4,
                kernel_shape=[3, 3],
            )
        )
        nodes.append(helper.make_node("Relu", [f"conv_{layer}"], [f"relu_{layer}"], f"relu_{layer}"))
    nodes.append(helper.make_node("GlobalAveragePool", ["relu_4"], ["pooled"], "pool"))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["features"], "flatten"))
    nodes.append(helper.make_node("Gemm", ["features", "8_weight", "8_bias"], ["scores"], "dense", transB=1))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Calibration(CalibrationDataReader):
    """Feeds training images to onnxruntime's calibration."""

    def __init__(self, images: np.ndarray) -> None:
        self.feeds = iter([{"image": image[None]} for image in images])

    def get_next(self) -> dict[str, np.ndarray] | None:
        """The next image, None at the end."""
        return next(self.feeds, None)


def run(model: Path, images: np.ndarray) -> np.ndarray:
    """Scores (count x 10) by onnxruntime, graph optimisations off."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"image": image[None]})[0] for image in images])


def write_images(images: np.ndarray, labels: np.ndarray, correct: int) -> None:
    """images.h: pixels 0 to 16 as the scanner gave them, labels, onnxruntime's count."""
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Written by train.py: scans of handwritten digits that training never saw. */",
        "#ifndef DIGITS_IMAGES_H",
        "#define DIGITS_IMAGES_H",
        "",
        "#include <stdint.h>",
        "",
        f"#define DIGITS_IMAGES {len(images)}",
        f"#define DIGITS_CORRECT_BY_ONNXRUNTIME {correct}",
        "",
        "/* clang-format off */",
        "static const uint8_t digits_labels[DIGITS_IMAGES] = {",
        *(", ".join(map(str, row)) + "," for row in np.split(labels, range(36, len(labels), 36))),
        "};",
        "",
        "static const uint8_t digits_images[DIGITS_IMAGES][64] = {",
        *("{" + ",".join(map(str, image.astype(np.uint8).reshape(-1))) + "}," for image in images),
        "};",
        "/* clang-format on */",
        "",
        "#endif",
    ]
    (HERE / "images.h").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
