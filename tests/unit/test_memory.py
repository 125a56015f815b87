"""The tool's memory is bounded by the model's size; what would grow beyond is refused before it is computed."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, imported
from tilewright.base import archives
from tilewright.base.archives import ArchiveError, read_archive
from tilewright.base.errors import ExitStatus, TilewrightError

MIB = 2**20
MOST, FOR_EACH_BYTE = 256 * MIB, 48
"""As docs/reference/graph.md says."""


MEASURE = """
import os, subprocess, sys

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_bytes(*words) -> int:
    """Resident memory of a run of Python, at most.

    Linux counts what a process held before its exec, which is the memory of the process that started it. These tests
    may hold more than what they measure; a small process starts it instead.
    """
    command = [sys.executable, "-S", "-c", MEASURE, sys.executable, *words]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def test_what_is_measured_is_the_process_alone():
    held = bytearray(b"x") * (MOST // 2)
    assert peak_bytes("-c", "") < MOST // 4 < len(held)
    assert peak_bytes("-c", f"bytearray(b'x') * {MOST // 2}") > MOST // 2


def product(kind, rows):
    """A matrix product with so many KiB of weights."""
    chance = np.random.default_rng(rows)
    build = ModelBuilder()
    if kind == "float":
        x, w = build.input("x", [1, rows]), chance.normal(size=(rows, 256)).astype(np.float32)
        build.node("MatMul", x, build.constant(w), output="y")
        return build.model("y")
    x = build.dequantize(build.input("x", [1, rows], np.int8), 0.1)
    w = build.dequantize(build.constant(chance.integers(-127, 127, (rows, 1024), np.int8)), 0.1)
    build.quantize(build.node("MatMul", x, w), 10.0, output="y")
    return build.model("y", dtypes={"y": np.int8})


@pytest.mark.parametrize("kind", ["float", "int8"])
def test_memory_follows_the_weights(tmp_path, kind):
    peaks, sizes = [], []
    for rows in (1024, 3072):
        path = tmp_path / f"{rows}.onnx"
        path.write_bytes(product(kind, rows).SerializeToString())
        sizes.append(path.stat().st_size)
        words = ["generate", "--model", str(path), "--platform", "host", "--output-dir", str(tmp_path / "c")]
        peaks.append(peak_bytes("-m", "tilewright", *words, "--pool", "flash=16000000"))
    assert peaks[0] <= MOST + FOR_EACH_BYTE * sizes[0]
    grown = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])
    assert 2 < grown <= FOR_EACH_BYTE, peaks


def _growing(operator):
    build = ModelBuilder(18)
    small = build.constant(np.ones((64, 64), np.float32))
    large = {
        "ConstantOfShape": lambda: build.node("ConstantOfShape", build.constant(np.array([2**40]))),
        "Tile": lambda: build.node("Tile", small, build.constant(np.array([512, 512]))),
        "Expand": lambda: build.node("Expand", small, build.constant(np.array([2**12, 64, 64]))),
        "Range": lambda: build.node("Range", *(build.constant(np.array(number)) for number in (0, 2**30, 1))),
        "Add": lambda: build.node("Add", build.constant(np.ones((2**13, 1))), build.constant(np.ones((1, 2**13)))),
        "EyeLike": lambda: build.node("EyeLike", build.input("e", [2**14, 2**13]), dtype=1),
    }[operator]()
    number = build.node("Cast", build.node("ReduceSum", large, keepdims=0), to=1)
    build.node("Add", build.input("x", [1]), number, output="y")
    return build.model("y")


@pytest.mark.parametrize("operator", ["ConstantOfShape", "Tile", "Expand", "Range", "Add", "EyeLike"])
def test_constants_that_grow_are_refused(tmp_path, operator):
    with pytest.raises(TilewrightError, match=rf"\({operator}\): .* bytes.* left for") as caught:
        imported(tmp_path, _growing(operator))
    assert caught.value.status is ExitStatus.NOT_SUPPORTED


def test_many_constants_share_the_bound(tmp_path):
    build = ModelBuilder()
    parts = [build.node("ConstantOfShape", build.constant(np.array([2**20]))) for _ in range(5)]
    build.node("Sum", build.input("x", [1]), *parts, output="y")
    with pytest.raises(TilewrightError, match=r"4,194,304 bytes; [0-9]+ are left"):
        imported(tmp_path, build.model("y"))


def test_what_the_model_brings_may_be_computed_with(tmp_path):
    build = ModelBuilder()
    w = build.constant(np.ones((2**11, 2**11), np.float32))
    for _ in range(3):
        w = build.node("Transpose", w)
    build.node("MatMul", build.input("x", [1, 2**11]), w, output="y")
    assert imported(tmp_path, build.model("y")).outputs == ("y",)


def test_archives_unpack_to_a_bounded_size(tmp_path, monkeypatch):
    path = tmp_path / "zeros.npz"
    np.savez_compressed(path, a=np.zeros(2**20), b=np.arange(3))
    assert path.stat().st_size < 2**16
    assert list(read_archive(path)) == ["a", "b"]
    monkeypatch.setattr(archives, "MOST_UNPACKED_BYTES", 2**22)
    with pytest.raises(ArchiveError, match=r"8,388,[0-9]* bytes; at most 4,194,304 are read"):
        read_archive(path)


def test_a_header_that_lies_allocates_nothing(tmp_path):
    path = tmp_path / "lie.npz"
    header = str({"descr": "<f8", "fortran_order": False, "shape": (2**45,)}).ljust(117) + "\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 8
        )
    with pytest.raises(ArchiveError, match=r"'x\.npy' is cut off"):
        read_archive(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text"])
def test_what_is_no_archive(tmp_path, content):
    path = tmp_path / "no.npz"
    path.write_bytes(content)
    with pytest.raises(ArchiveError):
        read_archive(path)


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, x=np.array([{}], object))
    with pytest.raises(ArchiveError, match="Python objects"):
        read_archive(path)


@pytest.mark.parametrize("what", ["input", "output", "initializer", "extent"])
def test_names_and_extents_of_the_graph(tmp_path, what):
    build = ModelBuilder()
    build.node("Add", build.input("x", [2, 3]), build.constant(np.ones((2, 3), np.float32), "c"), output="y")
    model = build.model("y")
    if what == "extent":
        model.graph.initializer[0].dims[0] = -2
    else:
        getattr(model.graph, what)[0].name = ""
    said = r"'c' has shape \[-2, 3\]" if what == "extent" else f"{what} 0 of the graph has no name"
    with pytest.raises(TilewrightError, match=said) as caught:
        imported(tmp_path, model)
    assert caught.value.status is ExitStatus.BAD_INPUT
