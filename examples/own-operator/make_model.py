"""Writes denoise.onnx and its vectors: a median filter before a small convolution.

The filter is given to onnx.reference in a form of its own, so that the vectors do not follow from
the declaration that they test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

HERE = Path(__file__).parent
SHAPE = (1, 4, 600)


class MedianFilter(OpRun):
    """The median of the elements that a window has, one window after the other."""

    op_domain = "com.example"

    def _run(self, x, size=3):
        rows = [[sorted(row[max(i - size // 2, 0) : i + size // 2 + 1]) for i in range(len(row))] for row in x[0]]
        return (np.array([[[window[(len(window) - 1) // 2] for window in row] for row in rows]], np.float32),)


def main() -> None:
    generator = np.random.default_rng(5)
    weights = generator.normal(size=(8, 4, 3)).astype(np.float32)
    nodes = [
        helper.make_node("MedianFilter", ["noisy"], ["clean"], domain="com.example", size=7, name="filter"),
        helper.make_node("Conv", ["clean", "weights"], ["sum"], pads=[1, 1], name="conv"),
        helper.make_node("Relu", ["sum"], ["features"], name="relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "denoise",
        [helper.make_tensor_value_info("noisy", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, (1, 8, SHAPE[2]))],
        [numpy_helper.from_array(weights, "weights")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.save(model, HERE / "denoise.onnx")
    noisy = np.sin(np.arange(SHAPE[2]) / 9)[None, None, :] * np.ones(SHAPE)
    noisy = (noisy + 3 * generator.normal(size=SHAPE) * (generator.random(SHAPE) < 0.1)).astype(np.float32)
    (features,) = ReferenceEvaluator(model, new_ops=[MedianFilter]).run(None, {"noisy": noisy})
    np.savez(HERE / "inputs.npz", noisy=noisy)
    np.savez(HERE / "outputs.npz", features=features)


if __name__ == "__main__":
    main()
