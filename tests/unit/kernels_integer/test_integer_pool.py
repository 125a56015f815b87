"""Integer pooling against the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_harness import Ring
from support.integer_nodes import check, choices_of, integers, limits_of, node_graph, wrong_elements
from support.interpreted import needs_interpreter, spoilt_interpreter
from support.interpreted_calls import Machine
from support.interpreted_kernels import XPULPV2, kernels_program
from tilewright.graph import Graph, Requantize, RoundAway

GEOMETRIES = {
    "halves": {"kernel": (2, 2), "strides": (2, 2)},
    "padded": {"kernel": (3, 3), "pads": (1, 1, 1, 1)},
    "uneven": {"kernel": (3, 2), "strides": (2, 1), "pads": (2, 0, 1, 1)},
    "dilated": {"kernel": (2, 3), "dilations": (3, 2), "pads": (1, 2, 1, 2)},
    "global": {"kernel": (9, 7)},
    "many channels": {"x": (1, 23, 6, 5), "kernel": (3, 2), "strides": (2, 2), "pads": (1, 0, 1, 1)},
    "rows": {"x": (2, 3, 12), "kernel": (4,), "strides": (2,), "pads": (1, 2)},
}
STEPS = ({}, {"c": 2, "oh": 2, "ow": 1})


def pool(operator: str, geometry: str, dtype: str, *, channels_last: bool = True, **attributes) -> tuple[Graph, dict]:
    values = {**GEOMETRIES[geometry]}
    x = integers(np.random.default_rng(len(geometry)), dtype, values.pop("x", (1, 5, 9, 7)))
    rank = x.ndim - 2
    values = {"strides": (1,) * rank, "dilations": (1,) * rank, "pads": (0,) * (2 * rank), **values}
    spatial = [
        (
            x.shape[2 + i]
            + values["pads"][i]
            + values["pads"][rank + i]
            - (values["kernel"][i] - 1) * values["dilations"][i]
            - 1
        )
        // values["strides"][i]
        + 1
        for i in range(rank)
    ]
    epilogue = attributes.pop("epilogue", None)
    shape = (*x.shape[:2], *spatial)
    return node_graph(operator, [x], (), shape, dtype, {**values, **attributes}, epilogue, channels_last)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("channels_last", [True, False], ids=["channels last", "channels first"])
def test_max_pool(geometry: str, dtype: str, steps: dict, channels_last: bool) -> None:
    graph, feeds = pool("MaxPool", geometry, dtype, channels_last=channels_last)
    check(graph, feeds, steps)
    check(graph, feeds, steps, in_place=True)
    check(graph, feeds, {"oh": 1}, rings=(Ring(0, 2, 9),))


def wrong_words(geometry: str, dtype: str, machine: Machine | None = None) -> int:
    """How many elements of MaxPool differ in the interpreter from those of the family's C on this machine."""
    graph, feeds = pool("MaxPool", geometry, dtype)
    (choice,) = (choice for choice in choices_of(graph) if XPULPV2 in choice.name)
    return wrong_elements(choice, graph, feeds, ({}, {"c": 4, "oh": 2, "ow": 1}), machine)


@needs_interpreter
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_max_pool_of_words_in_the_interpreter(geometry: str, dtype: str) -> None:
    assert wrong_words(geometry, dtype) == 0


@needs_interpreter
@pytest.mark.parametrize("geometry", ["padded", "global"])
def test_a_wrong_instruction_of_max_pool_is_seen(geometry: str, tmp_path: Path) -> None:
    path = spoilt_interpreter(tmp_path, "xpulpv2.c", "largest_bytes(hart, in, 0x80u)", "largest_bytes(hart, in, 0u)")
    assert wrong_words(geometry, "int8", Machine(kernels_program(), path)) > 0


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("multiplier", [1.0, 0.5, 0.7310317, 0.0200317, 4.0])
def test_average_pool(geometry: str, dtype: str, include: int, multiplier: float) -> None:
    epilogue = Requantize((multiplier,), 7, *limits_of(dtype))
    zero_point = 130 if dtype == "uint8" else -3
    attributes = {"count_include_pad": include, "x_zero_point": zero_point, "epilogue": epilogue}
    graph, feeds = pool("AveragePool", geometry, dtype, **attributes)
    for steps in STEPS:
        check(graph, feeds, steps)
    check(graph, feeds, {"oh": 2}, in_place=True, rings=(Ring(0, 2, 9), Ring(1, 2, 4)))
    if geometry == "global":
        check(graph, feeds, {"kh": 4})
        check(graph, feeds, {"kh": 2, "c": 3}, rings=(Ring(0, 2, 9),))


