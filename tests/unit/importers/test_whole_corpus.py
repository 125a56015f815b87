"""Every network of TILEWRIGHT_CORPUS, imported and optimised, against its stored outputs.

Integers bit for bit in Deeploy's networks. In others within one step, or, where the network's ``stats.json``
says how far outputs move when one element in ten thousand moves by one step, within that: deep networks of
random weights amplify single steps. Real numbers within 1e-4.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from support.stored_networks import arrays_of, integer_types, networks_below, stored
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import DType
from tilewright.importers.load import import_model
from tilewright.rewrites.passes import optimise

CORPUS = Path(os.environ.get("TILEWRIGHT_CORPUS", "/nonexistent"))
NETWORKS = networks_below(CORPUS)
pytestmark = pytest.mark.corpus


def tensors(graph, names):
    return [(name, graph.tensor(name).dtype.numpy, graph.tensor(name).shape) for name in names]


def step_of(graph, name):
    """What one step of the last quantisation is worth at an output."""
    producer = graph.producers().get(name)
    while producer is not None and producer.operator in ("Reshape", "Transpose"):
        producer = graph.producers().get(producer.inputs[0])
    return max(producer.attributes.scale) if producer is not None and producer.operator == "Dequantize" else 0.0


def noise_steps(network):
    """Steps of the output's scale by which single steps inside the network may move its outputs; at least one."""
    file = CORPUS / network / "stats.json"
    stats = json.loads(file.read_text()) if file.exists() else {}
    return max(1.0, stats.get("one_step_noise", {}).get("0.0001", {}).get("max_abs", 1.0))


def allowed(network, graph, name, want):
    """The largest difference that is right, for each element."""
    real = graph.tensor(name).dtype is DType.FLOAT32
    if not real:
        return np.full(want.shape, 0.0 if network.startswith("deeploy") else noise_steps(network))
    sizes = np.where(np.isfinite(want), np.abs(want), 0.0)
    return np.maximum(1e-4 * np.maximum(1.0, sizes), step_of(graph, name) * (1 + 1e-5))


@pytest.mark.skipif(not NETWORKS, reason="TILEWRIGHT_CORPUS does not name the folder of test networks")
def test_there_are_networks():
    assert len(NETWORKS) >= 140


@pytest.mark.parametrize("network", NETWORKS)
def test_network(network):
    folder = CORPUS / network
    types = {name: DType(text) for name, text in integer_types(folder).items()}
    graph = optimise(import_model(folder / "network.onnx", types=types))
    values = evaluate(graph, arrays_of(tensors(graph, graph.inputs), stored(folder, "inputs.npz")))
    for name, want in arrays_of(tensors(graph, graph.outputs), stored(folder, "outputs.npz")).items():
        got, want = values[name].astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            close = (got == want) | (np.abs(got - want) <= allowed(network, graph, name, want))
        assert close.all(), f"{int((~close).sum())} of {close.size} elements of '{name}'"
