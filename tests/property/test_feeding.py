"""Fed inputs: any number of rows at a time gives the bits of one run, and calls out of order give a status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated, build_units, runtime_library
from onnx import TensorProto, helper, numpy_helper
from support.fed import fed_input, fed_outputs
from support.firmware import needs_host_compiler
from support.host_runs import OBJECTS, RUN_SECONDS, host_outputs
from support.onnx_models import ModelBuilder
from support.random_groups import random_rows
from support.sampled import sampled
from tilewright.base.errors import TilewrightError
from tilewright.check import Rule, check
from tilewright.codegen.files import generate_files
from tilewright.graph import Array
from tilewright.options import build_options
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Buffer, Plan
from tilewright.plan.lifetimes import lifetimes

SAMPLE, HUNDRED = range(7), range(7, 107)
CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
FEW = (0, 1, 2, 3, 7, 1000)
"""Rows at a time; 0 is a run, 1000 are all of them."""
RINGED = 7
"""A seed whose network is one group of ten stages."""


def compiled(path: Path, folder: Path, **values: object) -> Artifacts:
    options = {"model": path, "platform": "host", "name": "net", "objective": "bytes_used", **values}
    return compile_model(build_options(("test", options)))


def built(found: Artifacts) -> Generated:
    return Generated(found.plan.name, found.plan, dict(found.files))


def ring_of(plan: Plan) -> Buffer:
    (ring,) = (buffer for buffer in plan.buffers if buffer.name == f"{fed_input(plan).name}.rows")
    return ring


def differing(
    path: Path, feeds: dict[str, Array], folder: Path, feed: str, spoil: Callable[[Artifacts], Artifacts] | None = None
) -> list[int]:
    """The numbers of rows at a time that give other bits than a run of the whole input.

    ``spoil`` changes what was made for the fed runs, to show that a difference is found.
    """
    whole = compiled(path, folder, static_pools=True)
    wanted = host_outputs(built(whole), feeds, folder / "whole")
    fed = compiled(path, folder, feed=feed)
    got = fed_outputs(built(spoil(fed) if spoil else fed), feeds, folder / "fed", FEW)
    return [
        most
        for most, outputs in zip(FEW, got, strict=True)
        if not all(np.array_equal(wanted[name], outputs[name], equal_nan=True) for name in wanted)
    ]


def can_be_fed(path: Path, folder: Path) -> bool:
    """Whether the network can be fed; asserts that a network that cannot be fed is refused for that reason."""
    try:
        compiled(path, folder, feed="x0")
    except TilewrightError as error:
        if error.code != "not-fed":
            raise
        return False
    return True


def random_model(seed: int, folder: Path) -> tuple[Path, dict[str, Array]]:
    folder.mkdir(parents=True, exist_ok=True)
    model = random_rows(seed)
    path = folder / "net.onnx"
    path.write_bytes(model.proto().SerializeToString())
    return path, {name: model.values[name] for name in model.inputs}


@needs_host_compiler
@pytest.mark.parametrize("seeds", sampled([SAMPLE, HUNDRED]))
def test_random_networks_give_the_same_bits_however_they_are_fed(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fed, refused = 0, 0
    for seed in seeds:
        path, feeds = random_model(seed, tmp_path / str(seed))
        if not can_be_fed(path, tmp_path):
            refused += 1
            continue
        assert differing(path, feeds, tmp_path / str(seed), "x0") == [], seed
        fed += 1
    with capsys.disabled():
        sys.stdout.write(f"\n{fed} random networks fed, {refused} refused\n")
    assert fed >= len(seeds) // 2


@needs_host_compiler
@pytest.mark.parametrize("seed", [RINGED, 5, 8])
def test_outputs_in_pools_have_the_same_bits(tmp_path: Path, seed: int) -> None:
    path, feeds = random_model(seed, tmp_path)
    (wanted,) = fed_outputs(built(compiled(path, tmp_path, feed="x0")), feeds, tmp_path / "passed", (1,))
    placed = compiled(path, tmp_path, feed="x0", outputs_in_pools=True)
    assert {item.buffer for item in placed.plan.outputs} <= {item.buffer for item in placed.plan.placements}
    (got,) = fed_outputs(built(placed), feeds, tmp_path / "placed", (1,))
    assert all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in wanted)


@needs_host_compiler
def test_a_ring_with_a_row_less_gives_other_bits(tmp_path: Path) -> None:
    path, feeds = random_model(RINGED, tmp_path)
    assert differing(path, feeds, tmp_path, "x0", with_a_row_less) != []


def with_a_row_less(found: Artifacts) -> Artifacts:
    plan = spoilt_ring(found.plan)
    return replace(found, plan=plan, files=generate_files(plan, found.constants, lifetimes(plan.program)))


@pytest.mark.long
@needs_host_compiler
@pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS is not set")
@pytest.mark.parametrize("name", ["kws_int8", "ic_int8", "mbv2_035_144_int8", "mcunet_vww1_80_int8"])
def test_networks_of_the_corpus_give_the_same_bits_however_they_are_fed(tmp_path: Path, name: str) -> None:
    path = Path(CORPUS) / "onnx" / name / "network.onnx"
    (given,) = compiled(path, tmp_path).plan.inputs
    feeds = {given.name: np.random.default_rng(0).integers(-128, 128, given.shape).astype(given.dtype)}
    assert differing(path, feeds, tmp_path, given.name) == []


def spoilt_ring(plan: Plan) -> Plan:
    """The plan with one row less in the ring of fed rows."""
    ring = ring_of(plan)
    axis = ring.ring_axis
    assert axis is not None
    assert ring.shape[axis] > 1
    less = replace(ring, shape=(*ring.shape[:axis], ring.shape[axis] - 1, *ring.shape[axis + 1 :]))
    return replace(plan, buffers=tuple(less if item is ring else item for item in plan.buffers))


def test_a_ring_with_a_row_less_is_refused(tmp_path: Path) -> None:
    path, _ = random_model(RINGED, tmp_path)
    plan = compiled(path, tmp_path, feed="x0").plan
    assert check(plan) == []
    assert {violation.rule for violation in check(spoilt_ring(plan))} & {Rule.SLOT_CONTENT, Rule.RECTANGLE}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"feed": "y"}, "no input"),
        ({"feed": "x0", "io_in_pools": True}, "IO_IN_POOLS"),
        ({"feed": "x0", "profile": True}, "PROFILE"),
        ({"feed": "x0", "guards": True}, "GUARDS"),
        ({"feed": "x0", "groups": "off"}, "GROUPS"),
        ({"feed": "x0", "platform": "qemu-virt-rv32"}, "qemu-virt-rv32-single"),
    ],
)
def test_what_cannot_be_fed_is_refused_by_name(tmp_path: Path, values: dict[str, object], said: str) -> None:
    path, _ = random_model(RINGED, tmp_path)
    with pytest.raises(TilewrightError) as error:
        compiled(path, tmp_path, **values)
    assert said in f"{error.value.what} {' '.join(error.value.help)}"


def test_the_layer_that_needs_all_rows_is_named(tmp_path: Path) -> None:
    """A model whose first operator needs the whole input."""
    path = tmp_path / "net.onnx"
    info = helper.make_tensor_value_info
    ends = [[info("x", TensorProto.FLOAT, [4, 8])], [info("y", TensorProto.FLOAT, [8, 4])]]
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("CumSum", ["t", "axis"], ["y"], "sum"),
    ]
    axis = numpy_helper.from_array(np.array(0), "axis")
    path.write_bytes(helper.make_model(helper.make_graph(nodes, "net", *ends, [axis])).SerializeToString())
    with pytest.raises(TilewrightError) as error:
        compiled(path, tmp_path, feed="x")
    assert error.value.code == "not-fed"
    assert "'sum'" in error.value.what


STREAM = """
int main(void)
{
    static float image[NET_INPUT_X_COUNT], got[NET_OUTPUT_Y_COUNT];
    static _Alignas(16) uint8_t sram[NET_POOL_SRAM_SIZE];
    struct net_outputs outputs = {got};
    struct net_pools pools = {sram};
    struct net_feeding feeding = {0};
    for (uint32_t at = 0; at < NET_INPUT_X_COUNT; ++at) { image[at] = (float)(at % 7u); }
    net_reset(&pools);
    for (uint32_t run = 0; run < 3u; ++run) {
        if (net_start(&feeding, &outputs, &pools) != NET_OK) { return 1; }
        for (uint32_t row = 0; row < NET_INPUT_X_ROWS; ++row) {
            const float *some = image + row * (NET_INPUT_X_COUNT / NET_INPUT_X_ROWS);
            if (net_feed_x(&feeding, some, 1u) != NET_OK) { return 2; }
        }
        if (net_finish(&feeding) != NET_OK) { return 3; }
        fwrite(got, 1, sizeof got, stdout);
    }
    return 0;
}
"""


def remembering(folder: Path) -> Path:
    """A model with a ring of rows behind its input, and a sum over runs: n = s + conv(relu(conv(x))), y = 2 n."""
    chance, build = np.random.default_rng(3), ModelBuilder()
    first, second = (chance.normal(size=(4, channels, 3, 3)).astype(np.float32) for channels in (1, 4))
    x, s = build.input("x", [1, 1, 24, 12]), build.input("s", [1, 4, 6, 3])
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    half = build.node("Relu", build.node("Conv", x, build.constant(first), **window))
    n = build.node("Add", build.node("Conv", half, build.constant(second), **window), s, output="n")
    y = build.node("Mul", n, build.constant(np.array(2, np.float32)), output="y")
    path = folder / "net.onnx"
    path.write_bytes(build.model(y, n).SerializeToString())
    return path


@needs_host_compiler
def test_a_fed_model_remembers(tmp_path: Path) -> None:
    found = built(compiled(remembering(tmp_path), tmp_path, feed="x", state={"s": "n"}))
    executable = build_units(tmp_path, [found], runtime_library(OBJECTS), STREAM)
    done = subprocess.run([executable], capture_output=True, check=False, timeout=RUN_SECONDS)
    assert done.returncode == 0, (done.returncode, done.stderr)
    got = np.frombuffer(done.stdout, np.float32).reshape(3, -1)
    assert np.abs(got[0]).max() > 1
    np.testing.assert_allclose(got[1:], got[0] * np.array([[2], [3]]), rtol=1e-5, atol=1e-5)


CALLS = """
static int cancelled;
int is_cancelled(void)
{
    return cancelled;
}
int main(void)
{
    static _Alignas(16) int8_t image[NET_INPUT_X0_COUNT];
    static _Alignas(16) uint8_t sram[NET_POOL_SRAM_SIZE];
    static int8_t scores[4096];
    struct net_outputs outputs = {(void *)scores};
    struct net_pools pools = {sram}, none = {NULL};
    struct net_feeding feeding = {0};
    const uint32_t rows = NET_INPUT_X0_ROWS;
    const void *const some = image;

    if (net_feed_x0(&feeding, some, 1u) != NET_OUT_OF_ORDER) { return 1; }
    if (net_finish(&feeding) != NET_OUT_OF_ORDER) { return 2; }
    if (net_start(&feeding, &outputs, &none) != NET_BAD_ARGUMENT) { return 3; }
    if (net_start(NULL, &outputs, &pools) != NET_BAD_ARGUMENT) { return 4; }
    if (net_start(&feeding, &outputs, &pools) != NET_OK) { return 5; }
    if (net_run(&feeding, some, &outputs, &pools) != NET_OUT_OF_ORDER) { return 6; }
    if (net_feed_x0(&feeding, NULL, 1u) != NET_BAD_ARGUMENT) { return 7; }
    if (net_feed_x0(&feeding, some, rows + 1u) != NET_BAD_ARGUMENT) { return 8; }
    if (net_feed_x0(&feeding, some, 0u) != NET_OK) { return 9; }
    if (net_feed_x0(&feeding, some, rows - 1u) != NET_OK) { return 10; }
    if (net_finish(&feeding) != NET_OUT_OF_ORDER) { return 11; }
    if (net_feed_x0(&feeding, some, 2u) != NET_BAD_ARGUMENT) { return 12; }
    if (net_feed_x0(&feeding, some, 1u) != NET_OK) { return 13; }
    if (net_finish(&feeding) != NET_OK) { return 14; }
    if (net_finish(&feeding) != NET_OUT_OF_ORDER) { return 15; }
    if (net_start(&feeding, &outputs, &pools) != NET_OK) { return 16; }
    cancelled = 1;
    if (net_feed_x0(&feeding, some, 1u) != NET_CANCELLED) { return 17; }
    cancelled = 0;
    if (net_feed_x0(&feeding, some, 1u) != NET_OUT_OF_ORDER) { return 18; }
    if (net_run(&feeding, some, &outputs, &pools) != NET_OK) { return 19; }
    return strcmp(net_status_text(NET_OUT_OF_ORDER), "called out of order");
}
"""


@needs_host_compiler
def test_calls_out_of_order_return_a_status(tmp_path: Path) -> None:
    path, _ = random_model(RINGED, tmp_path)
    found = built(compiled(path, tmp_path, feed="x0"))
    watched = "#define TILEWRIGHT_CANCEL is_cancelled\n" + found.files["net.c"].decode()
    executable = build_units(
        tmp_path,
        [replace(found, files={**found.files, "net.c": watched.encode()})],
        runtime_library(OBJECTS),
        CALLS,
    )
    done = subprocess.run([executable], capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
    assert done.returncode == 0, (done.returncode, done.stderr)
