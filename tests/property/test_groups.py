"""Groups of layers: times and rings against a simulation, and whole networks in blocks against layer by layer."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.firmware import needs_host_compiler
from support.host_runs import host_outputs
from support.planned import groups
from support.random_groups import random_rows
from support.random_hourglass import random_hourglass
from support.random_model import RandomModel
from support.sampled import sampled
from tilewright.base.errors import TilewrightError
from tilewright.check import Rule, check
from tilewright.fusion.consuming import trailing_bytes
from tilewright.fusion.streams import RowRead, Stream
from tilewright.fusion.timing import Timetable
from tilewright.graph import Array
from tilewright.options import build_options
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import AxisRange, Begin, Buffer, BufferKind, End, Kernel, Layer, Loop, Plan, kernel_steps
from tilewright.report.html import report_html
from tilewright.report.page import page_data
from tilewright.report.text import report_text

EFFORT = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
ROWS, FEW, HOURGLASSES, MORE = range(24), range(12), range(7, 12), range(12, 112)
CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")


def window(tensor: str, extent: int, stride: int, kernel: int, pad: int, divisor: int = 1) -> RowRead:
    return RowRead(tensor, 2, AxisRange((("r", stride),), -pad, kernel - 1 - pad, divisor, extent), True)


def stream(name: str, extent: int, *reads: RowRead) -> Stream:
    return Stream("r", extent, 1, name, 2, True, reads, frozenset())


@st.composite
def networks(draw: st.DrawFn) -> list[Stream]:
    """Streams that read one or two earlier streams: windows, sums of equally many rows, doubled rows, and kept rows."""
    extents = {"x": draw(st.integers(3, 30))}
    found: list[Stream] = []
    for number in range(draw(st.integers(2, 7))):
        source = draw(st.sampled_from(sorted(extents)))
        extent = extents[source]
        kind = draw(st.sampled_from(["window", "window", "sum", "twice", "kept"]))
        name, late = f"t{number}", 0
        if kind == "sum":
            other = draw(st.sampled_from([item for item in sorted(extents) if extents[item] == extent]))
            reads = [window(item, extent, 1, 1, 0) for item in (source, other)]
        elif kind == "twice":
            reads, extent = [window(source, extent, 1, 1, 0, 2)], 2 * extent
        elif kind == "kept":
            reads, late = [window(source, extent, 1, 1, 0)], draw(st.integers(1, 3))
        else:
            stride, kernel = draw(st.integers(1, 3)), draw(st.integers(1, 7))
            pad, behind = draw(st.integers(0, kernel - 1)), draw(st.integers(0, kernel - 1))
            reads = [window(source, extent, stride, kernel, pad)]
            extent = (extent + pad + behind - kernel) // stride + 1
        assume(1 <= extent <= 60)
        extents[name] = extent
        found.append(replace(stream(name, extent + late, *reads), late=late, keeps=late > 0))
    return found


def needed(read: RowRead, lower: int, upper: int) -> range:
    """The rows that rows [lower, upper) of a result need, one by one from the definition of an axis range."""
    ((_, stride),) = read.rows.terms
    first = (stride * lower + read.rows.first_offset) // read.rows.divisor
    last = (stride * (upper - 1) + read.rows.last_offset) // read.rows.divisor
    return range(max(first, 0), min(last + 1, read.rows.extent))


def wrong_reads(table: Timetable, rows: dict[str, int]) -> list[str]:
    """Every row that is not there when a stage reads it, in a walk over iterations with rings of ``rows``."""
    held: dict[str, dict[int, int]] = {}
    wrong = []
    ends = [stage.first + stage.every * (stage.count - 1) for stage in table.stages]
    for time in range(max(ends) + 1):
        for stage in table.stages:
            block, rest = divmod(time - stage.first, stage.every)
            if rest or not 0 <= block < stage.count:
                continue
            start = block * stage.step - stage.shift
            lower, upper = max(start, 0), min(start + stage.step, stage.stream.extent)
            for read in (read for read in stage.stream.reads if read.tensor in table.makers):
                ring = held.get(read.tensor, {})
                for row in needed(read, lower, upper):
                    if ring.get(row % rows[read.tensor]) != row:
                        wrong.append(f"row {row} of {read.tensor} at {time}")
            ring = held.setdefault(stage.stream.written, {})
            made = range(max(lower - stage.stream.late, 0), upper - stage.stream.late)
            ring.update({row % rows.get(stage.stream.written, 1000): row for row in made})
    return wrong


@EFFORT
@given(networks(), st.lists(st.integers(1, 5), min_size=7, max_size=7))
def test_rings_hold_what_is_read_and_no_row_more(streams: list[Stream], blocks: list[int]) -> None:
    table = Timetable()
    for item, times in zip(streams, blocks, strict=False):
        assume(table.add(item, times))
    rows = {name: ring.rows for name, ring in table.rings.items()}
    assert wrong_reads(table, rows) == []
    for name, ring in table.rings.items():
        stage = table.stages[table.makers[name]]
        if ring.rows > min(stage.step, stage.stream.rows):
            assert wrong_reads(table, {**rows, name: ring.rows - 1}), name


@EFFORT
@given(networks(), st.lists(st.integers(1, 5), min_size=7, max_size=7))
def test_a_stage_that_works_earlier_finds_rows_missing(streams: list[Stream], blocks: list[int]) -> None:
    table = Timetable()
    for item, times in zip(streams, blocks, strict=False):
        assume(table.add(item, times))
    waiting = (number for number, stage in enumerate(table.stages) if stage.first and number not in table.delayed)
    early = next(waiting, None)
    assume(early is not None)
    assert early is not None
    table.stages[early] = replace(table.stages[early], first=table.stages[early].first - 1)
    assert wrong_reads(table, dict.fromkeys(table.rings, 1000))


def block(bytes_of_side: int) -> Timetable:
    """y = c + side, where c is two windows of 3 rows over a, and side one row of a; side's rows have so many bytes."""
    table = Timetable()
    a = stream("a", 20, window("x", 20, 1, 1, 0))
    ways = [stream("b", 20, window("a", 20, 1, 3, 1)), stream("c", 20, window("b", 20, 1, 3, 1))]
    side = replace(stream("side", 20, window("a", 20, 1, 1, 0)), row_bytes=bytes_of_side)
    total = stream("y", 20, window("c", 20, 1, 1, 0), window("side", 20, 1, 1, 0))
    for item in (a, *ways, side, total):
        assert table.add(item)
    return table


