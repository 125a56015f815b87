"""The program: layers in order, with the buffers that they need and live and dead marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.group import Group
from tilewright.graph import Array, Graph
from tilewright.plan import (
    Begin,
    Buffer,
    BufferKind,
    End,
    Layer,
    LayerFacts,
    Relation,
    RelationKind,
    Stage,
    Step,
)
from tilewright.platform import Platform
from tilewright.schedule.constants import Constants, Names
from tilewright.schedule.group_loops import BuiltGroup, build_group, group_name, ring_buffer
from tilewright.schedule.handover import hand_over
from tilewright.schedule.marks import Marks, home_marks
from tilewright.schedule.profile_buffer import guard_record, position_buffer, profile_buffer
from tilewright.schedule.tile_loops import BuiltLayer, ScheduledLayer, build_layer
from tilewright.schedule.uses import consuming, group_use, layer_of_use
from tilewright.storage.homes import Homes, candidate_pools
from tilewright.storage.overlaps import LayerUse, Overlap, find_overlaps, layer_use
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.layer_facts import layer_facts
from tilewright.tiling.layer_label import layer_label
from tilewright.tiling.operand import TILE_ALIGN_BYTES
from tilewright.tiling.paths import near_pools


@dataclass(frozen=True, slots=True)
class Schedule:
    """The program before placement: steps, buffers, relations, constants by hash, facts of stages.

    ``overlaps`` are outputs that may lie over an input. ``profile`` names the buffer for a profile's records,
    ``guard_record`` the one for a spoilt canary.
    ``handed_over`` says that at least one layer hands its last store over to the next layer. ``left`` has for each
    state that the program leaves the buffer in which it found the state, whose address it takes. ``position`` names
    the buffer that says where a window which slides goes on.
    """

    program: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    relations: tuple[Relation, ...]
    constants: Mapping[str, Array]
    layers: tuple[LayerFacts, ...]
    overlaps: tuple[Overlap, ...] = ()
    profile: str | None = None
    handed_over: bool = False
    left: Mapping[str, str] = field(default_factory=dict)
    guard_record: str | None = None
    position: str | None = None


def build_schedule(
    graph: Graph,
    layers: Sequence[ScheduledLayer],
    homes: Homes,
    platform: Platform,
    arrays: HashedArrays,
    *,
    groups: Sequence[Group] = (),
    profiled: bool = False,
    handed_over: bool = False,
    guarded: bool = False,
) -> Schedule:
    """Turn chosen tiles into a program with explicit lifetimes: a layer of one stage for each operator or group.

    Homes live as ``marks.home_marks`` says. Constants live throughout, and so do the buffers of records that a
    ``profiled`` and a ``guarded`` program write. With ``handed_over`` each layer hands its last store over to the next
    layer where ``handover`` allows it; layers of ``groups`` do not.
    """
    tensors = _with_rings(_home_buffers(graph, homes, platform), groups)
    names = Names(set(tensors))
    constants = Constants(names, arrays, graph.any_weights, homes.pinned)
    units = _units(len(layers), groups)
    relations = _view_relations(graph, homes)
    marks = home_marks([_use_of(unit, layers, graph).touched for unit in units], homes)
    bodies = _bodies(layers, constants, platform, names)
    if handed_over:
        ends = {unit.first: marks.ends.get(number, ()) for number, unit in enumerate(units)}
        in_groups = {number for group in groups for number in group.layers}
        bodies = hand_over(layers, bodies, frozenset(constants.buffers), ends, in_groups)
    grouped = {unit.first: build_group(unit.group, [bodies[at] for at in unit.numbers]) for unit in units if unit.group}
    built = _Built(layers, units, bodies, grouped)
    overlaps = find_overlaps(built.uses(tensors, graph, homes), homes, graph)
    parts = built.parts(marks)
    profile = [profile_buffer(names.take("profile"), len(layers), platform)] if profiled else []
    record = [guard_record(names.take("guard_record"), platform)] if guarded else []
    position = [position_buffer(names.take("position"), platform)] if graph.slide is not None else []
    records = (*profile, *record, *position)
    throughout = (*constants.buffers, *(buffer.name for buffer in records))
    opening = [Begin(name) for name in (*throughout, *marks.start)]
    closing = [End(name) for name in reversed((*throughout, *marks.finish))]
    program = (*opening, *parts.steps, *closing)
    named = (*tensors.values(), *constants.buffers.values(), *records, *parts.near)
    buffers = tuple(replace(buffer, accessed_bytes=parts.accesses[buffer.name]) for buffer in named)
    measured = profile[0].name if profile else None
    left = any(body.hands_over for body in bodies)
    noted = record[0].name if record else None
    facts = _facts(layers, graph)
    at = position[0].name if position else None
    return Schedule(program, buffers, relations, constants.data, facts, overlaps, measured, left, homes.left, noted, at)


@dataclass(frozen=True, slots=True)
class _Unit:
    """One layer of the program: an operator's layer by its number, or a group of them."""

    numbers: range
    group: Group | None = None

    @property
    def first(self) -> int:
        """Number of the first layer."""
        return self.numbers[0]


