"""Operators whose accesses depend on data: Gather, GatherElements, ScatterElements.

The axis that indices select is read and written whole. Negative indices count from the end;
indices out of range give the nearest element, so that no access ever leaves a tensor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.nest import AxisMap, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Operator, operand

_COMBINE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@dataclass(frozen=True, slots=True)
class GatherAttributes(AxisAttributes):
    """The axis of x that indices select, and the number of first axes that x and indices share."""

    batch_dims: int


@dataclass(frozen=True, slots=True)
class ScatterAttributes(AxisAttributes):
    """The axis, and how an update is combined with the element of x: none (replaces it), add, mul, min, max."""

    reduction: str


def in_range(indices: Array, extent: int) -> Array:
    """The indices, moved into [0, extent): negative ones count from the end, others out of range are clipped."""
    return np.clip(np.where(indices < 0, indices + extent, indices), 0, extent - 1)


def gather_nest(node: Node, graph: Graph) -> Nest:
    """Dimensions over the output: x's axes before ``axis``, the indices' behind ``batch_dims``, x's behind ``axis``."""
    x, indices = (graph.tensor(name).shape for name in node.inputs)
    given = node.given(GatherAttributes)
    axis, batch = given.axis, given.batch_dims
    added = len(indices) - batch
    read = [along(f"d{position}") for position in range(axis)]
    read.append(whole(x[axis]))
    read += [along(f"d{position + added - 1}") for position in range(axis + 1, len(x))]
    index = [along(f"d{position}") for position in range(batch)]
    index += [along(f"d{axis + position}") for position in range(added)]
    shape = graph.tensor(node.outputs[0]).shape
    return Nest(dimensions_of(shape), (tuple(read), tuple(index)), (identity_maps(shape),))


def gather(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """y[b..., a..., i..., c...] = x[b..., a..., indices[b..., i...], c...]."""
    x, indices = operand(arrays, 0), operand(arrays, 1)
    given = node.given(GatherAttributes)
    axis, batch = given.axis, given.batch_dims
    safe = in_range(indices, x.shape[axis])
    shape = graph.tensor(node.outputs[0]).shape
    if batch == 0:
        return [np.take(x, safe, axis=axis).reshape(shape)]
    flat_x = x.reshape(-1, *x.shape[batch:])
    flat_i = safe.reshape(-1, *safe.shape[batch:])
    parts = [np.take(part, index, axis=axis - batch) for part, index in zip(flat_x, flat_i, strict=True)]
    return [np.stack(parts).reshape(shape)]


def gather_elements_nest(node: Node, graph: Graph) -> Nest:
    """Dimensions over the output; x is read whole on ``axis``."""
    x = graph.tensor(node.inputs[0]).shape
    shape = graph.tensor(node.outputs[0]).shape
    axis = node.given(AxisAttributes).axis
    maps = identity_maps(shape)
    read = (*maps[:axis], whole(x[axis]), *maps[axis + 1 :])
    return Nest(dimensions_of(shape), (read, maps), (maps,))


def gather_elements(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """y[a..., i, c...] = x[a..., indices[a..., i, c...], c...], where i is the position on ``axis``."""
    x, indices = operand(arrays, 0), operand(arrays, 1)
    axis = node.given(AxisAttributes).axis
    cut = tuple(slice(None) if position == axis else slice(n) for position, n in enumerate(indices.shape))
    return [np.take_along_axis(x[cut], in_range(indices, x.shape[axis]), axis)]


def scatter_nest(node: Node, graph: Graph) -> Nest:
    """Dimensions over the output's axes; ``axis``, and axes on which updates are shorter than x, are whole."""
    shape = graph.tensor(node.outputs[0]).shape
    indices, updates = (graph.tensor(name).shape for name in node.inputs[1:])
    axis = node.given(AxisAttributes).axis
    cuttable = [position != axis and updates[position] == extent for position, extent in enumerate(shape)]
    dimensions = tuple(
        dimension if cuttable[position] else replace(dimension, iteration=Iteration.WHOLE)
        for position, dimension in enumerate(dimensions_of(shape))
    )

    def maps(extents: tuple[int, ...]) -> tuple[AxisMap, ...]:
        return tuple(
            along(f"d{position}") if cuttable[position] and extent == shape[position] else whole(extent)
            for position, extent in enumerate(extents)
        )

    full = identity_maps(shape)
    return Nest(dimensions, (full, maps(indices), maps(updates)), (full,))


def scatter_elements(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """A copy of x in which updates[a..., i, c...] goes to [a..., indices[a..., i, c...], c...], i on ``axis``.

    Updates are applied in their row-major order; indices broadcast to the shape of the updates.
    """
    result = operand(arrays, 0).copy()
    updates = operand(arrays, 2)
    given = node.given(ScatterAttributes)
    axis, reduction = given.axis, given.reduction
    indices = np.broadcast_to(in_range(operand(arrays, 1), result.shape[axis]), updates.shape)
    grid: list[Array] = list(np.indices(updates.shape))
    grid[axis] = indices
    if reduction == "none":
        result[tuple(grid)] = updates
    else:
        with np.errstate(all="ignore"):
            _COMBINE[reduction].at(result, tuple(grid), updates)
    return [result]


OPERATORS = (
    Operator("Gather", gather_nest, gather, GatherAttributes, keeps_values=True),
    Operator("GatherElements", gather_elements_nest, gather_elements, AxisAttributes, keeps_values=True),
    Operator("ScatterElements", scatter_nest, scatter_elements, ScatterAttributes),
)
