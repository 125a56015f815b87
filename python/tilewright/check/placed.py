"""Rules on placement: pools, alignment, capacity, relations between addresses."""

from __future__ import annotations

from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import Access, Buffer, BufferKind, Placement, Pool, PoolUse, Relation, RelationKind


def check_placements(facts: Facts, log: Log) -> None:
    """Every buffer that the plan owns is placed once, where it may be, aligned, and inside."""
    seen: set[str] = set()
    for placement in facts.plan.placements:
        name = placement.buffer
        if name in seen:
            log.report(Rule.PLACED_TWICE, f"{name} has two placements", f"buffer {name}")
        seen.add(name)
        if name in facts.callers:
            log.report(Rule.CALLER_BUFFER, f"{name} is the caller's, yet it is placed", f"buffer {name}")
            continue
        buffer, pool = facts.buffers[name], facts.pools[placement.pool]
        _check_pool_choice(buffer, pool, log)
        _check_alignment(buffer, pool, placement, log)
        _check_capacity(facts, placement, log)
    for name in facts.buffers:
        if name not in seen and name not in facts.callers:
            log.report(Rule.UNPLACED, f"{name} has no placement", f"buffer {name}")
    _check_interface(facts, log)


def _check_interface(facts: Facts, log: Log) -> None:
    for tensor in facts.plan.callers_tensors:
        name = tensor.buffer
        if facts.root[name] != name and facts.root[name] not in facts.callers:
            log.report(
                Rule.CALLER_BUFFER, f"{name} is the caller's, yet a view of {facts.root[name]}", f"buffer {name}"
            )


def _check_pool_choice(buffer: Buffer, pool: Pool, log: Log) -> None:
    place = f"buffer {buffer.name}"
    if pool.name not in buffer.pools:
        log.report(Rule.POOL_CANDIDATE, f"placed in {pool.name}, allowed are {', '.join(buffer.pools)}", place)
    if buffer.kind not in pool.holds:
        log.report(Rule.POOL_HOLDS, f"pool {pool.name} does not hold buffers of kind {buffer.kind.value}", place)
    if pool.access is Access.READ_ONLY and buffer.kind is not BufferKind.CONSTANT:
        log.report(Rule.POOL_HOLDS, f"pool {pool.name} is read-only, the buffer is {buffer.kind.value}", place)


def _check_alignment(buffer: Buffer, pool: Pool, placement: Placement, log: Log) -> None:
    place, need = f"buffer {buffer.name}", buffer.align_bytes
    if placement.offset_bytes % need:
        message = f"offset {placement.offset_bytes} in {pool.name} is no multiple of {need}"
        log.report(Rule.ALIGNMENT, message, place)
    if pool.align_bytes % need:
        log.report(Rule.ALIGNMENT, f"pool {pool.name} is aligned to {pool.align_bytes} only, need {need}", place)
    if buffer.copies > 1 and buffer.slot_bytes % need:
        log.report(Rule.ALIGNMENT, f"slots of {buffer.slot_bytes} bytes are not aligned to {need}", place)


def _check_capacity(facts: Facts, placement: Placement, log: Log) -> None:
    pool = facts.pools[placement.pool]
    begin, end = facts.span(placement.buffer)
    if begin < 0 or (pool.size_bytes is not None and end > pool.size_bytes):
        message = f"[{begin}, {end}) is not inside pool {pool.name}, which has {pool.size_bytes} bytes"
        log.report(Rule.CAPACITY, message, f"buffer {placement.buffer}")


