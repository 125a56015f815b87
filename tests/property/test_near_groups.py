"""Groups whose rows stay near the core: random networks in them give the bits of layers one by one, in fewer bytes."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.firmware import needs_host_compiler
from support.forced import late_tiles
from support.mutants import Subject, Verdicts, judge, outputs, subject
from support.onnx_models import ModelBuilder
from support.planned import groups
from support.random_groups import random_columns, random_rows
from support.random_hourglass import random_hourglass
from support.random_model import RandomModel
from support.sampled import sampled
from tilewright.base.errors import TilewrightError
from tilewright.check import Rule, check
from tilewright.options import CompileOptions, Groups, Objective
from tilewright.pipeline import compile_model
from tilewright.plan import BufferKind, CopyStart, Layer, Loop, Plan, Step

Grown = Callable[[int], RandomModel]

NETWORKS: tuple[tuple[Grown, int, float], ...] = (
    (random_rows, 0, 3.5),
    (random_rows, 1, 3.5),
    (random_rows, 5, 1.5),
    (random_rows, 6, 2.2),
    (random_rows, 7, 2.8),
    (random_columns, 1, 3.5),
    (random_columns, 1, 2.2),
    (random_columns, 4, 2.2),
    (random_columns, 7, 6),
)
"""Random networks with the least size of l1 in which they fit times a number: in all of them groups save copies."""

MUTATIONS = (12, 25)


def stored(grown: Grown, seed: int, folder: Path) -> Path:
    path = folder / f"{grown.__name__}{seed}" / "net.onnx"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(grown(seed).proto().SerializeToString())
    return path


@cache
def least_l1(network: bytes) -> int:
    """The least size of l1 in which a network fits, which the error for one byte of l1 names."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "net.onnx"
        model.write_bytes(network)
        with pytest.raises(TilewrightError) as caught:
            compile_model(CompileOptions(model, str(late_tiles(Path(folder), near=True)), "net", pools=("l1=1",)))
    return int(caught.value.help[0].split()[1].partition("=")[2])


def near(model: Path, folder: Path, times: float, name: str = "near", **changes: object) -> Subject:
    """The network for a core that addresses l1 only and links that deliver late, planned to move the fewest bytes."""
    platform = late_tiles(folder, near=True)
    pools = (f"l1={int(least_l1(model.read_bytes()) * times)}",)
    return subject(model, platform, folder / name, pools, objective=Objective.BYTES_MOVED, **changes)


def networks(folder: Path) -> Iterator[tuple[Path, Subject]]:
    for number, (grown, seed, times) in enumerate(NETWORKS):
        model = stored(grown, seed, folder)
        yield model, near(model, folder, times, f"near{number}")


def moved(plan: Plan) -> int:
    return sum(size for layer in plan.layers for _, size in layer.link_bytes)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Subject]]:
    return list(networks(tmp_path_factory.mktemp("near")))


@needs_host_compiler
def test_the_bits_are_those_of_layers_one_by_one(sample: list[tuple[Path, Subject]]) -> None:
    """Under sanitizers, with copies as late as they may be, and with all bytes overwritten that hold nothing."""
    stages, kept = 0, 0
    for number, (model, found) in enumerate(sample):
        assert groups(found.plan), found.name
        stages += sum(len(layer.stages) for layer in groups(found.plan))
        kept += sum(bool(step.kept) for layer in groups(found.plan) for step in loop_of(layer).body if is_copy(step))
        apart = subject(model, "host", found.folder / "apart", groups=Groups.OFF)
        assert outputs(found, number, Verdicts()) == outputs(apart, number, Verdicts()), (number, found.name)
    sys.stdout.write(f"\n{stages} stages in groups, {kept} inputs of which rows stay\n")
    assert stages >= 24
    assert kept >= 2


def is_copy(step: Step) -> bool:
    return isinstance(step, CopyStart)


def loop_of(layer: Layer) -> Loop:
    (loop,) = (step for step in layer.body if isinstance(step, Loop))
    return loop


def test_groups_move_fewer_bytes(sample: list[tuple[Path, Subject]], tmp_path: Path) -> None:
    for (model, found), (_, _, times) in zip(sample, NETWORKS, strict=True):
        apart = near(model, tmp_path, times, groups=Groups.OFF)
        assert not groups(apart.plan)
        assert moved(found.plan) < moved(apart.plan)


