"""Operators with forced tile shapes at every level, run under sanitizers with links that deliver late."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.firmware import needs_host_compiler
from support.forced import Forced, differences, forced, wait_count, without_wait
from support.small_nodes import conv, nodes
from tilewright.graph import Graph

BATCH = 20
"""Models of one program; compiling costs more than running."""

SAMPLE = 30

SLICES, SLICE = 8, 500


def drawn(count: int, first: int) -> list[tuple[Graph, int]]:
    """That many operators with seeds; always the same ones for the same ``first``."""
    found: list[tuple[Graph, int]] = []

    @seed(first)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(nodes(), st.integers(0, 2**32 - 1))
    def draw(graph: Graph, number: int) -> None:
        found.append((graph, number))

    draw()
    return found


def wrong_ones(count: int, first: int, folder: Path) -> list[str]:
    """Operators whose tiled bits are others than the untiled ones."""
    wrong = []
    operators = drawn(count, first)
    for start in range(0, len(operators), BATCH):
        batch = operators[start : start + BATCH]
        cases = [forced(graph, number, chosen) for number, (graph, chosen) in enumerate(batch)]
        wrong += differences(cases, folder / f"batch_{start}", folder / "objects", start)
        shutil.rmtree(folder / f"batch_{start}")
    return wrong


@needs_host_compiler
def test_a_sample_gives_the_bits_of_the_untiled(tmp_path: Path) -> None:
    assert wrong_ones(SAMPLE, 0, tmp_path) == []


@pytest.mark.long
@needs_host_compiler
@pytest.mark.parametrize("part", range(1, SLICES + 1))
def test_thousands_give_the_bits_of_the_untiled(part: int, tmp_path: Path) -> None:
    assert wrong_ones(SLICE, part, tmp_path) == []


def test_tiles_are_really_forced() -> None:
    graph = conv((1, 4, 9, 9), (16, 4, 3, 3), (9, 9), quantized=True, pads=(1, 1, 1, 1))
    cases = [forced(graph, number, number) for number in range(20)]
    assert sum(case.tile_count > 1 for case in cases) >= 10
    assert sum(bool(case.tiles) for case in cases) >= 10
    assert any(name.startswith("l2.") for case in cases for name, _ in case.tiles)
    assert any("_by_" in name for case in cases for name, _, _ in case.tiled.plan.layers[0].tile)
    assert {slots for case in cases for _, slots in case.tiled.plan.layers[0].copies} == {1, 2, 3, 4}


def sources_of(case: Forced) -> tuple[str, ...]:
    return case.tiled.plan.kernel_sources


@needs_host_compiler
def test_waits_that_are_left_out_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = conv((1, 4, 9, 9), (16, 4, 3, 3), (9, 9), quantized=True, pads=(1, 1, 1, 1))
    # Packed weights have counts in front, which would lead a kernel beyond its buffers where they came too late.
    plain = (number for number in range(20) if "kernels/conv_integer.c" in sources_of(forced(graph, 0, number)))
    chosen = next(number for number in plain if forced(graph, 0, number).tile_count > 1)
    sound = forced(graph, 0, chosen)
    assert differences([sound], tmp_path / "sound", tmp_path, 0) == []
    waits = wait_count(sound.tiled)
    assert waits >= 3
    cases = [forced(graph, number, chosen) for number in range(waits)]
    broken = [replace(case, tiled=without_wait(case.tiled, number)) for number, case in enumerate(cases)]
    # Some missing waits do no harm: a wait for a later copy over the same link covers them.
    assert len(differences(broken, tmp_path / "broken", tmp_path, 0)) >= 3
    monkeypatch.setenv("LATE_PORT_FORGETS", "1")
    # Each model runs alone: a copy that is still pending would otherwise happen while the next model runs.
    by_bits = [text for case in broken for text in differences([case], tmp_path / case.tiled.prefix, tmp_path, 0)]
    assert len(by_bits) >= 2
    assert all(text.endswith("other bits") for text in by_bits)


@needs_host_compiler
def test_rows_that_are_not_brought_into_the_ring_are_seen(tmp_path: Path) -> None:
    graph = conv((1, 4, 9, 9), (16, 4, 3, 3), (9, 9), quantized=True, pads=(1, 1, 1, 1))
    cases = (forced(graph, 0, number) for number in range(100))
    sound = next(case for case in cases if any(item.ring_axis is not None for item in case.tiled.plan.buffers))
    assert differences([sound], tmp_path / "sound", tmp_path, 0) == []
    source = sound.tiled.files["t0.c"].decode()
    assert "struct tilewright_ring_lines lines = {" in source
    assert ", first, count, lines);" in source
    edited = source.replace(", first, count, lines);", ", 0, count, lines);").encode()
    broken = replace(sound, tiled=replace(sound.tiled, files={**sound.tiled.files, "t0.c": edited}))
    assert len(differences([broken], tmp_path / "broken", tmp_path, 0)) == 1
