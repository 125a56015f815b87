"""Rules on form: names that exist, numbers that make sense, arrays that fit their buffers.

Everything behind this stage may look names up, divide and expand without asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewright.check.expand import Site, event_count, index_counts, operands_of, runs_of, scratch_of
from tilewright.check.names import ELEMENT_BYTES
from tilewright.check.nest_form import check_kernel_nest
from tilewright.check.rules import Log, Rule
from tilewright.plan import (
    AxisRange,
    Begin,
    Buffer,
    BufferKind,
    CopyStart,
    End,
    Kernel,
    Layer,
    Link,
    Loop,
    Operand,
    Plan,
    Pool,
    RelationKind,
    Wait,
)

MOST_EVENTS = 20_000_000
MOST_BYTES = 1 << 30
"""Larger programs and addresses are refused: expanding them would take hours or all memory."""

CUT_FROM_TILES = "only a copy reads or fills a part of what a slot holds"


def check_declarations(plan: Plan, log: Log) -> None:
    """Pools, links, buffers, relations, placements and interface."""
    pools, buffers = {pool.name for pool in plan.pools}, {buffer.name for buffer in plan.buffers}
    _unique("pool", [pool.name for pool in plan.pools], log)
    _unique("link", [link.name for link in plan.links], log)
    _unique("buffer", [buffer.name for buffer in plan.buffers], log)
    _known("pool", [plan.io_pool], pools, "io_pool", log)
    _known("pool", [name for name, _ in plan.core.access_cycles], pools, "core", log)
    for pool in plan.pools:
        _check_pool(pool, log)
    for link in plan.links:
        _known("pool", [link.source, link.target], pools, f"link {link.name}", log)
        _check_link(link, log)
    for buffer in plan.buffers:
        _known("pool", buffer.pools, pools, f"buffer {buffer.name}", log)
        _check_buffer(buffer, log)
    for relation in plan.relations:
        _known("buffer", [relation.first, relation.second], buffers, f"relation of {relation.first}", log)
    for placement in plan.placements:
        _known("buffer", [placement.buffer], buffers, f"placement of {placement.buffer}", log)
        _known("pool", [placement.pool], pools, f"placement of {placement.buffer}", log)
    for tensor in (*plan.inputs, *plan.outputs):
        _known("buffer", [tensor.buffer], buffers, f"interface tensor {tensor.name}", log)
    for state in plan.states:
        _known("buffer", [state.found, state.left], buffers, f"state {state.input}", log)
    _known("buffer", [plan.slide.position] if plan.slide is not None else [], buffers, "the window", log)
    _known("buffer", [plan.profile] if plan.profile is not None else [], buffers, "profile", log)
    _known("buffer", [plan.guards.record] if plan.guards is not None else [], buffers, "guards", log)
    _known("pool", plan.guards.pools if plan.guards is not None else (), pools, "guards", log)
    for use in plan.pool_use:
        _known("pool", [use.pool], pools, "pool_use", log)
    _check_views(plan, log)


def check_steps(plan: Plan, every: Iterable[Site], log: Log) -> None:
    """Names, periods, ranks and rectangles of the program's steps."""
    ranks = {buffer.name: len(buffer.shape) for buffer in plan.buffers}
    kinds = {buffer.name: buffer.kind for buffer in plan.buffers}
    links = {link.name for link in plan.links}
    for site in every:
        step = site.step

        def demand(holds: bool, message: str, place: str = site.place) -> None:
            if not holds:
                log.report(Rule.MALFORMED, message, place)

        if isinstance(step, Loop):
            _check_loop(step, demand)
        if isinstance(step, Layer):
            _check_stages(step, demand)
        if isinstance(step, (Begin, End)):
            _known("buffer", [step.buffer], ranks, site.place, log)
        if isinstance(step, CopyStart):
            _known("link", [step.link], links, site.place, log)
            _known("buffer", scratch_of(step), ranks, site.place, log)
            demand(not (step.words and step.kept), "bytes pass through a buffer, and a part is kept")
            tiles = all(
                kinds.get(end.buffer) is BufferKind.TILE for end in (step.source, step.destination) if end.within
            )
            demand(tiles, CUT_FROM_TILES)
        if isinstance(step, Kernel):
            _known("buffer", scratch_of(step), ranks, site.place, log)
            demand(not any(operand.within for operand in (*step.reads, *step.writes)), CUT_FROM_TILES)
            _check_kernel(step, site, ranks, demand, log)
        _check_runs(site, demand, log)
        reads, writes = operands_of(step)
        for operand in (*reads, *writes):
            _known("buffer", [operand.buffer], ranks, site.place, log)
            _check_operand(operand, site, ranks, demand, log)


