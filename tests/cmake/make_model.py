# SPDX-License-Identifier: Apache-2.0
"""Writes the small model of the CMake tests: one dense layer with Relu, audio -> scores.

Called as: make_model.py <file.onnx> [<variant>]. Variants: weights (other constants), wide (more
scores), unknown (an operator that nobody knows), dynamic (an extent without a value). With
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
    batch = "batch" if variant == "dynamic" else 1
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


if __name__ == "__main__":
    main(*sys.argv[1:])
