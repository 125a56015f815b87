# SPDX-License-Identifier: Apache-2.0
"""Writes the small model of the CMake tests: one dense layer with Relu, audio -> scores.

Called as: make_model.py <file.onnx> [<variant>]. Variants: weights (other constants), wide (more
scores), unknown (an operator that nobody knows), dynamic (an extent without a value), shaped
(dynamic, and an input decides the shape of the scores), still (no inputs at all). With
.npz files as third and fourth argument it writes an input and the expected output too.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

INPUTS = 24


def main(path: str, variant: str = "", inputs: str = "", outputs: str = "") -> None:
    """Write the model, and its vectors if asked for."""
    scores = 12 if variant == "wide" else 10
    random = np.random.default_rng(2 if variant == "weights" else 1)
    weights = random.standard_normal((INPUTS, scores)).astype(np.float32)
    audio = random.standard_normal((1, INPUTS)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["audio", "weights"], ["dense"], name="dense"),
        helper.make_node("Frobnicate" if variant == "unknown" else "Relu", ["dense"], ["scores"], name="activation"),
    ]
    batch = "batch" if variant in ("dynamic", "shaped") else 1
    if variant in ("shaped", "still"):
        write_variant(path, variant, weights, inputs, outputs)
        return
    graph = helper.make_graph(
        nodes,
        "kws",
        [helper.make_tensor_value_info("audio", TensorProto.FLOAT, [batch, INPUTS])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, scores])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    Path(path).write_bytes(model.SerializeToString(deterministic=True))
    if inputs and outputs:
        np.savez(inputs, audio=audio)
        np.savez(outputs, scores=np.maximum(audio.astype(np.float64) @ weights, 0).astype(np.float32))


def write_variant(path: str, variant: str, weights: np.ndarray, inputs: str, outputs: str) -> None:
    """Write variant ``shaped``, scores = reshape(audio x weights, shape), or ``still``, whose scores are a constant."""
    shaped = variant == "shaped"
    value, kind = helper.make_tensor_value_info, TensorProto
    nodes = [helper.make_node("MatMul", ["audio", "weights"], ["dense"], name="dense")]
    nodes += [helper.make_node("Reshape", ["dense", "shape"], ["scores"], name="reshape")]
    audio = np.random.default_rng(3).standard_normal((2, INPUTS)).astype(np.float32)
    given = [value("audio", kind.FLOAT, ["batch", INPUTS]), value("shape", kind.INT64, [3])]
    constants = [numpy_helper.from_array(weights, "weights")]
    if not shaped:
        constants += [numpy_helper.from_array(audio, "audio")]
        constants += [numpy_helper.from_array(np.array([5, 2, 2], np.int64), "shape")]
    graph = helper.make_graph(
        nodes, "kws", given if shaped else [], [value("scores", kind.FLOAT, [None] * 3)], constants
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    Path(path).write_bytes(model.SerializeToString(deterministic=True))
    if inputs and outputs:
        np.savez(inputs, **({"audio": audio} if shaped else {}))
        np.savez(outputs, scores=(audio.astype(np.float64) @ weights).astype(np.float32).reshape(5, 2, 2))


if __name__ == "__main__":
    main(*sys.argv[1:])
