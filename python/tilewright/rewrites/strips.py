"""Layers once for each strip of columns: what is alive of a row is as narrow as a strip.

Each strip computes the columns of all tensors before that its own part of the result needs. Columns that two strips
need, the halo, are computed twice; weights are the same constants.

Before:  x [1, 3, 8, 8] -> conv 3x3 -> a -> conv 3x3 -> y
After:   x.0 = Slice(x, columns [0, 6)) -> conv, pads left -> a.0, columns [0, 5) -> conv -> y.0, columns [0, 4)
         x.1 = Slice(x, columns [2, 8)) -> conv, pads right -> a.1, columns [3, 8) -> conv -> y.1, columns [4, 8)
         y = Concat(y.0, y.1), whose parts lie in y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node, Tensor
from tilewright.graph.edit import make_node, untaken, with_attributes
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.movement import PadAttributes, SliceAttributes
from tilewright.operators.nest import Interval
from tilewright.operators.spatial import Windows
from tilewright.rewrites.columns import COLUMNS, Columns, Region, Regions, cuts


@dataclass(frozen=True, slots=True)
class Strips:
    """The nodes from ``first`` to ``last`` are computed in at most ``count`` strips."""

    first: str
    last: str
    count: int


@dataclass(frozen=True, slots=True)
class Stripped:
    """A graph in strips, and the names of the nodes that must be views of parts for strips to save anything."""

    graph: Graph
    views: frozenset[str]


def with_strips(graph: Graph, strips: Strips) -> Stripped | None:
    """The graph with some nodes once for each strip; None where it has no such region, or too few columns."""
    region = Regions(graph).named(strips.first, strips.last)
    columns = () if region is None else cuts(region, strips.count, graph)
    if region is None or len(columns) < 2:
        return None
    taken = {*graph.tensors, *(node.name for node in graph.nodes)}
    written = [Strip(graph, region, number, own, taken) for number, own in enumerate(columns)]
    if not all(strip.write() for strip in written):
        return None
    parts = [strip.names[region.result] for strip in written]
    joint = make_node(
        "Concat",
        parts,
        [region.result],
        name=untaken(f"{region.last.name}.strips", taken),
        attributes=AxisAttributes(COLUMNS),
        sources=region.last.sources,
    )
    copied = {node.name for node in region.nodes}
    end = max(number for number, node in enumerate(graph.nodes) if node.name in copied)
    before, rest = (
        [node for node in some if node.name not in copied] for some in (graph.nodes[:end], graph.nodes[end:])
    )
    tensors = {**graph.tensors, **{name: item for strip in written for name, item in strip.tensors.items()}}
    nodes = [*before, *(node for strip in written for node in strip.nodes), joint]
    views = {joint.name, *(name for strip in written for name in strip.views)}
    return Stripped(graph.with_nodes([*nodes, *rest], tensors), frozenset(views))


@dataclass(slots=True)
class Strip:
    """One strip as it is written; all names in it end in ``.<number>``.

    Attributes:
        graph, region, number, columns: what is computed: the columns of the region's result.
        taken: names of tensors and nodes that a new one must not have.
        nodes, tensors: the strip's own.
        names: by tensor of the region, the strip's part of it.
        views: slices of inputs.
        sliced: by tensor and columns, the tensor that has these columns of the strip's part alone.
    """

    graph: Graph
    region: Region
    number: int | str
    columns: Interval
    taken: set[str]
    nodes: list[Node] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    views: list[str] = field(default_factory=list)
    sliced: dict[tuple[str, Columns], str] = field(default_factory=dict)

    def write(self) -> bool:
        """Fill in nodes and tensors; False where the region cannot be computed in strips."""
        spans = self.region.needed(self.columns)
        if spans is None:
            return False
        for node, reads in zip(self.region.nodes, self.region.reads, strict=True):
            own = {read.tensor: read.of(spans[node.outputs[0]]) for read in reads}
            inputs = [self._input(node, name, own[name], spans) if name in own else name for name in node.inputs]
            output = self._tensor(node.outputs[0], spans[node.outputs[0]])
            self.names[node.outputs[0]] = output
            narrowed = replace(_narrowed(node, own, self.graph), name=self._name(node.name))
            self.nodes.append(replace(narrowed, inputs=tuple(inputs), outputs=(output,)))
        return True

    def _input(self, node: Node, name: str, read: Columns, spans: Mapping[str, Columns]) -> str:
        """The tensor from which a node reads columns: the strip's part of ``name``, or some columns of that."""
        tensor = self.graph.tensor(name)
        wanted = read.inside(tensor.shape[read.axis])
        is_made = name in self.names
        have = spans[name] if is_made else Columns(read.axis, 0, tensor.shape[read.axis])
        source = self.names.get(name, name)
        # A window may find more columns behind those that it needs, but not before.
        is_window = is_made and isinstance(node.attributes, Windows) and have.lower == wanted.lower
        if have == wanted or is_window:
            return source
        if (name, wanted) not in self.sliced:
            part = self._tensor(name, wanted)
            starts = tuple(wanted.lower - have.lower if axis == read.axis else 0 for axis in range(len(tensor.shape)))
            attributes = SliceAttributes(starts, (1,) * len(starts))
            cut = make_node("Slice", [source], [part], name=part, attributes=attributes, sources=node.sources)
            self.nodes.append(cut)
            self.views += [] if is_made else [cut.name]
            self.sliced[name, wanted] = part
        return self.sliced[name, wanted]

    def _tensor(self, name: str, columns: Columns) -> str:
        """A new tensor for some columns of another one."""
        whole = self.graph.tensor(name)
        shape = list(whole.shape)
        shape[columns.axis] = columns.width
        part = replace(whole, name=self._name(name), shape=tuple(shape))
        self.tensors[part.name] = part
        return part.name

    def _name(self, name: str) -> str:
        found = untaken(f"{name}.{self.number}", self.taken)
        self.taken.add(found)
        return found


def _narrowed(node: Node, reads: Mapping[str, Columns], graph: Graph) -> Node:
    """The node with the attributes that it has for some columns: padding stays only where the image ends."""
    read = reads.get(node.inputs[0])
    if read is None:
        return node
    extent = graph.tensor(node.inputs[0]).shape[read.axis]
    begin, end = max(0, -read.lower), max(0, read.upper - extent)
    if isinstance(node.attributes, SliceAttributes):
        return with_attributes(node, starts=_replaced(node.attributes.starts, read.axis, 0))
    if isinstance(node.attributes, PadAttributes):
        pads = _replaced(node.attributes.pads, read.axis, begin)
        return with_attributes(node, pads=_replaced(pads, len(pads) // 2 + read.axis, end))
    if isinstance(node.attributes, Windows):
        place, rank = read.axis - 2, node.attributes.rank
        pads = _replaced(node.attributes.pads, place, begin)
        return with_attributes(node, pads=_replaced(pads, rank + place, min(end, pads[rank + place])))
    return node


def _replaced(values: Sequence[int], place: int, value: int) -> tuple[int, ...]:
    return (*values[:place], value, *values[place + 1 :])
