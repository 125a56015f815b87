"""Every tensor inside the .tflite models of TILEWRIGHT_CORPUS against what LiteRT's reference kernels computed.

``trace.json`` has a CRC-32 of each operator's output for each run. What a FULLY_CONNECTED or an LSTM computes is left
out, with all that reads it, since TensorFlow Lite Micro rounds products there twice and LiteRT does not. So are real
numbers, whose last bits depend on the order of sums; some of them stand in ``taps.npz``, and are held within 1e-5 of
the largest one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Graph
from tilewright.importers.load import import_model
from tilewright.importers.tflite.convert import names_of
from tilewright.importers.tflite.reading import read_lite
from tilewright.importers.tflite.records import SubgraphRecord
from tilewright.planning.plan_states import initial_content

CORPUS = Path(os.environ.get("TILEWRIGHT_CORPUS", "/nonexistent"))
MODELS = sorted(path.parent.name for path in (CORPUS / "tflite").glob("*/trace.json"))
RUNS = 2
ROUNDED_TWICE = ("FULLY_CONNECTED", "UNIDIRECTIONAL_SEQUENCE_LSTM")
REAL = ("ad_hybrid", "hello_world_f32", "ic_f32", "kws_hybrid")
NOTHING_TO_COMPARE = (*REAL, "ad_int8", "hello_world_int8", "mnist_lstm_int8")
"""Models of real numbers, or which begin with a FULLY_CONNECTED or an LSTM."""
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not MODELS, reason="TILEWRIGHT_CORPUS does not name the folder of test networks"),
]


@cache
def computed(model: str) -> tuple[dict[str, Array], ...]:
    """The values of all tensors, in the first runs."""
    folder = CORPUS / "tflite" / model
    graph = import_model(folder / "model.tflite")
    held = {state.input: initial_content(graph, state) for state in graph.states}
    runs = []
    with np.load(folder / "inputs.npz") as inputs:
        for run in range(RUNS):
            values = evaluate(graph, {**given(graph, inputs, run), **held})
            held = {state.input: values[state.output] for state in graph.states}
            runs.append(values)
    return tuple(runs)


def given(graph: Graph, inputs: np.lib.npyio.NpzFile, run: int) -> dict[str, Array]:
    states = {state.input for state in graph.states}
    names = [name for name in graph.inputs if name not in states]
    return {name: inputs[f"input_{number}"][run].reshape(graph.tensor(name).shape) for number, name in enumerate(names)}


def subgraph_of(model: str) -> SubgraphRecord:
    return read_lite(CORPUS / "tflite" / model / "model.tflite").subgraphs[0]


def comparable(subgraph: SubgraphRecord) -> set[int]:
    """Numbers of integer tensors that no operator with other roundings comes before."""
    other: set[int] = set()
    for operator in subgraph.operators:
        if operator.operator in ROUNDED_TWICE or other.intersection(operator.inputs):
            other.update(operator.outputs)
    written = {number for operator in subgraph.operators for number in operator.outputs}
    return {number for number in written - other if subgraph.tensors[number].type != "float32"}


def differing(model: str, trace: dict[str, list[dict[str, str]]]) -> Iterator[str]:
    """Tensors whose bytes are not those of the trace."""
    subgraph = subgraph_of(model)
    names, numbers = names_of(subgraph), comparable(subgraph)
    for run, (values, sums) in enumerate(zip(computed(model), trace["runs"], strict=False)):
        for number in sorted(numbers.intersection(map(int, sums))):
            found = crc32(np.ascontiguousarray(values[names[number]]).tobytes())
            if f"{found:08x}" != sums[str(number)]:
                yield f"tensor {number} ({names[number]}) of run {run}"


def trace_of(model: str) -> dict[str, list[dict[str, str]]]:
    trace: dict[str, list[dict[str, str]]] = json.loads((CORPUS / "tflite" / model / "trace.json").read_text())
    return trace


@pytest.mark.parametrize("model", MODELS)
def test_integers_of_all_operators(model: str) -> None:
    assert bool(comparable(subgraph_of(model))) == (model not in NOTHING_TO_COMPARE)
    assert list(differing(model, trace_of(model))) == []


@pytest.mark.parametrize("model", REAL)
def test_real_numbers_that_are_stored(model: str) -> None:
    names = names_of(subgraph_of(model))
    with np.load(CORPUS / "tflite" / model / "taps.npz") as taps:
        for key, wanted in taps.items():
            for run, values in enumerate(computed(model)):
                limit = 1e-5 * max(np.abs(wanted[run]).max(), 0.1)
                np.testing.assert_allclose(values[names[int(key[1:])]], wanted[run], rtol=0, atol=limit)


def test_a_sum_that_differs_is_noticed() -> None:
    trace = trace_of("kws_int8")
    number = min(comparable(subgraph_of("kws_int8")))
    trace["runs"][1][str(number)] = "00000000"
    (found,) = differing("kws_int8", trace)
    assert found.startswith(f"tensor {number} (")
    assert found.endswith("of run 1")
