"""Rule on guards: beside each buffer there is room for its canaries while the buffer is alive."""

from __future__ import annotations

from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import Access, Guards


def check_room(facts: Facts, log: Log) -> None:
    """Each buffer's canaries lie in its pool, and so do those at the pool's two ends."""
    guards = facts.plan.guards
    if guards is None:
        return
    if guards.below_bytes < 1 or guards.behind_bytes < 1:
        log.report(Rule.GUARDS, f"{guards.below_bytes} bytes below and {guards.behind_bytes} behind are none", "guards")
    used = {use.pool: use.used_bytes for use in facts.plan.pool_use}
    for pool in guards.pools:
        if facts.pools[pool].access is Access.READ_ONLY:
            log.report(Rule.GUARDS, "canaries cannot be written there", f"pool {pool}")
    for name, placement in facts.placements.items():
        if not _is_guarded(facts, guards, name):
            continue
        begin, end = facts.span(name)
        least, most = 2 * guards.below_bytes, used.get(placement.pool, 0) - 2 * guards.behind_bytes
        if begin < least or end > most:
            message = f"[{begin}, {end}) is not in [{least}, {most}), where canaries of buffer and pool have room"
            log.report(Rule.GUARDS, message, f"buffer {name}")


def check_between(facts: Facts, name: str, other: str, log: Log) -> None:
    """Two buffers that are alive together are so far apart that the canaries of both fit, or one covers the other."""
    guards = facts.plan.guards
    if guards is None or not (_is_guarded(facts, guards, name) and _is_guarded(facts, guards, other)):
        return
    if facts.root[name] == facts.root[other]:
        return
    (begin, end), (other_begin, other_end) = facts.span(name), facts.span(other)
    room = guards.below_bytes + guards.behind_bytes
    apart = end + room <= other_begin or other_end + room <= begin
    covers = (begin <= other_begin and other_end <= end) or (other_begin <= begin and end <= other_end)
    if not apart and not covers:
        message = f"[{begin}, {end}) and [{other_begin}, {other_end}) leave no {room} bytes for the canaries of both"
        log.report(Rule.GUARDS, message, f"buffers {name} and {other}")


def _is_guarded(facts: Facts, guards: Guards, name: str) -> bool:
    placement = facts.placements.get(name)
    return placement is not None and placement.pool in guards.pools and facts.buffers[name].size_bytes > 0