def test_the_shorter_way_around_a_block_waits_where_its_rows_are_large() -> None:
    first = {timed.stream.written: timed.first for timed in block(bytes_of_side=5).stages}
    assert first == {"a": 0, "b": 1, "c": 2, "side": 2, "y": 2}
    table = block(bytes_of_side=5)
    assert {name: ring.rows for name, ring in table.rings.items()} == {"a": 3, "b": 3, "c": 1, "side": 1}
    assert block(bytes_of_side=0).delayed == set()


def walked_lag(table: Timetable, row_bytes: int, written_row_bytes: int) -> int | None:
    """How far the output of the last stage gets behind rows of x that are still read, in a walk over iterations."""
    works = [
        (stage.first + stage.every * block, number, bounds)
        for number, stage in enumerate(table.stages)
        for block, bounds in enumerate(stage.blocks.tiles)
    ]
    works.sort(key=lambda work: work[:2])
    lags = []
    for at, (_, number, bounds) in enumerate(works):
        if number + 1 < len(table.stages):
            continue
        later = [
            row
            for _, reader, (lower, upper) in works[at:]
            for read in table.stages[reader].stream.reads
            if read.tensor == "x"
            for row in needed(read, lower, upper)
        ]
        if later:
            made = max(bounds[1] - table.stages[number].stream.late, 0)
            lags.append(made * written_row_bytes - min(later) * row_bytes)
    return max(lags, default=None)


@EFFORT
@given(networks(), st.lists(st.integers(1, 5), min_size=7, max_size=7), st.integers(1, 9), st.integers(1, 9))
def test_the_output_of_a_group_trails_the_input_at_the_least_distance(
    streams: list[Stream], blocks: list[int], row_bytes: int, written_row_bytes: int
) -> None:
    table = Timetable()
    for item, times in zip(streams, blocks, strict=False):
        assume(table.add(item, times))
    assume(any(read.tensor == "x" for item in streams for read in item.reads))
    found = trailing_bytes(table.stages, "x", row_bytes, written_row_bytes)
    wanted = walked_lag(table, row_bytes, written_row_bytes)
    assert found is not None
    assert found == wanted if wanted is not None else found < -1000


def compiled(model: RandomModel, folder: Path, prefix: str, **values: object) -> Artifacts:
    path = folder / "net.onnx"
    path.write_bytes(model.proto().SerializeToString())
    return artifacts(path, prefix, **values)


@cache
def least(grown: Callable[[int], RandomModel], seed: int) -> Artifacts:
    """A random network planned in the fewest bytes, once for all tests here."""
    with tempfile.TemporaryDirectory() as folder:
        return compiled(grown(seed), Path(folder), "net", groups="auto", objective="bytes_used")


