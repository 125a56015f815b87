"""Which tensors share bytes: views of one storage, and parts that lie inside a whole.

A *group* is a set of tensors that Reshape and Transpose join: all hold the same bytes. A group
may be a part of another one: an input of a Concat lies inside the output, a Slice inside its
input. A *family* is a group that is no part with all groups inside it; its root owns the bytes.

Before:  c = Concat(a, b) on axis 1, r = Reshape(c), s = Slice(r)
After:   groups {a} {b} {c, r} {s}; a, b and s are parts of {c, r}; one family, its root c
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.graph import Graph, Node
from tilewright.rewrites.views import is_view
from tilewright.storage.places import Part, Place, reach_bytes, same_strides, viewed, viewed_back


class Families:
    """Groups of a graph under construction; ``join`` puts one group inside another.

    Links need addresses and lengths that are multiples of ``grain_bytes``: where it is above 1, only
    contiguous parts at such multiples are joined.
    """

    def __init__(self, graph: Graph, grain_bytes: int = 1) -> None:
        self.graph = graph
        self.parts: dict[str, Part] = {}
        self.places: dict[str, Place] = {}
        self._grain_bytes = grain_bytes
        self._interface = {*graph.inputs, *graph.outputs}
        self._left = {state.output for state in graph.states}
        self._views: dict[str, list[tuple[Node, str]]] = {}
        self._owner = {name: name for name in graph.tensors}
        self._members = {name: [name] for name in graph.tensors}
        for node in graph.nodes:
            if is_view(graph, node):
                self._unite(node)
        for name in graph.tensors:
            self.places[name] = Place(0, graph.tensor(name).strides_bytes)

    def group(self, tensor: str) -> str:
        """The tensor that names the group: an interface tensor, else the one that is computed first."""
        return self._owner[tensor]

    def root(self, tensor: str) -> str:
        """The tensor that owns the bytes of the family."""
        group = self._owner[tensor]
        while group in self.parts:
            group = self._owner[self.parts[group].whole]
        return group

    def join(self, part: Part) -> bool:
        """Put the part's group inside the group of its whole; False, and no change, if the part cannot lie there."""
        group = self._owner[part.tensor]
        if not self._may_join(part, group):
            return False
        self.parts[group] = part
        if self._relocate(group):
            return True
        self.leave(part.tensor)
        return False

    def leave(self, tensor: str) -> None:
        """Take a part out of its whole again."""
        group = self._owner[tensor]
        del self.parts[group]
        self._relocate(group)

    def fits(self, part: Part, element_bytes: int) -> bool:
        """Whether links can copy the part where it would lie."""
        if self._grain_bytes == 1:
            return True
        place = part.place(self.places[part.whole])
        tensor = self.graph.tensor(part.tensor)
        size = tensor.elements * element_bytes
        contiguous = same_strides(tensor.shape, place.strides_bytes, tensor.strides_bytes)
        return contiguous and place.offset_bytes % self._grain_bytes == 0 and size % self._grain_bytes == 0

    def _unite(self, node: Node) -> None:
        source, target = node.inputs[0], node.outputs[0]
        self._views.setdefault(source, []).append((node, target))
        self._views.setdefault(target, []).append((node, source))
        one, other = self._owner[source], self._owner[target]
        kept, gone = (other, one) if other in self._interface and one not in self._interface else (one, other)
        for name in self._members[gone]:
            self._owner[name] = kept
        self._members[kept] += self._members.pop(gone)

    def _may_join(self, part: Part, group: str) -> bool:
        tensor, whole = self.graph.tensor(part.tensor), self.graph.tensor(part.whole)
        known = [self.graph.tensor(name) for name in (*self._members[group], *self._members[self._owner[part.whole]])]
        return (
            group not in self.parts
            and group != self.root(part.whole)
            and self._interface.isdisjoint(self._members[group])
            and self._left.isdisjoint(self._members[self._owner[part.whole]])
            and not any(item.is_constant for item in known)
            and tensor.dtype.size_bytes == whole.dtype.size_bytes
            and tensor.elements > 0
            and all(step > 0 or extent == 1 for step, extent in zip(part.steps, tensor.shape, strict=True))
            and self.fits(part, tensor.dtype.size_bytes)
        )

    def _relocate(self, group: str) -> bool:
        """Derive the places of a group and of all groups inside it; False if a view would have to move bytes."""
        part = self.parts.get(group)
        if part is None:
            self.places.update({name: Place(0, self.graph.tensor(name).strides_bytes) for name in self._members[group]})
        elif not self._derive(part.tensor, part.place(self.places[part.whole])):
            return False
        inside = [name for name, other in self.parts.items() if self._owner[other.whole] == group]
        return all(self._relocate(name) for name in inside)

    def _derive(self, tensor: str, place: Place) -> bool:
        """Derive the places of all tensors of a group from that of ``tensor``; False if a view would move bytes."""
        found = {tensor: place}
        pending = [tensor]
        while pending:
            name = pending.pop()
            for node, other in self._views.get(name, ()):
                if other in found:
                    continue
                strides = self._across(node, name, found[name].strides_bytes)
                if strides is None:
                    return False
                found[other] = Place(place.offset_bytes, strides)
                pending.append(other)
        self.places.update(found)
        return True

    def _across(self, node: Node, known: str, strides: tuple[int, ...]) -> tuple[int, ...] | None:
        source, target = (self.graph.tensor(name).shape for name in (node.inputs[0], node.outputs[0]))
        across = viewed if known == node.inputs[0] else viewed_back
        return across(node, source, strides, target)

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Each tensor with the bytes from its first to its last one, gaps between its lines included."""
        for name, place in self.places.items():
            tensor = self.graph.tensor(name)
            yield name, reach_bytes(tensor.shape, place.strides_bytes, tensor.dtype.size_bytes)
