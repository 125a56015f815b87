"""TreeEnsemble of ai.onnx.ml 5 against ONNX Runtime, by the references of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_models import imported, outputs_of, runtime_outputs
from tilewright.base.errors import TilewrightError
from tilewright.graph import Array

MEMBER = 6


def tensor(values: list[float], kind: int = TensorProto.FLOAT) -> onnx.TensorProto:
    return helper.make_tensor("t", kind, [len(values)], values)


def model(**changed: Any) -> onnx.ModelProto:
    """Two trees: one asks whether x0 is 1, 3 or 8, then for x1; the other compares x2, then whether x0 is 2."""
    given = {
        "n_targets": 2,
        "tree_roots": [0, 2],
        "nodes_featureids": [0, 1, 2, 0],
        "nodes_splits": tensor([0.0, 0.5, -0.25, 0.0]),
        "nodes_modes": tensor([MEMBER, 0, 3, MEMBER], TensorProto.UINT8),
        "nodes_truenodeids": [1, 0, 3, 3],
        "nodes_falsenodeids": [2, 1, 4, 2],
        "nodes_trueleafs": [0, 1, 0, 1],
        "nodes_falseleafs": [1, 1, 1, 1],
        "nodes_missing_value_tracks_true": [1, 0, 0, 1],
        "membership_values": tensor([1.0, 3.0, 8.0, float("nan"), 2.0, float("nan")]),
        "leaf_targetids": [0, 1, 0, 1, 1],
        "leaf_weights": tensor([1.0, 2.0, 4.0, 8.0, 16.0]),
        **changed,
    }
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **given)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 2])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(helper.make_graph([node], "trees", [x], [y]), opset_imports=opsets, ir_version=10)


def features() -> Array:
    chance = np.random.default_rng(5)
    x = np.stack([chance.integers(0, 10, 64), chance.normal(size=64), chance.normal(size=64)], axis=1)
    x[:4, 0], x[4:8, 1] = np.nan, np.nan
    return x.astype(np.float32)


@pytest.mark.parametrize("changed", [{}, {"aggregate_function": 2}, {"aggregate_function": 0}], ids=str)
def test_sets_and_trees(changed: dict[str, int], tmp_path: Path) -> None:
    feeds = {"x": features()}
    (got,) = outputs_of(imported(tmp_path, model(**changed)), feeds)
    np.testing.assert_allclose(got, runtime_outputs(model(**changed), feeds)["y"], rtol=1e-6)
    assert len(np.unique(got, axis=0)) > 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"nodes_falseleafs": [1, 0, 1, 1]}, "a circle"),
        ({"nodes_truenodeids": [7, 0, 3, 3]}, "a branch to number 7 of 4"),
        ({"membership_values": tensor([1.0, float("nan")])}, "2 nodes that ask for members of 1 sets"),
        ({"nodes_featureids": [0, 1, 9, 0]}, "a feature beyond 3"),
        ({"leaf_targetids": [0, 1, 0, 1]}, "different lengths"),
        ({"post_transform": 1}, "post_transform 1"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_broken_trees_are_refused(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=words):
        imported(tmp_path, model(**changed))