def artifacts(path: Path, prefix: str, **values: object) -> Artifacts:
    options = {"model": path, "platform": "host", "name": prefix, "static_pools": True, **values}
    return compile_model(build_options(("test", options)))


def outputs(found: Artifacts, model: RandomModel, folder: Path) -> dict[str, Array]:
    return outputs_of(found, {name: model.values[name] for name in model.inputs}, folder)


def outputs_of(found: Artifacts, feeds: dict[str, Array], folder: Path) -> dict[str, Array]:
    return host_outputs(Generated(found.plan.name, found.plan, dict(found.files)), feeds, folder)


def rings(plan: Plan) -> list[Buffer]:
    return [buffer for buffer in plan.buffers if buffer.ring_axis is not None]


@needs_host_compiler
@pytest.mark.parametrize(
    ("grown", "seeds"),
    sampled([(random_rows, FEW), (random_hourglass, HOURGLASSES), (random_rows, MORE), (random_hourglass, MORE)], 2),
)
def test_networks_in_blocks_give_the_same_bits(
    grown: Callable[[int], RandomModel], seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stages, ringed = 0, 0
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        model = grown(seed)
        apart = compiled(model, folder, "apart", groups="off")
        found = least(grown, seed)
        assert used(found.plan) <= used(apart.plan), seed
        if not groups(found.plan):
            continue
        stages += sum(len(layer.stages) for layer in groups(found.plan))
        ringed += len(rings(found.plan))
        wanted, got = (outputs(item, model, folder / item.plan.name) for item in (apart, found))
        assert all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in wanted), seed
    with capsys.disabled():
        sys.stdout.write(f"\n{stages} stages in groups, {ringed} rings\n")
    assert stages >= 2 * len(seeds)
    assert ringed >= len(seeds) // 2


