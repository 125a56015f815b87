"""An Expand between views that sets each element several times in turn becomes a Repeat: nearest upsampling.

Before:  a = Reshape(x [8, 5] to [8, 1, 5]), b = Expand(a to [8, 2, 5]), y = Reshape(b to [16, 5])
After:   y = Repeat(x, 2 and 1 times)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, joined_sources, make_node, with_attributes
from tilewright.operators.movement import RepeatAttributes, TransposeAttributes
from tilewright.rewrites.views import Shape, eliminate_views, runs_of_axes


@dataclass(frozen=True, slots=True)
class _Copies:
    """An Expand of one axis, and the views behind it.

    Attributes:
        expand: sets ``times`` copies along ``axis``, where its input has the extent 1.
        views: with the axis of copies in the shape behind each.
        joining: the Reshape behind them that joins the axis of copies with the one before it.
        joined: the shape with copies in which they lie along one axis with the elements that they repeat: that of
            the Reshape's output, or one from which a Reshape leads to it.
        along: that axis.
    """

    expand: Node
    axis: int
    times: int
    views: tuple[tuple[Node, int], ...]
    joining: Node
    joined: Shape
    along: int


def name_repeats(graph: Graph) -> Graph:
    """Repeats in the place of Expands between views, one Repeat where two follow each other, and transposed behind it.

    A Repeat between two Transposes is so among its neighbours, which run block by block with it.
    """
    editor = GraphEditor(graph)
    for node in editor.nodes():
        copies = _copies(editor, node) if node.operator == "Expand" and node.epilogue is None else None
        if copies is not None:
            _repeat(editor, copies)
    editor = GraphEditor(eliminate_views(editor.graph()))
    for listed in editor.nodes():
        found = editor.current(listed)
        if found is not None and found.operator == "Repeat":
            _merge(editor, _transposed_behind(editor, found))
    return editor.graph()


def _copies(editor: GraphEditor, expand: Node) -> _Copies | None:
    before, after = (editor.tensors[name].shape for name in (expand.inputs[0], expand.outputs[0]))
    grown = [axis for axis, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]]
    if len(before) != len(after) or len(grown) != 1:
        return None
    views: list[tuple[Node, int]] = []
    axis, times, name = grown[0], after[grown[0]], expand.outputs[0]
    while True:
        view = editor.sole_reader(name)
        if view is None or view.operator not in ("Reshape", "Transpose"):
            return None
        shape, name = editor.tensors[name].shape, view.outputs[0]
        target = editor.tensors[name].shape
        if isinstance(view.attributes, TransposeAttributes):
            axis = view.attributes.perm.index(axis)
        else:
            ins, outs = next(run for run in runs_of_axes(shape, target) if axis in run[0])
            joined = (target, outs[-1]) if ins[-1] == axis and len(outs) > 1 else _joined(shape, axis, ins)
            if joined is not None and joined[0][joined[1]] > times and not joined[0][joined[1]] % times:
                return _Copies(expand, grown[0], times, tuple(views), view, *joined)
            if ins[-1] != axis or target[outs[-1]] != times:
                return None
            axis = outs[-1]
        views.append((view, axis))


def _joined(shape: Shape, axis: int, ins: Sequence[int]) -> tuple[Shape, int] | None:
    """The shape with an axis joined with the long one before it, and the joined axis; None if there is none."""
    if axis == ins[0]:
        return None
    before = ins[ins.index(axis) - 1]
    wide = [extent * shape[axis] if place == before else extent for place, extent in enumerate(shape)]
    return _without(tuple(wide), axis), before


def _repeat(editor: GraphEditor, copies: _Copies) -> None:
    """The views of x without copies, then the Repeat."""
    x = editor.tensors[copies.expand.inputs[0]]
    name = _reshaped(editor, x.name, _without(x.shape, copies.axis), copies.expand)
    before = copies.axis
    for view, axis in copies.views:
        shape = _without(editor.tensors[view.outputs[0]].shape, axis)
        if isinstance(view.attributes, TransposeAttributes):
            perm = tuple(place - (place > before) for place in view.attributes.perm if place != before)
            target = editor.variable(x, f"{view.outputs[0]}/once", shape=shape)
            editor.add(with_attributes(replace(view, inputs=(name,), outputs=(target.name,)), perm=perm))
            name = target.name
        else:
            name = _reshaped(editor, name, shape, view)
        before = axis
    counts = tuple(copies.times if axis == copies.along else 1 for axis in range(len(copies.joined)))
    once = tuple(extent // count for extent, count in zip(copies.joined, counts, strict=True))
    name = _reshaped(editor, name, once, copies.joining)
    wide = editor.variable(x, f"{copies.joining.outputs[0]}/repeated", shape=copies.joined)
    node = make_node("Repeat", [name], [wide.name], attributes=RepeatAttributes(counts))
    editor.add(replace(node, sources=joined_sources(copies.expand, copies.joining)))
    editor.replace(copies.joining, replace(copies.joining, inputs=(wide.name,)))


def _reshaped(editor: GraphEditor, name: str, shape: Shape, instead_of: Node) -> str:
    """The tensor in another shape."""
    source = editor.tensors[name]
    target = editor.variable(source, f"{name}/once", shape=shape)
    node = make_node("Reshape", [name], [target.name], attributes=NO_ATTRIBUTES)
    editor.add(replace(node, sources=instead_of.sources))
    return target.name


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def _merge(editor: GraphEditor, node: Node) -> None:
    """One Repeat for two of which the second alone reads the first."""
    first = editor.producer(node.inputs[0])
    if first is None or first.operator != "Repeat" or editor.sole_reader(node.inputs[0]) is not node:
        return
    pairs = zip(first.given(RepeatAttributes).times, node.given(RepeatAttributes).times, strict=True)
    times = tuple(one * other for one, other in pairs)
    merged = with_attributes(replace(node, inputs=first.inputs, sources=joined_sources(first, node)), times=times)
    editor.replace(node, merged)


def _transposed_behind(editor: GraphEditor, node: Node) -> Node:
    """The Repeat of what a Transpose reads, and then the Transpose."""
    transpose = editor.producer(node.inputs[0])
    if transpose is None or not isinstance(transpose.attributes, TransposeAttributes):
        return node
    perm, times = transpose.attributes.perm, node.given(RepeatAttributes).times
    counts = tuple(times[perm.index(axis)] for axis in range(len(times)))
    x = editor.tensors[transpose.inputs[0]]
    shape = tuple(extent * count for extent, count in zip(x.shape, counts, strict=True))
    wide = editor.variable(x, f"{node.outputs[0]}/before", shape=shape)
    if editor.sole_reader(transpose.outputs[0]) is node:
        editor.remove(transpose)
    first = with_attributes(replace(node, inputs=(x.name,), outputs=(wide.name,)), times=counts)
    editor.add(replace(transpose, name=f"{node.name}/transposed", inputs=(wide.name,), outputs=node.outputs))
    return editor.replace(node, first)
