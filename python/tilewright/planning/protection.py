"""Layers that may touch the model's memory alone: with which other options, and on which platforms."""

from __future__ import annotations

from dataclasses import replace
from math import lcm, prod

from tilewright.base.errors import bad_input, does_not_fit, not_supported
from tilewright.options import CompileOptions, Weights
from tilewright.plan import Access, Plan, Pool, PoolUse
from tilewright.platform import Platform


def require_protectable(options: CompileOptions, platform: Platform) -> None:
    """Raise bad_input for options that contradict PROTECT, not_supported for a platform that does not offer it."""
    if not options.protect:
        return
    contradicting = {
        "FEED": (bool(options.feed), "a fed layer runs in parts, from several functions"),
        "SLIDE": (bool(options.slide), "a layer of a window that slides runs in parts"),
        "WEIGHTS external": (options.weights is Weights.EXTERNAL, "layers read the address of the file"),
    }
    for name, (given, why) in contradicting.items():
        if given:
            what = f"PROTECT and {name} contradict each other: {why}"
            raise bad_input("bad-option", what, help="leave one of them out")
    if not platform.target.protected_regions:
        raise not_supported(
            "no-protection",
            f"PROTECT on platform '{platform.name}', whose port protects no memory",
            help="leave PROTECT out, or give [target] protected_regions for a port that has tilewright_protected",
        )
    if platform.core.count > 1 or platform.core.called_on == "controller" or platform.links:
        what = f"PROTECT on platform '{platform.name}', where several cores or links run a layer"
        raise not_supported("no-protection", what, help="a platform with one core and no link")


def with_granules(platform: Platform) -> Platform:
    """The platform with writable pools whose alignment and size are multiples of what the port can protect."""
    granule = platform.target.protected_granule_bytes
    pools = (
        replace(pool, granule_bytes=lcm(pool.granule_bytes, granule), align_bytes=lcm(pool.align_bytes, granule))
        if pool.access is Access.READ_WRITE
        else pool
        for pool in platform.pools
    )
    return replace(platform, pools=tuple(pools))


def with_whole_regions(plan: Plan, platform: Platform) -> Plan:
    """The plan with pools that are one region each, on a platform whose regions are powers of two in parts.

    Raises does_not_fit ``protected-pool`` for a pool that has no room for its last part.
    """
    parts = platform.target.protected_parts
    if not plan.protected or not parts:
        return plan
    used = {use.pool: use.used_bytes for use in plan.pool_use}
    pools = {
        pool.name: _whole_region(pool, used[pool.name], platform.target.protected_granule_bytes, parts)
        for pool in plan.pools
        if pool.access is Access.READ_WRITE and used.get(pool.name)
    }
    return replace(
        plan,
        pools=tuple(pools.get(pool.name, pool) for pool in plan.pools),
        pool_use=tuple(_in_granules(use, pools[use.pool]) if use.pool in pools else use for use in plan.pool_use),
    )


def _whole_region(pool: Pool, used_bytes: int, granule_bytes: int, parts: int) -> Pool:
    """The pool with the smallest parts of which ``parts`` hold its bytes, aligned so that it is one region."""
    part = granule_bytes
    while (needed := _up(used_bytes, lcm(pool.granule_bytes, part))) > part * parts:
        part *= 2
    if pool.size_bytes is not None and needed > pool.size_bytes:
        what = f"PROTECT: pool '{pool.name}' needs {needed:,} bytes in parts of {part:,}, it has {pool.size_bytes:,}"
        raise does_not_fit("protected-pool", what, help="give the pool more room with POOLS, or leave PROTECT out")
    return replace(pool, granule_bytes=lcm(pool.granule_bytes, part), align_bytes=lcm(pool.align_bytes, part * parts))


def _in_granules(use: PoolUse, pool: Pool) -> PoolUse:
    used, bound = (_up(count, pool.granule_bytes) for count in (use.used_bytes, use.lower_bound_bytes))
    return replace(use, used_bytes=used, lower_bound_bytes=bound, optimal=used == bound)


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def require_regions(plan: Plan, platform: Platform) -> None:
    """Raise not_supported if a protected plan has more pieces of memory than the port can protect."""
    if not plan.protected:
        return
    used = {placement.pool for placement in plan.placements}
    pools = [pool for pool in plan.pools if pool.name in used]
    given = [item for item in plan.callers_tensors if prod(item.shape)]
    needed, most = 1 + len(pools) + len(given), platform.target.protected_regions
    if needed > most:
        raise not_supported(
            "too-many-regions",
            f"PROTECT: the model needs {needed} regions of memory, the port of '{platform.name}' protects {most}",
            help="IO_IN_POOLS puts inputs and outputs into pools, which are one region each",
        )
