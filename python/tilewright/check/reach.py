"""Rules on who may touch what: cores and links reach pools, and some bytes are never written."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.check.expand import Site, operands_of, scratch_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import Access, BufferKind, CopyStart, Kernel, Wait


def check_reach(facts: Facts, every: Iterable[Site], log: Log) -> None:
    """Kernels use pools that the core addresses, copies the pools of their link."""
    addressed = {name for name, _ in facts.plan.core.access_cycles}
    for site in every:
        step = site.step
        if isinstance(step, Kernel):
            names = [operand.buffer for operand in (*step.reads, *step.writes)]
            for name in (*names, *scratch_of(step)):
                if facts.pool_of(name) not in addressed:
                    message = f"{name} lives in {facts.pool_of(name)}, which the core does not address"
                    log.report(Rule.CORE_REACH, message, site.place)
        if isinstance(step, CopyStart):
            _check_copy(facts, step, site, log)
        for operand in operands_of(step)[1]:
            _check_written(facts, operand.buffer, site, log)


def _check_copy(facts: Facts, step: CopyStart, site: Site, log: Log) -> None:
    link = facts.links[step.link]
    ends = (facts.pool_of(step.source.buffer), facts.pool_of(step.destination.buffer))
    if ends != (link.source, link.target):
        message = f"link {link.name} goes {link.source} to {link.target}, the copy {ends[0]} to {ends[1]}"
        log.report(Rule.LINK_REACH, message, site.place)
    source, destination = facts.buffers[step.source.buffer], facts.buffers[step.destination.buffer]
    if source.dtype != destination.dtype:
        log.report(Rule.COPY_SHAPE, f"copies {source.dtype} to {destination.dtype}", site.place)


def _check_written(facts: Facts, name: str, site: Site, log: Log) -> None:
    kind = facts.root_kind(name)
    if facts.is_found(name):
        log.report(Rule.FORBIDDEN_WRITE, f"writes to {name}, which holds the state that the run finds", site.place)
    elif kind in (BufferKind.INPUT, BufferKind.CONSTANT):
        log.report(Rule.FORBIDDEN_WRITE, f"writes to {name}, whose bytes are of kind {kind.value}", site.place)
    elif facts.pools[facts.pool_of(name)].access is Access.READ_ONLY:
        log.report(Rule.FORBIDDEN_WRITE, f"writes to {name} in a read-only pool", site.place)


def check_token_scopes(every: Iterable[Site], log: Log) -> None:
    """A token is used in one loop, and elsewhere only outside loops: entries into two loops have no common order."""
    scopes: dict[str, int] = {}
    for site in every:
        step = site.step
        if not isinstance(step, (CopyStart, Wait)) or site.loop < 0:
            continue
        if scopes.setdefault(step.token, site.loop) != site.loop:
            log.report(Rule.TOKEN_SCOPE, f"token {step.token} is used in two loops", site.place)
