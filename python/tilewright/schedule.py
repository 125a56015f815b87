"""The program: layers in order, tile loops with their copies, live and dead marks.

Before:  conv with tiles oh = 4 of 25, weights one tile; x and y at home in sram
After:   loop oh (7 tiles), lead 1, trail 2:
             start copy x, tile t + 1;  start copy weights, tile t + 1 (only for the first)
             wait x, tile t;  wait weights;  wait y of tile t - 2
             kernel, tile t;  start copy y, tile t
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import prod

import numpy as np

from tilewright.graph import Array, Graph, Node, packed_strides_bytes
from tilewright.marks import home_marks
from tilewright.operators.nest import axis_range
from tilewright.plan import (
    AxisRange,
    Begin,
    Buffer,
    BufferKind,
    CopyStart,
    End,
    Index,
    Kernel,
    Layer,
    LayerFacts,
    Loop,
    Operand,
    Phase,
    Relation,
    RelationKind,
    Step,
    Wait,
    When,
)
from tilewright.platform import Platform
from tilewright.rewrites.views import is_view
from tilewright.tiling.accesses import operand_accesses, scratch_accesses
from tilewright.tiling.choice import TileChoice
from tilewright.tiling.facts import layer_facts
from tilewright.tiling.footprint import tile_shape
from tilewright.tiling.homes import Homes, candidate_pools
from tilewright.tiling.problem import TILE_ALIGN_BYTES, TileOperand, TilingProblem, near_pools


@dataclass(frozen=True, slots=True)
class ScheduledLayer:
    """One operator with its kernel and tiles."""

    problem: TilingProblem
    choice: TileChoice


@dataclass(frozen=True, slots=True)
class Schedule:
    """The program before placement: steps, buffers, relations, constants by hash, facts."""

    program: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    relations: tuple[Relation, ...]
    constants: Mapping[str, Array]
    layers: tuple[LayerFacts, ...]


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of buffers; a model may use any name, so what the schedule adds gives way."""

    taken: set[str]

    def take(self, name: str) -> str:
        """The name, numbered where it is taken."""
        fresh, number = name, 2
        while fresh in self.taken:
            fresh, number = f"{name}.{number}", number + 1
        self.taken.add(fresh)
        return fresh


@dataclass(frozen=True, slots=True)
class _Constants:
    """Constant buffers by content, so that equal arrays are stored once.

    Packed constants stand apart from the graph's: C sees the former without a shape.
    """

    fresh: _Names
    names: dict[tuple[str, str, tuple[int, ...], tuple[int, ...], bool], str]
    buffers: dict[str, Buffer]
    data: dict[str, Array]

    def intern(self, name: str, operand: TileOperand, pools: tuple[str, ...]) -> str:
        """The name of the constant buffer that holds the operand's array."""
        assert operand.data is not None
        stored = np.ascontiguousarray(operand.data.transpose(operand.order))
        digest = sha256(stored.tobytes()).hexdigest()
        strides = packed_strides_bytes(operand.extents, operand.order, operand.element_bytes)
        key = (digest, stored.dtype.name, operand.extents, strides, operand.tensor is None)
        if key in self.names:
            known = self.buffers[self.names[key]]
            align = max(known.align_bytes, operand.align_bytes)
            self.buffers[known.name] = replace(known, align_bytes=align)
        else:
            name = self.fresh.take(name)
            self.names[key] = name
            self.data[digest] = stored
            self.buffers[name] = Buffer(
                name=name,
                kind=BufferKind.CONSTANT,
                tensor=operand.tensor,
                dtype=stored.dtype.name,
                shape=operand.extents,
                strides_bytes=strides,
                size_bytes=max(operand.size_bytes, 1),
                align_bytes=operand.align_bytes,
                pools=pools,
                slot_bytes=operand.size_bytes,
                sha256=digest,
            )
        return self.names[key]


def build_schedule(graph: Graph, layers: Sequence[ScheduledLayer], homes: Homes, platform: Platform) -> Schedule:
    """Turn chosen tiles into a program with explicit lifetimes.

    Home buffers live as ``marks.home_marks`` says; constants live throughout.
    """
    constant_pools = candidate_pools(platform, BufferKind.CONSTANT)
    scratch_pools = near_pools(platform, BufferKind.SCRATCH)
    tensors = _home_buffers(graph, homes)
    names = _Names(set(tensors))
    constants = _Constants(names, {}, {}, {})
    relations = _view_relations(graph, homes)
    marks = home_marks([_touched(layer) for layer in layers], homes)
    steps: list[Step] = [End(name) for name in marks.ends.get(-1, ())]
    near: list[Buffer] = []
    facts: list[LayerFacts] = []
    accesses: Counter[str] = Counter()
    for number, layer in enumerate(layers):
        steps += [Begin(name) for name in marks.begins.get(number, ())]
        built = _build_layer(layer, constants, constant_pools, scratch_pools, names)
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


@dataclass(frozen=True, slots=True)
class _BuiltLayer:
    body: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    accesses: Mapping[str, int]


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


