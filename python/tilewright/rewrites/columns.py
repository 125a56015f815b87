"""Which columns of its inputs some columns of an image need, through all nodes in front of it.

Before:  x [1, 3, 8, 8] -> conv 3x3 -> a -> conv 3x3 -> y, padded by 1
After:   columns [2, 4) of y need [1, 5) of a and [0, 6) of x; columns [0, 2) need [0, 3) of a and [0, 4) of x
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node
from tilewright.operators.nest import AxisMap, Interval, Iteration, Nest, axis_range
from tilewright.rewrites.views import long_axes

COLUMNS = 3
"""The axis of columns of an image [N, C, H, W]."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The positions [lower, upper) of an axis of a tensor."""

    axis: int
    lower: int
    upper: int

    @property
    def width(self) -> int:
        """Number of positions."""
        return self.upper - self.lower

    def inside(self, extent: int) -> Columns:
        """The positions that are none of the padding."""
        lower = min(max(self.lower, 0), extent)
        return Columns(self.axis, lower, max(lower, min(self.upper, extent)))

    def with_both(self, other: Columns) -> Columns:
        """The shortest run of positions that has both."""
        return Columns(self.axis, min(self.lower, other.lower), max(self.upper, other.upper))


@dataclass(frozen=True, slots=True)
class Read:
    """Position p of a result's axis ``along`` needs [stride * p + first, stride * p + last] of an input's ``axis``."""

    tensor: str
    along: int
    axis: int
    extent: int
    stride: int
    first: int
    last: int

    def of(self, written: Columns) -> Columns:
        """The columns that some columns of the result need, those of the padding included."""
        last = self.stride * (written.upper - 1) + self.last
        return Columns(self.axis, self.stride * written.lower + self.first, last + 1)


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes in order, views included, of which nodes outside need nothing but the result of the last one.

    ``reads`` are the inputs of each node that have columns, ``extent`` the columns of the result, along ``axis``.
    ``first`` is the name of the first node that moves something.
    """

    first: str
    nodes: tuple[Node, ...]
    reads: tuple[tuple[Read, ...], ...]
    extent: int
    axis: int = COLUMNS

    @property
    def last(self) -> Node:
        """The node whose result is joined of strips."""
        return self.nodes[-1]

    @property
    def result(self) -> str:
        """The tensor that is joined of strips."""
        return self.last.outputs[0]

    def needed(self, columns: Interval) -> dict[str, Columns] | None:
        """The columns of each tensor that some columns of the result need; None where padding alone is read.

        Tensors from outside have all columns that any node needs.
        """
        spans = {self.result: Columns(self.axis, *columns)}
        for node, reads in zip(reversed(self.nodes), reversed(self.reads), strict=True):
            for read in reads:
                part = read.of(spans[node.outputs[0]]).inside(read.extent)
                if part.width < 1:
                    return None
                spans[read.tensor] = spans[read.tensor].with_both(part) if read.tensor in spans else part
        return spans


class Regions:
    """The regions of a graph whose results could be joined of strips.

    ``points`` are nodes such that of all that runs before, others need the result of the point alone.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._before: dict[str, frozenset[str]] = {}
        self._known: dict[tuple[str, int], tuple[Read, ...] | None] = {}
        self.points = tuple(self._points())

    def _points(self) -> Iterator[str]:
        graph, producers, readers = self.graph, self.graph.producers(), self.graph.consumers()
        for node in graph.nodes:
            makers = [producers[name].name for name in node.inputs if name in producers]
            self._before[node.name] = frozenset({node.name}).union(*(self._before[name] for name in makers))
            nodes = [other for other in graph.nodes if other.name in self._before[node.name]]
            if _is_image(node, graph) and _is_closed(nodes, graph, readers):
                yield node.name

    def between(self, point: str, last: str) -> Region | None:
        """The region behind a point, or from the inputs on where it is empty; None where there is none."""
        inside = self._before[last] - (self._before[point] if point else frozenset())
        nodes = tuple(node for node in self.graph.nodes if node.name in inside)
        reads = _all_reads(nodes, self.graph, self._known) if nodes and nodes[-1].name == last else None
        if reads is None or (point and point not in self._before[last]) or self._touches_kept(nodes):
            return None
        moving = (node.name for node in nodes if not declared(node, self.graph.extensions).is_view)
        region = Region(next(moving), nodes, reads, self.graph.tensor(nodes[-1].outputs[0]).shape[COLUMNS])
        return None if region.needed((0, region.extent)) is None else region

    def _touches_kept(self, nodes: Sequence[Node]) -> bool:
        """Whether nodes touch states, which are written once, or the rows of a fed input, which are there once."""
        kept = {name for state in self.graph.states for name in (state.input, state.output)}
        kept.update(name for node in self.graph.nodes if node.operator == "Feed" for name in node.outputs)
        return any(name in kept for node in nodes for name in (*node.inputs, *node.outputs) if name)

    def named(self, first: str, last: str) -> Region | None:
        """The region from the first to the last node that move something; None where there is none."""
        points = ("", *self.points) if last in self.points else ()
        found = (self.between(point, last) for point in points if point != last)
        return next((region for region in found if region is not None and region.first == first), None)


