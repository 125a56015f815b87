#!/usr/bin/env python3
"""Trains a small network that tells odd digits from even ones, and writes parity.onnx.

Data and split are those of ../digits/train.py. Everything is seeded. Run with scikit-learn,
onnx and onnxruntime installed; building the example needs none of them.

Writes, beside this script: parity.onnx (float32: image 1x1x8x8 -> Gemm, Relu, Gemm -> scores) and
parity_expected.h (how many of the 360 images onnxruntime classifies correctly).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = Path(__file__).resolve().parent
SEED = 20
HIDDEN = 16


def main() -> None:
    """Train, export, measure, write."""
    digits = load_digits()
    images = digits.images.reshape(len(digits.images), -1).astype(np.float32)
    split = train_test_split(images, digits.target, test_size=360, random_state=SEED, stratify=digits.target)
    train_images, test_images, train_labels, test_labels = split
    network = MLPClassifier((HIDDEN,), alpha=0.1, max_iter=400, random_state=SEED)
    network.fit(train_images, train_labels % 2)
    onnx.save(to_onnx(network), HERE / "parity.onnx")
    session = onnxruntime.InferenceSession(HERE / "parity.onnx", providers=["CPUExecutionProvider"])
    scores = [session.run(None, {"image": image.reshape(1, 1, 8, 8)})[0] for image in test_images]
    correct = int((np.concatenate(scores).argmax(axis=1) == test_labels % 2).sum())
    write_header(correct)
    print(f"accuracy with onnxruntime: {correct} of {len(test_labels)}")


def to_onnx(network: MLPClassifier) -> onnx.ModelProto:
    """The trained layers as Gemm, Relu, Gemm; the single logit becomes a score for even and one for odd."""
    (first, second), (first_bias, second_bias) = network.coefs_, network.intercepts_
    constants = {
        "hidden_weights": first,
        "hidden_bias": first_bias,
        "output_weights": np.hstack([-second, second]),
        "output_bias": np.concatenate([-second_bias, second_bias]),
    }
    nodes = [
        helper.make_node("Flatten", ["image"], ["pixels"], "flatten", axis=1),
        helper.make_node("Gemm", ["pixels", "hidden_weights", "hidden_bias"], ["hidden"], "hidden"),
        helper.make_node("Relu", ["hidden"], ["active"], "relu"),
        helper.make_node("Gemm", ["active", "output_weights", "output_bias"], ["scores"], "output"),
    ]
    graph = helper.make_graph(
        nodes,
        "parity",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 1, 8, 8))],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, (1, 2))],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="train_parity.py")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def write_header(correct: int) -> None:
    """What the firmware must reach."""
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Written by train_parity.py. */",
        "#define PARITY_CORRECT_BY_ONNXRUNTIME " + str(correct),
    ]
    (HERE / "parity_expected.h").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
