"""Kernels of family xpulpv2 in the interpreter: one with each rule, and a wrong instruction is seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_harness import run_kernel
from support.integer_nodes import SOURCES, choices_of, integers, node_graph, requantize, shifted, wrong_elements
from support.interpreted import needs_interpreter, spoilt_interpreter
from support.interpreted_calls import Machine
from support.interpreted_kernels import XPULPV2, kernels_program
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Epilogue, Graph, Rescale
from tilewright.kernels import requantization
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.xpulpv2.conv import ConvXpulpv2
from tilewright.kernels.xpulpv2.depthwise import DepthwiseXpulpv2

pytestmark = needs_interpreter

CHANNELS = 8
GROUPS = {"conv": 1, "depthwise": CHANNELS, "wide": CHANNELS}
STEPS: tuple[dict[str, int], ...] = ({}, {"oh": 2, "ow": 3, "group": 4, "oc": 4}, {"n": 4, "k": 8})
EPILOGUES: dict[str, tuple[Epilogue | None, str]] = {
    "none": (None, "int32"),
    "folded": (shifted(np.random.default_rng(1), CHANNELS, 14, 40), "int8"),
    "long": (shifted(np.random.default_rng(2), CHANNELS, 30, 1 << 22), "int8"),
    "layer": (requantize([0.0013] * CHANNELS), "int8"),
    "high": (requantize([0.01 * 0.3**channel for channel in range(CHANNELS)]), "int8"),
    "layer_even": (requantize([2.0**-9] * CHANNELS), "int8"),
    "even": (requantize([2.0**-1, *(0.0013 * 0.37**channel for channel in range(CHANNELS - 1))]), "int8"),
    "exact": (requantize([60000.0, *[0.0013] * (CHANNELS - 1)]), "int8"),
    "rescale": (Rescale((0.0013,) * CHANNELS, -1.0, 5.0), "float32"),
}
"""Rule to what chooses it, and the type of results."""


def case(kind: str, rule: str) -> tuple[Graph, dict[str, Array], KernelChoice]:
    """A padded convolution whose kernel of the family finishes by the rule: 3x3, or depthwise 5x5 (``wide``)."""
    rng = np.random.default_rng(len(rule))
    group = GROUPS[kind]
    size = 5 if kind == "wide" else 3
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (size // 2,) * 4, "group": group}
    attributes |= {"x_zero_point": 3, "w_zero_point": (0,)}
    inputs = [
        integers(rng, "int8", (1, CHANNELS, 6, 7)),
        integers(rng, "int8", (CHANNELS, CHANNELS // group, size, size)),
        integers(rng, "int32", (CHANNELS,), -3000, 3000),
    ]
    epilogue, dtype = EPILOGUES[rule]
    graph, feeds = node_graph("Conv", inputs, (1, 2), (1, CHANNELS, 6, 7), dtype, attributes, epilogue, True)
    wanted = f"tilewright_{'conv' if kind == 'conv' else 'depthwise'}_xpulpv2_{rule}"
    (choice,) = (choice for choice in choices_of(graph) if XPULPV2 in choice.name)
    assert choice.name.endswith(wanted), f"{choice.name}, not {wanted}"
    return graph, feeds, choice


def vector_case(rule: str) -> tuple[Graph, dict[str, Array], KernelChoice]:
    """Two vectors and a matrix whose kernel of the family finishes by the rule."""
    rng = np.random.default_rng(len(rule))
    inputs = [
        integers(rng, "int8", (2, 24)),
        integers(rng, "int8", (24, CHANNELS)),
        integers(rng, "int32", (CHANNELS,), -3000, 3000),
    ]
    epilogue, dtype = EPILOGUES[rule]
    attributes = {"a_zero_point": 3, "b_zero_point": (0,)}
    graph, feeds = node_graph("MatMul", inputs, (1, 2), (2, CHANNELS), dtype, attributes, epilogue, True)
    wanted = f"tilewright_fully_connected_xpulpv2_{rule}"
    (choice,) = (choice for choice in choices_of(graph) if choice.name == wanted)
    return graph, feeds, choice


def wrong(kind: str, rule: str, machine: Machine | None = None) -> int:
    """How many elements differ from those of the family's C on this machine, over several tiles."""
    graph, feeds, choice = vector_case(rule) if kind == "vector" else case(kind, rule)
    return wrong_elements(choice, graph, feeds, STEPS, machine)