def _build_layer(
    layer: ScheduledLayer,
    constants: _Constants,
    constant_pools: tuple[str, ...],
    scratch_pools: tuple[str, ...],
    names: _Names,
) -> _BuiltLayer:
    problem, choice = layer.problem, layer.choice
    prefix = problem.node.name
    indices = tuple(Index(name, problem.extents[name], choice.steps[name]) for name in choice.order)
    loads: list[Step] = []
    waits: list[Step] = []
    stores: list[Step] = []
    buffers: list[Buffer] = []
    operands: list[Operand] = []
    lead = trail = 0
    for operand, copies in zip(problem.operands, choice.copies, strict=True):
        home = _home_name(prefix, operand, constants, constant_pools)
        outside = Operand(home, _rectangle(operand, problem, choice))
        if not copies:
            operands.append(outside)
            continue
        assert operand.link is not None
        period = _period(indices, operand)
        tile = _tile_buffer(names.take(f"{prefix}.{operand.name}.tile"), operand, choice, copies)
        buffers.append(tile)
        inside = replace(outside, buffer=tile.name, period=period)
        operands.append(inside)
        token = tile.name.removesuffix(".tile")
        link = operand.link.name
        if operand.write:
            stores.append(CopyStart(link, token, inside, outside, When(0, period, Phase.LAST)))
            waits.append(Wait(token, When(-copies * period, period, Phase.FIRST)))
            # The last period's store is awaited at the first tile of the period that would take its slot.
            trail = max(trail, (copies - 1) * period + 1)
            continue
        loads.append(CopyStart(link, token, outside, inside, When(copies - 1, period)))
        waits.append(Wait(token, When(0, period)))
        lead = max(lead, copies - 1)
    accesses: Counter[str] = Counter()
    for operand, used in zip(problem.operands, operands, strict=True):
        accesses[used.buffer] += operand_accesses(problem, operand)
    # Tiles are cut for one pool, so scratch beside them has no choice.
    pools = (problem.scratch_pool,) if problem.moves else scratch_pools
    scratch = _scratch_buffer(problem, choice, pools, names)
    accesses.update({buffer.name: scratch_accesses(problem) for buffer in scratch})
    kernel = _kernel_step(problem, choice, operands, scratch)
    buffers += scratch
    if indices:
        body: tuple[Step, ...] = (Loop(indices, (*loads, *waits, kernel, *stores), lead, trail),)
    else:
        body = _straight_line(loads, waits, kernel, stores)
    return _BuiltLayer(body, tuple(buffers), accesses)


def _straight_line(loads: list[Step], waits: list[Step], kernel: Kernel, stores: list[Step]) -> tuple[Step, ...]:
    """One tile: copy in, wait, run, copy out, wait."""
    plain = When()
    stored = [step.token for step in stores if isinstance(step, CopyStart)]
    starts = [replace(step, when=plain) for step in loads if isinstance(step, CopyStart)]
    ready = [replace(step, when=plain) for step in waits if isinstance(step, Wait) and step.token not in stored]
    outgoing = [replace(step, when=plain) for step in stores if isinstance(step, CopyStart)]
    return (*starts, *ready, kernel, *outgoing, *(Wait(token) for token in stored))


def _home_name(prefix: str, operand: TileOperand, constants: _Constants, pools: tuple[str, ...]) -> str:
    if operand.data is not None:
        return constants.intern(operand.tensor or f"{prefix}.{operand.name}", operand, pools)
    assert operand.tensor is not None
    return operand.tensor


def _rectangle(operand: TileOperand, problem: TilingProblem, choice: TileChoice) -> tuple[AxisRange, ...]:
    uncut = {name: extent for name, extent in problem.extents.items() if name not in choice.order}
    return tuple(axis_range(axis, extent, uncut) for axis, extent in zip(operand.axes, operand.extents, strict=True))


def _period(indices: tuple[Index, ...], operand: TileOperand) -> int:
    """Tiles during which the operand's tile stays the same: those of the indices inside its own."""
    inside = 1
    for index in reversed(indices):
        if index.name in operand.dimensions:
            return inside
        inside *= index.count
    return inside


def _tile_buffer(name: str, operand: TileOperand, choice: TileChoice, copies: int) -> Buffer:
    steps = {dimension: np.asarray(step, dtype=np.int64) for dimension, step in choice.steps.items()}
    shape = tuple(int(extent) for extent in tile_shape(operand, steps))
    size = prod(shape) * operand.element_bytes
    slot = -(-size // operand.align_bytes) * operand.align_bytes
    return Buffer(
        name=name,
        kind=BufferKind.TILE,
        tensor=operand.tensor,
        dtype=operand.dtype,
        shape=shape,
        strides_bytes=packed_strides_bytes(shape, operand.order, operand.element_bytes),
        size_bytes=slot * copies,
        align_bytes=operand.align_bytes,
        pools=(operand.near,),
        copies=copies,
        slot_bytes=slot,
    )


def _scratch_buffer(
    problem: TilingProblem, choice: TileChoice, pools: tuple[str, ...], names: _Names
) -> list[Buffer]:
    sizes = {"scratch": problem.kernel.scratch_bytes(choice.steps), "partial": problem.partial_bytes(choice.steps)}
    return [
        Buffer(
            name=names.take(f"{problem.node.name}.{role}"),
            kind=BufferKind.SCRATCH,
            tensor=None,
            dtype="uint8",
            shape=(size,),
            strides_bytes=(1,),
            size_bytes=size,
            align_bytes=TILE_ALIGN_BYTES,
            pools=pools,
            slot_bytes=size,
        )
        for role, size in sizes.items()
        if size
    ]


def _kernel_step(
    problem: TilingProblem, choice: TileChoice, operands: list[Operand], scratch: list[Buffer]
) -> Kernel:
    reads = len(problem.kernel.reads)
    return Kernel(
        name=problem.node.name,
        symbol=problem.kernel.symbol,
        reads=tuple(operands[:reads]),
        writes=tuple(operands[reads:]),
        scratch=tuple(buffer.name for buffer in scratch),
        axes=tuple(operand.view for operand in problem.operands),
        attributes=problem.kernel.attributes,
        reduction=tuple(name for name in choice.order if name in problem.reductions),
    )


def layer_nodes(graph: Graph) -> list[Node]:
    """The nodes that need code: all but views and those whose result is constant."""
    return [
        node
        for node in graph.nodes
        if not is_view(graph, node) and not all(graph.tensor(output).is_constant for output in node.outputs)
    ]