def test_a_group_begins_with_a_convolution_of_planes(tmp_path: Path) -> None:
    """Its kernel could add up channels part by part; it is to make rows all the same."""
    chance, build = np.random.default_rng(0), ModelBuilder()
    scale, zero = build.constant(np.float32(0.01)), build.constant(np.int8(0))
    name = build.dequantize(build.input("x", [1, 3, 24, 24], np.int8), 0.05)
    for channels in ((16, 3), (16, 16)):
        stored_weights = build.constant(chance.integers(-127, 127, (*channels, 3, 3), np.int8))
        weights = build.node("DequantizeLinear", stored_weights, scale, zero)
        name = build.node("Conv", name, weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        name = build.quantize(name, 0.05, output="y") if channels[1] == 16 else build.requantized(name, 0.05)
    model = tmp_path / "planes" / "net.onnx"
    model.parent.mkdir()
    model.write_bytes(build.model("y", dtypes={"y": np.int8}).SerializeToString())
    (layer,) = groups(near(model, tmp_path, 16).plan)
    assert len(layer.stages) == 2


def test_no_group_is_taken_that_saves_nothing(tmp_path: Path) -> None:
    for seed, times in ((2, 2.2), (3, 2.2), (4, 1.5)):
        found = near(stored(random_rows, seed, tmp_path), tmp_path, times)
        assert not groups(found.plan), seed


def test_a_tensor_with_a_home_of_the_users_is_no_ring(sample: list[tuple[Path, Subject]], tmp_path: Path) -> None:
    model, found = sample[1]
    ring = next(item for item in found.plan.buffers if item.ring_axis is not None and item.kind is not BufferKind.TILE)
    assert ring.pools == ("l1",)
    _, _, times = NETWORKS[1]
    (given,) = (
        item
        for item in near(model, tmp_path, times, homes=((ring.name, "sram"),)).plan.buffers
        if item.name == ring.name
    )
    assert given.pools == ("sram",)
    assert given.ring_axis is None


def test_a_ring_with_a_row_less_is_refused(sample: list[tuple[Path, Subject]]) -> None:
    refused = 0
    for _, found in sample:
        for ring in (item for item in found.plan.buffers if item.ring_axis is not None):
            axis = ring.ring_axis
            assert axis is not None
            if ring.shape[axis] == 1:
                continue
            less = replace(ring, shape=(*ring.shape[:axis], ring.shape[axis] - 1, *ring.shape[axis + 1 :]))
            buffers = tuple(less if item.name == ring.name else item for item in found.plan.buffers)
            rules = {violation.rule for violation in check(replace(found.plan, buffers=buffers))}
            assert rules & {Rule.SLOT_CONTENT, Rule.RECTANGLE, Rule.COPY_SHAPE}, (found.name, ring.name, rules)
            refused += ring.kind is BufferKind.INTERMEDIATE
    assert refused >= 5


def with_body(plan: Plan, layer: Layer, body: list[Step]) -> Plan:
    spoilt = replace(layer, body=(replace(loop_of(layer), body=tuple(body)),))
    return replace(plan, program=tuple(spoilt if step is layer else step for step in plan.program))


def test_rows_that_come_an_iteration_late_are_refused(sample: list[tuple[Path, Subject]]) -> None:
    late = 0
    for _, found in sample:
        tiles = {buffer.name for buffer in found.plan.buffers if buffer.kind is BufferKind.TILE}
        for layer in groups(found.plan):
            body = list(loop_of(layer).body)
            for number, step in enumerate(body):
                if isinstance(step, CopyStart) and step.runs.count > 1 and step.destination.buffer in tiles:
                    changed = replace(step, runs=replace(step.runs, first=step.runs.first + 1))
                    spoilt = with_body(found.plan, layer, [*body[:number], changed, *body[number + 1 :]])
                    assert check(spoilt), (found.name, step.token)
                    late += 1
    assert late >= 5


def test_a_result_that_leaves_late_is_refused(sample: list[tuple[Path, Subject]]) -> None:
    """A result must have left before the kernel writes the next block over it."""
    late = 0
    for _, found in sample:
        tiles = {buffer.name for buffer in found.plan.buffers if buffer.kind is BufferKind.TILE}
        for layer in groups(found.plan):
            body = list(loop_of(layer).body)
            for number, step in enumerate(body):
                if not isinstance(step, CopyStart) or step.source.buffer not in tiles:
                    continue
                if step.runs.every == 1 and step.runs.count > 1:
                    changed = replace(step, runs=replace(step.runs, first=step.runs.first + 1))
                    spoilt = with_body(found.plan, layer, [*body[:number], changed, *body[number + 1 :]])
                    assert check(spoilt), (found.name, step.token)
                    late += 1
    assert late >= 2


def test_a_lock_repeats_groups(tmp_path: Path) -> None:
    for grown, seed, times in NETWORKS[1:4]:
        model = stored(grown, seed, tmp_path)
        platform = late_tiles(tmp_path, near=True)
        size = int(least_l1(model.read_bytes()) * times)
        options = CompileOptions(
            model, str(platform), "net", pools=(f"l1={size}",), objective=Objective.BYTES_MOVED, static_pools=True
        )
        found = compile_model(options)
        assert groups(found.plan)
        lock = tmp_path / "net.lock.json"
        lock.write_text(found.lock, encoding="utf-8")
        again = compile_model(replace(options, plan_lock=lock))
        assert again.plan == found.plan
        assert again.files == found.files


@needs_host_compiler
@pytest.mark.parametrize("count", sampled(MUTATIONS))
def test_a_number_changed_is_refused_or_harmless(count: int, sample: list[tuple[Path, Subject]]) -> None:
    verdicts = Verdicts()
    judge(sample[1][1], random.Random(15), count, verdicts)
    judge(sample[5][1], random.Random(15), count, verdicts)
    assert verdicts.holes == []
    assert sum(verdicts.refused.values()) > count


@pytest.mark.long
@needs_host_compiler
@pytest.mark.parametrize("grown", [random_rows, random_columns, random_hourglass])
def test_hundreds_of_networks_at_five_sizes(grown: Grown, tmp_path: Path) -> None:
    in_groups = 0
    for seed in range(100):
        model = stored(grown, seed, tmp_path)
        apart = subject(model, "host", tmp_path / "apart", groups=Groups.OFF)
        wanted = outputs(apart, seed, Verdicts())
        for times in (1, 1.5, 2.2, 3.5, 6):
            found = near(model, tmp_path, times)
            if groups(found.plan):
                assert outputs(found, seed, Verdicts()) == wanted, (seed, times)
                in_groups += 1
    assert in_groups >= 100