def _units(count: int, groups: Sequence[Group]) -> list[_Unit]:
    """All layers in order, those of a group together."""
    found: list[_Unit] = []
    starts = {group.first: group for group in groups}
    number = 0
    while number < count:
        group = starts.get(number)
        found.append(_Unit(range(number, number + 1)) if group is None else _Unit(group.layers, group))
        number = found[-1].numbers[-1] + 1
    return found


@dataclass(slots=True)
class _Parts:
    """Steps, buffers near the core and bytes accessed by buffer, collected from one layer after the other."""

    steps: list[Step] = field(default_factory=list)
    near: list[Buffer] = field(default_factory=list)
    accesses: Counter[str] = field(default_factory=Counter)

    def add(self, layer: ScheduledLayer, built: BuiltLayer) -> None:
        """Add a layer of one stage, with the marks of its own buffers."""
        self.steps += [Begin(buffer.name) for buffer in built.buffers if buffer.name not in built.begun_inside]
        self.steps.append(Layer(layer.problem.node.name, (_stage(layer),), built.body))
        self.steps += [End(buffer.name) for buffer in reversed(built.buffers) if buffer.name != built.hands_over]
        self.near += built.buffers
        self.accesses.update(built.accesses)

    def add_group(self, built: BuiltGroup, layers: Sequence[ScheduledLayer]) -> None:
        """Add a layer of several stages, with the marks of its rings."""
        names = [layer.problem.node.name for layer in layers]
        self.steps += [Begin(name) for name in built.around]
        self.steps.append(Layer(group_name(names), tuple(map(_stage, layers)), built.body))
        self.steps += [End(name) for name in reversed(built.around)]
        self.near += built.buffers
        self.accesses.update(built.accesses)


@dataclass(frozen=True, slots=True)
class _Built:
    """All layers as they were built: each alone, and those of a group by the number of its first layer."""

    layers: Sequence[ScheduledLayer]
    units: Sequence[_Unit]
    bodies: Sequence[BuiltLayer]
    grouped: Mapping[int, BuiltGroup]

    def uses(self, tensors: Mapping[str, Buffer], graph: Graph, homes: Homes) -> list[LayerUse]:
        """The use of each layer or group, with the overlaps that the order of reads and writes in its steps allows."""
        found = []
        for unit in self.units:
            if unit.group is None:
                body = self.bodies[unit.first].body
                found.append(layer_of_use(self.layers[unit.first], body, tensors, graph, homes))
            else:
                found.append(consuming(_use_of(unit, self.layers, graph), self.grouped[unit.first].body, tensors))
        return found

    def parts(self, marks: Marks) -> _Parts:
        """The layers one after the other, each between the marks of the homes that it begins and ends."""
        parts = _Parts()
        parts.steps += [End(name) for name in marks.ends.get(-1, ())]
        for number, unit in enumerate(self.units):
            parts.steps += [Begin(name) for name in marks.begins.get(number, ())]
            if unit.group is None:
                parts.add(self.layers[unit.first], self.bodies[unit.first])
            else:
                parts.add_group(self.grouped[unit.first], [self.layers[at] for at in unit.numbers])
            parts.steps += [End(name) for name in marks.ends.get(number, ())]
        return parts


def _facts(layers: Sequence[ScheduledLayer], graph: Graph) -> tuple[LayerFacts, ...]:
    """The facts about each layer for reports, with its label."""
    return tuple(
        replace(
            layer_facts(layer.problem, layer.choice, layer.others),
            label=layer_label(number, len(layers), layer.problem.node, graph),
        )
        for number, layer in enumerate(layers)
    )


def _bodies(
    layers: Sequence[ScheduledLayer], constants: Constants, platform: Platform, names: Names
) -> list[BuiltLayer]:
    constant_pools = candidate_pools(platform, BufferKind.CONSTANT)
    scratch_pools = near_pools(platform, BufferKind.SCRATCH)
    return [build_layer(layer, constants, constant_pools, scratch_pools, names) for layer in layers]


