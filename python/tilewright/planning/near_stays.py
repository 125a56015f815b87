"""The choice of the intermediate tensors that stay near the core, whole or some rows at a time.

A tensor that stays is read and written in place, so that no layer copies it; while it lives it takes bytes
from the tiles of all layers. Each layer is asked for its best tiles beside the tensors that stay, and the layers are
walked once, with the cheapest way so far for each set of tensors that live. Layers that may run as a group
(``near_groups``) are one part of the walk.

Before:  l1 of 16 KB; a (6 KB) between layers 0 and 1, b (9 KB) between 1 and 2, both at home in sram
After:   a stays in l1, where layer 1 needs 4 KB for its tiles: storing and loading a costs more cycles than
         b, and beside both of them layer 1 would have no room
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations, product

from tilewright.base.errors import TilewrightError
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.kernels.kernel import KernelChoice
from tilewright.options import Objective
from tilewright.planning.allowed_kernels import kernel_key
from tilewright.planning.decide import Decider
from tilewright.planning.far_room import FarRoom
from tilewright.planning.row_group import RowGroup
from tilewright.planning.spill import at_homes, with_homes
from tilewright.planning.stays import Roots, Stay
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.homes import Homes, near_home
from tilewright.storage.overlaps import LayerUse, Overlap, find_overlaps, layer_use, raster_use
from tilewright.tiling.alike import form
from tilewright.tiling.cut_twice import with_blocks
from tilewright.tiling.layer_facts import link_bytes
from tilewright.tiling.problem import TilingProblem

MOST_STATES = 64
"""Sets of living tensors that are followed from one layer to the next at most: those that cost the least so far."""

MOST_BORN = 4
"""Of more tensors that one layer writes, not all combinations are looked at."""

MOST_CHOICES = 1_500
"""How often tiles are chosen at most, all layers together; layers that are alike share their choices."""

UNLIMITED = 1 << 60
"""Bytes of a pool without limit."""


@dataclass(frozen=True, slots=True)
class NearTensors:
    """The tensors that stay, with the layers beside them; ``cost`` in the unit of the objective, then in the other one
    of cycles and bytes moved.

    Layers that run as a group stand together as one part.
    """

    roots: tuple[str, ...]
    parts: tuple[ScheduledLayer | RowGroup, ...]
    cost: tuple[int, int]

    @property
    def has_groups(self) -> bool:
        """Whether layers run as a group."""
        return any(isinstance(part, RowGroup) for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Bytes that an output may share with an input that dies with the layer, both by their roots.

    With ``uncut`` only where the layer works on whole tensors.
    """

    roots: Roots
    size_bytes: int
    kernel: str
    uncut: bool


@dataclass(frozen=True, slots=True)
class _Way:
    """The cheapest way to have run some layers: its cost, the way before, the last part, and the number of groups.

    ``added`` are the tensors that the last part makes and that stay.
    """

    cost: tuple[int, int]
    before: tuple[_Way, ScheduledLayer | RowGroup] | None = None
    added: Roots = frozenset()
    groups: int = 0

    def rank(self, price: int) -> tuple[int, int, int]:
        """By what ways are compared, where a byte moved costs as much as ``price`` quarters of a cycle."""
        return 4 * self.cost[0] + price * self.cost[1], self.cost[1], self.groups


