"""The program: layers in order, with the buffers that they need and live and dead marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
from tilewright.schedule.handover import hand_over
from tilewright.schedule.marks import home_marks
from tilewright.schedule.profile_buffer import profile_buffer
from tilewright.schedule.tile_loops import BuiltLayer, ScheduledLayer, build_layer
from tilewright.storage.homes import Homes, candidate_pools
from tilewright.storage.overlaps import LayerUse, Overlap, find_overlaps, layer_use
from tilewright.tiling.facts import layer_facts
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.problem import TILE_ALIGN_BYTES, near_pools


@dataclass(frozen=True, slots=True)
class Schedule:
    """The program before placement: steps, buffers, relations, constants by hash, facts of stages.

    ``overlaps`` are outputs that may lie over an input. ``profile`` names the buffer for a profile's records.
    ``handed_over`` says that at least one layer leaves its last store to the next layer.
    """

    program: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    relations: tuple[Relation, ...]
    constants: Mapping[str, Array]
    layers: tuple[LayerFacts, ...]
    overlaps: tuple[Overlap, ...] = ()
    profile: str | None = None
    handed_over: bool = False


def build_schedule(
    graph: Graph,
    layers: Sequence[ScheduledLayer],
    homes: Homes,
    platform: Platform,
    arrays: HashedArrays,
    *,
    profiled: bool = False,
    handed_over: bool = False,
) -> Schedule:
    """Turn chosen tiles into a program with explicit lifetimes: a layer of one stage for each operator.

    Homes live as ``marks.home_marks`` says. Constants live throughout, and so does the buffer of records that a
    ``profiled`` program writes. With ``handed_over`` each layer leaves its last store to the next layer where
    ``handover`` allows it.
    """
    tensors = _home_buffers(graph, homes, words_of_links(platform))
    names = Names(set(tensors))
    constants = Constants(names, arrays)
    uses = [_use(layer, graph) for layer in layers]
    overlaps = find_overlaps(uses, homes, graph)
    relations = _view_relations(graph, homes)
    marks = home_marks([use.touched for use in uses], homes)
    steps: list[Step] = [End(name) for name in marks.ends.get(-1, ())]
    near: list[Buffer] = []
    facts: list[LayerFacts] = []
    accesses: Counter[str] = Counter()
    bodies = _bodies(layers, constants, platform, names)
    if handed_over:
        bodies = hand_over(layers, bodies, frozenset(constants.buffers), marks.ends)
    for number, (layer, built) in enumerate(zip(layers, bodies, strict=True)):
        steps += [Begin(name) for name in marks.begins.get(number, ())]
        steps += [Begin(buffer.name) for buffer in built.buffers if buffer.name not in built.begun_inside]
        steps.append(Layer(layer.problem.node.name, (_stage(layer),), built.body))
        steps += [End(buffer.name) for buffer in reversed(built.buffers) if buffer.name != built.hands_over]
        steps += [End(name) for name in marks.ends.get(number, ())]
        near += built.buffers
        accesses.update(built.accesses)
        facts.append(layer_facts(layer.problem, layer.choice, layer.others))
    profile = [profile_buffer(names.take("profile"), len(layers), platform)] if profiled else []
    throughout = (*constants.buffers, *(buffer.name for buffer in profile))
    opening = [Begin(name) for name in (*throughout, *marks.start)]
    closing = [End(name) for name in reversed((*throughout, *marks.finish))]
    program = (*opening, *steps, *closing)
    named = (*tensors.values(), *constants.buffers.values(), *profile, *near)
    buffers = tuple(replace(buffer, accessed_bytes=accesses[buffer.name]) for buffer in named)
    measured = profile[0].name if profile else None
    left = any(built.hands_over for built in bodies)
    return Schedule(program, buffers, relations, constants.data, tuple(facts), overlaps, measured, left)


def _bodies(
    layers: Sequence[ScheduledLayer], constants: Constants, platform: Platform, names: Names
) -> list[BuiltLayer]:
    constant_pools = candidate_pools(platform, BufferKind.CONSTANT)
    scratch_pools = near_pools(platform, BufferKind.SCRATCH)
    return [build_layer(layer, constants, constant_pools, scratch_pools, names) for layer in layers]


def _stage(layer: ScheduledLayer) -> Stage:
    node = layer.problem.node
    return Stage(node.name, node.operator, kernel=node.name)


def _home_buffers(graph: Graph, homes: Homes, words: Mapping[str, int]) -> dict[str, Buffer]:
    """A buffer for each tensor that a layer computes or the interface holds; views included."""
    buffers = {}
    for name, root in homes.roots.items():
        tensor = graph.tensor(name)
        if homes.kinds[root] is BufferKind.CONSTANT:
            continue
        buffers[name] = Buffer(
            name=name,
            kind=homes.kinds[root],
            tensor=name,
            dtype=tensor.dtype.value,
            shape=tensor.shape,
            strides_bytes=homes.places[name].strides_bytes,
            size_bytes=_home_bytes(homes, name, words),
            align_bytes=_home_align_bytes(homes, name, tensor.dtype.size_bytes, words),
            pools=homes.pools[name],
            slot_bytes=homes.sizes[name],
        )
    return buffers


def _home_bytes(homes: Homes, name: str, words: Mapping[str, int]) -> int:
    """Bytes of a home: whole words of the links that reach its pools, except for what lies in another home."""
    size = max(homes.sizes[name], 1)
    word = _word_bytes(homes, name, words)
    return size if homes.roots[name] != name else -(-size // word) * word


def _home_align_bytes(homes: Homes, name: str, element_bytes: int, words: Mapping[str, int]) -> int:
    """What the caller owns, and parts, need only be aligned as their elements, if links take single bytes."""
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


def _use(layer: ScheduledLayer, graph: Graph) -> LayerUse:
    """What a layer touches; cores that share a call keep no order, so nothing is overwritten under them."""
    use = layer_use(layer.problem.kernel, graph)
    direct = any(operand.write and operand.link is None for operand in layer.problem.operands)
    shared = direct and layer.problem.core_split(layer.choice.steps) is not None
    return replace(use, over=()) if shared else use
