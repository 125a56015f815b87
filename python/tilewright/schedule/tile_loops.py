"""The steps of one layer: its tile loop with copies in and out, waits and the kernel.

Before:  conv with tiles oh = 4 of 25, weights one tile; x and y at home in sram
After:   loop oh (7 tiles), lead 1, trail 2:
             start copy x, tile t + 1;  start copy weights, tile t + 1 (only for the first)
             wait x, tile t;  wait weights;  wait y of tile t - 2
             kernel, tile t;  start copy y, tile t
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import prod

import numpy as np

from tilewright.graph import Array, packed_strides_bytes
from tilewright.operators.nest import axis_range
from tilewright.plan import (
    AxisRange,
    Buffer,
    BufferKind,
    CopyStart,
    Group,
    Index,
    Kernel,
    KernelOffer,
    Loop,
    Operand,
    Phase,
    Split,
    SplitAxis,
    Step,
    Wait,
    When,
)
from tilewright.tiling.accesses import operand_accesses, scratch_accesses
from tilewright.tiling.choice import TileChoice
from tilewright.tiling.footprint import tile_shape
from tilewright.tiling.kept import ring_axis
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TILE_ALIGN_BYTES, VIEWS_ALIGN_BYTES, TilingProblem
from tilewright.tiling.staging import staged_layout


@dataclass(frozen=True, slots=True)
class ScheduledLayer:
    """One operator with its kernel and tiles, and the kernels that were not taken."""

    problem: TilingProblem
    choice: TileChoice
    others: tuple[KernelOffer, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
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
class Constants:
    """Constant buffers by content, so that equal arrays are stored once.

    Packed constants stand apart from the graph's: C sees the former without a shape.
    """

    fresh: Names
    names: dict[tuple[str, str, tuple[int, ...], tuple[int, ...], bool], str]
    buffers: dict[str, Buffer]
    data: dict[str, Array]

    def intern(self, name: str, operand: TileOperand, pools: tuple[str, ...]) -> str:
        """The name of the constant buffer that holds the operand's array.

        A constant that travels lives in the operand's home, any other in one of ``pools``. What
        a link reads too much when it rounds a line up at the end belongs to the buffer.
        """
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
            excess = operand.far_link.round_up_bytes - operand.element_bytes if operand.far_link is not None else 0
            self.names[key] = name
            self.data[digest] = stored
            self.buffers[name] = Buffer(
                name=name,
                kind=BufferKind.CONSTANT,
                tensor=operand.tensor,
                dtype=stored.dtype.name,
                shape=operand.extents,
                strides_bytes=strides,
                size_bytes=max(operand.size_bytes, 1) + max(excess, 0),
                align_bytes=operand.align_bytes,
                pools=pools if operand.link is None else (operand.home,),
                slot_bytes=operand.size_bytes,
                sha256=digest,
            )
        return self.names[key]


@dataclass(frozen=True, slots=True)
class BuiltLayer:
    """The body of one layer, its buffers near the core, and bytes accessed by buffer.

    ``late`` are the buffers whose lives begin inside the body, ``left`` is the one whose life ends
    inside the next layer's.
    """

    body: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    accesses: Mapping[str, int]
    late: frozenset[str] = frozenset()
    left: str = ""


def build_layer(
    layer: ScheduledLayer,
    constants: Constants,
    constant_pools: tuple[str, ...],
    scratch_pools: tuple[str, ...],
    names: Names,
) -> BuiltLayer:
    """The body of a layer, the buffers that it needs near the core, and how often each buffer is accessed.

    ``constant_pools`` and ``scratch_pools`` are the candidates of what is interned and of scratch.
    """
    problem, choice = layer.problem, layer.choice
    indices = tuple(Index(name, problem.extents[name], choice.steps[name]) for name in choice.order)
    parts = _Parts()
    accesses: Counter[str] = Counter()
    for position, operand in enumerate(problem.operands):
        home = _home_name(problem.node.name, operand, constants, constant_pools)
        outside = Operand(home, _rectangle(operand, problem, choice))
        used = _add_copies(parts, layer, position, indices, outside, names)
        parts.operands.append(used)
        accesses[used.buffer] += operand_accesses(problem, operand)
    # Tiles are cut for one pool, so scratch beside them has no choice.
    pools = (problem.scratch_pool,) if problem.moves else scratch_pools
    scratch = _scratch_buffer(problem, choice, pools, names)
    accesses.update({buffer.name: scratch_accesses(problem) for buffer in scratch})
    kernel = _kernel_step(problem, choice, parts.operands, scratch)
    buffers = (*parts.buffers, *scratch)
    if not indices:
        return BuiltLayer(_straight_line(parts.loads, parts.waits, kernel, parts.stores), buffers, accesses)
    steps = (*parts.loads, *parts.waits, kernel, *parts.stores)
    return BuiltLayer((Loop(indices, steps, parts.lead, parts.trail, tuple(parts.groups)),), buffers, accesses)


@dataclass(slots=True)
class _Parts:
    """Steps, buffers and operands of a layer while its operands are walked."""

    loads: list[Step] = field(default_factory=list)
    waits: list[Step] = field(default_factory=list)
    stores: list[Step] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    operands: list[Operand] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    lead: int = 0
    trail: int = 0


def _add_copies(
    parts: _Parts, layer: ScheduledLayer, position: int, indices: tuple[Index, ...], outside: Operand, names: Names
) -> Operand:
    """Add the copies of one operand to a layer; the answer is what the kernel works on."""
    problem, choice = layer.problem, layer.choice
    operand, copies = problem.operands[position], choice.copies[position]
    if not copies:
        return outside
    assert operand.link is not None
    prefix = problem.node.name
    period = _period(indices, operand)
    kept = choice.kept_along(position)
    tile = _tile_buffer(names.take(f"{prefix}.{operand.name}.tile"), operand, choice, copies)
    tile = replace(tile, ring_axis=ring_axis(problem, operand, kept)) if kept else tile
    parts.buffers.append(tile)
    inside = replace(outside, buffer=tile.name, period=period)
    token = tile.name.removesuffix(".tile")
    link = operand.link.name
    if operand.write:
        parts.stores.append(CopyStart(link, token, inside, outside, When(0, period, Phase.LAST)))
        parts.waits.append(Wait(token, When(-copies * period, period, Phase.FIRST)))
        # The last period's store is awaited at the first tile of the period that would take its slot.
        parts.trail = max(parts.trail, (copies - 1) * period + 1)
        return inside
    parts.lead = max(parts.lead, copies - 1)
    arrived = Wait(token, When(0, period))
    if choice.staging(position) is None:
        parts.loads.append(CopyStart(link, token, outside, inside, When(copies - 1, period), kept))
        parts.waits.append(arrived)
        return inside
    staged = _stage(layer, position, outside, names.take(f"{prefix}.{operand.name}.staged"), copies - 1)
    parts.buffers.append(staged.buffer)
    parts.lead = max(parts.lead, *(step.when.ahead for step in staged.steps if isinstance(step, CopyStart)))
    parts.groups += staged.groups
    # The slot between may be refilled only when the tile before has left it.
    parts.loads += [arrived] if copies > 1 else []
    parts.loads += [*staged.steps, CopyStart(link, token, staged.source, inside, When(copies - 1, period))]
    parts.waits += [] if copies > 1 else [arrived]
    return inside


@dataclass(frozen=True, slots=True)
class _Staged:
    """A larger tile between home and core: its buffer, how it is filled, and as what tiles are cut from it."""

    buffer: Buffer
    groups: tuple[Group, ...]
    steps: tuple[Step, ...]
    source: Operand


def _stage(layer: ScheduledLayer, position: int, fine: Operand, name: str, ahead: int) -> _Staged:
    """Copy the group's rectangle from the home, and wait for it, before the first tile is cut from it."""
    problem, choice = layer.problem, layer.choice
    operand, staging = problem.operands[position], choice.staging(position)
    assert staging is not None
    assert operand.far_link is not None
    renamed = {staging.index: f"{staging.index}_{position}"} if staging.index is not None else {}
    at = choice.order.index(staging.index) if staging.index is not None else -1
    outside = choice.order[:at] if at > 0 else ()
    uncut = {dim: extent for dim, extent in problem.extents.items() if dim not in (*outside, staging.index)}
    ranges = tuple(axis_range(axis, extent, uncut) for axis, extent in zip(operand.axes, operand.extents, strict=True))
    coarse = tuple(
        replace(item, terms=tuple((renamed.get(dim, dim), stride) for dim, stride in item.terms)) for item in ranges
    )
    pool = operand.far_link.target
    buffer = _staged_buffer(name, replace(operand, near=pool), replace(choice, steps=staging.steps), staging.copies)
    groups = tuple(Group(new, old, staging.tiles) for old, new in renamed.items())
    inside = Operand(name, coarse, staging.period)
    early = When(ahead + (staging.copies - 1) * staging.period, staging.period)
    token = f"{name}.far"
    start = CopyStart(operand.far_link.name, token, Operand(fine.buffer, coarse), inside, early)
    steps = (start, Wait(token, When(ahead, staging.period)))
    source = Operand(name, fine.rectangle, staging.period, coarse)
    return _Staged(buffer, groups, steps, source)


