"""A window that slides: each run has some new frames, and gives the rows of the outputs that they complete.

The graph becomes that of a window so long that a program which works frame by frame is in its steady state before
the end: it can then go on behind the last frame as it did one period before.

Before:  x [1, 6, 128] -> causal convolutions -> y [1, 7, 128]; a run has 1 new frame
After:   x [1, 6, 164] -> the same -> y [1, 7, 164]; behind frame 163 follows what stands for frame 128 again
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import lcm, prod

from tilewright.base.errors import bad_input, not_supported, suggestion
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Slide, Tensor
from tilewright.rewrites.frames import NOT_SLIDING, Frames, frames_of

_LONGEST = 4
"""A period has at most so many times the rows of the deepest ring."""


def with_slide(graph: Graph, slide: Sequence[tuple[str, int]]) -> Graph:
    """The graph of the longer window; the graph itself where no window slides.

    Raises bad_input for what is no input, not_supported for a network whose window cannot slide.
    """
    if not slide:
        return graph
    if len(slide) > 1 or graph.states or len(graph.inputs) > 1:
        what = f"SLIDE with {len(slide)} windows, {len(graph.inputs)} inputs and {len(graph.states)} states"
        raise not_supported(NOT_SLIDING, what, help="a model of one input and no states, whose window slides")
    ((name, rows),) = slide
    if name not in graph.inputs:
        raise bad_input(
            "unknown-tensor", f"SLIDE names '{name}', which is no input", help=suggestion(name, graph.inputs)
        )
    frames = frames_of(graph, name)
    window = frames.extent(name)
    frames.needed(_whole_step(frames, name, rows))
    period = _period(frames, rows)
    longer = -(-window // rows) * rows + period - window
    tensors = {item.name: _longer(item, frames, longer) for item in graph.tensors.values()}
    new = tuple(rows // frames.followers[output].frames for output in graph.outputs)
    return replace(graph, tensors=tensors, fed=name, slide=Slide(rows, new, window, period), nominal_macs={})


def _longer(tensor: Tensor, frames: Frames, more: int) -> Tensor:
    """The tensor with the rows that so many more frames bring."""
    follower = frames.followers.get(tensor.name)
    if follower is None:
        return tensor
    shape = list(tensor.shape)
    shape[follower.axis] += more // follower.frames
    return replace(tensor, shape=tuple(shape))


def _whole_step(frames: Frames, name: str, rows: int) -> int:
    """The fewest frames that bring whole rows of every tensor.

    Raises an error unless the new frames of a run, and the window, are so many or a multiple.
    """
    each = lcm(*(follower.frames for follower in frames.followers.values()))
    if rows % each:
        what = f"SLIDE {name}={rows}: some layers make a row for every {each} frames"
        raise bad_input("bad-option", what, help=f"slide by a multiple of {each}")
    if frames.extent(name) % each:
        what = f"a window of {frames.extent(name)} frames, of which every {each} make a row in some layer"
        raise not_supported(NOT_SLIDING, what, help=f"export the model with a multiple of {each} frames")
    return each


@dataclass(frozen=True, slots=True)
class _Depth:
    """A tensor of which a ring has at least ``rows``, of so many bytes, each for ``frames`` frames."""

    rows: int
    row_bytes: int
    frames: int

    def bytes_in(self, period: int) -> int:
        """Bytes of the ring if a whole number of turns takes ``period`` frames."""
        return next(divisors(period // self.frames, self.rows)) * self.row_bytes


def divisors(number: int, least: int) -> Iterator[int]:
    """The divisors of a number from ``least`` on, the smallest first."""
    return (item for item in range(least, number + 1) if number % item == 0)


def _period(frames: Frames, rows: int) -> int:
    """The frames after which every ring is at its first row again: as many as take the fewest bytes of rings."""
    depths = list(_depths(frames, rows))
    step = lcm(rows, *(follower.frames for follower in frames.followers.values()))
    least = max((item.rows * item.frames for item in depths), default=1)
    first = -(-least // step)
    periods = [number * step for number in range(first, _LONGEST * first + 1)]
    return min(periods, key=lambda period: (sum(item.bytes_in(period) for item in depths), period))


def _depths(frames: Frames, rows: int) -> Iterator[_Depth]:
    """What the rings of tensors hold at least: the rows under the window that reaches farthest back."""
    spans: dict[str, int] = {}
    for reads in frames.reads.values():
        for read in reads:
            spans[read.tensor] = max(spans.get(read.tensor, 1), read.last - read.first + 1)
    for name, span in spans.items():
        tensor, follower = frames.graph.tensor(name), frames.followers[name]
        row = tensor.dtype.size_bytes * prod(tensor.shape) // tensor.shape[follower.axis]
        new = rows // follower.frames
        yield _Depth(span + new - 1 if span > 1 else new, row, follower.frames)