def check_extent(plan: Plan, log: Log) -> None:
    """The program and its memory are small enough to be expanded."""
    events = event_count(plan.program)
    if events > MOST_EVENTS:
        log.report(Rule.TOO_LARGE, f"the program runs {events} steps; at most {MOST_EVENTS} can be checked", "program")
    offsets = {placement.buffer: placement.offset_bytes for placement in plan.placements}
    for buffer in plan.buffers:
        end = offsets.get(buffer.name, 0) + buffer.size_bytes
        if end > MOST_BYTES and buffer.kind is not BufferKind.CONSTANT:
            log.report(Rule.TOO_LARGE, f"ends at byte {end}, beyond {MOST_BYTES}", f"buffer {buffer.name}")


Demand = Callable[[bool, str], None]


def _check_runs(site: Site, demand: Demand, log: Log) -> None:
    """Blocks that a step has, at iterations that its loop has."""
    runs = runs_of(site.step)
    if runs is None:
        return
    demand(runs.every >= 1 and runs.count >= 1, f"runs every {runs.every} iterations, {runs.count} times")
    _known("index", runs.over, site.names, site.place, log)
    demand(len(set(runs.over)) == len(runs.over), f"enumerates an index twice: {', '.join(runs.over)}")
    if isinstance(site.step, Wait):
        demand(not runs.over, "a wait enumerates indices")
        demand(site.step.number >= 0, f"waits for copy {site.step.number}")
    else:
        demand(runs.count <= site.blocks, f"{runs.count} blocks, of {site.blocks}")
    if site.loop < 0:
        demand((runs.first, runs.count) == (0, 1), f"runs {runs.count} times from {runs.first} on, outside loops")


def _check_stages(layer: Layer, demand: Demand) -> None:
    """Each stage has a name and a kernel of its own."""
    for names in ([stage.name for stage in layer.stages], [stage.kernel for stage in layer.stages]):
        demand(len(set(names)) == len(names), f"two stages of one name or kernel among {', '.join(names)}")


def _check_loop(loop: Loop, demand: Demand) -> None:
    for index in loop.indices:
        demand(index.step >= 1 and index.extent >= 1, f"index {index.name}: extent {index.extent}, step {index.step}")
        demand(0 <= index.shift < max(index.step, 1), f"index {index.name}: shift {index.shift}, step {index.step}")
    names = [index.name for index in loop.indices]
    counts = index_counts(loop)
    for coarse in loop.coarse:
        names.append(coarse.name)
        tiles = counts.get(coarse.of, 0)
        demand(_divides(coarse.tiles, tiles), f"index {coarse.name}: {coarse.tiles} of {tiles} tiles of {coarse.of}")
        shifted = any(index.name == coarse.of and index.shift for index in loop.indices)
        demand(not shifted, f"index {coarse.name}: tiles of {coarse.of}, whose first one is shorter")
    demand(len(set(names)) == len(names), f"two indices of one name among {', '.join(names)}")


def _check_kernel(kernel: Kernel, site: Site, ranks: dict[str, int], demand: Demand, log: Log) -> None:
    _known("index", kernel.reduction, site.names, site.place, log)
    operands = (*kernel.reads, *kernel.writes)
    demand(len(kernel.axes) == len(operands), f"{len(kernel.axes)} lists of axes for {len(operands)} operands")
    for operand, axes in zip(operands, kernel.axes, strict=False):
        rank = ranks.get(operand.buffer, 0)
        demand(all(-1 <= axis < rank for axis in axes), f"axes {axes} of {operand.buffer}, which has {rank}")
    turned = sorted(site.names & set(kernel.stores.backward))
    demand(not turned, f"walks backward over {', '.join(turned)}, of which it sees parts")
    check_kernel_nest(kernel, [ranks.get(operand.buffer, 0) for operand in operands], demand)


def _check_operand(operand: Operand, site: Site, ranks: dict[str, int], demand: Demand, log: Log) -> None:
    rank = ranks.get(operand.buffer, len(operand.rectangle))
    demand(
        len(operand.rectangle) == rank, f"{len(operand.rectangle)} ranges for {operand.buffer}, which has {rank} axes"
    )
    demand(_divides(operand.period, site.blocks), f"period {operand.period} does not divide {site.blocks} blocks")
    demand(len(operand.within) in (0, rank), f"{len(operand.within)} ranges of what {operand.buffer} holds, not {rank}")
    for axis in (*operand.rectangle, *operand.within):
        _check_axis(axis, operand, site, demand, log)