@pytest.mark.parametrize("value", [-128, 127])
@pytest.mark.parametrize(("rows", "columns", "sum_bytes"), [(16, 8, 2), (43, 3, 4)])
def test_sums_of_rows_have_room_at_both_ends(value: int, rows: int, columns: int, sum_bytes: int) -> None:
    """A sum of 16 bits holds 128 elements that differ from their zero point by 255, but not 129."""
    x = np.full((1, 4, rows, columns), value, np.int8)
    attributes = {
        "kernel": (rows, columns),
        "strides": (1, 1),
        "dilations": (1, 1),
        "pads": (0, 0, 0, 0),
        "count_include_pad": 0,
        "x_zero_point": -128 if value > 0 else 127,
    }
    epilogue = Requantize((0.4,), 0, -128, 127)
    graph, feeds = node_graph("AveragePool", [x], (), (1, 4, 1, 1), "int8", attributes, epilogue, True)
    for step in (1, 5):
        found = check(graph, feeds, {"kh": step})
        assert found
        for choice in found:
            assert choice.partial_bytes is not None
            assert choice.partial_bytes({"n": 1, "c": 4}) == 4 * sum_bytes
    assert (rows * columns * 255 < 1 << 15) == (sum_bytes == 2)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_average_of_stored_integers(geometry: str, dtype: str) -> None:
    attributes = {"count_include_pad": 0, "x_zero_point": 0, "epilogue": RoundAway(*limits_of(dtype))}
    graph, feeds = pool("AveragePool", geometry, dtype, **attributes)
    assert [choice.symbol for choice in choices_of(graph)] == ["tilewright_average_pool_away"]
    for steps in STEPS:
        check(graph, feeds, steps)
    if geometry == "global":
        check(graph, feeds, {"kh": 4})
        check(graph, feeds, {"kh": 2, "c": 3}, rings=(Ring(0, 2, 9),))


def test_padding_that_does_not_count_is_cut_too() -> None:
    """A window of 9 rows over 5, in calls of 1, 4 or 9 rows: the divisor is that of the whole window in each call."""
    x = integers(np.random.default_rng(8), "int8", (1, 3, 5, 4))
    windows = {"kernel": (9, 4), "strides": (1, 1), "dilations": (1, 1), "pads": (2, 0, 2, 0)}
    graph, feeds = node_graph("AveragePool", [x], (), (1, 3, 1, 1), "int8", windows, RoundAway(-128, 127))
    for rows in (1, 4, 9):
        check(graph, feeds, {"kh": rows})


def test_ties_of_averages_go_to_the_even_neighbour() -> None:
    pairs = np.stack([np.repeat(np.arange(-128, 128), 2), np.tile([0, 1], 256) + np.repeat(np.arange(-128, 128), 2)])
    x = np.clip(pairs, -128, 127).astype(np.int8).T.reshape(1, 1, -1)
    for kernel in (2, 4, 6):
        attributes = {
            "kernel": (kernel,),
            "strides": (kernel,),
            "dilations": (1,),
            "pads": (0, 0),
            "count_include_pad": 0,
        }
        length = (x.shape[2] - kernel) // kernel + 1
        graph, feeds = node_graph(
            "AveragePool", [x], (), (1, 1, length), "int8", attributes, Requantize((1.0,), 0, -128, 127)
        )
        check(graph, feeds)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_three_axes_have_the_kernel_of_any_windows(dtype: str) -> None:
    x = np.arange(60).astype(dtype).reshape(1, 1, 3, 4, 5)
    windows = {"kernel": (2, 2, 2), "strides": (1, 1, 1), "dilations": (1, 1, 1), "pads": (0,) * 6}
    graph, _ = node_graph("MaxPool", [x], (), (1, 1, 2, 3, 4), dtype, windows)
    assert [choice.symbol for choice in choices_of(graph)] == ["tilewright_pool_any"]
    graph, _ = node_graph("AveragePool", [x], (), (1, 1, 2, 3, 4), dtype, windows)
    assert [choice.symbol for choice in choices_of(graph)] == (["tilewright_pool_any"] if dtype == "float32" else [])
    weights = np.ones((2, 1, 2, 2, 2)).astype(dtype)
    graph, _ = node_graph("Conv", [x, weights], (1,), (1, 2, 2, 3, 4), dtype, {**windows, "group": 1})
    assert [choice.symbol for choice in choices_of(graph)] == (["tilewright_conv_any"] if dtype == "float32" else [])
