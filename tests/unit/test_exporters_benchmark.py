"""The table of networks by exporter: what counts as wrong, and what a page says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks/exporters/measure_networks.py"


@pytest.fixture(scope="module")
def measuring():
    spec = importlib.util.spec_from_file_location("measure_networks", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def facts(cycles, idle, **floats):
    names = {"cycles": cycles, "tensor_bytes": 64, "layers": 2, "idle_cycles": idle, "slow": {"Softmax": idle}}
    return {**names, "float_layers": floats}


ROWS = {
    "keras-a": {
        "after": facts(1000, 150),
        "before": facts(2000, 150),
        "compared": {"error": 1e-6, "magnitude": 1.0},
    },
    "qdq-b": {"after": facts(1000, 50, Quantize=1, LayerNormalization=2), "compared": {"refused": "no"}},
    "dynamo-c": {"after": {"refused": "error[unsupported-model]"}},
}


def test_a_page_has_costs_before_and_after_and_names_slow_and_float_layers(measuring):
    text = measuring.page(ROWS)
    assert "3 networks: 1 refused; 1 compared with ONNX Runtime, 0 wrong; 1 planned by the older Tilewright" in text
    assert "| keras-a | 2,000 | 1,000 | 64 | 64 | 2 | 2 | 15.0 % | 1.0e-06 |" in text
    assert "- keras-a: Softmax 15 %" in text
    assert "- qdq-b: 2 LayerNormalization" in text
    assert "| dynamo-c |  | refused |" in text


@pytest.mark.parametrize(("name", "wrong"), [("keras-a", True), ("qdq-a", False), ("qdq-b", True)])
def test_an_error_beyond_roundings_is_wrong(measuring, name, wrong):
    """A hundredth of the largest output, or a tenth of it."""
    error = 0.1 if name == "qdq-b" else 0.01
    assert measuring.is_wrong(name, {"compared": {"error": error, "magnitude": 1.0}}) is wrong
