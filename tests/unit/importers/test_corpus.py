"""Whole networks from TILEWRIGHT_CORPUS, imported and optimised, against their stored outputs.

Deeploy's networks bit for bit, QDQ within one step (the count is printed), float32 within
1e-5 absolute and 1e-4 relative.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.layouts import assert_layout_sound
from support.nodes import scale_of
from support.onnx_models import operators
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import DType, Requantize
from tilewright.graph.edit import with_attributes
from tilewright.importers.load import import_model
from tilewright.rewrites.passes import optimise
from tilewright.rewrites.views import is_view

CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS does not name the folder of test networks"),
]
INT8 = ["kws_int8", "ic_int8", "ad_int8"]
QDQ = ["kws_qdq_pc", "kws_qdq_pt", "ic_qdq_pc", "ad_qdq_pc", "micro_kws_m_static_qdq"]
FLOAT = ["kws_f32", "ic_f32", "ad_f32", "espdl_streaming_tcn", "onnx2c_mnist"]
DEEPLOY = [
    "MLPerf/KeywordSpotting",
    "MLPerf/ImageClassification",
    "MLPerf/AnomalyDetection",
    "miniMobileNet",
    "CNN_Linear1",
]


def load(folder, **options):
    path = Path(CORPUS) / folder
    described = path / "types.json"
    types = json.loads(described.read_text()) if described.exists() else {}
    return import_model(path / "network.onnx", types={name: DType(t) for name, t in types.items()}, **options)


def vectors(folder, file, graph, names):
    """The stored arrays for tensors, by name if the names agree, else by order."""
    with np.load(Path(CORPUS) / folder / file) as stored:
        arrays = [stored[name if name in stored.files else stored.files[i]] for i, name in enumerate(names)]
    shaped = {}
    for name, array in zip(names, arrays, strict=True):
        tensor = graph.tensor(name)
        assert np.array_equal(array, array.astype(tensor.dtype.numpy)) or tensor.dtype is DType.FLOAT32
        shaped[name] = array.astype(tensor.dtype.numpy).reshape(tensor.shape)
    return shaped


def differences(folder, graph):
    """Got and stored outputs."""
    values = evaluate(graph, vectors(folder, "inputs.npz", graph, graph.inputs))
    stored = vectors(folder, "outputs.npz", graph, graph.outputs)
    return [(values[name].astype(np.float64), stored[name].astype(np.float64)) for name in graph.outputs]


@pytest.mark.parametrize("name", DEEPLOY)
def test_deeploy_networks_are_exact(name):
    graph = optimise(load(f"deeploy/Models/{name}"))
    assert_layout_sound(graph)
    assert all(tensor.dtype is not DType.FLOAT32 for tensor in graph.tensors.values())
    for got, want in differences(f"deeploy/Models/{name}", graph):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", INT8 + QDQ)
def test_quantised_networks_are_within_one_step(name):
    graph = optimise(load(f"onnx/{name}"))
    assert_layout_sound(graph)
    for output, (got, want) in zip(graph.outputs, differences(f"onnx/{name}", graph), strict=True):
        scale = scale_of(graph.producers()[output])
        steps = np.rint(np.abs(got - want) / scale)
        print(f"{name}: {int((steps > 0).sum())} of {steps.size} off by one")  # noqa: T201
        assert steps.max() <= 1


@pytest.mark.parametrize("name", INT8 + QDQ)
def test_quantised_networks_compute_on_integers(name):
    graph = optimise(load(f"onnx/{name}"))
    counts = operators(graph)
    at_ends = 0 if name in INT8 else 1
    assert counts["Quantize"] == counts["Dequantize"] == at_ends
    for node in graph.nodes:
        if node.operator in ("Quantize", "Dequantize"):
            continue
        if node.operator in ("Reshape", "Transpose"):
            assert is_view(graph, node)
        elif node.operator != "MaxPool":
            assert isinstance(node.epilogue, Requantize)
    assert not {"Copy", "Clip", "Lookup"} & set(counts)


@pytest.mark.parametrize("name", QDQ)
def test_quantised_interface(name):
    graph = optimise(load(f"onnx/{name}", quantized_io=True))
    assert_layout_sound(graph)
    assert not {"Quantize", "Dequantize"} & set(operators(graph))
    assert all(graph.tensor(end).quantization is not None for end in (*graph.inputs, *graph.outputs))


@pytest.mark.parametrize("name", FLOAT)
def test_float_networks_are_within_tolerance(name):
    graph = optimise(load(f"onnx/{name}"))
    assert_layout_sound(graph)
    for got, want in differences(f"onnx/{name}", graph):
        assert np.all(np.abs(got - want) <= 1e-5 + 1e-4 * np.abs(want))


def test_a_wrong_zero_point_is_noticed():
    graph = optimise(load("onnx/kws_int8"))
    first = next(node for node in graph.nodes if node.operator == "Conv")
    wrong = with_attributes(first, x_zero_point=first.attributes.x_zero_point + 40)
    spoilt = replace(graph, nodes=tuple(wrong if node is first else node for node in graph.nodes))
    ((got, want),) = differences("onnx/kws_int8", spoilt)
    assert np.abs(got - want).max() > 1
