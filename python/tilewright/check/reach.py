"""Rules on who may touch what: cores and links reach pools, and some bytes are never written."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.check.expand import Site, operands_of, scratch_of
from tilewright.check.facts import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import Access, Barrier, BufferKind, CopyStart, Fork, Kernel, Wait


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
    if kind in (BufferKind.INPUT, BufferKind.CONSTANT):
        log.report(Rule.FORBIDDEN_WRITE, f"writes to {name}, whose bytes are of kind {kind.value}", site.place)
    elif facts.pools[facts.pool_of(name)].access is Access.READ_ONLY:
        log.report(Rule.FORBIDDEN_WRITE, f"writes to {name} in a read-only pool", site.place)


def check_forks(facts: Facts, every: Iterable[Site], log: Log) -> None:
    """Between a Fork and its Barrier stand kernels only, on no more cores than there are."""
    open_fork: Site | None = None
    for site in every:
        step = site.step
        if isinstance(step, Fork):
            if open_fork is not None:
                log.report(Rule.FORK, "a fork inside a fork", site.place)
            if step.cores > facts.plan.core.count:
                log.report(Rule.FORK, f"{step.cores} cores, there are {facts.plan.core.count}", site.place)
            open_fork = site
        elif isinstance(step, Barrier):
            open_fork = None
        elif open_fork is not None and (isinstance(step, (CopyStart, Wait)) or site.loop != open_fork.loop):
            log.report(Rule.FORK, "something other than a kernel between a fork and its barrier", site.place)
            open_fork = None
    if open_fork is not None:
        log.report(Rule.FORK, "a fork without a barrier", open_fork.place)


def check_token_scopes(every: Iterable[Site], log: Log) -> None:
    """A token is used in one loop and by one period, so that numbers of tiles agree; elsewhere only outside loops.

    There, a step is for the copy of a number, whatever the loop on the other side.
    """
    scopes: dict[str, tuple[int, int]] = {}
    for site in every:
        step = site.step
        if not isinstance(step, (CopyStart, Wait)) or (site.loop < 0 and step.when.period == 1):
            continue
        scope = (site.loop, step.when.period)
        if scopes.setdefault(step.token, scope) != scope:
            message = f"token {step.token} is used in two loops, or with two periods"
            log.report(Rule.TOKEN_SCOPE, message, site.place)
