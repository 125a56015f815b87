"""Views: operators whose output is their input under another shape or axis order.

The memory order of a tensor matters only for axes longer than 1. A Reshape keeps the
elements in place if every run of axes that it merges or splits lies together, in row-major
order, in memory:

    x [1, 64, 25, 5] channels last (N H W C)  -> [1, 64, 125]  is a view, C still innermost
    x [1, 64, 25, 5] channels last            -> [1, 8000]     is none: C and H W would mix
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node, channels_last_order, identity_order
from tilewright.graph.edit import GraphEditor, joined_sources, with_attributes
from tilewright.operators.movement import TransposeAttributes

Shape = tuple[int, ...]
Order = tuple[int, ...]


def is_view(graph: Graph, node: Node) -> bool:
    """Whether a node moves no bytes: its output is its input under another shape or axis order."""
    if not declared(node, graph.extensions).is_view:
        return False
    source, target = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    order = view_order(node, source.shape, source.order, target.shape)
    return order is not None and same_order(order, target.order, target.shape)


def same_order(one: Order, other: Order, shape: Shape) -> bool:
    """Whether two orders put the elements of a tensor of that shape at the same places."""
    return long_axes(one, shape) == long_axes(other, shape)


def long_axes(order: Order, shape: Shape) -> Order:
    """The axes of extent above 1, outermost first."""
    return tuple(axis for axis in order if shape[axis] > 1)


def view_order(node: Node, source: Shape, order: Order, target: Shape) -> Order | None:
    """The order of a view's output when its input has ``order``; None if bytes would have to move."""
    if isinstance(node.attributes, TransposeAttributes):
        perm = node.attributes.perm
        return canonical(tuple(perm.index(axis) for axis in order), target)
    return reshaped_order(source, order, target)


def input_order(node: Node, source: Shape, order: Order, target: Shape) -> Order | None:
    """The order of a view's input when its output has ``order``; None if bytes would have to move."""
    if isinstance(node.attributes, TransposeAttributes):
        perm = node.attributes.perm
        return canonical(tuple(perm[axis] for axis in order), source)
    return reshaped_order(target, order, source)


def reshaped_order(source: Shape, order: Order, target: Shape) -> Order | None:
    """The order of ``target`` in which its row-major elements lie where those of ``source`` lie in ``order``.

    None if no order does.
    """
    result: list[int] = []
    rest = list(long_axes(order, source))
    runs = {ins[0]: (ins, outs) for ins, outs in runs_of_axes(source, target)}
    while rest:
        run = runs.get(rest[0])
        if run is None or tuple(rest[: len(run[0])]) != run[0]:
            return None
        del rest[: len(run[0])]
        result += run[1]
    return canonical(tuple(result), target)


def canonical(order: Order, shape: Shape) -> Order:
    """An order of all axes from an order of the long ones: row-major or channels last if either fits."""
    long = long_axes(order, shape)
    for usual in (identity_order(len(shape)), channels_last_order(len(shape))):
        if long_axes(usual, shape) == long:
            return usual
    return (*(axis for axis in range(len(shape)) if shape[axis] == 1), *long)


def runs_of_axes(source: Shape, target: Shape) -> list[tuple[Order, Order]]:
    """The shortest runs of axes of both shapes with equal numbers of elements; axes of extent 1 are left out.

    Example: [2, 6, 1, 4] and [2, 3, 8] have the runs ((0), (0)) and ((1, 3), (1, 2)).
    """
    ins = list(long_axes(identity_order(len(source)), source))
    outs = list(long_axes(identity_order(len(target)), target))
    runs = []
    while ins:
        run_in, run_out = [ins.pop(0)], [outs.pop(0)]
        left, right = source[run_in[0]], target[run_out[0]]
        while left != right:
            if left < right:
                run_in.append(ins.pop(0))
                left *= source[run_in[-1]]
            else:
                run_out.append(outs.pop(0))
                right *= target[run_out[-1]]
        runs.append((tuple(run_in), tuple(run_out)))
    return runs


def eliminate_views(graph: Graph) -> Graph:
    """The graph without views that change nothing, and with chains of views of one kind merged into one view."""
    editor = GraphEditor(graph)
    for listed in editor.nodes():
        # Removing a view changes the inputs of the nodes behind it.
        node = editor.current(listed)
        if node is not None and declared(node, editor.extensions).is_view:
            _simplify(editor, _merged(editor, node))
    return editor.graph()


def _merged(editor: GraphEditor, node: Node) -> Node:
    before = editor.producer(node.inputs[0])
    if before is None or before.operator != node.operator:
        return node
    merged = replace(node, inputs=before.inputs, sources=joined_sources(before, node))
    if isinstance(node.attributes, TransposeAttributes):
        inner = before.given(TransposeAttributes).perm
        merged = with_attributes(merged, perm=tuple(inner[axis] for axis in node.attributes.perm))
    return editor.replace(node, merged)


def _simplify(editor: GraphEditor, node: Node) -> None:
    source, target = editor.tensors[node.inputs[0]], editor.tensors[node.outputs[0]]
    if isinstance(node.attributes, TransposeAttributes):
        changes = node.attributes.perm != identity_order(len(source.shape))
    else:
        changes = source.shape != target.shape
    if not changes:
        editor.bypass(node)