Ways = dict[Roots, _Way]
"""The cheapest way for each set of tensors that live between two layers."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What was chosen for a layer, or one that is alike, within ``room`` bytes; None where nothing fits."""

    room: int
    near_bytes: int = 0
    taken: int = 0
    layer: ScheduledLayer | None = None
    cost: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class NearSearch:
    """The choice of tensors that stay; what layers cost beside them is asked for once.

    Attributes:
        decider: chooses tiles of layers.
        stays: the tensors that may stay.
        pool: where they stay.
        sizes: bytes of each.
        born, dying: for each layer, those that live from it on, and those that it is the last to need.
        uses: for each layer, those that it reads or writes.
        shared: for each layer, outputs that may lie over an input.
        problems: a layer's problems by its number and those of its tensors that stay, with their number in ``alike``.
        alike: what layers that are alike have in common, numbered: to hash it takes long.
        known: what was chosen so far, by the number in ``alike`` and the room in the pool of the other tensors.
        alone: what was chosen for a layer beside which nothing stays, by its number.
        left: how often tiles may still be chosen.
        groups: layers that may run as a group, by the number of the first.
        far: the room of all other tensors in their pool, where that pool is known to be too small; else None.
    """

    decider: Decider
    stays: Sequence[Stay]
    pool: str = field(init=False)
    sizes: dict[str, int] = field(init=False)
    born: list[list[str]] = field(init=False)
    dying: list[list[str]] = field(init=False)
    uses: list[Roots] = field(init=False)
    shared: list[list[_Shared]] = field(init=False)
    problems: dict[tuple[int, Roots], tuple[Sequence[TilingProblem], int]] = field(default_factory=dict)
    alike: dict[Hashable, int] = field(default_factory=dict)
    known: dict[tuple[int, int], list[_Chosen]] = field(default_factory=dict)
    alone: dict[int, _Chosen] = field(default_factory=dict)
    left: int = MOST_CHOICES
    groups: Mapping[int, Sequence[RowGroup]] = field(default_factory=dict)
    far: FarRoom | None = None

    def __post_init__(self) -> None:
        pool = near_home(self.decider.platform)
        assert pool is not None
        self.pool, self.sizes = pool, {item.root: item.size_bytes for item in self.stays}
        roots, all_of = self.decider.prepared.homes.roots, set(self.sizes)
        operands = [[item for way in ways for item in way.operands] for ways in self.decider.prepared.problems]
        read = [frozenset(roots[item.tensor] for item in items if item.tensor is not None) for items in operands]
        self.uses = [names & all_of for names in read]
        self.born, self.dying = [[] for _ in self.uses], [[] for _ in self.uses]
        for item in self.stays:
            self.born[item.first].append(item.root)
            self.dying[item.last].append(item.root)
        self.shared = list(self._shared())

    @property
    def room(self) -> int:
        """Bytes of the pool."""
        have = self.decider.capacities[self.pool]
        return UNLIMITED if have is None else have

    def cheapest(self, reserved: Mapping[int, int], price: int = 0) -> NearTensors | None:
        """The tensors that stay and the groups, if any; None where the other tensors never have room.

        Args:
            reserved: bytes to be left free, by number of a layer.
            price: how many quarters of a cycle, or of what the objective counts, a byte moved is worth beside.
        """
        behind: list[Ways] = [{} for _ in range(len(self.uses) + 1)]
        behind[0] = {frozenset(): _Way((0, 0))}
        for number in range(len(self.uses)):
            ways = _best_of(behind[number], price)
            found = [(number + 1, item) for item in self._behind(number, ways, reserved.get(number, 0))]
            for group in self.groups.get(number, ()):
                found += [(group.interval.end, item) for item in self._behind_group(group, ways, reserved)]
            for end, (alive, way) in found:
                known = behind[end].get(alive)
                if known is None or way.rank(price) < known.rank(price):
                    behind[end][alive] = way
        if not behind[-1]:
            return None
        (way,) = behind[-1].values()
        taken = _ways_to(way)
        roots = sorted(root for item in taken for root in item.added)
        return NearTensors(tuple(roots), tuple(item.before[1] for item in taken if item.before is not None), way.cost)

    def _behind(self, number: int, ways: Ways, reserved: int) -> Iterator[tuple[Roots, _Way]]:
        """The tensors that live behind a layer, with a way; ``ways`` are those before it."""
        born, dying = self.born[number], set(self.dying[number])
        for (alive, way), added in product(ways.items(), _subsets(born)):
            far = UNLIMITED if self.far is None else self.far.left(number, number + 1, alive | added)
            chosen = None if far < 0 else self._beside(number, alive | added, reserved, far)
            if chosen is None or chosen.layer is None:
                continue
            cost = (way.cost[0] + chosen.cost[0], way.cost[1] + chosen.cost[1])
            yield (alive | added) - dying, _Way(cost, (way, chosen.layer), added, way.groups)

    def _behind_group(self, group: RowGroup, ways: Ways, reserved: Mapping[int, int]) -> Iterator[tuple[Roots, _Way]]:
        """The tensors that live behind a group, with a way; ``ways`` are those before its first layer."""
        first, end = group.interval.first, group.interval.end
        born = [root for root in self.born[end - 1] if root == group.made]
        dying = {root for roots in self.dying[first:end] for root in roots}
        free = self.room - max(reserved.get(number, 0) for number in range(first, end))
        for (alive, way), added in product(ways.items(), _subsets(born)):
            living = alive | added
            if self.far is not None and self.far.left(first, end, living | group.rings) < 0:
                continue
            crossing = [item for item in group.crossings if item.root not in living]
            size = group.interval.size_bytes + sum(item.size_bytes for item in crossing)
            if size + sum(self.sizes[root] for root in living) <= free:
                prices = [way.cost, group.cost, *(item.cost for item in crossing)]
                cost = sum(item[0] for item in prices), sum(item[1] for item in prices)
                yield living - dying, _Way(cost, (way, group), added, way.groups + 1)

    def _beside(self, number: int, living: Roots, reserved: int, far: int) -> _Chosen | None:
        """The best tiles of a layer beside living tensors, and beside reserved bytes; None if there are none.

        Larger tiles that pass through the pool of the other tensors take at most ``far`` bytes of it.
        """
        far = far if self.far is not None and self._passes(number, self.far.pool) else UNLIMITED
        if not living and far == UNLIMITED:
            return self._alone(number)
        room = self.room - reserved - sum(self.sizes[root] for root in living)
        own = living & self.uses[number]
        for item in self.shared[number]:
            if item.roots <= living:
                found = self._chosen(number, own, room + item.size_bytes, far)
                if found is not None and _may_share(item, found.layer):
                    return found
        return self._chosen(number, own, room, far)

    def _passes(self, number: int, pool: str) -> bool:
        """Whether tiles of a layer pass through a pool."""
        ways = self.decider.prepared.problems[number]
        return any(pool in operand.between for way in ways for operand in way.operands)

    def _alone(self, number: int) -> _Chosen:
        """The best tiles of a layer beside nothing."""
        if number not in self.alone:
            layer = self.decider.choose(number, self.decider.capacities)
            self.alone[number] = _Chosen(UNLIMITED, layer=layer, cost=self._cost(layer))
        return self.alone[number]

    def _chosen(self, number: int, own: Roots, room: int, far: int) -> _Chosen | None:
        problems, alike = self._problems(number, own)
        known = self.known.setdefault((alike, far), [])
        found = next((item for item in known if item.room >= room >= item.near_bytes), None)
        if found is None:
            if room < 0 or not self.left:
                return None
            self.left -= 1
            found = self._fresh(problems, room, far)
            known.append(found)
        if found.layer is None:
            return None
        problem = with_blocks(problems[found.taken], found.layer.problem.blocks)
        layer = ScheduledLayer(problem, found.layer.choice, found.layer.others)
        return _Chosen(found.room, found.near_bytes, found.taken, layer, found.cost)

    def _problems(self, number: int, own: Roots) -> tuple[Sequence[TilingProblem], int]:
        """The layer's problems with its own tensors in place, and the number that they share with others alike."""
        if (number, own) not in self.problems:
            prepared, platform = self.decider.prepared, self.decider.platform
            moved = {name: self.pool for name, root in prepared.homes.roots.items() if root in own}
            problems = [at_homes(problem, platform, moved) for problem in prepared.problems[number]]
            alike = self.alike.setdefault(form(problems) or (number, own), len(self.alike))
            self.problems[number, own] = problems, alike
        return self.problems[number, own]

    def _fresh(self, problems: Sequence[TilingProblem], room: int, far: int) -> _Chosen:
        limits = {**self.decider.capacities, self.pool: room}
        if self.far is not None and far != UNLIMITED:
            limits[self.far.pool] = far
        try:
            layer = self.decider.chosen(problems, limits)
        except TilewrightError:
            # Too large, or not possible with the tiles and slots that the user gives.
            return _Chosen(room)
        near_bytes = layer.choice.near_bytes.get(self.pool, 0)
        if near_bytes > room:
            return _Chosen(room)
        taken = [kernel_key(problem) for problem in problems].index(kernel_key(layer.problem))
        return _Chosen(room, near_bytes, taken, layer, self._cost(layer))

    def _cost(self, layer: ScheduledLayer) -> tuple[int, int]:
        """What a layer's tiles cost in the unit of the objective, then in the other one of cycles and bytes moved."""
        if self.decider.options.objective is Objective.BYTES_MOVED:
            return layer.choice.cost, layer.choice.predicted_cycles
        return layer.choice.cost, sum(link_bytes(layer.problem, layer.choice).values())

    def _shared(self) -> Iterator[list[_Shared]]:
        """For each layer the outputs that may lie over an input if both stay, the most bytes first."""
        prepared = self.decider.prepared
        homes = with_homes(prepared, self.decider.platform, {item.root: self.pool for item in self.stays}).homes
        kernels = [ways[0].kernel for ways in prepared.problems]
        uses = [_in_place(kernel, prepared.graph, homes) for kernel in kernels]
        overlaps: dict[str, list[Overlap]] = {}
        for item in find_overlaps(uses, homes, prepared.graph):
            overlaps.setdefault(item.first, []).append(item)
        for kernel, use in zip(kernels, uses, strict=True):
            found = [
                _Shared(
                    frozenset((homes.roots[item.first], homes.roots[item.second])),
                    item.clearance.shared_bytes(homes.sizes[item.first], homes.sizes[item.second]),
                    kernel.name,
                    bool(use.behind),
                )
                for name in use.writes
                for item in overlaps.get(name, ())
            ]
            yield sorted(found, key=lambda item: -item.size_bytes)