@pytest.mark.parametrize("rule", EPILOGUES)
@pytest.mark.parametrize("kind", [*GROUPS, "vector"])
def test_each_rule_in_the_interpreter(kind: str, rule: str) -> None:
    assert wrong(kind, rule) == 0


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("columns", [2, 4, 5, 8, 9])
def test_taps_from_planes_of_few_channels(columns: int, channels: int) -> None:
    """Rows of the kernel of one, two and three words, for groups of four pixels within a row and across two."""
    rng = np.random.default_rng(columns)
    attributes = {"strides": (1, 2), "dilations": (1, 1), "pads": (1, columns // 2, 0, 1), "group": 1}
    attributes |= {"x_zero_point": 3, "w_zero_point": (0,)}
    inputs = [
        integers(rng, "int8", (1, channels, 6, 25)),
        integers(rng, "int8", (CHANNELS, channels, 3, columns)),
        integers(rng, "int32", (CHANNELS,), -3000, 3000),
    ]
    shape = (1, CHANNELS, 5, (25 + columns // 2 + 1 - columns) // 2 + 1)
    graph, feeds = node_graph("Conv", inputs, (1, 2), shape, "int8", attributes, EPILOGUES["layer"][0])
    (choice,) = (choice for choice in choices_of(graph) if XPULPV2 in choice.name)
    assert choice.given(ConvXpulpv2).is_planar == 1
    assert wrong_elements(choice, graph, feeds, ({}, {"oh": 2, "ow": 9}, {"ow": 5}), None) == 0


@pytest.mark.parametrize(("large", "finished"), [(1, True), (2, True), (3, False)])
def test_assembler_finishes_where_few_channels_need_rule_even(
    large: int, finished: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Multipliers of 1/2 and more need rule even: one of four channels at most for assembler to finish the others."""
    multipliers = [2.0**-1] * large + [0.0013 * 0.37**channel for channel in range(CHANNELS - large)]
    monkeypatch.setitem(EPILOGUES, "even", (requantize(multipliers), "int8"))
    _, _, choice = case("depthwise", "even")
    assert (choice.given(DepthwiseXpulpv2).finished != "NULL") == finished
    assert wrong("depthwise", "even") == 0


@pytest.mark.parametrize(("mark", "right"), [(requantization.ROUNDS_EVEN, True), (1 << 14, False)])
def test_a_channel_without_its_mark_is_seen(mark: int, right: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without, assembler finishes a channel by rule high that needs rule even; compared with the reference."""
    monkeypatch.setattr(requantization, "ROUNDS_EVEN", mark)
    multipliers = [0.5 + mark / 2**20, 0.6, *(0.0013 * 0.37**channel for channel in range(CHANNELS - 2))]
    monkeypatch.setitem(EPILOGUES, "even", (requantize(multipliers), "int8"))
    graph, feeds, choice = case("depthwise", "even")
    assert choice.given(DepthwiseXpulpv2).finished != "NULL"
    wanted = evaluate(graph, feeds)["out"]
    (got,) = run_kernel(choice, graph, feeds, {}, sources=SOURCES)
    assert bool((got == wanted).all()) == right


@pytest.mark.parametrize(
    ("kind", "rule", "old", "new"),
    [
        ("conv", "layer", "(int8_t)(RS1 >> shift) * (int8_t)", "(uint8_t)(RS1 >> shift) * (int8_t)"),
        ("conv", "folded", "hart->x[in->rd] + RS1) >>", "hart->x[in->rd] - RS1) >>"),
        ("depthwise", "folded", "hart->x[in->rd] + RS1 * RS2", "hart->x[in->rd] - RS1 * RS2"),
        ("depthwise", "high", "limited(RS1, (int32_t)~RS2, (int32_t)RS2)", "limited(RS1, 0, (int32_t)RS2)"),
    ],
)
def test_a_wrong_instruction_is_seen(kind: str, rule: str, old: str, new: str, tmp_path: Path) -> None:
    path = spoilt_interpreter(tmp_path, "xpulpv2.c", old, new)
    assert wrong(kind, rule, Machine(kernels_program(), path)) > 0
