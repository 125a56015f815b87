"""Windows that slide: each run gives the bits that the whole window gives for its newest frames."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conformance.build import build_units, runtime_library
from support.firmware import build_riscv, needs_host_compiler, needs_riscv
from support.host_runs import OBJECTS, RUN_SECONDS
from support.mutations import mutations
from support.onnx_models import ModelBuilder
from support.random_streams import random_stream
from support.sampled import sampled
from support.slid import built, compiled, random_frames, slid_rows, window_rows
from tilewright.base.errors import TilewrightError
from tilewright.base.resources import runtime_dir
from tilewright.check import Rule, check
from tilewright.codegen.files import generate_files
from tilewright.pipeline import Artifacts
from tilewright.plan.lifetimes import lifetimes
from tilewright.platform import load_platform
from tilewright.tools.golden import GoldenRequest, golden_files
from tilewright.tools.simulate import simulate

CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
SAMPLE, HUNDRED = range(7), range(7, 107)
FRAMES = 120
SEED = 6
"""A seed whose network has rings of several depths."""


def differing(path: Path, folder: Path, found: Artifacts, count: int) -> int:
    """Rows of a stream of so many frames that are not those of the whole window."""
    frames = random_frames(found.plan.inputs[0], count)
    got = slid_rows(built(found), frames, folder / "slid")
    wanted = window_rows(built(compiled(path, groups="off")), found.plan, frames, folder / "whole")[: len(got)]
    return int(np.count_nonzero((got.view(np.uint8) != wanted.view(np.uint8)).reshape(len(got), -1).any(axis=1)))


def stored(folder: Path, seed: int) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(random_stream(seed).SerializeToString())
    return path


@needs_host_compiler
@pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS is not set")
@pytest.mark.parametrize("rows", sampled([3, 1]))
def test_a_temporal_network_of_the_corpus_slides(tmp_path: Path, rows: int) -> None:
    path = Path(CORPUS) / "onnx" / "tcn_causal_128_int8" / "network.onnx"
    assert differing(path, tmp_path, compiled(path, slide={"input_q": rows}), 300) == 0


@needs_host_compiler
@pytest.mark.parametrize("seeds", sampled([SAMPLE, HUNDRED]))
def test_random_networks_give_the_bits_of_the_whole_window(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slid, refused = 0, 0
    for seed in seeds:
        path = stored(tmp_path, seed)
        try:
            found = compiled(path, slide={"x": (2, 4, 8)[seed % 3]})
        except TilewrightError as error:
            if error.code not in ("not-sliding", "bad-option"):
                raise
            refused += 1
            continue
        assert check(found.plan) == [], seed
        assert differing(path, tmp_path / str(seed), found, FRAMES) == 0, seed
        slid += 1
    with capsys.disabled():
        sys.stdout.write(f"\n{slid} random networks slid, {refused} refused\n")
    assert slid >= len(seeds) // 2


@needs_riscv
@needs_host_compiler
@pytest.mark.parametrize("seed", [2, 4])
def test_a_window_slides_in_a_golden_test_in_qemu(tmp_path: Path, seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Int8 networks with strides, one of them without all pads, so that the first runs give no whole output."""
    path, name = stored(tmp_path, seed), "qemu-virt-rv32-single"
    found = compiled(path, slide={"x": 8}, platform=name, static_pools=False)
    (given,), (taken,) = found.plan.inputs, found.plan.outputs
    frames = random_frames(given, FRAMES)
    wanted = window_rows(built(compiled(path, groups="off")), found.plan, frames, tmp_path / "whole")
    for item, rows, file in ((given, frames, "inputs"), (taken, wanted, "outputs")):
        assert item.fed_axis is not None
        runs = rows.reshape(-1, item.shape[item.fed_axis], *rows.shape[1:])
        np.savez(tmp_path / f"{file}.npz", **{item.name: np.moveaxis(runs, 1, item.fed_axis + 1)})
    request = GoldenRequest(found.plan, tmp_path / "inputs.npz", tmp_path / "outputs.npz", "0:0")
    folder = tmp_path / "firmware"
    folder.mkdir()
    shutil.copy(runtime_dir() / "test_support" / "golden.h", folder)
    for file, content in {**found.files, **golden_files(request)}.items():
        (folder / file).write_bytes(content)
    kernels = [runtime_dir() / source for source in found.plan.kernel_sources]
    sources = [*sorted(folder.glob("*.c")), *kernels, runtime_dir() / "test_support" / "golden.c"]
    platform = load_platform(name)
    assert simulate(platform, build_riscv(platform, sources, tmp_path / "program"), 120.0, []) == 0
    assert f"pass, 0 failures in {FRAMES // 8} runs" in capfd.readouterr().out


