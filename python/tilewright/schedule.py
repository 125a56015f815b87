"""The program: layers in order, with the buffers that they need and live and dead marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.graph import Array, Graph, Node
from tilewright.marks import home_marks
from tilewright.plan import (
    Begin,
    Buffer,
    BufferKind,
    End,
    Layer,
    LayerFacts,
    Relation,
    RelationKind,
    Step,
)
from tilewright.platform import Platform
from tilewright.rewrites.views import is_view
from tilewright.tile_loops import Constants, Names, ScheduledLayer, build_layer
from tilewright.tiling.facts import layer_facts
from tilewright.tiling.homes import Homes, candidate_pools
from tilewright.tiling.problem import TILE_ALIGN_BYTES, near_pools


@dataclass(frozen=True, slots=True)
class Schedule:
    """The program before placement: steps, buffers, relations, constants by hash, facts."""

    program: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    relations: tuple[Relation, ...]
    constants: Mapping[str, Array]
    layers: tuple[LayerFacts, ...]


def build_schedule(graph: Graph, layers: Sequence[ScheduledLayer], homes: Homes, platform: Platform) -> Schedule:
    """Turn chosen tiles into a program with explicit lifetimes.

    Home buffers live as ``marks.home_marks`` says; constants live throughout.
    """
    constant_pools = candidate_pools(platform, BufferKind.CONSTANT)
    scratch_pools = near_pools(platform, BufferKind.SCRATCH)
    tensors = _home_buffers(graph, homes)
    names = Names(set(tensors))
    constants = Constants(names, {}, {}, {})
    relations = _view_relations(graph, homes)
    marks = home_marks([_touched(layer) for layer in layers], homes)
    steps: list[Step] = [End(name) for name in marks.ends.get(-1, ())]
    near: list[Buffer] = []
    facts: list[LayerFacts] = []
    accesses: Counter[str] = Counter()
    for number, layer in enumerate(layers):
        steps += [Begin(name) for name in marks.begins.get(number, ())]
        built = build_layer(layer, constants, constant_pools, scratch_pools, names)
        steps += [Begin(buffer.name) for buffer in built.buffers]
        steps.append(Layer(layer.problem.node.name, built.body))
        steps += [End(buffer.name) for buffer in reversed(built.buffers)]
        steps += [End(name) for name in marks.ends.get(number, ())]
        near += built.buffers
        accesses.update(built.accesses)
        facts.append(layer_facts(layer.problem, layer.choice))
    opening = [Begin(name) for name in (*constants.buffers, *marks.start)]
    closing = [End(name) for name in reversed((*constants.buffers, *marks.finish))]
    program = (*opening, *steps, *closing)
    named = (*tensors.values(), *constants.buffers.values(), *near)
    buffers = tuple(replace(buffer, accessed_bytes=accesses[buffer.name]) for buffer in named)
    return Schedule(program, buffers, relations, constants.data, tuple(facts))


def _touched(layer: ScheduledLayer) -> list[str]:
    """Tensors that a layer reads and writes, constants left out."""
    operands = layer.problem.operands
    return [operand.tensor for operand in operands if operand.tensor is not None and operand.data is None]


def _home_buffers(graph: Graph, homes: Homes) -> dict[str, Buffer]:
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
            strides_bytes=tensor.strides_bytes,
            size_bytes=max(tensor.size_bytes, 1),
            align_bytes=_home_align_bytes(homes, root, tensor.dtype.size_bytes),
            pools=homes.pools[name],
            slot_bytes=tensor.size_bytes,
        )
    return buffers


def _home_align_bytes(homes: Homes, root: str, element_bytes: int) -> int:
    """What the caller owns need only be aligned as its elements."""
    if homes.kinds[root] in (BufferKind.INPUT, BufferKind.OUTPUT) and not homes.io_in_pools:
        return element_bytes
    return max(TILE_ALIGN_BYTES, element_bytes)


def _view_relations(graph: Graph, homes: Homes) -> tuple[Relation, ...]:
    return tuple(
        Relation(RelationKind.AT_OFFSET, name, root, 0)
        for name, root in homes.roots.items()
        if name != root and homes.kinds[root] is not BufferKind.CONSTANT
    )


def layer_nodes(graph: Graph) -> list[Node]:
    """The nodes that need code: all but views and those whose result is constant."""
    return [
        node
        for node in graph.nodes
        if not is_view(graph, node) and not all(graph.tensor(output).is_constant for output in node.outputs)
    ]
