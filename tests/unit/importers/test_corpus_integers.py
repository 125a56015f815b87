"""The integer networks of TILEWRIGHT_CORPUS: Deeploy's, bit for bit, and those in QOperator format.

Every node of every network has a kernel, and the references give the stored outputs.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.nodes import scale_of
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import DType, Graph
from tilewright.graph.edit import with_attributes
from tilewright.importers.load import import_model
from tilewright.kernels.registry import choices
from tilewright.rewrites.passes import optimise
from tilewright.rewrites.views import is_view

CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS does not name the folder of test networks"),
]
DEEPLOY = [
    "Models/CCT/Int/ICCT",
    "Models/CCT/Int/ICCT_8",
    "Models/CCT/Int/ICCT_ITA",
    "Models/EEGFormer",
    "Models/microLlama/INT8/microLlama1",
    "Models/microLlama/INT8/microLlama8_parallel",
    "Others/TypeInference",
]
KERNELS = sorted(
    str(path.parent.relative_to(Path(CORPUS) / "deeploy"))
    for path in (Path(CORPUS) / "deeploy/Kernels/Integer").rglob("network.onnx")
    if CORPUS
)
QOPERATOR = [
    "kws_qop_pc",
    "ic_qop_pc",
    "ad_qop_pc",
    "micro_kws_m_static_qoperator",
    "micro_kws_m_qoperator_add_shape",
    "micro_kws_m_qoperator_avg_pool",
    "micro_kws_m_qoperator_softmax",
    "tflm_hello_world_int8",
]


def load(folder: Path) -> Graph:
    described = folder / "types.json"
    types = json.loads(described.read_text()) if described.exists() else {}
    return optimise(import_model(folder / "network.onnx", types={name: DType(t) for name, t in types.items()}))


def arrays(file: Path, graph: Graph, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Arrays by name, else by order; those behind the last belong to constants and to empty inputs."""
    with np.load(file) as stored:
        listed = [stored[name if name in stored.files else stored.files[at]] for at, name in enumerate(names)]
    converted = {}
    for name, array in zip(names, listed, strict=True):
        tensor = graph.tensor(name)
        converted[name] = array.astype(tensor.dtype.numpy).reshape(tensor.shape)
        assert tensor.dtype is DType.FLOAT32 or np.array_equal(converted[name].reshape(array.shape), array)
    return converted


def differences(folder: Path, graph: Graph) -> dict[str, np.ndarray]:
    values = evaluate(graph, arrays(folder / "inputs.npz", graph, graph.inputs))
    stored = arrays(folder / "outputs.npz", graph, graph.outputs)
    return {name: values[name].astype(np.float64) - stored[name] for name in graph.outputs}


def assert_runs(graph: Graph) -> None:
    for node in graph.nodes:
        assert is_view(graph, node) or choices(node, graph), f"no kernel for {node.operator} '{node.name}'"


@pytest.mark.parametrize("name", DEEPLOY + KERNELS)
def test_deeploy_networks_are_exact(name: str) -> None:
    folder = Path(CORPUS) / "deeploy" / name
    graph = load(folder)
    assert_runs(graph)
    assert all(tensor.dtype is not DType.FLOAT32 for tensor in graph.tensors.values())
    for output, difference in differences(folder, graph).items():
        assert not difference.any(), output


@pytest.mark.parametrize("name", ["Kernels/Mixed/Dequant"])
def test_integers_become_real_numbers(name: str) -> None:
    folder = Path(CORPUS) / "deeploy" / name
    graph = load(folder)
    assert_runs(graph)
    assert all(np.abs(difference).max() <= 1e-6 for difference in differences(folder, graph).values())


@pytest.mark.parametrize("name", QOPERATOR)
def test_qoperator_networks_are_within_one_step(name: str) -> None:
    folder = Path(CORPUS) / "onnx" / name
    graph = load(folder)
    assert_runs(graph)
    for output, difference in differences(folder, graph).items():
        scale = scale_of(graph.producers()[output])
        steps = np.rint(np.abs(difference) / scale)
        print(f"{name}: {int((steps > 0).sum())} of {steps.size} off by one")  # noqa: T201
        assert steps.max() <= 1


@pytest.mark.parametrize("name", ["kws_qop_pc", "ic_qop_pc", "ad_qop_pc"])
def test_qoperator_networks_compute_on_integers(name: str) -> None:
    graph = load(Path(CORPUS) / "onnx" / name)
    real = [node.operator for node in graph.nodes if graph.tensor(node.outputs[0]).dtype is DType.FLOAT32]
    assert set(real) <= {"Dequantize", "Reshape", "Transpose"}
    assert real.count("Dequantize") == 1


def test_requantisation_leaves_no_wide_tensors_in_icct() -> None:
    graph = load(Path(CORPUS) / "deeploy/Models/CCT/Int/ICCT")
    wide = [t.name for t in graph.tensors.values() if not t.is_constant and t.dtype.size_bytes > 1]
    assert wide == []


def test_a_wrong_shift_is_noticed() -> None:
    folder = Path(CORPUS) / "deeploy/Kernels/Integer/RMSNorm"
    graph = load(folder)
    node = graph.nodes[0]
    spoilt = replace(graph, nodes=(with_attributes(node, shift=node.attributes.shift - 1),))
    assert any(difference.any() for difference in differences(folder, spoilt).values())
