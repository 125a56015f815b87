"""Layers of one form get one choice of kernel and tiles; layers that differ in anything that counts do not."""

from __future__ import annotations

from typing import Any

import pytest
from support.planned import far_platform, planned
from test_planning import Builder
from tilewright.base.errors import TilewrightError
from tilewright.graph import Graph
from tilewright.planning import decide
from tilewright.tiling.alike import form

OTHERS = {"extent": (8, 3, 18), "channels": (6, 3, 16), "window": (8, 1, 16)}


def chain(layers: int) -> Graph:
    """Equal convolutions with weights of their own, one behind the other."""
    build, name = Builder((1, 8, 16, 16)), "x"
    for _ in range(layers):
        name = build.conv(name, 8, 3)
    return build.graph(name)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list to which each search for a kernel and its tiles appends its arguments."""
    choose, calls = decide.cheapest_kernel, list[object]()

    def search(*arguments: Any) -> object:
        calls.append(arguments)
        return choose(*arguments)

    monkeypatch.setattr(decide, "cheapest_kernel", search)
    return calls


def test_equal_layers_are_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = far_platform(3000)
    monkeypatch.setattr(decide, "form", lambda _: None)
    calls = counted(monkeypatch)
    apart = planned(chain(6), platform)
    assert len(calls) == 6
    monkeypatch.setattr(decide, "form", form)
    calls.clear()
    together = planned(chain(6), platform)
    assert len(calls) == 3  # the first, which reads the input, the last, which writes the output, and one between
    assert [layer.choice for layer in together.layers] == [layer.choice for layer in apart.layers]
    assert together.placements == apart.placements


def test_layers_that_differ_have_other_forms() -> None:
    def forms(outputs: int, kernel: int, extent: int) -> object:
        build = Builder((1, 8, extent, extent))
        graph = build.graph(build.conv("x", outputs, kernel))
        return form([layer.problem for layer in planned(graph, far_platform(1 << 16)).layers])

    same = forms(8, 3, 16)
    assert same is not None
    assert same == forms(8, 3, 16)
    assert all(forms(*other) != same for other in OTHERS.values())
    assert len({forms(*other) for other in OTHERS.values()}) == len(OTHERS)


def test_one_form_for_different_layers_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder((1, 8, 16, 16))
    graph = build.graph(build.conv(build.conv("x", 8, 3), 16, 7))
    planned(graph, far_platform(6000))
    monkeypatch.setattr(decide, "form", lambda _: ())
    with pytest.raises(TilewrightError, match="needs"):
        planned(graph, far_platform(6000))
