"""An input that is fed: one operator, Feed, reads its rows and hands them to all that read the input.

Before:  x [1, 3, 144, 144] -> conv, relu
After:   x [1, 3, 144, 144], a row of 3 x 144 after the other -> Feed -> x.rows, channels last -> conv, relu
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.base.errors import TilewrightError, bad_input, not_supported, suggestion
from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node, Tensor
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.operators.movement import TransposeAttributes
from tilewright.rewrites.views import Order, canonical, long_axes, runs_of_axes, view_order

NOT_FED = "not-fed"
"""The code of errors about inputs that cannot be fed."""

_NOT_SLID = "leave SLIDE out"


def with_feed(graph: Graph, name: str) -> Graph:
    """The graph with a Feed behind input ``name``, or behind the views of it; the graph itself for an empty name.

    Raises bad_input for what is no input, not_supported for one that is read in several shapes or not at all.
    """
    if not name:
        return graph
    states = {state.input for state in graph.states}
    callers = [item for item in graph.inputs if item not in states]
    if name not in callers:
        what = f"FEED names '{name}', which is no input that the caller gives"
        raise bad_input("unknown-tensor", what, help=suggestion(name, callers))
    seen = _seen_as(graph, name)
    readers = graph.consumers()[seen]
    if not readers or seen in graph.outputs:
        raise refused(name, "no operator computes anything from it")
    editor = GraphEditor(graph)
    rows = editor.variable(editor.tensors[seen], f"{name}.rows")
    editor.redirect(seen, rows.name)
    editor.add(make_node("Feed", [seen], [rows.name], name=f"feed {name}"))
    return replace(editor.graph(), fed=name)


def refused(name: str, why: str, help: str = "leave FEED out") -> TilewrightError:
    """The error for an input that cannot be fed."""
    return not_supported(NOT_FED, f"input '{name}' cannot be fed: {why}", help=help)


def _seen_as(graph: Graph, name: str) -> str:
    """The tensor in which operators see an input: the input, or the last of its views."""
    readers = graph.consumers()
    seen = name
    while any(_is_view(graph, node) for node in readers[seen]):
        if len(readers[seen]) > 1:
            raise refused(name, "operators read it in several shapes", "feed a model whose first operator reads it")
        seen = readers[seen][0].outputs[0]
    return seen


def _is_view(graph: Graph, node: Node) -> bool:
    return declared(node, graph.extensions).is_view


def in_rows(graph: Graph) -> Graph:
    """The graph whose fed input lies in memory row by row: the rows are those of the tensor that Feed writes.

    Raises not_supported where the rows that operators read are no rows of the input.
    """
    if not graph.fed:
        return graph
    (feed,) = (node for node in graph.nodes if node.operator == "Feed")
    written = graph.tensor(feed.outputs[0])
    order = _rows_first(written)
    axis = long_axes(order, written.shape)[0] if long_axes(order, written.shape) else 0
    views = _views(graph, feed)
    for node in reversed(views):
        axis = _axis_before(graph, node, axis)
    given = graph.tensor(graph.fed)
    others = tuple(other for other in range(len(given.shape)) if other != axis)
    tensors = {**graph.tensors, written.name: replace(written, order=order)}
    tensors[given.name] = replace(given, order=canonical((axis, *others), given.shape))
    for node in views:
        source, target = tensors[node.inputs[0]], tensors[node.outputs[0]]
        seen = view_order(node, source.shape, source.order, target.shape)
        if seen is None:
            raise refused(graph.fed, f"{node.operator} '{node.name}' mixes its rows")
        tensors[target.name] = replace(target, order=seen)
    in_order = replace(graph, tensors=tensors)
    return in_order if graph.slide is None else _outputs_in_rows(in_order)


def _outputs_in_rows(graph: Graph) -> Graph:
    """The graph whose outputs lie in memory row by row, as the caller gets them where a window slides."""
    tensors, producers, readers = dict(graph.tensors), graph.producers(), graph.consumers()
    for output in graph.outputs:
        views: list[Node] = []
        name = output
        while name in producers and _is_view(graph, producers[name]):
            views.insert(0, producers[name])
            name = producers[name].inputs[0]
        # The first view reads the result itself.
        is_read_again = len(readers[name]) > min(len(views), 1) or (views and readers[output])
        if name not in producers or is_read_again:
            raise refused(graph.fed, f"output '{output}' is read again, or is a part of the input", _NOT_SLID)
        tensors[name] = replace(graph.tensor(name), order=_rows_first(graph.tensor(name)))
        for node in views:
            source, target = tensors[node.inputs[0]], tensors[node.outputs[0]]
            seen = view_order(node, source.shape, source.order, target.shape)
            if seen is None:
                raise refused(graph.fed, f"{node.operator} '{node.name}' mixes rows of output '{output}'", _NOT_SLID)
            tensors[target.name] = replace(target, order=seen)
    return replace(graph, tensors=tensors)


def _rows_first(tensor: Tensor) -> Order:
    """The memory order with rows outermost: the tensor's own, or, if that begins with channels, the next axis first."""
    long = long_axes(tensor.order, tensor.shape)
    if len(tensor.shape) < 3 or not long or long[0] != 1 or len(long) < 2:
        return tensor.order
    return canonical((long[1], 1, *long[2:]), tensor.shape)


def _views(graph: Graph, feed: Node) -> list[Node]:
    """The views between a fed input and its Feed, in order."""
    producers = graph.producers()
    found: list[Node] = []
    name = feed.inputs[0]
    while name != graph.fed:
        found.insert(0, producers[name])
        name = producers[name].inputs[0]
    return found


def _axis_before(graph: Graph, node: Node, axis: int) -> int:
    """The axis of a view's input whose positions are those of ``axis`` of its output."""
    if isinstance(node.attributes, TransposeAttributes):
        return node.attributes.perm[axis]
    source, target = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    runs = [ins for ins, outs in runs_of_axes(source.shape, target.shape) if outs == (axis,) and len(ins) == 1]
    if not runs:
        raise refused(graph.fed, f"{node.operator} '{node.name}' mixes its rows")
    return runs[0][0]


def fed_axis(graph: Graph, name: str = "") -> int:
    """The axis of the fed input, or of another tensor that lies row by row, whose positions are rows."""
    given = graph.tensor(name or graph.fed)
    return next(iter(long_axes(given.order, given.shape)), 0)
