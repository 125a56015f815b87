"""Pools that the user gives for intermediate tensors.

Before:  homes = {conv_1 = "l1", sum_2 = "sram"}; intermediates live in sram, or stay in l1
After:   conv_1 lies in l1 whatever it costs, sum_2 in sram; pools of all others are chosen
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.base.errors import TilewrightError, bad_input, suggestion
from tilewright.plan import BufferKind
from tilewright.planning.prepare import Prepared
from tilewright.planning.spill import with_homes
from tilewright.platform import Platform

HOME_OVERRIDE = "home-override"
"""The code of errors about pools that the user gives for tensors."""


def with_given_homes(prepared: Prepared, platform: Platform, given: Mapping[str, str]) -> Prepared:
    """``prepared``, and the same graph stored in other ways, with the pools that the user gives for tensors.

    Raises bad_input ``home-override`` for a name that is no tensor between layers, a pool that does not hold such
    tensors, and two pools for the same bytes; not_supported where no links lead from the pool to the core.
    """
    if not given:
        return prepared
    others = tuple(with_given_homes(other, platform, given) for other in prepared.others)
    roots = _roots(prepared, platform, given)
    settled = with_homes(prepared, platform, roots)
    homes = replace(settled.homes, pinned=frozenset(roots))
    return replace(settled, homes=homes, others=others)


def _roots(prepared: Prepared, platform: Platform, given: Mapping[str, str]) -> dict[str, str]:
    """The tensors that own the bytes of those that are given, with their pools."""
    homes = prepared.homes
    between = [name for name, root in homes.roots.items() if homes.kinds[root] is BufferKind.INTERMEDIATE]
    holders = [pool.name for pool in platform.pools if BufferKind.INTERMEDIATE in pool.holds]
    roots: dict[str, str] = {}
    for name, pool in given.items():
        if name not in between:
            raise _refused(name, "it is no tensor between layers", suggestion(name, between))
        if pool not in holders:
            raise _refused(name, f"no pool '{pool}' holds such tensors", f"one of {', '.join(holders)}")
        if roots.setdefault(homes.roots[name], pool) != pool:
            shared = next(other for other in given if homes.roots.get(other) == homes.roots[name])
            raise _refused(
                name, f"it shares bytes with '{shared}', which is to lie in another pool", "give one of them"
            )
    return roots


def _refused(name: str, what: str, remedy: str | tuple[str, ...]) -> TilewrightError:
    return bad_input(HOME_OVERRIDE, f"a pool is given for '{name}': {what}", at=f"homes.{name}", help=remedy)
