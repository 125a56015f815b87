"""Planes to pixels: beside the planes and in their bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.float_nodes import Case
from support.overlapped import run_over
from support.single_node import random_array
from tilewright.graph import Graph, channels_last_order
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar.interleave_planes import interleave


def interleaved(case: Case) -> tuple[Graph, tuple[KernelChoice, ...]]:
    """The node from planes to pixels, and its kernels."""
    graph = case.graph()
    pixels = replace(graph.tensor("out"), order=channels_last_order(len(case.shape)))
    graph = replace(graph, tensors={**graph.tensors, "out": pixels})
    return graph, interleave(graph.nodes[0], graph)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "int64"])
@pytest.mark.parametrize("shape", [(1, 3, 5, 7), (1, 4, 1, 6), (1, 1, 3, 2), (1, 5, 9), (1, 2, 3, 4, 5)])
def test_planes_become_pixels_in_place(shape: tuple[int, ...], dtype: str) -> None:
    x = random_array(1, shape, "int16" if dtype == "int64" else dtype).astype(dtype)
    graph, (choice,) = interleaved(Case("Interleave", (x,), {}, shape, dtype))
    for below in (0, x.nbytes + 64, -x.nbytes - 64):
        np.testing.assert_array_equal(run_over(choice, graph, {"i0": x}, 0, below), x)


def test_a_result_that_shares_some_of_the_bytes_is_wrong() -> None:
    x = random_array(1, (1, 3, 5, 7), "int8")
    graph, (choice,) = interleaved(Case("Interleave", (x,), {}, x.shape, "int8"))
    assert not np.array_equal(run_over(choice, graph, {"i0": x}, 0, 8), x)


def test_other_images_have_no_kernel() -> None:
    x = np.zeros((2, 3, 4, 4), np.float32)
    assert interleaved(Case("Interleave", (x,), {}, x.shape))[1] == ()
    x = np.zeros((1, 3), np.float32)
    assert interleaved(Case("Interleave", (x,), {}, x.shape))[1] == ()
