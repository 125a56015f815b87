"""Kernels whose numbers fit 32 bits only up to a bound: they are exact at it, and not offered beyond it."""

from __future__ import annotations

import numpy as np
import pytest
from support.integer_nodes import check, choices_of, node_graph
from tilewright.graph import Array, Graph, RoundAway
from tilewright.kernels.scalar import quotients


def quotient(shift: int, kind: str = "int8") -> tuple[Graph, dict[str, Array]]:
    """All numerators by 1, whose quotients are the largest."""
    limits = np.iinfo(kind)
    lowest = int(limits.min)
    attributes = {
        "a_zero_point": -128 if kind == "int8" else 0,
        "b_zero_point": 0,
        "multiplier": (1 << 31) - 1,
        "shift": shift,
    }
    attributes |= {"zero_point": 0, "minimum": lowest, "maximum": int(limits.max)}
    count = -2 * lowest
    inputs = [np.arange(lowest, -lowest).astype(kind), np.ones(count, kind)]
    return node_graph("DivFixed", inputs, (), (count,), kind, attributes)


def test_quotients() -> None:
    for shift in (-8, 0, 8, 23):
        check(*quotient(shift))
    assert not choices_of(quotient(24)[0])
    for shift in (-8, 0, 15):
        check(*quotient(shift, "int16"))
    assert not choices_of(quotient(16, "int16")[0])


def test_inverse_roots() -> None:
    x = np.arange(-1 << 15, 1 << 15).astype(np.int16)
    for shift in (-11, 0, 12, 20, 30):
        attributes = {"multiplier": (1 << 31) - 1, "shift": shift}
        check(*node_graph("RsqrtHalves", [x], (), x.shape, "int16", attributes))
    for shift in (-12, 31):
        attributes = {"multiplier": (1 << 31) - 1, "shift": shift}
        assert not choices_of(node_graph("RsqrtHalves", [x], (), x.shape, "int16", attributes)[0])


def test_a_quotient_beyond_the_bound_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotients, "_MOST_SHIFT", 24)
    with pytest.raises(AssertionError, match="differ"):
        check(*quotient(24))


@pytest.mark.parametrize("value", [-32768, 32767])
def test_averages_of_int16(value: int) -> None:
    for rows, offered in ((256, True), (257, False)):
        x = np.full((1, 1, rows, 128), value, np.int16)
        windows = {"kernel": (rows, 128), "strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4}
        attributes = {**windows, "count_include_pad": 0}
        epilogue = RoundAway(-32768, 32767)
        graph, feeds = node_graph("AveragePool", [x], (), (1, 1, 1, 1), "int16", attributes, epilogue)
        assert bool(choices_of(graph)) is offered
        if offered:
            check(graph, feeds)
