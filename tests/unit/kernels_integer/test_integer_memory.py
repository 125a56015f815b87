"""Kernels stay inside their operands, and the harness notices when they do not."""

from __future__ import annotations

from dataclasses import replace

import kernel_harness
import numpy as np
import pytest
from kernel_harness import run_kernel
from support.integer_nodes import SOURCES, choices_of, integers, node_graph, requantize
from tilewright.kernels.kernel import KernelChoice, TileSteps, packed_array


def small_conv() -> tuple:
    rng = np.random.default_rng(0)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": 1, "x_zero_point": 0}
    inputs = [integers(rng, "int8", (1, 4, 5, 5)), integers(rng, "int8", (4, 4, 3, 3))]
    return node_graph("Conv", inputs, (1,), (1, 4, 5, 5), "int8", attributes, requantize([0.0013]), True)


def packed_conv() -> tuple:
    graph, feeds = small_conv()
    choice = next(found for found in choices_of(graph) if found.kernel.symbol == "tilewright_conv_packed")
    return choice, graph, feeds


def test_a_kernel_that_leaves_its_scratch_is_noticed() -> None:
    choice, graph, feeds = packed_conv()

    def smaller(_: KernelChoice, steps: TileSteps) -> dict[str, int]:
        areas = dict(choice.kernel.scratch(choice, steps))
        return {**areas, "padding": areas["padding"] - 4}

    small = replace(choice, kernel=replace(choice.kernel, scratch=smaller))
    with pytest.raises(AssertionError, match="use-after-poison"):
        run_kernel(small, graph, feeds, sources=SOURCES)
    run_kernel(choice, graph, feeds, sources=SOURCES)


def test_an_operand_that_is_a_row_short_is_noticed() -> None:
    graph, feeds = small_conv()
    choice = choices_of(graph)[0]
    weights = replace(choice.reads[1], data=packed_array(choice.reads[1].data, {})[:, :, :-1])
    short = replace(choice, reads=(choice.reads[0], weights, *choice.reads[2:]))
    with pytest.raises(AssertionError, match="use-after-poison"):
        run_kernel(short, graph, feeds, sources=SOURCES)


def test_attributes_that_are_a_word_short_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    choice, graph, feeds = packed_conv()
    whole = kernel_harness.packed_attributes
    monkeypatch.setattr(kernel_harness, "packed_attributes", lambda *arguments: whole(*arguments)[:-8])
    with pytest.raises(AssertionError, match="use-after-poison"):
        run_kernel(choice, graph, feeds, sources=SOURCES)
