"""Rules on copies that pass bytes through a scratch buffer, where a link takes whole words only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.check.expand import Event, Site, scratch_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.check.shadow import Seen, Shadow
from tilewright.plan import BufferKind, CopyStart, Kernel, Link


def check_words(facts: Facts, every: Sequence[Site], log: Log) -> None:
    """The scratch buffer holds whole words, the core reaches the tile, and a store can read words before it."""
    addressed = {name for name, _ in facts.plan.core.access_cycles}
    used = {name for site in every if isinstance(site.step, Kernel) for name in scratch_of(site.step)}
    for site in every:
        step = site.step
        if not isinstance(step, CopyStart) or not step.words:
            continue
        for message in _mistakes(facts, step, addressed):
            log.report(Rule.WORDS, message, site.place)
        if step.words in used:
            log.report(Rule.WORDS, f"{step.words} is scratch of a kernel", site.place)


def _mistakes(facts: Facts, step: CopyStart, addressed: set[str]) -> Iterable[str]:
    link, buffer = facts.links[step.link], facts.buffers[step.words]
    need = link.align_bytes
    near, far = (link.target, link.source) if link.target in addressed else (link.source, link.target)
    if near not in addressed:
        yield f"the core addresses neither end of link {link.name}"
    if facts.placements[step.words].pool != near:
        yield f"{buffer.name} does not lie in {near}, where the tile is"
    if buffer.kind is not BufferKind.SCRATCH:
        yield f"{buffer.name} is no scratch, but of kind {buffer.kind.value}"
    if buffer.size_bytes < need or buffer.size_bytes % need or buffer.align_bytes % need:
        yield f"{buffer.name} has {buffer.size_bytes} bytes, aligned to {buffer.align_bytes}, for words of {need}"
    if link.source == near and not _leads_back(facts, link, far, near):
        yield f"no link of words of {need} bytes leads from {far} to {near}, for what a store changes in part"


def _leads_back(facts: Facts, link: Link, far: str, near: str) -> bool:
    back = (item for item in facts.links.values() if (item.source, item.target) == (far, near))
    return any(link.align_bytes % item.align_bytes == 0 for item in back)


def check_touched_words(
    facts: Facts, shadow: Shadow, step: CopyStart, ends: tuple[Seen, Seen], event: Event, log: Log
) -> None:
    """The whole words that a copy touches at home lie in the bytes of the buffer that it reads or writes."""
    link = facts.links[step.link]
    addressed = {name for name, _ in facts.plan.core.access_cycles}
    home = ends[0] if link.target in addressed else ends[1]
    if home.bytes is None:
        return
    need, root = link.align_bytes, facts.root[home.buffer]
    known = facts.buffers[root].align_bytes if root in facts.callers else facts.pools[facts.pool_of(root)].align_bytes
    begin = home.bytes.base - home.bytes.base % need
    last = home.bytes.base + sum(max((extent - 1) * stride, 0) for extent, stride in home.bytes.dims[1:])
    end = -(-(last + home.bytes.run_bytes) // need) * need
    start = shadow.homes[root][1]
    if known % need or begin < start or end > start + facts.buffers[root].size_bytes:
        message = f"words of {need} bytes of link {link.name} at [{begin}, {end}) leave {root}"
        log.report(Rule.WORDS, message, event.site.place, event.block)