def check_pool_use(facts: Facts, log: Log) -> None:
    """The bytes reported (and reserved in C) cover every placement, and the bound is one."""
    tops: dict[str, int] = {}
    for placement in facts.plan.placements:
        tops[placement.pool] = max(tops.get(placement.pool, 0), facts.span(placement.buffer)[1])
    stated = {use.pool: use for use in facts.plan.pool_use}
    for name, top in tops.items():
        pool = facts.pools[name]
        rounded = -(-top // pool.granule_bytes) * pool.granule_bytes
        if pool.size_bytes is not None and rounded > pool.size_bytes:
            log.report(Rule.CAPACITY, f"{rounded} bytes in granules, the pool has {pool.size_bytes}", f"pool {name}")
        if name not in stated:
            log.report(Rule.POOL_USE, f"{top} bytes are used, but none are reported", f"pool {name}")
    for use in facts.plan.pool_use:
        _check_use(use, facts.pools[use.pool], tops.get(use.pool, 0), log)


def _check_use(use: PoolUse, pool: Pool, top: int, log: Log) -> None:
    place = f"pool {pool.name}"
    if use.used_bytes < top:
        log.report(Rule.POOL_USE, f"{use.used_bytes} bytes reported, placements reach {top}", place)
    if pool.size_bytes is not None and use.used_bytes > pool.size_bytes:
        log.report(Rule.CAPACITY, f"{use.used_bytes} bytes reported, the pool has {pool.size_bytes}", place)
    if use.lower_bound_bytes > use.used_bytes:
        message = f"lower bound {use.lower_bound_bytes} above the {use.used_bytes} bytes used"
        log.report(Rule.POOL_USE, message, place)
    rounded = -(-use.lower_bound_bytes // pool.granule_bytes) * pool.granule_bytes
    if use.optimal and use.used_bytes > rounded:
        message = f"called optimal with {use.used_bytes} bytes, lower bound {use.lower_bound_bytes}"
        log.report(Rule.POOL_USE, message, place)


def check_relations(facts: Facts, log: Log) -> None:
    """Views lie exactly where they should and inside their parents."""
    for relation in facts.plan.relations:
        if relation.kind is RelationKind.AT_OFFSET:
            _check_view(facts, relation, log)


def _check_view(facts: Facts, relation: Relation, log: Log) -> None:
    first, second = facts.buffers[relation.first], facts.buffers[relation.second]
    place = f"view {first.name} of {second.name}"
    offset = relation.offset_bytes
    if offset < 0 or offset + first.size_bytes > second.size_bytes:
        message = f"[{offset}, {offset + first.size_bytes}) leaves the {second.size_bytes} bytes of {second.name}"
        log.report(Rule.AT_OFFSET, message, place)
    _check_first_element(facts, relation, place, log)
    if first.name not in facts.placements or second.name not in facts.placements:
        return
    mine, other = facts.placements[first.name], facts.placements[second.name]
    if mine.pool != other.pool or mine.offset_bytes != other.offset_bytes + offset:
        message = (
            f"{first.name} is at {mine.pool}+{mine.offset_bytes}, must be at {other.pool}+{other.offset_bytes + offset}"
        )
        log.report(Rule.AT_OFFSET, message, place)


def _check_first_element(facts: Facts, relation: Relation, place: str, log: Log) -> None:
    """The view begins at an element of its parent, and ends with its own last one."""
    first, second = facts.buffers[relation.first], facts.buffers[relation.second]
    starts, strides = relation.starts, second.strides_bytes
    inside = len(starts) == len(second.shape) and all(
        0 <= start < max(extent, 1) for start, extent in zip(starts, second.shape, strict=True)
    )
    if not inside:
        log.report(Rule.AT_OFFSET, f"its first element {starts} is none of {second.name} {second.shape}", place)
        return
    begin = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    if begin != relation.offset_bytes:
        message = f"its first element {starts} is at byte {begin} of {second.name}, not at {relation.offset_bytes}"
        log.report(Rule.AT_OFFSET, message, place)
    steps = zip(first.shape, first.strides_bytes, strict=True)
    reach = sum((extent - 1) * stride for extent, stride in steps) + facts.element_bytes(first.name)
    if first.size_bytes != (reach if 0 not in first.shape else 1):
        log.report(Rule.AT_OFFSET, f"its elements end at byte {reach}, the view at {first.size_bytes}", place)


def trail_excuses(facts: Facts, left: str, right: str) -> bool | None:
    """Whether a trails relation lets two overlapping buffers be; None if they have none."""
    found = None
    for relation in facts.trails.get(frozenset((facts.root[left], facts.root[right])), ()):
        first, second = facts.span(relation.first)[0], facts.span(relation.second)[0]
        found = bool(found) or first + relation.offset_bytes <= second
    return found
