"""Chains of float convolutions as ONNX models, for tests of planning."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def conv_chain(layers: int = 2, channels: int = 4, size: int = 8, seed: int = 0, inputs: int = 3) -> bytes:
    """conv1, conv2, ...: 3 x 3, padded, from x[1, inputs, size, size] to y, serialised."""
    generator = np.random.default_rng(seed)
    nodes, constants = [], []
    for number in range(1, layers + 1):
        weights = generator.standard_normal((channels, channels if number > 1 else inputs, 3, 3)).astype(np.float32)
        constants.append(numpy_helper.from_array(weights, f"w{number}"))
        source = f"t{number - 1}" if number > 1 else "x"
        target = f"t{number}" if number < layers else "y"
        attributes = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
        nodes.append(helper.make_node("Conv", [source, f"w{number}"], [target], f"conv{number}", **attributes))
    info = helper.make_tensor_value_info
    ends = [[info("x", TensorProto.FLOAT, [1, inputs, size, size])], [info("y", TensorProto.FLOAT, None)]]
    graph = helper.make_graph(nodes, "chain", *ends, constants)
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString(deterministic=True))