@needs_host_compiler
def test_a_period_that_leaves_rings_elsewhere_gives_other_bits(tmp_path: Path) -> None:
    path = stored(tmp_path, SEED)
    found = compiled(path, slide={"x": 2})
    assert found.plan.slide is not None
    plan = replace(found.plan, slide=replace(found.plan.slide, period=found.plan.slide.period - 2))
    assert {violation.rule for violation in check(plan)} == {Rule.SLIDE}
    files = generate_files(plan, found.constants, lifetimes(plan.program))
    assert differing(path, tmp_path, replace(found, plan=plan, files=files), FRAMES) > 0


def test_changed_numbers_of_a_window_are_refused_or_give_the_same_program(tmp_path: Path) -> None:
    """Of the numbers that say when kernels work, and how far a window slides; those of a nest are held elsewhere."""
    path = stored(tmp_path, SEED)
    found = compiled(path, slide={"x": 2})
    words = {"slide", "runs", "inputs", "outputs", "indices", "ring_axis"}
    tried = [item for item in mutations(found.plan, random.Random(1)) if words & set(item.path)]
    accepted = [plan for plan in (item.applied(found.plan) for item in tried) if check(plan) == []]
    source = generate_files(found.plan, found.constants, lifetimes(found.plan.program))["net.c"]
    for plan in accepted:
        files = generate_files(plan, found.constants, lifetimes(plan.program))
        # Another period behind which all rows lie where they lay is as sound: then the bits are the same.
        if replace(plan, slide=found.plan.slide) == found.plan:
            assert differing(path, tmp_path / f"{plan.slide}", replace(found, plan=plan, files=files), FRAMES) == 0
        else:
            assert files["net.c"] == source
    assert len(tried) > len(accepted) + 50


def windows(folder: Path, *nodes: tuple[str, dict[str, object]], frames: int = 16) -> Path:
    """A network x [1, 2, frames] -> operators with these attributes -> y; convolutions have two channels."""
    chance, build = np.random.default_rng(0), ModelBuilder()
    name = build.input("x", [1, 2, frames])
    for number, (operator, attributes) in enumerate(nodes):
        output = "y" if number == len(nodes) - 1 else None
        taps = attributes.get("kernel_shape", [1])
        assert isinstance(taps, list)
        weights = [build.constant(chance.normal(size=(2, 2, *taps)).astype(np.float32))] if operator == "Conv" else []
        name = build.node(operator, name, *weights, output=output, **attributes)
    path = folder / "net.onnx"
    path.write_bytes(build.model(name).SerializeToString())
    return path


CAUSAL = ("Conv", {"kernel_shape": [3], "pads": [2, 0]})
CENTRED = ("Conv", {"kernel_shape": [3], "pads": [1, 1]})
UNPADDED = ("Conv", {"kernel_shape": [4]})
STRIDED = ("Conv", {"kernel_shape": [2], "strides": [2]})


@pytest.mark.parametrize(
    ("nodes", "rows", "said"),
    [
        ((CAUSAL, CENTRED), 1, "Conv 'Conv_y' has 1 rows of padding behind the newest frame"),
        ((CAUSAL, ("GlobalAveragePool", {})), 1, "Conv 'Conv_t2' computes the newest outputs from padding"),
        ((UNPADDED, ("ReduceSum", {"keepdims": 1})), 1, "ReduceSum 'ReduceSum_y' needs all frames"),
        ((CAUSAL, ("Softmax", {"axis": 2})), 1, "Softmax 'Softmax_y' needs all frames"),
        ((CAUSAL,) * 8, 1, "is 1 frames too short"),
        ((STRIDED, CAUSAL), 3, "some layers make a row for every 2 frames"),
    ],
)
def test_what_cannot_slide_is_refused_by_name(
    tmp_path: Path, nodes: tuple[tuple[str, dict[str, object]], ...], rows: int, said: str
) -> None:
    with pytest.raises(TilewrightError) as error:
        compiled(windows(tmp_path, *nodes), slide={"x": rows})
    assert said in error.value.what
    assert error.value.help


