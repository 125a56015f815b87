"""Slices of joined tensors read what was joined, where nothing else reads the joined tensor."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, operators


class Network(ModelBuilder):
    """Tensors [n, 4] joined and cut on the first axis."""

    def ranks(self, *rows):
        return [self.node("Tanh", self.input(f"x{number}", [count, 4])) for number, count in enumerate(rows)]

    def cut(self, x, first, end, axis=0):
        bounds = [self.constant(np.array([value], np.int64)) for value in (first, end, axis)]
        return self.node("Slice", x, *bounds)


@pytest.mark.parametrize(
    ("first", "end", "read", "left"),
    [
        (2, 5, 1, {}),
        (0, 5, 2, {"Concat": 1}),
        (1, 5, 2, {"Slice": 1, "Concat": 1}),
        (3, 4, 1, {"Slice": 1}),
        (1, 7, 3, {"Slice": 2, "Concat": 1}),
    ],
)
def test_a_slice_reads_parts(tmp_path, first, end, read, left):
    net = Network()
    joined = net.node("Concat", *net.ranks(2, 3, 3), axis=0)
    net.node("Tanh", net.cut(joined, first, end), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Tanh": read + 1, **left}


def test_a_sequence_that_is_written_step_by_step_is_joined_once(tmp_path):
    net = Network()
    steps = net.ranks(1, 1, 1, 1)
    sequence = net.constant(np.zeros((4, 4), np.float32))
    for number, step in enumerate(steps):
        parts = [net.cut(sequence, 0, number)] if number else []
        parts.append(step)
        parts += [net.cut(sequence, number + 1, 4)] if number < 3 else []
        sequence = net.node("Concat", *parts, axis=0)
    net.node("Tanh", sequence, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Tanh": 5, "Concat": 1}


@pytest.mark.parametrize("other", ["Tanh", "cut of columns"])
def test_a_joined_tensor_that_others_read_stays(tmp_path, other):
    net = Network()
    joined = net.node("Concat", *net.ranks(2, 3), axis=0)
    one = net.node("Tanh", net.cut(joined, 0, 2))
    two = net.node("Tanh", joined) if other == "Tanh" else net.node("Tanh", net.cut(joined, 0, 2, axis=1))
    graph = assert_equal_to_runtime(tmp_path, net.model(one, two))
    assert operators(graph) == {"Tanh": 4, "Concat": 1, "Slice": 1 if other == "Tanh" else 2}
