"""The steps of one layer: its tile loop with copies in and out, waits and the kernel.

Before:  conv with tiles oh = 4 of 25, weights one tile; x and y at home in sram
After:   loop oh (7 tiles), iterations -1 ... 8:
             start copy x, at -1 ... 5 for tiles 0 ... 6;  start copy weights, at 0
             wait x, at 0 ... 6;  wait weights, at 0;  wait y, at 2 ... 8 for tiles 0 ... 6
             kernel, at 0 ... 6;  start copy y, at 0 ... 6
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from math import prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.kernel import TileSteps
from tilewright.operators.nest import axis_range
from tilewright.plan import (
    AxisRange,
    Buffer,
    CoarseIndex,
    CopyStart,
    Index,
    Kernel,
    KernelOffer,
    Loop,
    Operand,
    Runs,
    Step,
    Wait,
)
from tilewright.schedule.constants import Constants, Names
from tilewright.schedule.kernel_step import kernel_step
from tilewright.schedule.larger_tiles import Stores, larger_tiles, loads, stores
from tilewright.schedule.tile_buffers import scratch_buffers, tile_buffer, words_buffer
from tilewright.tiling.accesses import operand_accesses, scratch_accesses
from tilewright.tiling.kept import ring_axis
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice


@dataclass(frozen=True, slots=True)
class ScheduledLayer:
    """One operator with its kernel and tiles, and the kernels that were not taken."""

    problem: TilingProblem
    choice: TileChoice
    others: tuple[KernelOffer, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltLayer:
    """The body of one layer, its buffers near the core, and bytes accessed by buffer.

    ``begun_inside`` are the buffers whose lives begin inside the body. ``hands_over`` is the buffer whose last
    store the next layer awaits, so that its life ends inside that layer's body.
    """

    body: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    accesses: Mapping[str, int]
    begun_inside: frozenset[str] = frozenset()
    hands_over: str = ""


def build_layer(
    layer: ScheduledLayer,
    constants: Constants,
    constant_pools: tuple[str, ...],
    scratch_pools: tuple[str, ...],
    names: Names,
) -> BuiltLayer:
    """The body of a layer of one stage, the buffers that it needs near the core, and bytes accessed by buffer.

    ``constant_pools`` and ``scratch_pools`` are the candidates for constants and for scratch. Constants are added to
    ``constants``, and names that buffers take to ``names``.
    """
    problem, choice = layer.problem, layer.choice
    indices = tuple(Index(name, problem.extents[name], choice.steps[name], choice.shift) for name in choice.order)
    parts = _Parts()
    accesses: Counter[str] = Counter()
    parts.words = words_buffer(problem, names)
    for position, operand in enumerate(problem.operands):
        home = _home_name(problem, operand, choice.steps, constants, constant_pools)
        outside = Operand(home, _rectangle(operand, problem, choice))
        used = _add_copies(parts, layer, position, indices, outside, names)
        parts.operands.append(used)
        accesses[used.buffer] += operand_accesses(problem, operand)
    # Tiles are cut for one pool, so scratch beside them has no choice.
    pools = (problem.scratch_pool,) if problem.moves or problem.level else scratch_pools
    scratch = scratch_buffers(problem, choice, pools, names)
    accesses.update({buffer.name: scratch_accesses(problem) for buffer in scratch})
    kernel = kernel_step(problem, choice, parts.operands, scratch, _runs(indices, indices))
    buffers = (*parts.buffers, *scratch, *(() if parts.words is None else (parts.words,)))
    if not indices:
        return BuiltLayer(_straight_line(parts, kernel), buffers, accesses)
    steps = (*parts.loads, *parts.waits, kernel, *parts.stores)
    return BuiltLayer((Loop(indices, steps, tuple(parts.coarse)), *parts.after), buffers, accesses)


@dataclass(slots=True)
class _Parts:
    """Steps, buffers and operands of the kernel, collected from one operand of a layer after the other.

    ``loads`` and ``waits`` stand before the kernel, ``stores`` behind it, ``after`` behind the loop.
    """

    loads: list[Step] = field(default_factory=list)
    waits: list[Step] = field(default_factory=list)
    stores: list[Step] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    operands: list[Operand] = field(default_factory=list)
    coarse: list[CoarseIndex] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)
    words: Buffer | None = None

    def add_stores(self, steps: Stores) -> None:
        """Add the steps of a store through larger tiles."""
        self.waits += steps.before
        self.stores += steps.behind
        self.after += steps.after

    def words_of(self, operand: TileOperand) -> str:
        """The buffer through which an operand's bytes travel that are no whole words; empty if there are none."""
        return self.words.name if self.words is not None and operand.needs_words else ""