@pytest.mark.long
@needs_host_compiler
@pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS is not set")
@pytest.mark.parametrize("name", ["kws_int8", "ic_int8", "mcunet_vww1_80_int8"])
def test_networks_of_the_corpus_in_smaller_and_smaller_pools(tmp_path: Path, name: str) -> None:
    path = Path(CORPUS) / "onnx" / name / "network.onnx"
    apart = artifacts(path, "apart", groups="off")
    (given,) = apart.plan.inputs
    feeds = {given.name: np.random.default_rng(0).integers(-128, 128, given.shape).astype(given.dtype)}
    wanted = outputs_of(apart, feeds, tmp_path / "apart")
    sizes = [item.bytes for item in artifacts(path, "least", objective="bytes_used").plan.front]
    for number, size in enumerate(sorted({sizes[len(sizes) * part // 5] for part in range(1, 5)})):
        found = artifacts(path, f"n{number}", pools=[f"sram={size + 400}"])
        # With kernels of less scratch layers need somewhat fewer bytes without a group, too.
        assert groups(found.plan) or size > 0.9 * sizes[0], size
        got = outputs_of(found, feeds, tmp_path / found.plan.name)
        assert all(np.array_equal(wanted[item], got[item]) for item in wanted), size
    fewest = artifacts(path, "least", objective="bytes_used")
    got = outputs_of(fewest, feeds, tmp_path / "least")
    assert all(np.array_equal(wanted[item], got[item]) for item in wanted)
    (size,) = (use.used_bytes for use in fewest.plan.pool_use if use.pool == "sram")
    with pytest.raises(TilewrightError, match="needs"):
        artifacts(path, "less", pools=[f"sram={size - 1}"])


def used(plan: Plan) -> int:
    return sum(use.used_bytes for use in plan.pool_use)


def test_a_ring_with_a_row_less_is_refused() -> None:
    refused = 0
    for grown, seed in (*((random_rows, seed) for seed in FEW), (random_hourglass, HOURGLASSES[0])):
        plan = least(grown, seed).plan
        for ring in rings(plan):
            axis = ring.ring_axis
            assert axis is not None
            shape = (*ring.shape[:axis], ring.shape[axis] - 1, *ring.shape[axis + 1 :])
            if shape[axis] == 0:
                continue
            less = replace(ring, shape=shape)
            spoilt = replace(plan, buffers=tuple(less if item.name == ring.name else item for item in plan.buffers))
            found = {violation.rule for violation in check(spoilt)}
            assert found & {Rule.SLOT_CONTENT, Rule.RECTANGLE}, (seed, ring.name, found)
            refused += 1
    assert refused >= 5


def earlier(plan: Plan, layer: Layer, number: int) -> Plan:
    """The plan in which one stage of a group works too early: by one row of its result, or by one iteration."""
    (loop,) = (step for step in layer.body if isinstance(step, Loop))
    kernels = [step for step in loop.body if isinstance(step, Kernel)]
    kernel = kernels[number]
    (index,) = (item for item in loop.indices if item.name in kernel.runs.over)
    indices = loop.indices
    if index.shift:
        indices = tuple(replace(item, shift=item.shift - 1) if item is index else item for item in indices)
        count = replace(index, shift=index.shift - 1).count
        changed = replace(kernel, runs=replace(kernel.runs, count=count))
    else:
        changed = replace(kernel, runs=replace(kernel.runs, first=kernel.runs.first - 1))
    body = tuple(changed if step is kernel else step for step in loop.body)
    spoilt = replace(layer, body=(replace(loop, indices=indices, body=body),))
    return replace(plan, program=tuple(spoilt if step is layer else step for step in plan.program))


def is_late(layer: Layer, kernel: Kernel) -> bool:
    (loop,) = (step for step in layer.body if isinstance(step, Loop))
    shifted = {index.name for index in loop.indices if index.shift}
    return bool(kernel.runs.over) and (kernel.runs.first > 0 or kernel.runs.over[0] in shifted)


def test_a_stage_that_works_too_early_is_refused() -> None:
    refused = 0
    for seed in ROWS:
        plan = least(random_rows, seed).plan
        for layer in groups(plan):
            kernels = enumerate(kernel_steps(layer.body))
            late = next((number for number, kernel in kernels if is_late(layer, kernel)), None)
            if late is not None:
                assert check(earlier(plan, layer, late)), (seed, layer.name)
                refused += 1
    assert refused >= 3


def forgetful(plan: Plan, layer: Layer) -> Plan:
    """The plan in which the buffer of a group's sums is alive only within each block, so that sums are lost."""
    (loop,) = (step for step in layer.body if isinstance(step, Loop))
    (kernel,) = (step for step in loop.body if isinstance(step, Kernel) and step.reduction)
    (sums,) = kernel.scratch
    at = loop.body.index(kernel)
    body = (*loop.body[:at], Begin(sums), kernel, End(sums), *loop.body[at + 1 :])
    spoilt = replace(layer, body=(replace(loop, body=body),))
    steps = [step for step in plan.program if not isinstance(step, Begin | End) or step.buffer != sums]
    return replace(plan, program=tuple(spoilt if step is layer else step for step in steps))


def test_a_mean_of_rows_keeps_its_sums() -> None:
    sinks = 0
    for seed in (7, 11):
        plan = least(random_rows, seed).plan
        for layer in groups(plan):
            if any(kernel.reduction for kernel in kernel_steps(layer.body)):
                found = {violation.rule for violation in check(forgetful(plan, layer))}
                assert Rule.SCRATCH in found, (seed, found)
                sinks += 1
    assert sinks == 2


def test_a_lock_repeats_groups(tmp_path: Path) -> None:
    repeated = 0
    for grown, seed in (*((random_rows, seed) for seed in ROWS), (random_hourglass, HOURGLASSES[0])):
        found = least(grown, seed)
        lock = tmp_path / "net.lock.json"
        lock.write_text(found.lock, encoding="utf-8")
        again = compiled(grown(seed), tmp_path, "net", groups="auto", objective="bytes_used", plan_lock=lock)
        assert again.plan == found.plan
        assert again.files == found.files
        repeated += bool(groups(found.plan))
    assert repeated >= 4
    assert groups(again.plan), "the last one has its Concat in a group"


def test_reports_show_groups() -> None:
    plan = least(random_rows, 1).plan
    assert groups(plan)
    data = page_data(plan)
    (sram,) = (entry for entry in data["pools"] if entry["name"] == "sram")
    assert max(sram["pressure_bytes"]) == used(plan) - flash_bytes(plan)
    assert len(sram["pressure_bytes"]) == len(data["layers"])
    fewest = min(plan.front, key=lambda item: item.bytes)
    assert [item for item in plan.front if item.taken] == [fewest]
    assert [item.bytes for item in plan.front] == sorted({item.bytes for item in plan.front}, reverse=True)
    (line,) = (line for line in report_text(plan).splitlines() if line.endswith("  taken"))
    assert line.split()[0] == f"{fewest.bytes:,}"
    assert len(report_html(plan)) > 10_000


def flash_bytes(plan: Plan) -> int:
    return sum(use.used_bytes for use in plan.pool_use if use.pool == "flash")


def test_rings_are_no_constants_and_have_rows() -> None:
    for seed in range(4):
        plan = least(random_rows, seed).plan
        assert all(ring.kind is BufferKind.INTERMEDIATE and ring.copies == 1 for ring in rings(plan))
