"""Editing a graph: a mutable working copy with producers and readers kept up to date.

Importers and rewrites take a ``Graph``, edit it here and give a new ``Graph`` back.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tilewright.graph import Array, Attributes, DType, Epilogue, Graph, Node, Tensor, constant, identity_order

NO_ATTRIBUTES = Attributes()
"""Of a node whose operator has none."""


class GraphEditor:
    """A graph under change.

    Nodes may be added in any order; ``graph()`` sorts them and drops what no output needs.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.tensors: dict[str, Tensor] = dict(graph.tensors)
        self.inputs = graph.inputs
        self.outputs = graph.outputs
        self._nodes: dict[str, Node] = {}
        self._producer: dict[str, str] = {}
        self._readers: dict[str, dict[str, None]] = {}
        self._rank: dict[str, tuple[int, int]] = {}
        self._added = 0
        for rank, node in enumerate(graph.nodes):
            self._insert(node, rank)

    @property
    def extensions(self) -> Mapping[str, object]:
        """Declarations of operators that are not Tilewright's own (``Graph.extensions``)."""
        return self._graph.extensions

    def nodes(self) -> tuple[Node, ...]:
        """The nodes in order of insertion; safe to edit while walking the result."""
        return tuple(self._nodes.values())

    def has(self, node: Node) -> bool:
        """Whether the node is still part of the graph, unchanged."""
        return self._nodes.get(node.name) is node

    def current(self, node: Node) -> Node | None:
        """What has become of a node under its name; None if it was removed."""
        return self._nodes.get(node.name)

    def add(self, node: Node) -> Node:
        """Add a node behind the latest producer of its inputs; the name is changed if it is taken."""
        before = [self._rank[self._producer[name]][0] for name in node.inputs if name in self._producer]
        return self._insert(node, max(before, default=0))

    def _insert(self, node: Node, rank: int) -> Node:
        name, number = node.name, 1
        while name in self._nodes:
            number += 1
            name = f"{node.name}_{number}"
        node = node if name == node.name else replace(node, name=name)
        self._nodes[name] = node
        self._rank[name] = (rank, self._added)
        self._added += 1
        for output in node.outputs:
            self._producer[output] = name
        for tensor in node.inputs:
            if tensor:
                self._readers.setdefault(tensor, {})[name] = None
        return node

    def remove(self, node: Node) -> None:
        """Remove a node; its output tensors stay known."""
        del self._nodes[node.name]
        for output in node.outputs:
            if self._producer.get(output) == node.name:
                del self._producer[output]
        for tensor in set(node.inputs):
            self._readers.get(tensor, {}).pop(node.name, None)

    def replace(self, old: Node, new: Node) -> Node:
        """Put a node in the place of another."""
        rank = self._rank[old.name][0]
        self.remove(old)
        return self._insert(new, rank)

    def producer(self, tensor: str) -> Node | None:
        """The node that writes a tensor; None for inputs and constants."""
        name = self._producer.get(tensor)
        return None if name is None else self._nodes[name]

    def readers(self, tensor: str) -> list[Node]:
        """The nodes that read a tensor."""
        return [self._nodes[name] for name in self._readers.get(tensor, ())]

    def sole_reader(self, tensor: str) -> Node | None:
        """The only node that reads a tensor, None if there are others or it is a graph output."""
        readers = self._readers.get(tensor, {})
        if len(readers) != 1 or tensor in self.outputs:
            return None
        return self._nodes[next(iter(readers))]

    def fresh(self, base: str) -> str:
        """A tensor name that is not taken: ``base`` or ``base_<n>``."""
        name, number = base, 1
        while name in self.tensors:
            number += 1
            name = f"{base}_{number}"
        return name

    def variable(self, like: Tensor, base: str, **changes: Any) -> Tensor:
        """A new row-major tensor like another one, computed at run time."""
        tensor = replace(like, name=self.fresh(base), data=None, **changes)
        tensor = replace(tensor, order=identity_order(len(tensor.shape)))
        self.tensors[tensor.name] = tensor
        return tensor

    def constant(self, base: str, data: Array) -> Tensor:
        """A new constant tensor."""
        tensor = constant(self.fresh(base), data)
        self.tensors[tensor.name] = tensor
        return tensor

    def redirect(self, old: str, new: str, nodes: Iterable[Node] | None = None) -> None:
        """Let readers of tensor ``old`` (all, or the given ones) read ``new``."""
        for node in list(self.readers(old) if nodes is None else nodes):
            inputs = tuple(new if name == old else name for name in node.inputs)
            self.replace(node, replace(node, inputs=inputs))

    def bypass(self, node: Node) -> bool:
        """Remove a node whose output equals its first input; False if the interface forbids it."""
        source, target = node.inputs[0], node.outputs[0]
        if target not in self.outputs:
            self.remove(node)
            self.redirect(target, source)
            return True
        producer = self.producer(source)
        if producer is None or source in self.outputs:
            return False
        self.remove(node)
        outputs = tuple(target if name == source else name for name in producer.outputs)
        self.replace(producer, replace(producer, outputs=outputs))
        self.redirect(source, target)
        return True

    def retype(self, name: str, dtype: DType, **changes: Any) -> None:
        """Give a tensor another element type."""
        self.tensors[name] = replace(self.tensors[name], dtype=dtype, **changes)

    def graph(self) -> Graph:
        """The edited graph: nodes in topological order, without those that no output needs."""
        keep = self._needed()
        ranked = sorted(self._nodes.values(), key=lambda node: self._rank[node.name])
        order = [node for node in sorted_nodes(ranked) if node.name in keep]
        edited = replace(self._graph, inputs=self.inputs, outputs=self.outputs)
        return edited.with_nodes(order, self.tensors)

    def _needed(self) -> set[str]:
        needed: set[str] = set()
        pending = [self._producer[name] for name in self.outputs if name in self._producer]
        while pending:
            name = pending.pop()
            if name in needed:
                continue
            needed.add(name)
            pending += [self._producer[t] for t in self._nodes[name].inputs if t in self._producer]
        return needed


