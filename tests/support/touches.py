"""What one point of an operator's iteration space touches, written down point by point.

These say, without intervals, which elements the definitions in docs/reference/graph.md use;
tests hold the nests against them. Positions in the padding are given as they are, outside
the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tilewright.graph import Array, Graph

from support.single_node import random_array, single_node

Point = Mapping[str, int]
Position = tuple[int, ...]
Touches = Callable[[Point], tuple[list[tuple[int, Position]], Position]]
"""Point to the (input, position) pairs that it reads, and the position that it writes."""


@dataclass(frozen=True, slots=True)
class Case:
    """A node with inputs, its accesses, and how what a point reads becomes output.

    Attributes:
        value: value of a point from the elements that it reads; None where the output is no
            such function (softmax).
        combine: of the values of all points that write an element.
        fill: what stands for positions in the padding.
        tight: whether read boxes are the hull of what is touched; else they only contain it.
    """

    graph: Graph
    arrays: tuple[Array, ...]
    touches: Touches
    value: Callable[[list[float]], float] | None = np.prod
    combine: Callable[[list[float]], float] = sum
    fill: float = 0.0
    tight: bool = True


extents = st.integers(1, 5)


def _elements(*shapes: tuple[int, ...]) -> tuple[Array, ...]:
    return tuple(random_array(index, shape) for index, shape in enumerate(shapes))


@st.composite
def windows(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Attributes, input extents, kernel, output extents of one or two spatial axes."""
    rank = draw(st.integers(1, 2))
    drawn = [
        (draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 7)))
        for _ in range(rank)
    ]
    kernel, strides, dilations, sizes = (tuple(values) for values in zip(*drawn, strict=True))
    reach = [(taps - 1) * dilation for taps, dilation in zip(kernel, dilations, strict=True)]
    begins = tuple(draw(st.integers(0, most)) for most in reach)
    least = [most + 1 - size - begin for most, size, begin in zip(reach, sizes, begins, strict=True)]
    ends = tuple(draw(st.integers(max(0, low), max(0, low, most))) for low, most in zip(least, reach, strict=True))
    outputs = tuple(
        (size + begin + end - most - 1) // stride + 1
        for size, begin, end, most, stride in zip(sizes, begins, ends, reach, strides, strict=True)
    )
    return {"strides": strides, "dilations": dilations, "pads": begins + ends}, sizes, kernel, outputs


def _window_position(attributes: Mapping[str, Any], point: Point, rank: int) -> tuple[Position, Position, Position]:
    """Input position, output position and tap of a point."""
    out = tuple(point[name] for name in ("oh", "ow")[2 - rank :])
    tap = tuple(point[name] for name in ("kh", "kw")[2 - rank :])
    position = tuple(
        out[i] * attributes["strides"][i] + tap[i] * attributes["dilations"][i] - attributes["pads"][i]
        for i in range(rank)
    )
    return position, out, tap


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    attributes, sizes, kernel, outputs = draw(windows())
    batch, group, group_inputs, group_outputs = (draw(st.integers(1, most)) for most in (2, 3, 3, 3))
    channels = group * group_outputs
    shapes = ((batch, group * group_inputs, *sizes), (channels, group_inputs, *kernel), (channels,))
    arrays = _elements(*shapes[: draw(st.integers(2, 3))])
    graph = single_node("Conv", arrays, {**attributes, "group": group}, (batch, channels, *outputs))

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position, out, tap = _window_position(attributes, point, len(kernel))
        channel = point["group"] * group_outputs + point["oc"]
        reads: list[tuple[int, Position]] = [
            (0, (point["n"], point["group"] * group_inputs + point["ic"], *position)),
            (1, (channel, point["ic"], *tap)),
        ]
        if len(arrays) > 2:
            reads.append((2, (channel,)))
        return reads, (point["n"], channel, *out)

    points = group_inputs * int(np.prod(kernel))
    # Every point carries its share of the bias, so that plain sums give the output.
    return Case(graph, arrays, touches, lambda v: v[0] * v[1] + (v[2] / points if len(v) > 2 else 0.0))


