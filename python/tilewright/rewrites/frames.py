"""How the tensors of a network follow its frames: the rows of one input, one behind the other in time.

Before:  x [1, 6, 128] -> conv, 3 taps, pads (2, 0) -> a -> max pool, 2 taps, strides 2 -> y [1, 8, 64]
After:   axis 2 of x, a and y is that of frames; a row of a for each frame, one of y for two; the last row of y needs
         the last 2 rows of a and the last 4 frames
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tilewright.base.errors import TilewrightError, not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node
from tilewright.rewrites.columns import Columns, Read, reads_along
from tilewright.rewrites.views import runs_of_axes

NOT_SLIDING = "not-sliding"
"""The code of errors about windows that cannot slide."""

FIRST_AXIS = 2
"""The axis of frames of an input; axes in front are no positions: batch and channels."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A tensor along whose ``axis`` there is a row for every ``frames`` frames."""

    axis: int
    frames: int


@dataclass(slots=True)
class Frames:
    """The tensors of a graph that follow the rows of one input.

    Attributes:
        followers: by tensor, from the input on.
        reads: by node, what it reads of them; a view reads nothing.
    """

    graph: Graph
    followers: dict[str, Follower] = field(default_factory=dict)
    reads: dict[str, tuple[Read, ...]] = field(default_factory=dict)

    def extent(self, name: str) -> int:
        """Rows of a tensor that follows frames."""
        return self.graph.tensor(name).shape[self.followers[name].axis]

    def needed(self, rows: int) -> dict[str, Columns]:
        """The rows of each tensor that the newest ``rows`` frames change in the outputs, and all that these need.

        Raises not_supported for rows that the window does not have: behind the newest, or before the oldest frame.
        """
        spans = {
            name: Columns(
                self.followers[name].axis, self.extent(name) - rows // self.followers[name].frames, self.extent(name)
            )
            for name in self.graph.outputs
        }
        for node in reversed(self.graph.nodes):
            for part in self._needed_by(node, spans):
                spans[part[0]] = spans[part[0]].with_both(part[1]) if part[0] in spans else part[1]
        return spans

    def _needed_by(self, node: Node, spans: Mapping[str, Columns]) -> list[tuple[str, Columns]]:
        span = spans.get(node.outputs[0])
        if span is None or node.outputs[0] not in self.followers:
            return []
        if node.name not in self.reads:
            source = self.followers[node.inputs[0]]
            return [(node.inputs[0], Columns(source.axis, span.lower, span.upper))]
        found = []
        for read in self.reads[node.name]:
            part = read.of(span)
            if part.upper > read.extent:
                raise _not_causal(node, part.upper - read.extent)
            if part.lower < 0:
                raise _too_short(node, self.followers[read.tensor].frames * -part.lower)
            found.append((read.tensor, part))
        return found


def frames_of(graph: Graph, name: str) -> Frames:
    """The tensors that follow the rows of input ``name``; raises not_supported for a node that mixes its frames."""
    if len(graph.tensor(name).shape) <= FIRST_AXIS:
        what = f"input '{name}' has {len(graph.tensor(name).shape)} axes, and frames lie along axis {FIRST_AXIS}"
        raise not_supported(NOT_SLIDING, what, help="give the model an input [1, channels, frames]")
    found = Frames(graph, {name: Follower(_frames_axis(graph, name), 1)})
    for node in graph.nodes:
        if any(item in found.followers for item in node.inputs):
            _follow(found, node)
    for output in graph.outputs:
        if output not in found.followers:
            what = f"output '{output}' does not follow the frames of input '{name}'"
            raise not_supported(NOT_SLIDING, what, help="leave SLIDE out, or the output out of the model")
    return found


def _frames_axis(graph: Graph, name: str) -> int:
    """The axis of frames of an input: axis 2, as operators see it behind its views."""
    readers, path, seen = graph.consumers(), list[Node](), name
    while len(readers[seen]) == 1 and declared(readers[seen][0], graph.extensions).is_view:
        path.append(readers[seen][0])
        seen = path[-1].outputs[0]
    axis = FIRST_AXIS
    for node in reversed(path):
        axis = _source_axis(graph, node, axis)
    return axis


def _source_axis(graph: Graph, node: Node, axis: int) -> int:
    """The axis of a view's input whose positions are those of ``axis`` of its output."""
    found = [own for own in range(len(graph.tensor(node.inputs[0]).shape)) if _viewed_axis(graph, node, own) == axis]
    if not found:
        raise _mixes(node)
    return found[0]


def _viewed_axis(graph: Graph, node: Node, axis: int) -> int | None:
    """The axis of a view's output whose positions are those of ``axis`` of its input; None where there is none."""
    reads = [
        along
        for along in range(len(graph.tensor(node.outputs[0]).shape))
        for read in reads_along(node, graph, along) or ()
        if read.axis == axis and (read.stride, read.first, read.last) == (1, 0, 0)
    ]
    if reads:
        return reads[0]
    source, target = (graph.tensor(name).shape for name in (node.inputs[0], node.outputs[0]))
    runs = [outs for ins, outs in runs_of_axes(source, target) if ins == (axis,) and len(outs) == 1]
    return runs[0][0] if runs else None


def _follow(found: Frames, node: Node) -> None:
    """Add the result of a node that reads a follower."""
    graph, followers = found.graph, found.followers
    given = {name for name in node.inputs if name in followers}
    if declared(node, graph.extensions).is_view:
        source = followers[node.inputs[0]]
        axis = _viewed_axis(graph, node, source.axis)
        if axis is None:
            raise _mixes(node)
        followers[node.outputs[0]] = Follower(axis, source.frames)
        return
    for along in range(FIRST_AXIS, len(graph.tensor(node.outputs[0]).shape)):
        reads = reads_along(node, graph, along) or ()
        fitting = all(read.tensor in given and followers[read.tensor].axis == read.axis for read in reads)
        rates = {followers[read.tensor].frames * read.stride for read in reads if read.tensor in given}
        if {read.tensor for read in reads} == given and fitting and len(rates) == 1 and len(node.outputs) == 1:
            found.reads[node.name] = reads
            followers[node.outputs[0]] = Follower(along, rates.pop())
            return
    raise _mixes(node)


def _mixes(node: Node) -> TilewrightError:
    what = f"{node.operator} '{node.name}' needs all frames of the window, or differs from frame to frame"
    remedy = "export the model without it and compute it from the outputs, or leave SLIDE out"
    return not_supported(NOT_SLIDING, what, at=node.name, help=remedy)


def _not_causal(node: Node, rows: int) -> TilewrightError:
    what = (
        f"{node.operator} '{node.name}' has {rows} rows of padding behind the newest frame, so that a later frame "
        "changes what is computed already"
    )
    return not_supported(NOT_SLIDING, what, at=node.name, help="train it with pads in front alone, or without pads")


def _too_short(node: Node, frames: int) -> TilewrightError:
    what = (
        f"{node.operator} '{node.name}' computes the newest outputs from padding in front of the window, which is "
        f"{frames} frames too short for outputs that depend on frames alone"
    )
    return not_supported(NOT_SLIDING, what, at=node.name, help="export the model with a longer window")
