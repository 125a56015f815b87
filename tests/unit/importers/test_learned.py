"""Operators of ai.onnx.ml against onnxruntime, in C under sanitizers, untiled and in tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.host_runs import TILED, generated, host_outputs
from support.onnx_models import imported
from tilewright.base.errors import TilewrightError
from tilewright.graph import DType, Graph, variable
from tilewright.graph.edit import make_node
from tilewright.judges.judged import judged
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.line import pairwise_coupling

RNG = np.random.default_rng(7)
ROWS, FEATURES = 9, 5
CLASSES = [0, 1, 2]
NAN = float("nan")


def model(operator: str, outputs: dict[str, int | None], **attributes: Any) -> onnx.ModelProto:
    """A model of one node with an input x, and behind it ZipMap for an output without element type."""
    taken = attributes.pop("of", TensorProto.FLOAT)
    names = [name if kind is not None else f"{name}/tensor" for name, kind in outputs.items()]
    nodes = [helper.make_node(operator, ["x"], names, domain="ai.onnx.ml", **attributes)]
    infos = []
    for name, kind in outputs.items():
        if kind is not None:
            infos.append(helper.make_tensor_value_info(name, kind, None))
            continue
        labels = attributes.get("classlabels_ints") or attributes["classlabels_int64s"]
        nodes.append(
            helper.make_node("ZipMap", [f"{name}/tensor"], [name], domain="ai.onnx.ml", classlabels_int64s=labels)
        )
        mapped = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
        infos.append(helper.make_value_info(name, helper.make_sequence_type_proto(mapped)))
    x = helper.make_tensor_value_info("x", taken, [ROWS, FEATURES])
    graph = helper.make_graph(nodes, "learned", [x], infos)
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def tree(number: int, depth: int, chance: np.random.Generator) -> list[dict[str, Any]]:
    """Nodes of a random tree, branches before their node as well as behind it."""
    nodes: list[dict[str, Any]] = []

    def grow(left: int) -> int:
        at = len(nodes)
        nodes.append({"treeids": number, "nodeids": at, "featureids": 0, "values": 0.0, "modes": "LEAF"})
        nodes[at] |= {"truenodeids": 0, "falsenodeids": 0, "missing_value_tracks_true": 0}
        if left and chance.random() < 0.8:
            mode = chance.choice(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"])
            first, second = grow(left - 1), grow(left - 1)
            nodes[at] |= {"featureids": int(chance.integers(FEATURES)), "values": float(chance.normal())}
            nodes[at] |= {"modes": str(mode), "truenodeids": first, "falsenodeids": second}
            nodes[at]["missing_value_tracks_true"] = int(chance.integers(2))
        return at

    grow(depth)
    return nodes


def forest(trees: int, targets: int, word: str, least: float = -1.0) -> dict[str, Any]:
    chance = np.random.default_rng(trees)
    nodes = [node for number in range(trees) for node in tree(number, 4, chance)]
    leaves = [node for node in nodes if node["modes"] == "LEAF"]
    rows = [(leaf["treeids"], leaf["nodeids"], target) for leaf in leaves for target in range(targets)]
    given = {f"nodes_{name}": [node[name] for node in nodes] for name in nodes[0]}
    weights = chance.uniform(least, 1.0, len(rows)).astype(np.float32).tolist()
    columns = zip(*rows, strict=True)
    given |= {
        f"{word}_{name}": list(column) for name, column in zip(("treeids", "nodeids", "ids"), columns, strict=True)
    }
    return given | {f"{word}_weights": weights}


def svm(kind: str, count: int, rows: int) -> dict[str, Any]:
    return {
        "kernel_type": kind,
        "kernel_params": [0.3, 0.5, 2.0],
        "support_vectors": RNG.normal(size=count * FEATURES).astype(np.float32).tolist(),
        "coefficients": RNG.normal(size=count * rows).astype(np.float32).tolist(),
    }


def linear(rows: int) -> dict[str, Any]:
    return {
        "coefficients": RNG.normal(size=rows * FEATURES).astype(np.float32).tolist(),
        "intercepts": RNG.normal(size=rows).astype(np.float32).tolist(),
    }


FLOAT, LABEL = {"y": TensorProto.FLOAT}, {"label": TensorProto.INT64}
SCORES = {**LABEL, "scores": TensorProto.FLOAT}
TREES = {
    "sum": model("TreeEnsembleRegressor", FLOAT, n_targets=2, base_values=[0.5, -1.0], **forest(6, 2, "target")),
    "mean": model("TreeEnsembleRegressor", FLOAT, n_targets=1, aggregate_function="AVERAGE", **forest(5, 1, "target")),
    "least": model("TreeEnsembleRegressor", FLOAT, n_targets=2, aggregate_function="MIN", **forest(4, 2, "target")),
    "largest": model("TreeEnsembleRegressor", FLOAT, n_targets=2, aggregate_function="MAX", **forest(4, 2, "target")),
    "classes": model(
        "TreeEnsembleClassifier", {**LABEL, "all": None}, classlabels_int64s=[4, 1, 7], **forest(7, 3, "class")
    ),
    "softmax": model(
        "TreeEnsembleClassifier", SCORES, classlabels_int64s=CLASSES, post_transform="SOFTMAX", **forest(7, 3, "class")
    ),
    "two classes": model("TreeEnsembleClassifier", SCORES, classlabels_int64s=[0, 1], **forest(7, 1, "class")),
    "two classes, logistic": model(
        "TreeEnsembleClassifier", SCORES, classlabels_int64s=[0, 1], post_transform="LOGISTIC", **forest(7, 1, "class")
    ),
    "shares of two classes": model(
        "TreeEnsembleClassifier", SCORES, classlabels_int64s=[3, 5], **forest(1, 1, "class", 0.0)
    ),
}
OTHERS = {
    "Scaler": model("Scaler", FLOAT, offset=[0.5] * 5, scale=[1.0, 2.0, 3.0, 4.0, 5.0]),
    "Scaler of integers": model("Scaler", FLOAT, offset=[0.5], scale=[2.0], of=TensorProto.INT64),
    "Normalizer L1": model("Normalizer", FLOAT, norm="L1"),
    "Normalizer L2": model("Normalizer", FLOAT, norm="L2"),
    "Normalizer MAX": model("Normalizer", FLOAT, norm="MAX"),
    "Binarizer": model("Binarizer", FLOAT, threshold=0.25),
    "LabelEncoder": model(
        "LabelEncoder",
        FLOAT,
        keys_int64s=[-1, 3, 2],
        values_floats=[0.5, 1.5, 2.5],
        default_float=9.0,
        of=TensorProto.INT64,
    ),
    "LabelEncoder to integers": model(
        "LabelEncoder", {"y": TensorProto.INT64}, keys_int64s=[-1, 3], values_int64s=[7, 8], of=TensorProto.INT64
    ),
    "LinearRegressor": model("LinearRegressor", FLOAT, targets=2, **linear(2)),
    "LinearClassifier": model("LinearClassifier", SCORES, classlabels_ints=[5, 3, 9], **linear(3)),
    "LinearClassifier, logistic": model(
        "LinearClassifier", {**LABEL, "all": None}, classlabels_ints=CLASSES, post_transform="LOGISTIC", **linear(3)
    ),
    "SVMRegressor RBF": model("SVMRegressor", FLOAT, n_supports=6, rho=[0.25], **svm("RBF", 6, 1)),
    "SVMRegressor POLY": model("SVMRegressor", FLOAT, n_supports=6, rho=[0.25], **svm("POLY", 6, 1)),
    "SVMRegressor SIGMOID": model("SVMRegressor", FLOAT, n_supports=6, rho=[0.25], **svm("SIGMOID", 6, 1)),
    "SVMRegressor of one class": model(
        "SVMRegressor", FLOAT, n_supports=6, rho=[0.25], one_class=1, **svm("LINEAR", 6, 1)
    ),
    "SVMClassifier": model(
        "SVMClassifier",
        SCORES,
        classlabels_ints=[2, 4, 6],
        vectors_per_class=[2, 3, 4],
        rho=[0.1, 0.2, -0.3],
        **svm("RBF", 9, 2),
    ),
    **{
        f"SVMClassifier of {count} with probabilities": model(
            "SVMClassifier",
            SCORES,
            classlabels_ints=list(range(count)),
            vectors_per_class=[2] * count,
            **{
                name: RNG.uniform(-1.5, 1.0, count * (count - 1) // 2).astype(np.float32).tolist()
                for name in ("rho", "prob_a", "prob_b")
            },
            **svm("RBF", 2 * count, count - 1),
        )
        for count in (2, 3, 7)
    },
    "Imputer of NaN": model("Imputer", FLOAT, imputed_value_floats=[1.0, 2.0, 3.0, 4.0, 5.0], replaced_value_float=NAN),
    "Imputer of a number": model("Imputer", FLOAT, imputed_value_floats=[7.5], replaced_value_float=0.25),
    "Imputer of integers": model(
        "Imputer",
        {"y": TensorProto.INT64},
        imputed_value_int64s=[5, 6, 7, 8, 9],
        replaced_value_int64=-1,
        of=TensorProto.INT64,
    ),
    "OneHotEncoder": model("OneHotEncoder", FLOAT, cats_int64s=[2, -3, 0], of=TensorProto.INT64),
    "OneHotEncoder of real numbers": model("OneHotEncoder", FLOAT, cats_int64s=[-1, 0, 1]),
    "FeatureVectorizer that cuts": model("FeatureVectorizer", FLOAT, inputdimensions=[3]),
    "FeatureVectorizer that fills": model("FeatureVectorizer", FLOAT, inputdimensions=[8], of=TensorProto.INT64),
    "SVMClassifier of two": model(
        "SVMClassifier", SCORES, classlabels_ints=[0, 1], vectors_per_class=[3, 3], rho=[0.1], **svm("RBF", 6, 1)
    ),
}


def feeds(proto: onnx.ModelProto) -> dict[str, np.ndarray]:
    if proto.graph.input[0].type.tensor_type.elem_type == TensorProto.INT64:
        return {"x": RNG.integers(-4, 5, (ROWS, FEATURES))}
    x = RNG.normal(size=(ROWS, FEATURES)).astype(np.float32)
    if proto.graph.node[0].op_type == "Imputer":
        x[::3, 1], x[::4, 2] = NAN, 0.25
    return {"x": x}


def expected(proto: onnx.ModelProto, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of onnxruntime; of an output of maps, one for each row, columns in the order of the labels."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    labels = [
        attribute.ints for node in proto.graph.node for attribute in node.attribute if "labels_i" in attribute.name
    ]
    return [
        np.array([[row[label] for label in labels[0]] for row in value], np.float32)
        if isinstance(value, list)
        else value
        for value in session.run(None, given)
    ]


def compare(proto: onnx.ModelProto, given: dict[str, np.ndarray], folder: Path, **options: object) -> None:
    got = host_outputs(generated(proto, folder / "c", **options), given, folder / "net")
    for array, want in zip(got.values(), expected(proto, given), strict=True):
        assert array.dtype == want.dtype
        np.testing.assert_allclose(array, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", TREES)
def test_trees(name: str, tmp_path: Path) -> None:
    given = feeds(TREES[name])
    given["x"][::4, 2] = np.nan
    compare(TREES[name], given, tmp_path / "whole")
    if name in ("sum", "classes"):
        compare(TREES[name], given, tmp_path / "tiled", platform=TILED, pools=["l1=12000"])


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str, tmp_path: Path) -> None:
    compare(OTHERS[name], feeds(OTHERS[name]), tmp_path)


def test_features_side_by_side(tmp_path: Path) -> None:
    proto = model("FeatureVectorizer", FLOAT, inputdimensions=[5, 2, 1])
    proto.graph.node[0].input.extend(["second", "third"])
    shapes = {"second": [ROWS, 2], "third": [ROWS, 1]}
    for name, shape in shapes.items():
        proto.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    given = feeds(proto)
    given |= {name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    compare(proto, given, tmp_path)


def test_probabilities_of_other_classes_are_noticed() -> None:
    """The 28 probabilities of pairs of eight classes, in reverse order, give the classes other probabilities."""
    pairs = RNG.uniform(0.05, 0.95, (1, 28)).astype(np.float32)
    node = make_node("PairwiseCoupling", ["x"], ["y"], attributes=AxisAttributes(1))
    tensors = {name: variable(name, DType.FLOAT32, (1, count)) for name, count in (("x", 28), ("y", 8))}
    graph = Graph("coupled", (node,), tensors, ("x",), ("y",))
    straight, turned = (pairwise_coupling(node, graph, [given])[0] for given in (pairs, pairs[:, ::-1]))
    assert abs(straight.sum() - 1.0) < 1e-6
    assert np.abs(straight - turned).max() > 0.01


def test_another_threshold_is_noticed(tmp_path: Path) -> None:
    other = onnx.ModelProto()
    other.CopyFrom(OTHERS["Binarizer"])
    other.graph.node[0].attribute[0].f = -0.5
    given = feeds(other)
    (got,) = host_outputs(generated(OTHERS["Binarizer"], tmp_path / "c"), given, tmp_path / "net").values()
    assert not np.array_equal(got, expected(other, given)[0])


def test_the_judge_gives_maps_in_the_order_of_their_labels(tmp_path: Path) -> None:
    onnx.save(TREES["classes"], tmp_path / "model.onnx")
    x = feeds(TREES["classes"])["x"]
    judgement = judged(tmp_path / "model.onnx", imported(tmp_path, TREES["classes"]), [[x]], {})
    assert judgement.judge.startswith("ONNX Runtime")
    np.testing.assert_array_equal(judgement.outputs[0][1], expected(TREES["classes"], {"x": x})[1])


def test_a_circle_of_nodes_is_refused(tmp_path: Path) -> None:
    given = forest(1, 1, "target")
    branch = given["nodes_modes"].index("LEAF")
    given["nodes_modes"][branch], given["nodes_truenodeids"][branch] = "BRANCH_LEQ", 0
    with pytest.raises(TilewrightError, match=r"nodes that no root reaches|two branches|circle"):
        imported(tmp_path, model("TreeEnsembleRegressor", FLOAT, **given))


def test_labels_of_text_are_refused(tmp_path: Path) -> None:
    proto = model("LinearClassifier", SCORES, classlabels_strings=["a", "b", "c"], **linear(3))
    with pytest.raises(TilewrightError, match="labels that are no integers"):
        imported(tmp_path, proto)


REFUSED = {
    "categories that are no numbers": model("OneHotEncoder", FLOAT, cats_strings=["a", "b"]),
    "two are equal": model("OneHotEncoder", FLOAT, cats_int64s=[1, 1]),
    "3 values for 5 columns": model("Imputer", FLOAT, imputed_value_floats=[1.0, 2.0, 3.0]),
    "inputdimensions": model("FeatureVectorizer", FLOAT, inputdimensions=[1, 2]),
    "1 prob_a and 1 prob_b for 3 comparisons": model(
        "SVMClassifier",
        SCORES,
        classlabels_ints=CLASSES,
        vectors_per_class=[1, 1, 1],
        rho=[0.0] * 3,
        prob_a=[1.0],
        prob_b=[1.0],
        **svm("RBF", 3, 2),
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=reason):
        imported(tmp_path, REFUSED[reason])


def test_what_reads_scores_of_which_inference_says_nothing(tmp_path: Path) -> None:
    """In version 1 of ai.onnx.ml, which scikit-learn's converter writes, inference knows no shape of the scores."""
    made = model("TreeEnsembleClassifier", SCORES, classlabels_int64s=CLASSES, **forest(7, 3, "class"))
    made.graph.output[1].name = "kept"
    made.graph.node.append(helper.make_node("Identity", ["scores"], ["kept"]))
    made.opset_import[1].version = 1
    assert imported(tmp_path, made).tensor("kept").shape == (ROWS, 3)