def _check_axis(axis: AxisRange, operand: Operand, site: Site, demand: Demand, log: Log) -> None:
    demand(axis.divisor >= 1 and axis.extent >= 0, f"{operand.buffer}: divisor {axis.divisor}, extent {axis.extent}")
    names = [name for name, _ in axis.terms]
    _known("index", names, site.names, site.place, log)


def _check_pool(pool: Pool, log: Log) -> None:
    numbers = (pool.align_bytes >= 1, pool.granule_bytes >= 1, pool.cache_line_bytes >= 0)
    if not all(numbers) or (pool.size_bytes is not None and pool.size_bytes < 0):
        log.report(Rule.MALFORMED, "size, alignment, granule or cache line below its least value", f"pool {pool.name}")


def _check_link(link: Link, log: Log) -> None:
    if link.align_bytes < 1 or link.round_up_bytes < 1:
        message = f"alignment {link.align_bytes}, rounding {link.round_up_bytes}"
        log.report(Rule.MALFORMED, message, f"link {link.name}")


def _check_buffer(buffer: Buffer, log: Log) -> None:
    place = f"buffer {buffer.name}"
    if buffer.dtype not in ELEMENT_BYTES:
        log.report(Rule.MALFORMED, f"unknown element type {buffer.dtype}", place)
        return
    if len(buffer.shape) != len(buffer.strides_bytes):
        log.report(Rule.MALFORMED, f"shape {buffer.shape} and strides {buffer.strides_bytes} differ in rank", place)
        return
    numbers = (*buffer.shape, *buffer.strides_bytes, buffer.size_bytes, buffer.slot_bytes)
    if min(numbers) < 0 or buffer.align_bytes < 1 or buffer.copies < 1:
        log.report(Rule.MALFORMED, "a negative extent, stride or size, or no alignment or copy", place)
        return
    if buffer.align_bytes & (buffer.align_bytes - 1) or buffer.align_bytes < ELEMENT_BYTES[buffer.dtype]:
        message = f"aligned to {buffer.align_bytes}, no power of two that suits {buffer.dtype}"
        log.report(Rule.MALFORMED, message, place)
        return
    _check_array(buffer, log)


def _check_array(buffer: Buffer, log: Log) -> None:
    """The elements must not overlap each other and must fit their slot."""
    place = f"buffer {buffer.name}"
    reach = ELEMENT_BYTES[buffer.dtype] if 0 not in buffer.shape else 0
    for stride, extent in sorted(zip(buffer.strides_bytes, buffer.shape, strict=True)):
        if extent <= 1 or not reach:
            continue
        if stride < reach:
            log.report(Rule.MALFORMED, f"stride {stride} puts elements on each other", place)
        reach += stride * (extent - 1)
    is_tile = buffer.kind is BufferKind.TILE
    room = buffer.slot_bytes if is_tile else buffer.size_bytes
    if reach > room:
        log.report(Rule.BUFFER_SIZE, f"{reach} bytes of elements in {room} bytes", place)
    if is_tile and buffer.copies * buffer.slot_bytes > buffer.size_bytes:
        message = f"{buffer.copies} slots of {buffer.slot_bytes} bytes in {buffer.size_bytes} bytes"
        log.report(Rule.BUFFER_SIZE, message, place)
    if not is_tile and buffer.copies != 1:
        log.report(Rule.MALFORMED, f"{buffer.copies} copies, but only tiles have slots", place)


def _check_views(plan: Plan, log: Log) -> None:
    """A buffer is a view of at most one other, and never of itself."""
    parents: dict[str, str] = {}
    for relation in plan.relations:
        if relation.kind is not RelationKind.AT_OFFSET:
            continue
        if relation.first in parents:
            log.report(Rule.MALFORMED, "a view of two buffers", f"relation of {relation.first}")
        parents[relation.first] = relation.second
    for name in parents:
        at, seen = name, {name}
        while at in parents:
            at = parents[at]
            if at in seen:
                log.report(Rule.CIRCULAR_VIEW, f"a view of itself, through {at}", f"relation of {name}")
                break
            seen.add(at)


def _divides(period: int, tiles: int) -> bool:
    return period >= 1 and tiles % period == 0


def _unique(kind: str, names: list[str], log: Log) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            log.report(Rule.DUPLICATE_NAME, f"two {kind}s are called {name!r}", f"{kind} {name}")
        seen.add(name)


def _known(kind: str, names: Iterable[str], known: Iterable[str], place: str, log: Log) -> None:
    for name in names:
        if name not in known:
            log.report(Rule.UNKNOWN_NAME, f"there is no {kind} {name!r}", place)
