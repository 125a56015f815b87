"""The sound models that fuzzing starts from."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx
from conformance.cases import node_cases
from onnx import TensorProto, helper, numpy_helper

NETWORKS = Path(__file__).parents[1] / "firmware" / "models"
_MOST_BYTES = 40_000


@lru_cache(maxsize=1)
def bases() -> tuple[bytes, ...]:
    """Serialised models: small networks of every dialect, sixty times each, and ONNX's node cases, once each."""
    networks = [path.read_bytes() for path in sorted(NETWORKS.glob("*/network.onnx"))]
    networks += [model.SerializeToString() for model in (_shapes(), _control_flow(), _functions())]
    cases = [case.model.SerializeToString() for case in node_cases()]
    return (*networks * 60, *(content for content in cases if len(content) <= _MOST_BYTES))


def _shapes() -> onnx.ModelProto:
    """A model that computes shapes, and has an extent with a symbol in place of a number."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"], name="shape"),
        helper.make_node("Gather", ["shape", "first"], ["batch"], name="batch"),
        helper.make_node("Concat", ["batch", "rest"], ["wanted"], name="wanted", axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["flat"], name="flat"),
        helper.make_node("Gemm", ["flat", "w", "b"], ["h"], name="gemm", transB=1),
        helper.make_node("Slice", ["h", "starts", "ends", "axes", "steps"], ["part"], name="slice"),
        helper.make_node("Tile", ["part", "repeats"], ["tiled"], name="tile"),
        helper.make_node("Pad", ["tiled", "pads"], ["padded"], name="pad", mode="constant"),
        helper.make_node("Split", ["padded"], ["y", "z"], name="split", axis=1, num_outputs=2),
    ]
    constants = {
        "first": np.array([0]),
        "rest": np.array([-1]),
        "w": np.ones((6, 12), np.float32),
        "b": np.zeros(6, np.float32),
        "starts": np.array([4]),
        "ends": np.array([-100]),
        "axes": np.array([1]),
        "steps": np.array([-2]),
        "repeats": np.array([1, 2]),
        "pads": np.array([0, 1, 0, 1]),
    }
    return _model(nodes, constants, (2, 3, 4), ("y", "z"), 18)


def _control_flow() -> onnx.ModelProto:
    """An If that is decided at compile time, and a Loop of three turns."""
    kind = TensorProto.FLOAT
    branches = {
        name: helper.make_graph(
            [helper.make_node(operator, ["x"], [f"{name}_y"])],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", kind, None)],
        )
        for name, operator in (("then_branch", "Relu"), ("else_branch", "Tanh"))
    }
    turn = helper.make_graph(
        [helper.make_node("Add", ["state", "state"], ["next"]), helper.make_node("Identity", ["go"], ["again"])],
        "turn",
        [
            helper.make_tensor_value_info("number", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", kind, None),
        ],
        [
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", kind, None),
        ],
    )
    nodes = [
        helper.make_node("If", ["yes"], ["a"], name="if", **branches),
        helper.make_node("Loop", ["turns", "yes", "a"], ["y"], name="loop", body=turn),
    ]
    return _model(nodes, {"yes": np.array(True), "turns": np.array(3)}, (2, 3), ("y",), 18)


def _functions() -> onnx.ModelProto:
    """A function of the model's own."""
    nodes = [helper.make_node("twice", ["x"], ["y"], name="twice", domain="own")]
    model = _model(nodes, {}, (2, 3), ("y",), 18)
    model.opset_import.append(helper.make_opsetid("own", 1))
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    model.functions.append(helper.make_function("own", "twice", ["a"], ["b"], body, [helper.make_opsetid("", 18)]))
    return model


def _model(
    nodes: list[onnx.NodeProto],
    constants: dict[str, np.ndarray],
    shape: tuple[int, ...],
    outputs: tuple[str, ...],
    opset: int,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
