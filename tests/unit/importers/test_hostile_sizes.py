"""Small files whose numbers ask for huge arrays are refused before the arrays are made."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.onnx_models import ModelBuilder, imported
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.importers.onnx import rearrange

_MOST_BYTES = 100 << 20
"""Several times what a file of a few hundred bytes may have for constants."""


def node(operator: str, shape: list[int], *constants: object, opset: int = 19, **given: object) -> onnx.ModelProto:
    """One node; each of ``constants`` is an array, None (the operand is left out) or a tuple (an input's shape)."""
    build = ModelBuilder(opset)
    dtype = given.pop("dtype", np.float32)
    names = [build.input("x", shape, dtype)]
    for number, values in enumerate(constants):
        if isinstance(values, tuple):
            names.append(build.input(f"x{number}", values, np.int64))
        else:
            names.append("" if values is None else build.constant(values))
    return build.model(build.node(operator, *names, **given))


def pad(mode: str) -> onnx.ModelProto:
    return node("Pad", [2, 3], np.array([0, 2**40, 0, 2**40]), mode=mode)


def sizes(*extents: int) -> np.ndarray:
    return np.array(extents, np.int64)


MODELS = {
    "Resize to 2**40": node("Resize", [2, 3], None, None, sizes(2, 2**40)),
    "Resize to 2**26": node("Resize", [2, 3], None, None, sizes(2, 2**26)),
    "Upsample": node("Upsample", [2, 3], np.array([1, 1e9], np.float32), opset=9),
    "OneHot": node("OneHot", [2], np.array(2**34), np.array([0, 1], np.float32), dtype=np.int64),
    "Pad edge": pad("edge"),
    "Pad wrap": pad("wrap"),
    "Pad reflect": pad("reflect"),
    "Col2Im": node("Col2Im", [1, 2**14, 1], sizes(2**7, 2**7), sizes(2**7, 2**7)),
    "MaxUnpool": node("MaxUnpool", [1, 1, 4, 4], (1, 1, 4, 4), kernel_shape=[2**15] * 2, strides=[2**15] * 2),
    "ReverseSequence": node("ReverseSequence", [2**28, 1], sizes(5), dtype=np.int8),
    "STFT": node("STFT", [1, 2**24, 1], np.array(1), None, np.array(4096)),
    "Trilu": node("Trilu", [2**15, 2**15], dtype=np.int8),
    "TfIdfVectorizer": node(
        "TfIdfVectorizer",
        [7],
        dtype=np.int64,
        mode="TF",
        min_gram_length=1,
        max_gram_length=1,
        max_skip_count=0,
        ngram_counts=[0],
        ngram_indexes=[2**31 - 1],
        pool_int64s=[3],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_arrays_that_a_file_is_too_small_for(name: str, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(TilewrightError) as caught:
            imported(tmp_path, MODELS[name])
        assert tracemalloc.get_traced_memory()[1] < _MOST_BYTES
    finally:
        tracemalloc.stop()
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    assert "of which" in str(caught.value)


def test_an_array_beyond_memory_names_its_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*arguments: object) -> object:
        raise MemoryError("2 TiB")

    monkeypatch.setattr(rearrange, "_sources", greedy)
    with pytest.raises(TilewrightError, match=r"Pad.*more memory than there is: 2 TiB") as caught:
        imported(tmp_path, node("Pad", [2, 3], np.array([0, 1, 0, 1]), mode="edge"))
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
