"""Kernels of int16 functions by tables, of lines less their lengths and of the integer LSTM against the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_harness import run_kernel
from support.integer_nodes import check, integers, node_graph
from support.nodes import node_of
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, DType, Graph, constant, variable
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.registry import choices
from tilewright.plan import Core

SHAPES = ((7,), (3, 50), (2, 3, 4, 5), (2, 1, 3, 1, 2, 9))
CUT = {"d0": 1, "d1": 2, "d2": 2}
Q31 = 1 << 30
"""The factor 1/2 of two roundings."""


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("is_tanh", [False, True], ids=["logistic", "tanh"])
@pytest.mark.parametrize(("multiplier", "shift"), [(3, 0), (1, 0), (24576, 13), (31000, 12), (40000, 2)])
def test_functions_of_int16(shape: tuple[int, ...], is_tanh: bool, multiplier: int, shift: int) -> None:
    x = integers(np.random.default_rng(multiplier), "int16", shape)
    x.reshape(-1)[:3] = (-32768, 0, 32767)
    given = {"multiplier": multiplier, "shift": shift, "is_tanh": is_tanh}
    graph, feeds = node_graph("SigmoidHalves", [x], (), shape, "int16", given)
    check(graph, feeds)
    check(graph, feeds, CUT, in_place=True)


def test_every_argument_of_the_functions() -> None:
    x = np.arange(-32768, 32768).astype(np.int16).reshape(64, 1024)
    for is_tanh in (False, True):
        given = {"multiplier": 3, "shift": 0, "is_tanh": is_tanh}
        check(*node_graph("SigmoidHalves", [x], (), x.shape, "int16", given))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("spread", [3, 700, 32767])
@pytest.mark.parametrize(("multiplier", "shift"), [(Q31, 1), (1340000000, -5), (2147483647, 3)])
def test_softmax_of_int16(shape: tuple[int, ...], spread: int, multiplier: int, shift: int) -> None:
    x = integers(np.random.default_rng(spread), "int16", shape, -spread, spread)
    graph, feeds = node_graph("SoftmaxHalves", [x], (), shape, "int16", {"multiplier": multiplier, "shift": shift})
    check(graph, feeds)
    check(graph, feeds, CUT, in_place=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", 0), ("int8", -128), ("int8", 127), ("uint8", 128)])
def test_lines_less_their_lengths(shape: tuple[int, ...], dtype: str, zero_point: int) -> None:
    x = integers(np.random.default_rng(len(shape)), dtype, shape)
    x[0] = zero_point
    graph, feeds = node_graph("L2Fixed", [x], (), shape, dtype, {"x_zero_point": zero_point})
    check(graph, feeds)
    check(graph, feeds, CUT, in_place=True)


@pytest.mark.parametrize("clip", [0, 9000])
@pytest.mark.parametrize(("entries", "steps", "inputs", "units"), [(1, 1, 1, 1), (3, 4, 5, 7), (2, 9, 16, 3)])
def test_lstm_of_int8(entries: int, steps: int, inputs: int, units: int, clip: int) -> None:
    graph, feeds = lstm(entries, steps, inputs, units, clip)
    wanted = evaluate(graph, feeds)
    (choice,) = lstm_choices(graph)
    for tile in ({}, {"b": 1}):
        for in_place in (False, True):
            outputs = run_kernel(choice, graph, feeds, tile, in_place=in_place)
            for name, got in zip(graph.outputs, outputs, strict=True):
                assert np.array_equal(got, wanted[name]), name


def test_a_wrong_factor_of_the_lstm_shows() -> None:
    graph, feeds = lstm(3, 4, 5, 7, 0)
    wanted = evaluate(graph, feeds)
    (choice,) = lstm_choices(graph)
    spoilt = replace(choice, attributes=replace(choice.attributes, cell_shift=choice.attributes.cell_shift + 1))
    outputs = run_kernel(spoilt, graph, feeds)
    assert not np.array_equal(outputs[0], wanted[graph.outputs[0]])


def lstm_choices(graph: Graph) -> tuple[KernelChoice, ...]:
    return choices(graph.nodes[0], graph, ("scalar",), Core(1, (), pointer_bytes=8))


def lstm(entries: int, steps: int, inputs: int, units: int, clip: int) -> tuple[Graph, dict[str, Array]]:
    """Random weights; factors that use the whole range of gates and cell."""
    rng = np.random.default_rng(entries * 100 + units)
    arrays = {
        "x": integers(rng, "int8", (entries, steps, inputs)),
        "h": integers(rng, "int8", (entries, units)),
        "c": integers(rng, "int16", (entries, units)),
        "w": integers(rng, "int8", (4, units, inputs)),
        "r": integers(rng, "int8", (4, units, units)),
        "bias": integers(rng, "int32", (4, units), -20000, 20000),
    }
    constants = ("w", "r", "bias")
    tensors = {
        name: constant(name, array) if name in constants else variable(name, DType(array.dtype.name), array.shape)
        for name, array in arrays.items()
    }
    written = {
        "y": variable("y", DType.INT8, (entries, steps, units)),
        "h_last": variable("h_last", DType.INT8, (entries, units)),
        "c_last": variable("c_last", DType.INT16, (entries, units)),
    }
    given = {
        "x_zero_point": -3,
        "h_zero_point": 5,
        "multipliers": (Q31 + 77777,) * 4 + (Q31 * 3 // 2,) * 4 + (2147418112, Q31, Q31 + 99),
        "shifts": (-1, 0, 1, -2) * 2 + (-15, -14, -21),
        "cell_multiplier": 3,
        "cell_shift": 0,
        "clip": clip,
    }
    node = node_of("lstm", "LstmInteger", tuple(arrays), tuple(written), given)
    feeds = {name: array for name, array in arrays.items() if name not in constants}
    return Graph("graph", (node,), {**tensors, **written}, tuple(feeds), tuple(written)), feeds