def test_a_window_of_a_part_of_a_stride_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError) as error:
        compiled(windows(tmp_path, STRIDED, CAUSAL, frames=17), slide={"x": 2})
    assert "a window of 17 frames" in error.value.what


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"slide": {"z": 1}}, "SLIDE names 'z', which is no input"),
        ({"feed": "x"}, "FEED and SLIDE"),
        ({"io_in_pools": True, "static_pools": False}, "IO_IN_POOLS"),
        ({"outputs_in_pools": True}, "OUTPUTS_IN_POOLS"),
        ({"profile": True}, "PROFILE"),
        ({"guards": True}, "GUARDS"),
        ({"groups": "off"}, "GROUPS"),
        ({"platform": "qemu-virt-rv32f"}, "qemu-virt-rv32-single"),
    ],
)
def test_what_contradicts_a_window_that_slides_is_refused(tmp_path: Path, values: dict[str, object], said: str) -> None:
    with pytest.raises(TilewrightError) as error:
        compiled(windows(tmp_path, CAUSAL, CAUSAL), **{"slide": {"x": 1}, **values})
    assert said in f"{error.value.what} {' '.join(error.value.help)}"


CALLS = """
int main(void)
{
    static const float frame[NET_INPUT_X_COUNT] = {1.0f, 2.0f};
    static float first[NET_OUTPUT_Y_COUNT], again[NET_OUTPUT_Y_COUNT];
    static _Alignas(16) uint8_t sram[NET_POOL_SRAM_SIZE];
    const struct net_inputs inputs = {frame};
    const struct net_outputs outputs = {first}, others = {again};
    const struct net_pools pools = {sram};
    memset(sram, 0xa5, sizeof sram);
    if (net_run(&inputs, &outputs, &pools) != NET_OUT_OF_ORDER) { return 1; }
    net_reset(&pools);
    if (net_run(&inputs, &outputs, &pools) != NET_OK) { return 2; }
    for (uint32_t run = 0; run < 100u; ++run) {
        if (net_run(&inputs, &others, &pools) != NET_OK) { return 3; }
    }
    if (memcmp(first, again, sizeof first) == 0) { return 4; }
    net_reset(&pools);
    memset(again, 0, sizeof again);
    if (net_run(&inputs, &others, &pools) != NET_OK) { return 5; }
    if (memcmp(first, again, sizeof first) != 0) { return 6; }
    return NET_RUNS_BEFORE_OUTPUT == 0u ? 0 : 7;
}
"""


@needs_host_compiler
def test_a_mean_over_a_window_without_padding_slides(tmp_path: Path) -> None:
    path = windows(tmp_path, UNPADDED, STRIDED, ("GlobalAveragePool", {}), frames=20)
    assert differing(path, tmp_path, compiled(path, slide={"x": 2}), 60) == 0


@needs_host_compiler
def test_a_reset_begins_the_stream_anew(tmp_path: Path) -> None:
    found = compiled(windows(tmp_path, CAUSAL, CAUSAL), slide={"x": 1}, static_pools=False)
    executable = build_units(tmp_path, [built(found)], runtime_library(OBJECTS), CALLS)
    done = subprocess.run([executable], capture_output=True, check=False, timeout=RUN_SECONDS)
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_runs_before_the_first_whole_output_are_told(tmp_path: Path) -> None:
    found = compiled(windows(tmp_path, UNPADDED, UNPADDED), slide={"x": 1})
    assert b"#define NET_RUNS_BEFORE_OUTPUT 6u" in found.files["net.h"]


def test_a_lock_brings_the_plan_again(tmp_path: Path) -> None:
    path = windows(tmp_path, CAUSAL, CAUSAL)
    found = compiled(path, slide={"x": 2})
    lock = tmp_path / "net.lock.json"
    lock.write_text(found.lock, encoding="utf-8")
    assert compiled(path, slide={"x": 2}, plan_lock=lock).plan == found.plan


def test_the_network_of_the_page_stream_md_slides(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "stream.md").read_text(encoding="utf-8")
    said = re.search(r"^  SLIDE (\w+)=(\d+)$", page, re.MULTILINE)
    assert said is not None
    build, chance = ModelBuilder(), np.random.default_rng(0)
    x = build.input(said[1], [1, 6, 128])
    weights = build.constant(chance.normal(size=(7, 6, 3)).astype(np.float32))
    build.node("Conv", x, weights, output="y", kernel_shape=[3], pads=[2, 0])
    path = tmp_path / "net.onnx"
    path.write_bytes(build.model("y").SerializeToString())
    plan = compiled(path, slide={said[1]: int(said[2])}).plan
    assert [item.shape for item in (*plan.inputs, *plan.outputs)] == [(1, 6, 1), (1, 7, 1)]