def _is_image(node: Node, graph: Graph) -> bool:
    """Whether the result of a node that moves something has its rows outermost in memory, and columns next."""
    result = graph.tensor(node.outputs[0])
    is_image = len(result.shape) == COLUMNS + 1 and long_axes(result.order, result.shape)[:2] == (2, COLUMNS)
    return is_image and node.outputs[0] not in graph.outputs and not declared(node, graph.extensions).is_view


def _is_closed(nodes: Sequence[Node], graph: Graph, readers: Mapping[str, Sequence[Node]]) -> bool:
    """Whether nothing but the result of the last node is needed outside, and each node has one result."""
    inside = {node.name for node in nodes}
    made = [name for node in nodes[:-1] for name in node.outputs]
    alone = all(len(node.outputs) == 1 for node in nodes)
    return alone and not any(
        name in graph.outputs or any(node.name not in inside for node in readers[name]) for name in made
    )


def _all_reads(
    nodes: Sequence[Node], graph: Graph, known: dict[tuple[str, int], tuple[Read, ...] | None]
) -> tuple[tuple[Read, ...], ...] | None:
    """What each node reads of its columns; None where some node cannot compute some columns alone."""
    axes = {nodes[-1].outputs[0]: COLUMNS}
    found: list[tuple[Read, ...]] = []
    for node in reversed(nodes):
        axis = axes.get(node.outputs[0])
        if axis is None:
            return None
        if (node.name, axis) not in known:
            known[node.name, axis] = reads_along(node, graph, axis)
        reads = known[node.name, axis]
        if reads is None or any(axes.setdefault(read.tensor, read.axis) != read.axis for read in reads):
            return None
        found.insert(0, reads)
    return tuple(found)


def reads_along(node: Node, graph: Graph, along: int) -> tuple[Read, ...] | None:
    """The inputs of a node that have columns; None where it cannot compute some columns alone."""
    operator = declared(node, graph.extensions)
    nest = operator.nest(node, graph)
    dimension = _dimension(node, nest, along) if operator.is_alike else None
    if dimension is None:
        return None
    others = {item.name: item.extent for item in nest.dimensions if item.name != dimension}
    found: dict[str, Read] = {}
    for name, maps in zip(node.inputs, nest.reads, strict=True):
        axes = [axis for axis, item in enumerate(maps) if dimension in dict(item.terms)]
        if not axes:
            continue
        tensor, axis = graph.tensor(name), axes[0]
        rows = axis_range(maps[axis], tensor.shape[axis], others)
        ((_, stride),) = rows.terms
        read = Read(name, along, axis, rows.extent, stride, rows.first_offset, rows.last_offset)
        if len(axes) > 1 or tensor.is_constant or stride < 1 or rows.divisor != 1:
            return None
        if found.setdefault(name, read) != read:
            return None
    return tuple(found.values()) or None


def _dimension(node: Node, nest: Nest, axis: int) -> str | None:
    """The dimension that positions of the result's axis follow one by one; None where it cannot be cut."""
    per_position = (getattr(node.attributes, key, None) for key in ("axis", "channel_axis"))
    written = nest.writes[0]
    if axis in per_position or len(written[axis].terms) != 1:
        return None
    ((name, _),) = written[axis].terms
    others = {term for number, item in enumerate(written) if number != axis for term, _ in item.terms}
    is_free = written[axis] == AxisMap(((name, 1),)) and name not in others
    return name if is_free and nest.dimension(name).iteration is Iteration.PARALLEL else None


def cuts(region: Region, most: int, graph: Graph) -> tuple[Interval, ...]:
    """The columns of the result that each strip makes: at most so many strips, and the widest as narrow as can be.

    Strips at both sides of the image have padding in the place of halo, and more columns of the result.
    """
    inner = [name for node in region.nodes[:-1] for name in node.outputs]
    names = inner or [read.tensor for reads in region.reads for read in reads]
    row_bytes = {name: _row_bytes(graph, name) for name in names}
    known: dict[Interval, int] = {}

    def size(columns: Interval) -> int:
        """Bytes of a row of all tensors in a strip, halo included."""
        if columns not in known:
            spans = region.needed(columns) or {}
            known[columns] = sum(spans[name].width * each for name, each in row_bytes.items() if name in spans)
        return known[columns]

    low, high = 0, size((0, region.extent))
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(_narrow(region.extent, size, middle)) <= most else (middle, high)
    return tuple(_narrow(region.extent, size, high))


def _narrow(extent: int, size: Callable[[Interval], int], most_bytes: int) -> list[Interval]:
    """Runs of columns of at most so many bytes each, as wide as can be from the left; at least a column each."""
    found: list[Interval] = []
    lower = 0
    while lower < extent:
        upper = lower + 1
        while upper < extent and size((lower, upper + 1)) <= most_bytes:
            upper += 1
        found.append((lower, upper))
        lower = upper
    return found


def _row_bytes(graph: Graph, name: str) -> int:
    """Bytes of a position of a tensor's columns in one row: its channels."""
    tensor = graph.tensor(name)
    return tensor.shape[1] * tensor.dtype.size_bytes if len(tensor.shape) == COLUMNS + 1 else tensor.dtype.size_bytes
