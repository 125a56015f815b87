"""Layers compared on the target: all equal in a right program, the first that differs named in a broken one."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.firmware import build_host, build_riscv, needs_host_compiler, needs_riscv
from tilewright.base.resources import runtime_dir
from tilewright.cli import main
from tilewright.graph import Graph
from tilewright.options import CompileOptions, build_options
from tilewright.pipeline import Artifacts, compile_model, imported_graph, sized_platform
from tilewright.platform import load_platform
from tilewright.tools.golden import GoldenRequest, golden_files
from tilewright.tools.golden_layers import layer_tensors
from tilewright.tools.simulate import simulate

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits"
SUPPORT = runtime_dir() / "test_support"
FILES = ["golden.c", "golden_layers.c"]


def options(platform: str, **given: object) -> CompileOptions:
    words = {"model": DIGITS / "digits.onnx", "platform": platform, "name": "digits", **given}
    return build_options(("test", words))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first three of the stored vectors."""
    folder = tmp_path_factory.mktemp("vectors")
    for side in ("inputs", "outputs"):
        with np.load(DIGITS / f"vectors_{side}.npz") as archive:
            np.savez(folder / f"{side}.npz", **{name: archive[name][:3] for name in archive.files})
    return folder


def compared_graph(chosen: CompileOptions) -> Graph:
    return imported_graph(chosen, sized_platform(chosen))


def sources(artifacts: Artifacts, chosen: CompileOptions, vectors: Path, folder: Path) -> list[Path]:
    """All C files of a golden test that compares the layers of its first two runs."""
    inputs, outputs = vectors / "inputs.npz", vectors / "outputs.npz"
    request = GoldenRequest(artifacts.plan, inputs, outputs, "0.2:0", compared=compared_graph(chosen), compared_runs=2)
    files = {**artifacts.files, **golden_files(request)}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    code = folder / "digits.c"
    code.write_text("#define TILEWRIGHT_LAYER_HOOK golden_layer_done\n" + code.read_text(encoding="utf-8"))
    shutil.copytree(SUPPORT, folder, dirs_exist_ok=True)
    (folder / "golden_watch.c").unlink()
    return [*folder.glob("*.c"), *(runtime_dir() / name for name in artifacts.plan.kernel_sources)]


def broken(files: list[Path], name: str, right: str, wrong: str, folder: Path) -> list[Path]:
    """The files with one changed."""
    (original,) = [path for path in files if path.name == name]
    text = original.read_text(encoding="utf-8")
    assert right in text
    copy = folder / name
    copy.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    return [copy if path == original else path for path in files]


@needs_host_compiler
def test_a_right_program_has_nothing_that_differs(vectors: Path, tmp_path: Path) -> None:
    chosen = options("host")
    program = build_host(sources(compile_model(chosen), chosen, vectors, tmp_path), tmp_path / "program")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "between layers" in line]
    assert lines == [f"run {run}: 7 of 7 tensors between layers are as they should be" for run in range(2)]


@needs_host_compiler
def test_the_three_worst_elements_of_an_output_are_printed_the_worst_first(vectors: Path, tmp_path: Path) -> None:
    """Four stored scores of the second run are wrong, by 8, 32, 2 and 16: the least wrong one is not shown."""
    with np.load(vectors / "outputs.npz") as archive:
        (name,) = archive.files
        outputs = archive[name].copy()
    wrong = {1: 8.0, 4: 32.0, 6: 2.0, 8: 16.0}
    for at, more in wrong.items():
        outputs.reshape(3, -1)[1, at] += more
    spoilt = tmp_path / "vectors"
    spoilt.mkdir()
    np.savez(spoilt / "outputs.npz", **{name: outputs})
    shutil.copy(vectors / "inputs.npz", spoilt)
    chosen = options("host")
    program = build_host(sources(compile_model(chosen), chosen, spoilt, tmp_path), tmp_path / "program")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    found = re.findall(r"^  run (\d+): \w+\[(\d+)\]: got (\S+), want (\S+)$", done.stdout, re.MULTILINE)
    assert [(int(run), int(at)) for run, at, _, _ in found] == [(1, 4), (1, 8), (1, 1)]
    for _, at, got, want in found:
        assert float(want) == pytest.approx(outputs.reshape(3, -1)[1, int(at)], rel=1e-6)
        assert float(want) - float(got) == pytest.approx(wrong[int(at)], abs=0.2)


