"""Operands that contradict each other are refused, unless ONNX Runtime takes them with the same meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from support.onnx_models import runtime_outputs
from support.violations import OneNode, changed, sound_nodes
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array
from tilewright.importers.load import import_model
from tilewright.importers.onnx import operands
from tilewright.importers.onnx.convert import TRANSLATORS

_EVERY = 24
"""Of the changed nodes, one in so many is the sample."""
_NO_VERDICT = re.compile(
    r"NOT_IMPLEMENTED|not supported|layout_ == 0|NumDimensions\(\) == 4|per-tensor|QLinearMatmul : input scale|"
    "QLinearMatmul : input zero|indices element out of|invalid ind|Out of range value in index|index is out of range|"
    "Invalid sequence length|TensorScatter linear mode"
)
"""ONNX Runtime has no code for what ONNX allows, or a number that is known at run time only lies outside."""

_WITHOUT_JUDGE = frozenset({"Erfc", "RMSNorm", "RequantShift", "ZipMap"})
"""Operators of tf2onnx and of Deeploy's dialect, which ONNX Runtime lacks, and one whose output is no tensor."""


_ABSOLUTE = {"DynamicQuantizeLSTM": 0.02}
"""ONNX Runtime rounds its activations to 8 bits."""


def _accepted(one: OneNode, path: Path) -> list[Array] | None:
    """What the translated graph computes; None if the model is refused."""
    path.write_bytes(one.model().SerializeToString())
    try:
        graph = import_model(path)
    except TilewrightError as error:
        if error.status not in (ExitStatus.BAD_INPUT, ExitStatus.NOT_SUPPORTED):
            raise
        return None
    values = evaluate(graph, one.feeds())
    return [values[name] for name in graph.outputs]


def _unlike_runtime(one: OneNode, got: list[Array]) -> str:
    """Empty if ONNX Runtime takes the model, and gives what was computed."""
    try:
        wanted = list(runtime_outputs(one.model(), one.feeds()).values())
    except Exception as error:  # whatever ONNX Runtime raises, it refuses the model
        return "" if _NO_VERDICT.search(str(error)) else f"accepted, but ONNX Runtime: {str(error)[-200:]}"
    for mine, other in zip(got, wanted, strict=True):
        if mine.shape != other.shape or mine.dtype != other.dtype:
            return f"{mine.dtype}{mine.shape}, ONNX Runtime {other.dtype}{other.shape}"
        # Long sums of ONNX Runtime's transforms err by parts of the largest value.
        largest = np.nan_to_num(np.abs(other.astype(np.float64)), posinf=0.0).max(initial=10.0)
        steps = 1.0 if mine.dtype in (np.int8, np.uint8) else _ABSOLUTE.get(one.operator, 1e-5 * largest)
        if not np.allclose(mine.astype(np.float64), other.astype(np.float64), rtol=1e-3, atol=steps, equal_nan=True):
            return "other values than ONNX Runtime"
    return ""


def _holes(nodes: Iterable[OneNode], path: Path) -> tuple[list[str], Counter[str]]:
    found, counts = [], Counter[str]()
    for one in nodes:
        got = _accepted(one, path)
        counts["refused" if got is None else "accepted"] += 1
        problem = _unlike_runtime(one, got) if got is not None else ""
        if problem:
            found.append(f"{one.operator} (opset {one.opset}), {one.changed}: {problem}")
    return found, counts


def _all() -> list[OneNode]:
    return [other for one in sound_nodes() for other in changed(one)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_sample_of_violations_is_refused(tmp_path: Path) -> None:
    found, counts = _holes(_all()[::_EVERY], tmp_path / "one.onnx")
    assert found == []
    assert min(counts.values()) > 150


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_violations_are_refused(tmp_path: Path) -> None:
    found, counts = _holes(_all(), tmp_path / "one.onnx")
    assert found == []
    assert sum(counts.values()) > 20_000


def test_nearly_every_operator_is_violated() -> None:
    operators = {one.operator for one in sound_nodes()}
    assert operators <= set(TRANSLATORS)
    assert set(TRANSLATORS) - operators <= _WITHOUT_JUDGE


def test_without_patterns_violations_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (layer,) = (one for one in sound_nodes() if one.operator == "LSTM" and len(one.operands) == 8)
    nodes = list(changed(layer))
    assert _holes(nodes, tmp_path / "one.onnx")[0] == []
    monkeypatch.setattr(operands, "PATTERNS", {})
    found, _ = _holes([one for one in nodes if "input 4: [3] for [2]" in one.changed], tmp_path / "one.onnx")
    assert found
