"""Groups near the core of layers that are alike are found once, and are those that each layer would find by itself."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from test_planning import Builder
from tilewright.graph import Graph
from tilewright.options import CompileOptions
from tilewright.planning import near_groups
from tilewright.planning.alike_windows import AlikeWindows, Window
from tilewright.planning.decide import Decider
from tilewright.planning.given_homes import with_given_homes
from tilewright.planning.near_groups import RowGroups, row_groups
from tilewright.planning.prepare import prepare
from tilewright.platform import load_platform, parse_pool_override, with_pool_overrides

BLOCKS = 12

Homes = tuple[tuple[str, str], ...]


def residual(widths: list[int]) -> Graph:
    """Two convolutions with a sum around them, again and again; the first of each has so many channels."""
    build, last = Builder((1, 8, 12, 12)), "x"
    for width in widths:
        first = build.add("Clip", (build.conv(last, width, 1),), (1, width, 12, 12), minimum=0.0, maximum=6.0)
        last = build.add("Add", (build.conv(first, 8, 3), last), (1, 8, 12, 12))
    return build.graph(last)


def random(seed: int) -> Graph:
    """Layers of three kinds in any order, some of which read what layers far before them made."""
    random, build = Random(seed), Builder((1, 4, 10, 10))
    names = ["x"]
    for _ in range(24):
        source = random.choice([*names, *names[-1:] * 6])
        kind = random.choice(["conv", "conv", "clip", "add"])
        if kind == "conv":
            names.append(build.conv(source, 4, random.choice([1, 3])))
        elif kind == "clip":
            names.append(build.add("Clip", (source,), (1, 4, 10, 10), minimum=0.0, maximum=6.0))
        else:
            names.append(build.add("Add", (source, random.choice(names)), (1, 4, 10, 10)))
    return build.graph(names[-1])


def groups_of(graph: Graph, l1_bytes: int, homes: Homes = ()) -> RowGroups:
    platform = load_platform("qemu-virt-rv32")
    platform = with_pool_overrides(platform, [parse_pool_override(f"l1={l1_bytes}")])
    wanted = CompileOptions(Path("net.onnx"), platform.name, "net", homes=homes)
    prepared = with_given_homes(prepare(graph, platform, wanted), platform, dict(homes))
    found = row_groups(Decider(prepared, platform, wanted), l1_bytes)
    assert found is not None
    return found


def apart(graph: Graph, l1_bytes: int, monkeypatch: pytest.MonkeyPatch, homes: Homes = ()) -> RowGroups:
    """The groups as if no layers were alike."""
    with monkeypatch.context() as patch:
        patch.setattr(AlikeWindows, "alike", lambda *_: None)
        return groups_of(graph, l1_bytes, homes)


def test_windows_that_are_alike_are_grown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grown: list[Window] = []
    own = near_groups._window

    def counted(*arguments: object) -> Window:
        grown.append(own(*arguments))  # type: ignore[arg-type]
        return grown[-1]

    monkeypatch.setattr(near_groups, "_window", counted)
    counts = []
    for blocks in (BLOCKS, 2 * BLOCKS):
        grown.clear()
        found = groups_of(residual([12] * blocks), 6000)
        counts.append(len(grown))
        assert any(found.found.values())
    assert counts[0] == counts[1]


@pytest.mark.parametrize("l1_bytes", [2000, 6000, 20_000])
def test_windows_that_differ_in_a_layer_are_not_alike(l1_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = residual([12, 12, 8, 12, 12, 8, 16])
    assert groups_of(graph, l1_bytes).found == apart(graph, l1_bytes, monkeypatch).found


@pytest.mark.parametrize("seed", range(12))
def test_random_layers_have_the_groups_of_their_own(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random(seed)
    made = [name for node in graph.nodes for name in node.outputs]
    homes = ((made[len(made) // 3], "sram"), (made[len(made) // 2], "sram")) if seed % 2 else ()
    assert groups_of(graph, 5000, homes).found == apart(graph, 5000, monkeypatch, homes).found
