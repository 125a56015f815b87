"""When a Reshape or Transpose moves no bytes, against positions counted one by one."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.layouts import moves_nothing, places
from tilewright.graph import DType, Graph, channels_last_order, variable
from tilewright.graph.edit import NO_ATTRIBUTES, make_node
from tilewright.operators.movement import TransposeAttributes
from tilewright.rewrites.views import (
    canonical,
    eliminate_views,
    input_order,
    is_view,
    reshaped_order,
    same_order,
    view_order,
)

EXTENTS = st.sampled_from([1, 2, 3, 4, 6])


@st.composite
def reshapes(draw):
    """A shape, another one with as many elements, and an order of the first."""
    before = tuple(draw(st.lists(EXTENTS, min_size=1, max_size=4)))
    after = []
    rest = prod(before)
    while rest > 1:
        divisor = draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
        after.append(divisor)
        rest //= divisor
        if len(after) == 4:
            after.append(rest)
            rest = 1
    order = tuple(draw(st.permutations(range(len(before)))))
    return before, tuple(after), order


@given(reshapes())
def test_an_order_that_keeps_places_is_found_if_there_is_one(case):
    before, after, order = case
    kept = places(before, order).reshape(after)
    found = reshaped_order(before, order, after)
    if found is not None:
        assert sorted(found) == list(range(len(after)))
        assert (places(after, found) == kept).all()
    else:
        assert not any((places(after, other) == kept).all() for other in _orders(len(after)))


def _orders(rank):
    from itertools import permutations

    return permutations(range(rank))


@given(reshapes())
def test_reshape_orders_are_inverse(case):
    before, after, order = case
    found = reshaped_order(before, order, after)
    assume(found is not None)
    assert same_order(reshaped_order(after, found, before), order, before)


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_transpose_orders_are_inverse(perm, order):
    source = (2, 3, 4, 5)
    target = tuple(source[axis] for axis in perm)
    node = make_node("Transpose", ["x"], ["y"], attributes=TransposeAttributes(tuple(perm)))
    there = view_order(node, source, tuple(order), target)
    assert same_order(input_order(node, source, there, target), tuple(order), source)
    tensors = {"x": variable("x", DType.INT8, source), "y": variable("y", DType.INT8, target)}
    from dataclasses import replace

    tensors = {"x": replace(tensors["x"], order=tuple(order)), "y": replace(tensors["y"], order=there)}
    graph = Graph("g", (node,), tensors, ("x",), ("y",))
    assert is_view(graph, node)
    assert moves_nothing(graph, node)


def test_canonical_prefers_the_usual_orders():
    assert canonical((3, 2, 1, 0), (1, 5, 1, 1)) == (0, 1, 2, 3)
    assert canonical((2, 3, 1, 0), (1, 5, 4, 4)) == channels_last_order(4)
    assert canonical((1, 2, 0), (3, 4, 5)) == (1, 2, 0)


def chain(*nodes, shapes):
    tensors = {name: variable(name, DType.INT8, shape) for name, shape in shapes.items()}
    names = list(shapes)
    return Graph("g", tuple(nodes), tensors, (names[0],), (names[-1],))


def test_chains_of_views_merge():
    graph = chain(
        make_node("Reshape", ["x"], ["a"]),
        make_node("Reshape", ["a"], ["b"]),
        make_node("Transpose", ["b"], ["c"], attributes=TransposeAttributes((1, 0))),
        make_node("Transpose", ["c"], ["d"], attributes=TransposeAttributes((1, 0))),
        make_node("Tanh", ["d"], ["y"]),
        shapes={"x": (2, 6), "a": (12,), "b": (3, 4), "c": (4, 3), "d": (3, 4), "y": (3, 4)},
    )
    merged = eliminate_views(graph)
    assert [node.operator for node in merged.nodes] == ["Reshape", "Tanh"]
    assert merged.nodes[0].inputs == ("x",)


@pytest.mark.parametrize("operator", ["Reshape", "Transpose"])
def test_views_that_change_nothing_vanish(operator):
    attributes = TransposeAttributes((0, 1)) if operator == "Transpose" else NO_ATTRIBUTES
    graph = chain(
        make_node("Tanh", ["x"], ["a"]),
        make_node(operator, ["a"], ["y"], attributes=attributes),
        shapes={"x": (2, 6), "a": (2, 6), "y": (2, 6)},
    )
    (node,) = eliminate_views(graph).nodes
    assert (node.operator, node.outputs) == ("Tanh", ("y",))


def test_a_view_from_input_to_output_stays():
    graph = chain(make_node("Reshape", ["x"], ["y"]), shapes={"x": (2, 6), "y": (2, 6)})
    assert len(eliminate_views(graph).nodes) == 1


def test_a_chain_of_views_that_change_nothing_vanishes_whole() -> None:
    x = variable("x", DType.FLOAT32, (2, 3))
    names = ("a", "b", "c", "y")
    nodes = [
        make_node("Reshape", ["x"], ["a"]),
        make_node("Reshape", ["a"], ["b"]),
        make_node("Transpose", ["b"], ["c"], attributes=TransposeAttributes((1, 0))),
        make_node("Sigmoid", ["c"], ["y"]),
    ]
    shapes = {"a": (2, 3), "b": (2, 3), "c": (3, 2), "y": (3, 2)}
    tensors = {"x": x, **{name: variable(name, DType.FLOAT32, shapes[name]) for name in names}}
    graph = eliminate_views(Graph("g", tuple(nodes), tensors, ("x",), ("y",)))
    assert [(node.operator, node.inputs) for node in graph.nodes] == [("Transpose", ("x",)), ("Sigmoid", ("c",))]
