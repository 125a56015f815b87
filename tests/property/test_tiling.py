"""Chosen tiles against a walk of the program that they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.planned import far_platform, near_platform, plan_of, planned
from support.small_nodes import conv, nodes, problem_of
from support.walk import copied, elements, events, rectangle
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import Graph
from tilewright.operators.nest import axis_range, is_exact
from tilewright.options import Buffering, Objective, Strategy
from tilewright.plan import BufferKind, CopyStart, Kernel, Layer, LayerFacts, Loop
from tilewright.schedule.building import Schedule
from tilewright.tiling.candidates import candidate_steps
from tilewright.tiling.choice import TilingOptions, choose_tiles
from tilewright.tiling.footprint import exact_writes
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice

EFFORT = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
ANY_OPTIONS = st.builds(
    TilingOptions, st.sampled_from(Buffering), st.sampled_from(Objective), st.sampled_from(Strategy)
)


def smallest(problem: TilingProblem, options: TilingOptions) -> int:
    """The least bytes of l1 that the error for an empty pool names."""
    with pytest.raises(TilewrightError) as caught:
        choose_tiles(problem, {"l1": 0}, options)
    assert caught.value.code == "tile-overflow"
    return int(caught.value.help[0].split("=")[1].split()[0])


def walked_bytes(schedule: Schedule) -> dict[str, int]:
    """Bytes over each link, summed copy by copy."""
    widths = {buffer.name: np.dtype(buffer.dtype).itemsize for buffer in schedule.buffers}
    moved: dict[str, int] = {}
    for step, area in copied(schedule.program):
        assert step.source.rectangle == step.destination.rectangle
        moved[step.link] = moved.get(step.link, 0) + elements(area) * widths[step.source.buffer]
    return moved


def slot_errors(schedule: Schedule) -> list[str]:
    """Kernel calls whose tiles do not hold what the kernel touches."""
    buffers = {buffer.name: buffer for buffer in schedule.buffers}
    held: dict[tuple[str, int], object] = {}
    errors = ring_errors(schedule)
    for step, tile, bounds in events(schedule.program):
        if isinstance(step, CopyStart):
            fills, takes = step.destination, step.source
        elif isinstance(step, Kernel):
            fills = takes = None
        else:
            continue
        reads = step.reads if isinstance(step, Kernel) else (takes,)
        writes = step.writes if isinstance(step, Kernel) else (fills,)
        for operand in (*reads, *writes):
            buffer = buffers[operand.buffer]
            if buffer.kind is not BufferKind.TILE:
                continue
            area = rectangle(operand, bounds)
            if any(high - low > extent for (low, high), extent in zip(area, buffer.shape, strict=True)):
                errors.append(f"{operand.buffer} is too small for {area}")
            slot = (operand.buffer, tile // operand.period % buffer.copies)
            if buffer.ring_axis is not None:
                continue
            if operand in writes:
                held[slot] = area
            elif held.get(slot) != area:
                errors.append(f"{slot} holds {held.get(slot)}, wanted is {area}")
    return errors


def ring_errors(schedule: Schedule) -> list[str]:
    """Kernel calls that read rows of a ring where others lie."""
    rings = {buffer.name: buffer for buffer in schedule.buffers if buffer.ring_axis is not None}
    held: dict[tuple[str, int], tuple[tuple[int, int], ...]] = {}
    errors = []
    brought = copied(schedule.program)
    for step, _, bounds in events(schedule.program):
        operands = step.reads if isinstance(step, Kernel) else ()
        if isinstance(step, CopyStart):
            _, area = next(brought)
            operands = (step.destination,)
        for operand in operands:
            buffer = rings.get(operand.buffer)
            if buffer is None or buffer.ring_axis is None:
                continue
            axis, rows = buffer.ring_axis, buffer.shape[buffer.ring_axis]
            wanted = rectangle(operand, bounds) if isinstance(step, Kernel) else area
            for row in range(*wanted[axis]):
                content = (*wanted[:axis], (row, row + 1), *wanted[axis + 1 :])
                place = (buffer.name, row % rows)
                if isinstance(step, CopyStart):
                    held[place] = content
                elif held.get(place) != content:
                    errors.append(f"{place} holds {held.get(place)}, wanted is {content}")
    return errors


def test_rows_that_the_next_tile_needs_are_kept() -> None:
    graph = conv((1, 4, 12, 6), (8, 4, 3, 3), (10, 4), quantized=True)
    found = planned(graph, far_platform(1100), objective=Objective.BYTES_MOVED).schedule
    (ring,) = (buffer for buffer in found.buffers if buffer.ring_axis is not None)
    assert found.layers[0].tiles > 1
    assert dict(found.layers[0].link_bytes) == dict(found.layers[0].compulsory_link_bytes) == walked_bytes(found)
    assert ring_errors(found) == []
    axis = ring.ring_axis
    assert axis is not None
    shorter = replace(ring, shape=(*ring.shape[:axis], ring.shape[axis] - 1, *ring.shape[axis + 1 :]))
    buffers = tuple(shorter if buffer is ring else buffer for buffer in found.buffers)
    assert ring_errors(replace(found, buffers=buffers))


def test_a_wrong_period_is_seen() -> None:
    graph = conv((1, 4, 6, 6), (8, 4, 1, 1), (6, 6))
    found = planned(graph, far_platform(180)).schedule
    assert slot_errors(found) == []
    layer = next(step for step in found.program if isinstance(step, Layer))
    loop = next(step for step in layer.body if isinstance(step, Loop))
    kernel = next(step for step in loop.body if isinstance(step, Kernel))
    slow = next(step for step in loop.body if isinstance(step, CopyStart) and step.runs.every > 1)
    late = replace(slow, runs=replace(slow.runs, every=kernel.runs.count, count=1))
    body = tuple(late if step is slow else step for step in loop.body)
    assert kernel in body
    broken = replace(found, program=(replace(layer, body=(replace(loop, body=body),)),))
    assert slot_errors(broken)
    assert walked_bytes(broken) != walked_bytes(found)


@EFFORT
@given(nodes(), ANY_OPTIONS, st.integers(0, 300), st.booleans())
def test_tiles_fit_and_hold_what_kernels_touch(graph: Graph, chosen: TilingOptions, room: int, overlap: bool) -> None:
    platform = far_platform(1 << 20, asynchronous=overlap)
    capacity = smallest(problem_of(graph, platform), chosen) + room
    platform = far_platform(capacity, asynchronous=overlap)
    how = {"buffering": chosen.buffering, "objective": chosen.objective, "strategy": chosen.strategy.value}
    found = planned(graph, platform, **how)
    near = [buffer for buffer in found.schedule.buffers if buffer.pools == ("l1",)]
    assert sum(-(-buffer.size_bytes // 4) * 4 for buffer in near) <= capacity
    assert {buffer.kind for buffer in near} <= {BufferKind.TILE, BufferKind.SCRATCH}
    assert slot_errors(found.schedule) == []
    assert_facts_match(found.schedule.layers[0], found.schedule)
    assert check(plan_of(graph, platform, found)) == []


def assert_facts_match(facts: LayerFacts, schedule: Schedule) -> None:
    assert dict(facts.link_bytes) == walked_bytes(schedule)
    assert all(least <= dict(facts.link_bytes)[link] for link, least in facts.compulsory_link_bytes)
    calls = sum(isinstance(step, Kernel) for step, _, _ in events(schedule.program))
    assert calls == facts.tiles


def test_a_byte_too_many_in_the_facts_is_seen() -> None:
    schedule = planned(conv((1, 4, 6, 6), (8, 4, 3, 3), (4, 4)), far_platform(1500)).schedule
    facts = schedule.layers[0]
    assert_facts_match(facts, schedule)
    (name, moved), *rest = facts.link_bytes
    with pytest.raises(AssertionError):
        assert_facts_match(replace(facts, link_bytes=((name, moved + 1), *rest)), schedule)


@EFFORT
@given(nodes(), st.sampled_from(Buffering), st.sampled_from(Strategy))
def test_the_smallest_size_works_and_one_byte_less_does_not(
    graph: Graph, buffering: Buffering, strategy: Strategy
) -> None:
    problem, options = problem_of(graph, far_platform(None)), TilingOptions(buffering, strategy=strategy)
    least = smallest(problem, options)
    assert sum(choose_tiles(problem, {"l1": least}, options).near_bytes.values()) == least
    with pytest.raises(TilewrightError) as caught:
        choose_tiles(problem, {"l1": least - 1}, options)
    assert f"needs {least:,} bytes" in caught.value.what
    assert "(1 missing)" in caught.value.what
    assert graph.nodes[0].name in caught.value.at[0]


@EFFORT
@given(nodes())
def test_writes_are_exact_where_the_nest_says_so(graph: Graph) -> None:
    problem = problem_of(graph, far_platform(None))
    steps = candidate_steps(problem)
    for operand in problem.operands:
        if not operand.write:
            continue
        flags = exact_writes(operand, steps)
        size = len(next(iter(steps.values())))
        assume(size < 2000)
        for number in range(size):
            chosen = {name: int(array[number]) for name, array in steps.items()}
            ranges = [axis_range(axis, extent, {}) for axis, extent in zip(operand.axes, operand.extents, strict=True)]
            expected = all(is_exact(axis, {name: chosen[name] for name, _ in axis.terms}) for axis in ranges)
            assert bool(flags if flags.ndim == 0 else flags[number]) == expected
        assert flags.any()


def test_tiles_across_groups_are_not_exact() -> None:
    problem = problem_of(conv((1, 4, 3, 3), (8, 2, 1, 1), (3, 3), group=2), far_platform(None))
    (written,) = (operand for operand in problem.operands if operand.write)
    steps = {name: value[:1] for name, value in candidate_steps(problem).items()}
    assert exact_writes(written, steps).all()
    steps["oc"] = steps["oc"] // 2
    assert not exact_writes(written, steps).any()


@EFFORT
@given(nodes(), st.integers(0, 2048))
def test_nothing_moves_where_the_core_reaches_everything(graph: Graph, room: int) -> None:
    found = planned(graph, near_platform())
    assert found.schedule.layers[0].link_bytes == ()
    assert check(plan_of(graph, near_platform(), found)) == []
    mixed = far_platform(None, reach=("l1", "flash"))
    choice = choose_tiles(problem_of(graph, mixed), {"l1": None}, TilingOptions())
    least = smallest(problem_of(graph, mixed), TilingOptions())
    platform = far_platform(least + room, reach=("l1", "flash"))
    assert isinstance(choice, TileChoice)
    assert check(plan_of(graph, platform, planned(graph, platform))) == []
