"""Layers that may touch the model's memory alone: with which other options, and on which platforms."""

from __future__ import annotations

from dataclasses import replace
from math import lcm, prod

from tilewright.base.errors import bad_input, not_supported
from tilewright.options import CompileOptions, Weights
from tilewright.plan import Access, Plan
from tilewright.platform import Platform


def require_protectable(options: CompileOptions, platform: Platform) -> None:
    """Raise bad_input for options that contradict PROTECT, not_supported for a platform that does not offer it."""
    if not options.protect:
        return
    contradicting = {
        "FEED": (bool(options.feed), "a fed layer runs in parts, from several functions"),
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
    """The platform, whose writable pools are whole regions that can be protected."""
    granule = platform.target.protected_granule_bytes
    pools = (
        replace(pool, granule_bytes=lcm(pool.granule_bytes, granule), align_bytes=lcm(pool.align_bytes, granule))
        if pool.access is Access.READ_WRITE
        else pool
        for pool in platform.pools
    )
    return replace(platform, pools=tuple(pools))


def require_regions(plan: Plan, platform: Platform) -> None:
    """Raise not_supported if a protected plan has more pieces of memory than the port can protect."""
    if not plan.protected:
        return
    used = {placement.pool for placement in plan.placements}
    writable = [pool for pool in plan.pools if pool.name in used and pool.access is Access.READ_WRITE]
    given = [] if plan.io_in_pools else [item for item in (*plan.inputs, *plan.outputs) if prod(item.shape)]
    needed, most = 1 + len(writable) + len(given), platform.target.protected_regions
    if needed > most:
        raise not_supported(
            "too-many-regions",
            f"PROTECT: the model needs {needed} regions of memory, the port of '{platform.name}' protects {most}",
            help="IO_IN_POOLS puts inputs and outputs into pools, which are one region each",
        )