@st.composite
def matrix_products(draw: st.DrawFn) -> Case:
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    m, n, k = (draw(extents) for _ in range(3))
    flags = {"transpose_a": draw(st.booleans()), "transpose_b": draw(st.booleans())}
    kept = [draw(st.integers(0, 2)) for _ in batch]
    # Each batch axis is in both operands, in a alone or in b alone; b may lack its outermost axes of extent 1.
    batch_a = tuple(1 if keep == 2 else extent for keep, extent in zip(kept, batch, strict=True))
    batch_b = tuple(1 if keep == 1 else extent for keep, extent in zip(kept, batch, strict=True))
    while batch_b and batch_b[0] == 1 and draw(st.booleans()):
        batch_b = batch_b[1:]
    a = batch_a + ((k, m) if flags["transpose_a"] else (m, k))
    b = batch_b + ((n, k) if flags["transpose_b"] else (k, n))
    arrays = _elements(a, b)
    graph = single_node("MatMul", arrays, flags, (*batch, m, n))

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        own = tuple(point[f"b{axis}"] for axis in range(len(batch)))
        row, column, depth = point["m"], point["n"], point["k"]
        reads = [
            (0, _broadcast(own, a[:-2]) + ((depth, row) if flags["transpose_a"] else (row, depth))),
            (1, _broadcast(own, b[:-2]) + ((column, depth) if flags["transpose_b"] else (depth, column))),
        ]
        return reads, (*own, row, column)

    return Case(graph, arrays, touches)


def _broadcast(position: Position, shape: tuple[int, ...]) -> Position:
    own = position[len(position) - len(shape) :]
    return tuple(0 if extent == 1 else index for index, extent in zip(own, shape, strict=True))


def _output_position(point: Point) -> Position:
    return tuple(point[f"d{axis}"] for axis in range(len(point)))


@st.composite
def binaries(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(extents, max_size=3)))
    other = tuple(draw(st.sampled_from([1, extent])) for extent in shape)[draw(st.integers(0, len(shape))) :]
    arrays = _elements(shape, other)
    graph = single_node("Mul", arrays, {}, shape)

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position = _output_position(point)
        return [(0, _broadcast(position, shape)), (1, _broadcast(position, other))], position

    return Case(graph, arrays, touches)


@st.composite
def pools(draw: st.DrawFn) -> Case:
    attributes, sizes, kernel, outputs = draw(windows())
    arrays = _elements((draw(st.integers(1, 2)), draw(st.integers(1, 3)), *sizes))
    shape = (*arrays[0].shape[:2], *outputs)
    graph = single_node("MaxPool", arrays, {**attributes, "kernel": kernel}, shape)

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position, out, _ = _window_position(attributes, point, len(kernel))
        return [(0, (point["n"], point["c"], *position))], (point["n"], point["c"], *out)

    return Case(graph, arrays, touches, lambda v: v[0], max, float("-inf"))


