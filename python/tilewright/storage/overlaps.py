"""Which outputs lie exactly over an input that dies with their operator, and how many bytes are alive then.

Before:  layers 0 conv -> a, 1 clip a -> b, 2 conv b -> y; nothing else reads a
After:   b over a: the clip runs in place
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.graph import Graph
from tilewright.kernels.kernel import KernelChoice, TensorOperand
from tilewright.plan import BufferKind
from tilewright.storage.homes import Homes
from tilewright.storage.lives import Life, group_lives
from tilewright.storage.places import same_strides
from tilewright.storage.pressure import union_bytes

HOME_ALIGN_BYTES = 8
"""No home needs more; an output over an input must suit both."""

_PLACED = (BufferKind.INTERMEDIATE, BufferKind.INPUT, BufferKind.OUTPUT)


@dataclass(frozen=True, slots=True)
class LayerUse:
    """What one layer touches: ``reads`` and ``writes`` are tensors that are no constants.

    ``over`` are the reads over which the kernel may write its only output, first choice first.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    over: tuple[str, ...] = ()

    @property
    def touched(self) -> tuple[str, ...]:
        """All of them, in the order of the kernel's operands."""
        return (*self.reads, *self.writes)


@dataclass(frozen=True, slots=True)
class Overlay:
    """``first`` is written over ``second``, element on element, and ``second`` is dead then."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Overlays:
    """Overlays in the order of layers; ``fixed`` gives roots that have to lie (root, bytes) from another root."""

    pairs: tuple[Overlay, ...]
    fixed: Mapping[str, tuple[str, int]]


def layer_use(kernel: KernelChoice, graph: Graph) -> LayerUse:
    """What a kernel touches, and over which of its inputs it may write."""
    operands = [item for item in kernel.reads if isinstance(item, TensorOperand)]
    reads = tuple(item.tensor for item in operands if not graph.tensor(item.tensor).is_constant)
    writes = tuple(item.tensor for item in kernel.writes)
    candidates = [kernel.reads[position] for position in kernel.in_place] if len(writes) == 1 else []
    over = [item.tensor for item in candidates if isinstance(item, TensorOperand) and _matches(item, kernel, graph)]
    return LayerUse(reads, writes, tuple(name for name in dict.fromkeys(over) if reads.count(name) == 1))


def _matches(item: TensorOperand, kernel: KernelChoice, graph: Graph) -> bool:
    """Whether every tile reads of the input the very rectangle that it writes of the output."""
    (written,) = kernel.writes
    source, target = graph.tensor(item.tensor), graph.tensor(written.tensor)
    # An axis of extent 1 has a map of its own where the operator may broadcast it.
    alike = zip(source.shape, item.axes, written.axes, strict=False)
    return (
        not source.is_constant
        and source.shape == target.shape
        and source.dtype.size_bytes == target.dtype.size_bytes
        and all(extent == 1 or one == other for extent, one, other in alike)
        and item.view == written.view
    )


def find_overlays(uses: Sequence[LayerUse], homes: Homes, graph: Graph) -> Overlays:
    """For each layer in turn the first input over which its output can lie, nothing else being in the way."""
    clusters = Clusters(uses, homes)
    pairs = tuple(
        Overlay(use.writes[0], candidate)
        for number, use in enumerate(uses)
        for candidate in _first_over(clusters, number, use, graph)
    )
    return Overlays(pairs, clusters.fixed())


def _first_over(clusters: Clusters, number: int, use: LayerUse, graph: Graph) -> tuple[str, ...]:
    for candidate in use.over:
        if clusters.may_lie(number, use, candidate, graph.tensor(candidate).shape):
            clusters.lay(use.writes[0], candidate)
            return (candidate,)
    return ()


def peak_bytes(uses: Sequence[LayerUse], homes: Homes, graph: Graph) -> int:
    """The most bytes of homes that are alive in a layer, with outputs over inputs where that can be."""
    clusters = Clusters(uses, homes)
    for number, use in enumerate(uses):
        _first_over(clusters, number, use, graph)
    return max((clusters.alive_bytes(number) for number in range(-1, len(uses))), default=0)


class Clusters:
    """Families whose distance in memory is fixed because an output of one lies over a tensor of the other.

    A span is the bytes [begin, end) of a group, from the start of its cluster's first family.
    """

    def __init__(self, uses: Sequence[LayerUse], homes: Homes) -> None:
        self._homes = homes
        self._lives = group_lives([use.touched for use in uses], homes)
        self._cluster: dict[str, str] = {}
        self._shift: dict[str, int] = {}
        self._groups: dict[str, list[str]] = {}
        self._over: set[tuple[str, str]] = set()
        for group in self._lives:
            root = homes.roots[group]
            if not homes.is_callers(group) and homes.kinds[root] in _PLACED:
                self._cluster[root], self._shift[root] = root, 0
                self._groups.setdefault(root, []).append(group)

    def may_lie(self, number: int, use: LayerUse, candidate: str, shape: tuple[int, ...]) -> bool:
        """Whether the layer's output can lie over an input: same place, dead afterwards, nothing else in the way."""
        homes, written = self._homes, use.writes[0]
        one, other = homes.roots[written], homes.roots[candidate]
        if one not in self._cluster or other not in self._cluster or self._cluster[one] == self._cluster[other]:
            return False
        groups = homes.groups[written], homes.groups[candidate]
        born, dead = self._lives[groups[0]].begin, self._lives[groups[1]].end
        places = homes.places[written], homes.places[candidate]
        if born != number or dead != number or homes.pools[written] != homes.pools[candidate]:
            return False
        if not same_strides(shape, places[0].strides_bytes, places[1].strides_bytes):
            return False
        if (places[0].offset_bytes - places[1].offset_bytes) % HOME_ALIGN_BYTES:
            return False
        return not self._read_elsewhere(use, candidate) and self._is_free(groups, self._distance(written, candidate))

    def lay(self, first: str, second: str) -> None:
        """Fix the distance of the two families."""
        homes = self._homes
        self._over.add((homes.groups[first], homes.groups[second]))
        distance = self._distance(first, second)
        kept, gone = self._cluster[homes.roots[second]], self._cluster[homes.roots[first]]
        for root in [root for root, cluster in self._cluster.items() if cluster == gone]:
            self._cluster[root] = kept
            self._shift[root] += distance
        self._groups[kept] += self._groups.pop(gone)

    def fixed(self) -> dict[str, tuple[str, int]]:
        """Roots with their distance from the root that names their cluster."""
        return {
            root: (cluster, self._shift[root] - self._shift[cluster])
            for root, cluster in self._cluster.items()
            if root != cluster
        }

    def alive_bytes(self, number: int) -> int:
        """Bytes that are alive in a layer."""
        now = Life(number, number)
        total = 0
        for groups in self._groups.values():
            total += union_bytes(self._span(group) for group in groups if self._lives[group].meets(now))
        return total

    def _distance(self, first: str, second: str) -> int:
        """By how much the first one's cluster must move so that it lies over the second."""
        return self._start(second) - self._start(first)

    def _start(self, tensor: str) -> int:
        return self._shift[self._homes.roots[tensor]] + self._homes.places[tensor].offset_bytes

    def _span(self, group: str) -> tuple[int, int]:
        return self._start(group), self._start(group) + self._homes.sizes[group]

    def _read_elsewhere(self, use: LayerUse, candidate: str) -> bool:
        """Whether the layer reads some of the candidate's bytes under another name."""
        homes = self._homes
        begin, end = self._span(candidate)
        for name in use.reads:
            if name != candidate and homes.roots[name] == homes.roots[candidate]:
                low, high = self._span(name)
                if low < end and begin < high:
                    return True
        return False

    def _is_free(self, pair: tuple[str, str], distance: int) -> bool:
        """Whether no group of one cluster lives on bytes of the other's while those live, the pair aside."""
        homes = self._homes
        mine, theirs = (self._groups[self._cluster[homes.roots[group]]] for group in pair)
        for group in mine:
            low, high = (at + distance for at in self._span(group))
            for other in theirs:
                begin, end = self._span(other)
                if (group, other) == pair or high <= begin or end <= low:
                    continue
                if self._lives[group].meets(self._lives[other]):
                    return False
        return True
