"""The node cases before all three judges: the stored outputs, ONNX Runtime, and ONNX's shape inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from support.judges import verdicts
from tilewright.graph import Array

from conformance.cases import NodeCase
from conformance.run import compare

KNOWN: Mapping[str, str] = {
    "test_attention_4d_with_past_and_present_qk_matmul_bias": "what masked scores are: -inf or the lowest float",
    "test_dft": "sums of the transform that should cancel",
    "test_stft": "sums of the transform that should cancel",
    "test_training_dropout": "random numbers",
    "test_maxunpool_export_with_output_shape": "what indices count",
    "test_resize_downsample_scales_linear_align_corners": "the output's length",
    "test_resize_downsample_scales_cubic_align_corners": "the output's length",
    "test_mvn": "inference lacks the attributes of a function's constant",
}
"""Beginnings of names of cases on which the judges disagree, and about what."""


def disagreements(cases: Sequence[NodeCase]) -> list[str]:
    """Cases in which a judge gives something else than what is stored, the known ones left out.

    A judge that refuses a case has no opinion.
    """
    return [
        f"{case.name}: {words}" for case in cases if not case.name.startswith(tuple(KNOWN)) for words in _against(case)
    ]


def _against(case: NodeCase) -> Iterator[str]:
    said = verdicts(case.model, dict(case.inputs))
    for name, wanted in case.stored.items():
        if not isinstance(said.runtime, str):
            yield from _different("ONNX Runtime", name, np.asarray(said.runtime[name]), wanted, case)
        if isinstance(said.inferred, str):
            yield f"shape inference: {said.inferred[-200:]}"
            continue
        shape = said.inferred.get(name, (None,) * wanted.ndim)
        if len(shape) != wanted.ndim or any(a not in (None, b) for a, b in zip(shape, wanted.shape, strict=True)):
            yield f"{name}: shape inference {list(shape)}, stored {list(wanted.shape)}"


def _different(judge: str, name: str, got: Array, wanted: Array, case: NodeCase) -> Iterator[str]:
    if got.shape != wanted.shape:
        yield f"{name}: {judge} {list(got.shape)}, stored {list(wanted.shape)}"
    elif problem := compare(got, wanted, case.rtol, case.atol):
        yield f"{name}: {judge}: {problem}"