def sorted_nodes(nodes: Iterable[Node]) -> list[Node]:
    """Topological order that keeps the given order where dependences allow; ValueError on a cycle."""
    listed = list(nodes)
    writer = {output: number for number, node in enumerate(listed) for output in node.outputs}
    waits: list[set[int]] = [{writer[t] for t in node.inputs if t in writer} for node in listed]
    followers: list[list[int]] = [[] for _ in listed]
    for number, before in enumerate(waits):
        for other in before:
            followers[other].append(number)
    ready = [number for number, before in enumerate(waits) if not before]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        number = heapq.heappop(ready)
        order.append(listed[number])
        for other in followers[number]:
            waits[other].discard(number)
            if not waits[other]:
                heapq.heappush(ready, other)
    if len(order) != len(listed):
        raise ValueError("the graph has a cycle")
    return order


def with_attributes(node: Node, **changes: Any) -> Node:
    """The node with some attributes changed; TypeError for a name that its attributes do not have."""
    return replace(node, attributes=replace(node.attributes, **changes))


def joined_sources(*nodes: Node) -> tuple[str, ...]:
    """Names of all nodes of the model that the given nodes stand for, each name once."""
    return tuple(dict.fromkeys(source for node in nodes for source in node.sources))


def untaken(name: str, taken: Container[str]) -> str:
    """The name, or a longer one if it is taken."""
    while name in taken:
        name += "_"
    return name


def make_node(
    operator: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    *,
    name: str = "",
    attributes: Attributes = NO_ATTRIBUTES,
    epilogue: Epilogue | None = None,
    sources: Iterable[str] = (),
) -> Node:
    """A node; without a name it is called after its first output."""
    outputs = tuple(outputs)
    return Node(name or outputs[0], operator, tuple(inputs), outputs, attributes, epilogue, tuple(sources))