def _stage(layer: ScheduledLayer) -> Stage:
    node = layer.problem.node
    return Stage(node.name, node.operator, kernel=node.name)


def _home_buffers(graph: Graph, homes: Homes, platform: Platform) -> dict[str, Buffer]:
    """A buffer for each tensor that a layer computes or the interface holds; views included."""
    words = words_of_links(platform)
    rounds: Counter[str] = Counter()
    for link in platform.links:
        rounds[link.source] = max(rounds[link.source], link.round_up_bytes)
    buffers = {}
    for name, root in homes.roots.items():
        tensor = graph.tensor(name)
        if homes.kinds[root] is BufferKind.CONSTANT:
            continue
        excess = max(rounds[pool] for pool in homes.pools[name]) - tensor.dtype.size_bytes
        excess = 0 if homes.is_callers(name) else max(excess, 0)
        buffers[name] = Buffer(
            name=name,
            kind=homes.kinds[root],
            tensor=name,
            dtype=tensor.dtype.value,
            shape=tensor.shape,
            strides_bytes=homes.places[name].strides_bytes,
            size_bytes=_home_bytes(homes, name, words, excess),
            align_bytes=_home_align_bytes(homes, name, tensor.dtype.size_bytes, words),
            pools=homes.pools[name],
            slot_bytes=homes.sizes[name],
        )
    return buffers


def _with_rings(buffers: Mapping[str, Buffer], groups: Sequence[Group]) -> dict[str, Buffer]:
    """The buffers of tensors, those between the stages of a group as rings."""
    rings = {name: ring for group in groups for name, ring in group.rings.items()}
    return {name: ring_buffer(item, rings[name]) if name in rings else item for name, item in buffers.items()}


def _home_bytes(homes: Homes, name: str, words: Mapping[str, int], excess: int) -> int:
    """Bytes of a home, rounded up to whole words of the links that reach its pools; of a view its own bytes.

    Links that round up read up to ``excess`` bytes behind the last element.
    """
    size = max(homes.sizes[name], 1)
    if homes.roots[name] != name:
        return size
    word = _word_bytes(homes, name, words)
    return -(-(size + excess) // word) * word


def _home_align_bytes(homes: Homes, name: str, element_bytes: int, words: Mapping[str, int]) -> int:
    """Bytes of a home's alignment: of a part, or a caller's buffer over links of single bytes, those of an element."""
    if homes.groups[name] in homes.parts or (homes.roots[name] != name and homes.is_callers(name)):
        return element_bytes
    if homes.is_callers(name):
        return max(element_bytes, _word_bytes(homes, name, words))
    return max(TILE_ALIGN_BYTES, element_bytes, _word_bytes(homes, name, words))


def _word_bytes(homes: Homes, name: str, words: Mapping[str, int]) -> int:
    return max(words.get(pool, 1) for pool in homes.pools[name])


def words_of_links(platform: Platform) -> dict[str, int]:
    """The most bytes that a link from or to each pool takes as one word (``align_bytes``)."""
    return {
        pool.name: max(
            (link.align_bytes for link in platform.links if pool.name in (link.source, link.target)), default=1
        )
        for pool in platform.pools
    }


def _view_relations(graph: Graph, homes: Homes) -> tuple[Relation, ...]:
    return tuple(
        Relation(RelationKind.AT_OFFSET, name, root, homes.places[name].offset_bytes, _starts(graph, homes, name, root))
        for name, root in homes.roots.items()
        if name != root and homes.kinds[root] is not BufferKind.CONSTANT
    )


def _starts(graph: Graph, homes: Homes, name: str, root: str) -> tuple[int, ...]:
    """Where the first element of a view lies in its root: offsets as digits of the root's strides."""
    strides, shape = homes.places[root].strides_bytes, graph.tensor(root).shape
    rest, starts = homes.places[name].offset_bytes, [0] * len(strides)
    for axis in sorted(range(len(strides)), key=lambda axis: -strides[axis]):
        if shape[axis] > 1:
            starts[axis], rest = divmod(rest, strides[axis])
    return tuple(starts)


def _use_of(unit: _Unit, layers: Sequence[ScheduledLayer], graph: Graph) -> LayerUse:
    """The use of a layer or a group: the tensors that it touches."""
    uses = [layer_use(layers[number].problem.kernel, graph) for number in unit.numbers]
    return uses[0] if unit.group is None else group_use(uses, unit.group.rings)
