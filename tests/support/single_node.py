"""Graphs of one node, built from arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, DType, Epilogue, Graph, variable

from support.nodes import node_of


def single_node(
    operator: str,
    arrays: Sequence[Array | None],
    attributes: Mapping[str, Any],
    shape: tuple[int, ...],
    dtype: str = "float32",
    epilogue: Epilogue | None = None,
) -> Graph:
    """A graph of inputs i0, i1, ... (absent where None), node ``node`` and output ``out``."""
    names = tuple("" if array is None else f"i{index}" for index, array in enumerate(arrays))
    tensors = {
        name: variable(name, DType(array.dtype.name), array.shape)
        for name, array in zip(names, arrays, strict=True)
        if name
    }
    weights = arrays[1] if len(arrays) > 1 else None
    node = node_of("node", operator, names, ("out",), attributes, epilogue, weights=weights)
    tensors["out"] = variable("out", DType(dtype), shape)
    return Graph("graph", (node,), tensors, tuple(name for name in names if name), ("out",))


def run(graph: Graph, arrays: Sequence[Array | None]) -> Array:
    """The output of ``single_node`` for these arrays."""
    feeds = {f"i{index}": array for index, array in enumerate(arrays) if array is not None}
    return evaluate(graph, feeds)["out"]


def random_array(seed: int, shape: tuple[int, ...], dtype: str = "float32") -> Array:
    """Normal floats, or integers over the whole range of an 8- or 16-bit dtype."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return generator.standard_normal(shape).astype(kind)
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