def _in_place(kernel: KernelChoice, graph: Graph, homes: Homes) -> LayerUse:
    """What a layer touches, and over which inputs it may write: element on element, or else in raster order."""
    use = layer_use(kernel, graph)
    return use if use.over else raster_use(kernel, graph, homes)


def _may_share(item: _Shared, layer: ScheduledLayer | None) -> bool:
    """Whether the output of a layer as it was cut may lie over an input."""
    if layer is None or layer.problem.kernel.name != item.kernel:
        return False
    problem, steps = layer.problem, layer.choice.steps
    if problem.core_split(steps) is not None:
        return False
    travels = any(operand.link is not None and operand.tensor is not None for operand in problem.operands)
    return not item.uncut or (dict(steps) == problem.extents and not travels)


def _subsets(roots: Sequence[str]) -> Iterator[Roots]:
    """All sets of some roots, the empty one first; of many roots none, each alone, and all."""
    counts = range(len(roots) + 1) if len(roots) <= MOST_BORN else (0, 1, len(roots))
    for count in counts:
        yield from map(frozenset, combinations(roots, count))


def _best_of(ways: Ways, price: int) -> Ways:
    """The cheapest ways, and the one in which nothing lives."""
    ranked = sorted(ways, key=lambda alive: (bool(alive), ways[alive].rank(price), sorted(alive)))
    return {alive: ways[alive] for alive in ranked[:MOST_STATES]}


def _ways_to(way: _Way) -> list[_Way]:
    """The ways that led to a way, from the first on, and the way itself."""
    found = [way]
    while found[-1].before is not None:
        found.append(found[-1].before[0])
    return found[::-1]