def _add_copies(
    parts: _Parts, layer: ScheduledLayer, position: int, indices: tuple[Index, ...], outside: Operand, names: Names
) -> Operand:
    """Add the copies of operand ``position`` to a layer, and return the operand on which the kernel works.

    ``outside`` is the operand's rectangle in its home, which the kernel gets where nothing is copied.
    """
    problem, choice = layer.problem, layer.choice
    operand, copies = problem.operands[position], choice.copies[position]
    if not copies:
        return outside
    assert operand.link is not None
    prefix = problem.node.name
    runs = _runs(indices, _own(indices, operand))
    kept = choice.kept_along(position)
    tile = tile_buffer(names.take(f"{prefix}.{operand.name}.tile"), operand, choice, copies)
    tile = replace(tile, ring_axis=ring_axis(problem, operand, kept)) if kept else tile
    parts.buffers.append(tile)
    near = replace(outside, buffer=tile.name)
    inside = replace(near, period=runs.every)
    token = tile.name.removesuffix(".tile")
    link, words = operand.link.name, parts.words_of(operand)
    levels = larger_tiles(problem, choice, position, names)
    parts.buffers += [level.buffer for level in levels]
    for level in levels:
        parts.coarse += level.coarse
    if operand.write:
        # A tile is stored at the last iteration that works on it, and its slot is free when the next tile takes it.
        last = replace(runs, first=runs.every - 1)
        store = CopyStart(link, token, near, outside, last, words=words)
        if levels:
            parts.add_stores(stores(levels, outside.buffer, store, copies))
            return inside
        parts.stores.append(store)
        parts.waits.append(Wait(token, replace(runs, first=copies * runs.every, over=())))
        return inside
    load = CopyStart(link, token, outside, near, replace(runs, first=1 - copies), kept, words)
    arrived = Wait(token, replace(runs, over=()))
    if not levels:
        parts.loads.append(load)
        parts.waits.append(arrived)
        return inside
    parts.loads += loads(levels, outside.buffer, load, ahead=copies > 1)
    parts.waits += [] if copies > 1 else [arrived]
    return inside


def _own(indices: tuple[Index, ...], operand: TileOperand) -> tuple[Index, ...]:
    """The loop's indices down to the last one that moves the operand's tile."""
    moving = [number for number, index in enumerate(indices) if index.name in operand.dimensions]
    return indices[: moving[-1] + 1] if moving else ()


def _runs(indices: tuple[Index, ...], own: tuple[Index, ...]) -> Runs:
    """Each combination of tiles of the outer indices ``own``, at the first iteration that works on it."""
    every = prod(index.count for index in indices[len(own) :])
    return Runs(0, every, prod(index.count for index in own), tuple(index.name for index in own))


def _straight_line(parts: _Parts, kernel: Kernel) -> tuple[Step, ...]:
    """The steps of a layer of one tile: copy in, wait, run, copy out, wait; through larger tiles link after link."""
    once = Runs()
    outgoing = [replace(step, runs=once) for step in (*parts.waits, *parts.stores) if isinstance(step, CopyStart)]
    stored = [step.token for step in outgoing]
    starts = [replace(step, runs=once) for step in parts.loads if isinstance(step, (CopyStart, Wait))]
    ready = [replace(step, runs=once) for step in parts.waits if isinstance(step, Wait) and step.token not in stored]
    steps: list[Step] = [*starts, *ready, kernel]
    reached = {operand.buffer for operand in kernel.writes}
    while found := [step for step in outgoing if step.source.buffer in reached]:
        steps += [*found, *(Wait(step.token) for step in found)]
        reached = {step.destination.buffer for step in found}
    return tuple(steps)


def _home_name(
    problem: TilingProblem, operand: TileOperand, steps: TileSteps, constants: Constants, pools: tuple[str, ...]
) -> str:
    if operand.data is not None:
        return constants.intern(problem.constant_name(operand), operand, steps, pools)
    assert operand.tensor is not None
    return operand.tensor


def _rectangle(operand: TileOperand, problem: TilingProblem, choice: TileChoice) -> tuple[AxisRange, ...]:
    uncut = {name: extent for name, extent in problem.extents.items() if name not in choice.order}
    return tuple(axis_range(axis, extent, uncut) for axis, extent in zip(operand.axes, operand.extents, strict=True))
