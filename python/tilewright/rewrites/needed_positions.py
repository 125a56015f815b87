"""Only those positions are computed that a Slice behind takes.

Before:  x [1, 16, 24] -> conv 3 -> a -> conv 3 -> b -> Slice, the last 3 of 24 -> y
After:   x.needed = Slice(x, the last 7) -> conv, pads behind -> the last 5 of a -> conv, pads behind -> y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.graph import Graph, Node, Tensor
from tilewright.graph.edit import with_attributes
from tilewright.operators.movement import SliceAttributes
from tilewright.operators.nest import Interval
from tilewright.rewrites.columns import Columns, Read, Region, reads_along
from tilewright.rewrites.strips import Strip

_ENDING = "needed"
"""Names of tensors that lost positions end so."""

_FIRST = 2
"""Axes in front of it are no positions: batch and channels."""


def only_needed_positions(graph: Graph, feed: str = "") -> Graph:
    """The graph without positions of tensors that a Slice throws away, as far in front of it as all readers agree.

    Nothing is cut off an input that is fed row by row, nor where a state is read or left.

    Args:
        feed: the input that the caller gives row by row; empty for none.
    """
    kept = {feed, *(name for state in graph.states for name in (state.input, state.output))}
    for node in reversed(graph.nodes):
        for axis, taken in _cuts(node, graph):
            found = _narrowed_behind(graph, node, axis, taken, kept)
            if found is not None:
                return only_needed_positions(found, feed)
    return graph


def _cuts(node: Node, graph: Graph) -> list[tuple[int, Interval]]:
    """The axes of which a Slice takes a part in a row, with that part."""
    attributes = node.attributes
    if not isinstance(attributes, SliceAttributes):
        return []
    whole, part = (graph.tensor(name).shape for name in (node.inputs[0], node.outputs[0]))
    return [
        (axis, (attributes.starts[axis], attributes.starts[axis] + part[axis]))
        for axis in range(_FIRST, len(whole))
        if attributes.steps[axis] == 1 and part[axis] < whole[axis]
    ]


def _narrowed_behind(graph: Graph, cut: Node, axis: int, taken: Interval, kept: set[str]) -> Graph | None:
    """The graph with what is in front of a Slice narrowed; None where nothing can be, or nothing is saved."""
    region = _region(graph, cut, axis)
    spans = None if region is None else region.needed(taken)
    if region is None or spans is None:
        return None
    touched = {name for node in region.nodes for name in (*node.inputs, *node.outputs)}
    saved = any(_is_shorter(graph, node, spans) for node in region.nodes)
    if touched & kept or not saved:
        return None
    names = {*graph.tensors, *(node.name for node in graph.nodes)}
    strip = Strip(graph, region, _ENDING, taken, names)
    return _replaced(graph, cut, axis, region, strip) if strip.write() else None


def _is_shorter(graph: Graph, node: Node, spans: Mapping[str, Columns]) -> bool:
    """Whether a node that computes something loses positions; two Slices would change places for ever."""
    span = spans[node.outputs[0]]
    return node.operator != "Slice" and span.width < graph.tensor(node.outputs[0]).shape[span.axis]


def _region(graph: Graph, cut: Node, axis: int) -> Region | None:
    """The nodes in front of a Slice whose results nothing else needs, and that can compute some positions alone."""
    readers = graph.consumers()
    axes = {cut.inputs[0]: axis}
    inside = {cut.name}
    nodes: list[Node] = []
    reads: list[tuple[Read, ...]] = []
    for node in reversed(graph.nodes):
        along = axes.get(node.outputs[0]) if len(node.outputs) == 1 else None
        if along is None or node.outputs[0] in graph.outputs:
            continue
        own = reads_along(node, graph, along)
        is_closed = all(other.name in inside for other in readers[node.outputs[0]])
        if own is None or not is_closed or any(axes.get(read.tensor, read.axis) != read.axis for read in own):
            continue
        axes.update({read.tensor: read.axis for read in own})
        inside.add(node.name)
        nodes.insert(0, node)
        reads.insert(0, own)
    if not nodes or nodes[-1].outputs[0] != cut.inputs[0]:
        return None
    return Region(nodes[0].name, tuple(nodes), tuple(reads), graph.tensor(cut.inputs[0]).shape[axis], axis)


def _replaced(graph: Graph, cut: Node, axis: int, region: Region, strip: Strip) -> Graph:
    """The graph with a region's nodes, which keep their names, as a strip has them."""
    own = iter(region.nodes)
    made = {strip.names[node.outputs[0]]: node for node in region.nodes}
    written = [replace(node, name=next(own).name) if node.outputs[0] in made else node for node in strip.nodes]
    given = cut.given(SliceAttributes)
    starts = tuple(0 if number == axis else start for number, start in enumerate(given.starts))
    tensors: Mapping[str, Tensor] = {**graph.tensors, **strip.tensors}
    result = strip.names[region.result]
    if tensors[result].shape == graph.tensor(cut.outputs[0]).shape:
        rest: Sequence[Node] = ()
        written = [replace(node, outputs=cut.outputs) if node.outputs[0] == result else node for node in written]
    else:
        rest = (replace(with_attributes(cut, starts=starts), inputs=(result, *cut.inputs[1:])),)
    gone = {node.name for node in (*region.nodes, cut)}
    place = next(number for number, node in enumerate(graph.nodes) if node.name == cut.name)
    before, behind = (
        [node for node in some if node.name not in gone] for some in (graph.nodes[:place], graph.nodes[place:])
    )
    return graph.with_nodes([*before, *written, *rest, *behind], tensors)
