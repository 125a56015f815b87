"""What rows of copies are said to cost, by how their elements lie in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.small_nodes import graph_of
from tilewright.graph import DType, Graph, Node, channels_last_order, variable
from tilewright.graph.edit import NO_ATTRIBUTES, make_node
from tilewright.kernels.registry import choices
from tilewright.kernels.scalar.moved_rows import joined_axes
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.movement import SliceAttributes, TransposeAttributes

IMAGE = (1, 12, 9, 10)


def moved(node: Node, shapes: list[tuple[int, ...]], *, channels_last: bool, dtype: DType = DType.INT8) -> Graph:
    """A graph of one node, whose last tensor is the output."""
    names = (*node.inputs, *node.outputs)
    tensors = {name: variable(name, dtype, shape) for name, shape in zip(names, shapes, strict=True)}
    if channels_last:
        tensors = {name: replace(item, order=channels_last_order(len(item.shape))) for name, item in tensors.items()}
    return graph_of(node, list(tensors.values()))


def sliced(starts: tuple[int, ...], steps: tuple[int, ...] = (1, 1, 1, 1)) -> Node:
    return make_node("Slice", ["x"], ["y"], attributes=SliceAttributes(starts, steps))


def cycles(graph: Graph) -> float:
    choice = choices(graph.nodes[0], graph)[0]
    return choice.cycles({dimension.name: dimension.extent for dimension in choice.nest.dimensions})


def test_a_row_ends_where_the_input_goes_on() -> None:
    rows = moved(sliced((0, 0, 2, 0)), [IMAGE, (1, 12, 4, 10)], channels_last=True)
    assert joined_axes(rows.nodes[0], rows) == (1, 3, 2)
    columns = moved(sliced((0, 0, 0, 3)), [IMAGE, (1, 12, 9, 4)], channels_last=True)
    assert joined_axes(columns.nodes[0], columns) == (1, 3)
    channels = moved(sliced((0, 4, 0, 0)), [IMAGE, (1, 8, 9, 10)], channels_last=True)
    assert joined_axes(channels.nodes[0], channels) == (1,)
    planes = moved(sliced((0, 4, 0, 0)), [IMAGE, (1, 8, 9, 10)], channels_last=False)
    assert joined_axes(planes.nodes[0], planes) == (3, 2, 1)


def test_elements_apart_have_no_rows() -> None:
    steps = (1, 2, 1, 1)
    strided = moved(sliced((0, 0, 0, 0), steps), [IMAGE, (1, 6, 9, 10)], channels_last=True)
    assert joined_axes(strided.nodes[0], strided, steps) == ()
    perm = (0, 2, 3, 1)
    node = make_node("Transpose", ["x"], ["y"], attributes=TransposeAttributes(perm))
    turned = moved(node, [IMAGE, (1, 9, 10, 12)], channels_last=False)
    assert joined_axes(node, turned, (), perm) == ()
    tensors = {**turned.tensors, "x": replace(turned.tensor("x"), order=channels_last_order(4))}
    assert joined_axes(node, replace(turned, tensors=tensors), (), perm) == (3, 2, 1)


@pytest.mark.parametrize(("dtype", "share"), [(DType.INT8, 0.2), (DType.FLOAT32, 0.65)])
def test_rows_cost_less_than_elements(dtype: DType, share: float) -> None:
    """An image without its last two rows, as networks keep it that hear one frame at a time."""
    shapes = [(1, 16, 40, 40), (1, 16, 38, 40)]
    beside = moved(sliced((0, 0, 0, 0)), shapes, channels_last=True, dtype=dtype)
    tensors = {**beside.tensors, "y": replace(beside.tensor("y"), order=(0, 1, 2, 3))}
    assert cycles(beside) < share * cycles(replace(beside, tensors=tensors))


def test_each_input_of_a_concat_has_rows_of_its_own() -> None:
    shapes = [(1, 8, 9, 10), (1, 4, 9, 10), (1, 12, 9, 10)]
    inner = make_node("Concat", ["a", "b"], ["y"], attributes=AxisAttributes(1))
    by_pixels, by_planes = (moved(inner, shapes, channels_last=last) for last in (True, False))
    assert cycles(by_pixels) > 4.0 * cycles(by_planes)


def test_nothing_is_moved_without_attributes() -> None:
    node = make_node("Copy", ["x"], ["y"], attributes=NO_ATTRIBUTES)
    graph = moved(node, [(1, 1, 1, 1)] * 2, channels_last=False)
    assert joined_axes(node, graph) == ()
    assert cycles(graph) > 0.0