def _straight_line(loads: list[Step], waits: list[Step], kernel: Kernel, stores: list[Step]) -> tuple[Step, ...]:
    """One tile: copy in, wait, run, copy out, wait."""
    plain = When()
    stored = [step.token for step in stores if isinstance(step, CopyStart)]
    starts = [replace(step, when=plain) for step in loads if isinstance(step, (CopyStart, Wait))]
    ready = [replace(step, when=plain) for step in waits if isinstance(step, Wait) and step.token not in stored]
    outgoing = [replace(step, when=plain) for step in stores if isinstance(step, CopyStart)]
    return (*starts, *ready, kernel, *outgoing, *(Wait(token) for token in stored))


def _home_name(prefix: str, operand: TileOperand, constants: Constants, pools: tuple[str, ...]) -> str:
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
    shape = _tile_shape(operand, choice)
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


def _staged_buffer(name: str, operand: TileOperand, choice: TileChoice, copies: int) -> Buffer:
    """A larger tile; only copies read it, so its lines may have gaps between them."""
    strides, slot = staged_layout(operand, _tile_shape(operand, choice))
    plain = _tile_buffer(name, operand, choice, copies)
    return replace(plain, strides_bytes=strides, size_bytes=copies * slot, slot_bytes=slot)


def _tile_shape(operand: TileOperand, choice: TileChoice) -> tuple[int, ...]:
    steps = {dimension: np.asarray(step, dtype=np.int64) for dimension, step in choice.steps.items()}
    return tuple(int(extent) for extent in tile_shape(operand, steps))