@needs_riscv
@pytest.mark.parametrize("given", [{}, {"static_pools": True, "io_in_pools": True}], ids=["own", "placed"])
def test_the_first_layer_of_a_broken_kernel_is_named(
    given: dict[str, bool], vectors: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In QEMU, with tiles: average pooling that sets a bit of every byte is layer 4, pool, not what follows it."""
    chosen = options("qemu-virt-rv32", pools=("l1=3072",), **given)
    artifacts = compile_model(chosen)
    files = sources(artifacts, chosen, vectors, tmp_path)
    platform = load_platform("qemu-virt-rv32")
    assert simulate(platform, build_riscv(platform, files, tmp_path / "right.elf"), 120.0, []) == 0
    assert "7 of 7 tensors between layers" in capfd.readouterr().out
    files = broken(files, *BREAK, tmp_path)
    assert simulate(platform, build_riscv(platform, files, tmp_path / "broken.elf"), 120.0, []) == 1
    text = capfd.readouterr().out
    assert text.count("the first layer that differs is 04 average_pool 4x4 32ch") == 2
    found = re.search(
        r"its pooled_QuantizeLinear_Output differs in (\d+) of 32 elements, first at \[0, \d+, 0, 0\]", text
    )
    assert found is not None, text
    assert int(found[1]) > 0


BREAK = ("pool_integer.c", "tilewright_load_word(at) ^ flips;", "(tilewright_load_word(at) ^ flips) | 0x01010101u;")


def test_positions_follow_the_axes_not_the_memory(vectors: Path) -> None:
    chosen = options("qemu-virt-rv32")
    artifacts = compile_model(chosen)
    with np.load(vectors / "inputs.npz") as archive:
        images = archive[archive.files[0]].reshape(3, 1, 1, 8, 8).astype(np.float32)
    tensors = layer_tensors(artifacts.plan, compared_graph(chosen), {"image": images}, 2)
    first = next(item for item in tensors if item.label == "relu_0_QuantizeLinear_Output")
    assert (first.layer, first.layer_name, first.extents) == (1, "01 conv 3x3 16ch", (1, 16, 8, 8))
    assert first.strides != (1024, 64, 8, 1), "channels lie last in memory"
    assert first.address == "pool_l1 + DIGITS_L1_RELU_0_QUANTIZELINEAR_OUTPUT_OFFSET"
    assert first.vector_bytes == 2 * first.size_bytes == 2048
    last = tensors[-1]
    assert (last.label, last.address, last.kind) == ("scores", "(uint8_t *)output_scores", "GOLDEN_FLOAT32")


def test_views_are_found_in_what_they_lie_in(vectors: Path) -> None:
    chosen = options("qemu-virt-rv32", io_in_pools=True)
    plan = compile_model(chosen).plan
    with np.load(vectors / "inputs.npz") as archive:
        images = archive[archive.files[0]].reshape(3, 1, 1, 8, 8).astype(np.float32)
    tensors = layer_tensors(plan, compared_graph(chosen), {"image": images}, 1)
    assert [item.layer for item in tensors] == list(range(7))
    assert tensors[-1].address.startswith("pool_sram + DIGITS_SRAM_")


def test_names_cannot_leave_their_string(vectors: Path) -> None:
    chosen = options("host")
    plan = compile_model(chosen).plan
    evil = [replace(layer, label='a"\\%d\n') if layer.name == "conv_0" else layer for layer in plan.layers]
    with np.load(vectors / "inputs.npz") as archive:
        images = archive[archive.files[0]].reshape(3, 1, 1, 8, 8).astype(np.float32)
    named = layer_tensors(replace(plan, layers=tuple(evil)), compared_graph(chosen), {"image": images}, 1)
    assert named[1].layer_name == "a__%d_"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--compare-layers", "0"], "must be a number of runs above 0"),
        (["--compare-layers", "1", "--generate=--nonsense"], "unrecognized arguments: --nonsense"),
        (["--compare-layers", "1"], "no model was given"),
    ],
)
def test_mistakes(
    words: list[str], message: str, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artifacts = compile_model(options("host"))
    plan = tmp_path / "digits_plan.json"
    plan.write_bytes(artifacts.files["digits_plan.json"])
    files = ["--inputs", str(vectors / "inputs.npz"), "--outputs", str(vectors / "outputs.npz")]
    assert main(["golden", "--plan", str(plan), *files, "--output-dir", str(tmp_path), *words]) == 2
    assert message in capsys.readouterr().err