@st.composite
def moves(draw: st.DrawFn) -> Case:
    """Slice, Pad, Transpose, Copy: output position to input position, axis by axis."""
    shape = tuple(draw(st.lists(extents, min_size=1, max_size=3)))
    operator = draw(st.sampled_from(["Slice", "Pad", "Transpose", "Copy"]))
    arrays = _elements(shape)
    rank = range(len(shape))
    if operator == "Pad":
        pads = tuple(draw(st.integers(0, 2)) for _ in (*rank, *rank))
        output = tuple(pads[i] + shape[i] + pads[len(shape) + i] for i in rank)
        graph = single_node(operator, arrays, {"pads": pads, "value": 0}, output)
        return Case(graph, arrays, _moving(lambda d: tuple(d[i] - pads[i] for i in rank)), lambda v: v[0])
    if operator == "Slice":
        starts = tuple(draw(st.integers(0, extent - 1)) for extent in shape)
        steps = tuple(draw(st.sampled_from([-2, -1, 1, 2, 3])) for _ in rank)
        most = [(shape[i] - 1 - starts[i] if steps[i] > 0 else starts[i]) // abs(steps[i]) + 1 for i in rank]
        output = tuple(draw(st.integers(1, extent)) for extent in most)
        graph = single_node(operator, arrays, {"starts": starts, "steps": steps}, output)
        return Case(graph, arrays, _moving(lambda d: tuple(starts[i] + steps[i] * d[i] for i in rank)))
    perm = tuple(draw(st.permutations(rank))) if operator == "Transpose" else tuple(rank)
    values = {"perm": perm} if operator == "Transpose" else {}
    graph = single_node(operator, arrays, values, tuple(shape[axis] for axis in perm))
    return Case(graph, arrays, _moving(lambda d: tuple(d[perm.index(axis)] for axis in rank)))


def _moving(source: Callable[[Position], Position]) -> Touches:
    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position = _output_position(point)
        return [(0, source(position))], position

    return touches


@st.composite
def concatenations(draw: st.DrawFn) -> Case:
    shape = draw(st.lists(extents, min_size=1, max_size=3))
    axis = draw(st.integers(0, len(shape) - 1))
    parts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    arrays = _elements(*((*shape[:axis], part, *shape[axis + 1 :]) for part in parts))
    graph = single_node("Concat", arrays, {"axis": axis}, (*shape[:axis], sum(parts), *shape[axis + 1 :]))
    bounds = np.cumsum([0, *parts])

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position = _output_position(point)
        part = int(np.searchsorted(bounds, position[axis], side="right")) - 1
        inside = position[axis] - int(bounds[part])
        return [(part, (*position[:axis], inside, *position[axis + 1 :]))], position

    return Case(graph, arrays, touches)


@st.composite
def reshapes(draw: st.DrawFn) -> Case:
    factors = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    before, after = (_grouped(draw, factors) for _ in range(2))
    arrays = _elements(before)
    graph = single_node("Reshape", arrays, {}, after)

    def source(position: Position) -> Position:
        flat = int(np.ravel_multi_index(position, after)) if after else 0
        return tuple(int(index) for index in np.unravel_index(flat, before)) if before else ()

    return Case(graph, arrays, _moving(source), tight=False)


def _grouped(draw: st.DrawFn, factors: list[int]) -> tuple[int, ...]:
    """The factors multiplied together in runs, so that both shapes have equal products."""
    shape, run = [], 1
    for factor in factors:
        run *= factor
        if draw(st.booleans()):
            shape.append(run)
            run = 1
    return (*shape, run) if run > 1 else tuple(shape)


@st.composite
def softmaxes(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(extents, min_size=1, max_size=3)))
    axis = draw(st.integers(0, len(shape) - 1))
    arrays = _elements(shape)
    graph = single_node("Softmax", arrays, {"axis": axis}, shape)

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position = _output_position(point)
        return [(0, (*position[:axis], other, *position[axis + 1 :])) for other in range(shape[axis])], position

    return Case(graph, arrays, touches, value=None)


@st.composite
def lookups(draw: st.DrawFn) -> Case:
    x = random_array(0, tuple(draw(st.lists(extents, max_size=2))), "int8")
    arrays = (x, random_array(1, (256,), "int8"))

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position = _output_position(point)
        return [(0, position), (1, (int(x[position]) + 128,))], position

    return Case(single_node("Lookup", arrays, {}, x.shape, "int8"), arrays, touches, lambda v: v[1], tight=False)


@st.composite
def integer_sums(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(extents, min_size=1, max_size=4)))
    axes = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    keep = draw(st.booleans())
    arrays = (random_array(0, shape, "int8"),)
    kept = [axis for axis in range(len(shape)) if keep or axis not in axes]
    output = tuple(1 if axis in axes else shape[axis] for axis in kept)
    graph = single_node("IntegerSum", arrays, {"axes": axes, "keepdims": keep}, output, "int32")

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position = _output_position(point)
        return [(0, position)], tuple(0 if axis in axes else position[axis] for axis in kept)

    return Case(graph, arrays, touches)


@st.composite
def integer_norms(draw: st.DrawFn) -> Case:
    shape = tuple(draw(st.lists(extents, min_size=1, max_size=3)))
    parameters = (random_array(1, shape[-1:], "int16"), random_array(2, shape[-1:], "int16"))
    arrays = (random_array(0, shape, "int8"), *(array.astype("int32") for array in parameters))
    graph = single_node("iLayerNorm", arrays, {"shift": 8}, shape, "int8")

    def touches(point: Point) -> tuple[list[tuple[int, Position]], Position]:
        position = _output_position(point)
        row: list[tuple[int, Position]] = [(0, (*position[:-1], other)) for other in range(shape[-1])]
        along = position[-1:] if shape[-1] > 1 else (0,)
        return [*row, (1, along), (2, along)], position

    return Case(graph, arrays, touches, value=None)


CASES = {
    "Conv": convolutions(),
    "MatMul": matrix_products(),
    "Mul": binaries(),
    "MaxPool": pools(),
    "movement": moves(),
    "Concat": concatenations(),
    "Reshape": reshapes(),
    "Softmax": softmaxes(),
    "Lookup": lookups(),
    "IntegerSum": integer_sums(),
    "iLayerNorm": integer_norms(),
}