def _scratch_buffer(problem: TilingProblem, choice: TileChoice, pools: tuple[str, ...], names: Names) -> list[Buffer]:
    return [
        Buffer(
            name=names.take(f"{problem.node.name}.{role}"),
            kind=BufferKind.SCRATCH,
            tensor=None,
            dtype="uint8",
            shape=(size,),
            strides_bytes=(1,),
            size_bytes=size,
            align_bytes=VIEWS_ALIGN_BYTES if role == "views" else TILE_ALIGN_BYTES,
            pools=pools,
            slot_bytes=size,
        )
        for role, size in problem.scratch_sizes(choice.steps).items()
    ]


def _kernel_step(problem: TilingProblem, choice: TileChoice, operands: list[Operand], scratch: list[Buffer]) -> Kernel:
    reads = len(problem.kernel.reads)
    split = _split(problem, choice, scratch)
    return Kernel(
        name=problem.node.name,
        symbol=problem.kernel.symbol,
        reads=tuple(operands[:reads]),
        writes=tuple(operands[reads:]),
        scratch=tuple(buffer.name for buffer in scratch if split is None or buffer.name != split.views),
        axes=tuple(operand.view for operand in problem.operands),
        attributes=problem.kernel.attributes,
        reduction=tuple(name for name in choice.order if name in problem.reductions),
        split=split,
    )


def _split(problem: TilingProblem, choice: TileChoice, scratch: list[Buffer]) -> Split | None:
    """How the cores share a call, in the terms of the plan."""
    sharing = problem.sharing(choice.steps)
    if sharing is None:
        return None
    *kept, views = scratch
    uncut = {name: extent for name, extent in problem.extents.items() if name != sharing.dimension}
    axes = tuple(
        SplitAxis(position, number, axis_range(axis, extent, uncut))
        for position, operand in enumerate(problem.operands)
        for number, (axis, extent) in enumerate(zip(operand.axes, operand.extents, strict=True))
        if sharing.dimension in dict(axis.terms)
    )
    return Split(
        dimension=sharing.dimension,
        extent=problem.extents[sharing.dimension],
        chunk=sharing.chunk,
        cores=sharing.cores,
        axes=axes,
        scratch_bytes=tuple(buffer.size_bytes // sharing.cores for buffer in kept),
        views=views.name,
        views_bytes=views.size_bytes // sharing.cores,
    )
