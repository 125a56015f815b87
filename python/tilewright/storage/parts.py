"""Parts that can lie inside a whole, so that Concat and Slice move nothing.

Before:  c = Concat(a, b, x), x a graph input
After:   a and b are planned inside c; x.part = Copy(x) is the third part; Concat needs no code
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import lcm

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node, Tensor
from tilewright.graph.edit import make_node, untaken
from tilewright.kernels.kernel import MAX_RANK
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.movement import SliceAttributes
from tilewright.operators.operator import Joins
from tilewright.plan import Link
from tilewright.rewrites.views import same_order
from tilewright.storage.families import Families
from tilewright.storage.places import Part


@dataclass(frozen=True, slots=True)
class Joined:
    """A graph, perhaps with Copy nodes added, its families, and the Concat and Slice nodes that need no code."""

    graph: Graph
    families: Families
    nodes: frozenset[str]


def _joins(node: Node, graph: Graph) -> Joins:
    return declared(node, graph.extensions).joins


def joining_nodes(graph: Graph) -> list[str]:
    """Names of the nodes that might become views of parts, in order."""
    return [node.name for node in graph.nodes if _joins(node, graph) is not Joins.NONE and node.epilogue is None]


def join_parts(graph: Graph, chosen: Collection[str], links: Iterable[Link] = ()) -> Joined:
    """Join the parts of the chosen Concat and Slice nodes with their wholes, where a part can lie in its whole.

    An input of a Concat that cannot lie in the output (it is the caller's, a constant, in another
    memory order, or would be in two places) is copied into its part, if another input can lie there.
    """
    # Links that round up may read behind a part, where the whole goes on; stores of larger tiles are whole units.
    grain = lcm(*(link.align_bytes for link in links))
    families = Families(graph, grain)
    wanted = [node for node in graph.nodes if node.name in chosen]
    parts = [slice_part(node) for node in wanted if _joins(node, graph) is Joins.PART]
    parts = [part for part in parts if _join(families, part)]
    copied: dict[str, list[int]] = {}
    for node in (node for node in wanted if _joins(node, graph) is Joins.PARTS):
        positions = _join_concat(families, node)
        if positions is not None:
            copied[node.name] = positions
    edited = _with_copies(graph, copied)
    families = Families(edited, grain)
    for node in edited.nodes:
        if node.name in copied:
            parts += concat_parts(edited, node)
    for part in parts:
        taken = families.join(part)
        assert taken, f"{part.tensor} does not lie in {part.whole} after all"
    sliced = {part.tensor for part in parts if not part.made_of}
    nodes = {node.name for node in edited.nodes if _joins(node, edited) is Joins.PART and node.outputs[0] in sliced}
    return Joined(edited, families, frozenset(nodes | set(copied)))


def slice_part(node: Node) -> Part:
    """The output of a Slice, as a part of the Slice's input."""
    given = node.given(SliceAttributes)
    starts, steps = given.starts, given.steps
    return Part(node.outputs[0], node.inputs[0], tuple(map(int, starts)), tuple(map(int, steps)), made_of=False)


def concat_parts(graph: Graph, node: Node) -> list[Part]:
    """The inputs of a Concat, as parts of the Concat's output."""
    whole = graph.tensor(node.outputs[0])
    axis = node.given(AxisAttributes).axis
    parts, at = [], 0
    for name in node.inputs:
        starts = tuple(at if position == axis else 0 for position in range(len(whole.shape)))
        parts.append(Part(name, whole.name, starts, (1,) * len(whole.shape), made_of=True))
        at += graph.tensor(name).shape[axis]
    return parts


def _join_concat(families: Families, node: Node) -> list[int] | None:
    """Join the inputs that can lie in the output.

    Returns the positions of the inputs that must be copied; None, with nothing joined, if no input can
    lie in the output or one that cannot can not be copied either.
    """
    graph = families.graph
    joined, others = [], []
    for position, part in enumerate(concat_parts(graph, node)):
        if _join(families, part):
            joined.append(part)
        else:
            others.append((position, part, graph.tensor(part.tensor)))
    if joined and all(_can_copy(families, part, tensor) for _, part, tensor in others):
        return [position for position, _, _ in others]
    for part in joined:
        families.leave(part.tensor)
    return None


def _join(families: Families, part: Part) -> bool:
    """Join a part if it has the memory order of its whole: another order was chosen for the sake of its readers."""
    tensor, whole = families.graph.tensor(part.tensor), families.graph.tensor(part.whole)
    return same_order(tensor.order, whole.order, tensor.shape) and families.join(part)


def _can_copy(families: Families, part: Part, tensor: Tensor) -> bool:
    return len(tensor.shape) <= MAX_RANK and tensor.elements > 0 and families.fits(part, tensor.dtype.size_bytes)


def _with_copies(graph: Graph, copied: dict[str, list[int]]) -> Graph:
    """The graph with a Copy before each Concat in ``copied`` for its inputs at the given positions."""
    tensors = dict(graph.tensors)
    names = {*tensors, *(node.name for node in graph.nodes)}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = list(node.inputs)
        for position in copied.get(node.name, ()):
            name = untaken(f"{node.outputs[0]}/part{position}", names)
            whole = tensors[node.outputs[0]]
            tensors[name] = replace(tensors[inputs[position]], name=name, order=whole.order, data=None)
            names.add(name)
            nodes.append(make_node("Copy", [inputs[position]], [name], sources=node.sources))
            inputs[position] = name
        nodes.append(node if tuple(inputs) == node.inputs else replace(node, inputs=tuple(inputs)))
    return graph.with_nodes(nodes, tensors) if any(copied.values()) else graph
