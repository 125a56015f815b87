"""Homes that the user gives for tensors: a pool, an address in a pool, or several pools of which one is chosen.

Before:  homes = {conv_1 = "l1", sum_2 = "sram@64"}; intermediates live in sram, or stay in l1
After:   conv_1 lies in l1 whatever it costs, sum_2 in sram, 64 bytes behind its start; pools of all others are chosen
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tilewright.base.errors import suggestion
from tilewright.base.lazy_dataclass import dataclass
from tilewright.options.home_text import GivenHome, given_home
from tilewright.plan import BufferKind
from tilewright.planning.given_constants import check_holders, constant_names, home_refused
from tilewright.planning.prepare import Prepared
from tilewright.planning.spill import at_homes
from tilewright.platform import Platform
from tilewright.storage.homes import Homes, near_home
from tilewright.tiling.problem import TilingProblem


def with_given_homes(prepared: Prepared, platform: Platform, given: Mapping[str, str]) -> Prepared:
    """``prepared``, and the same graph stored in other ways, with the homes that the user gives.

    Homes of constants are settled already (``given_constants``). Raises bad_input ``home-override`` for a name that
    the plan does not place, a pool that does not hold such tensors, pools that cannot be chosen from, an address
    outside of its pool, and two homes for the same bytes; not_supported where no links lead from a pool to the core.
    """
    if not given:
        return prepared
    others = tuple(with_given_homes(other, platform, given) for other in prepared.others)
    constants = {name for ways in prepared.problems for way in ways for name in constant_names(way)}
    for name in constants & set(given):
        _check_offset(name, given_home(given[name]), platform)
    roots = _roots(prepared, platform, {name: given_home(text) for name, text in given.items()}, constants)
    single = {root for root, item in roots.items() if len(item.pools) == 1}
    settled = _with_pools(prepared, platform, {root: item.pools for root, item in roots.items()})
    homes = replace(
        settled.homes,
        pinned=frozenset(single | (constants & set(given))),
        given={root: item.pools for root, item in roots.items() if root not in single},
        fixed=frozenset(root for root, item in roots.items() if item.offset_bytes is not None),
    )
    return replace(settled, homes=homes, others=others)


@dataclass(frozen=True, slots=True)
class _Reach:
    """The pools that kernels address, and of these the one where tensors may stay that else travel ("" for none)."""

    pools: frozenset[str]
    near: str

    @staticmethod
    def of(platform: Platform) -> _Reach:
        return _Reach(frozenset(name for name, _ in platform.core.access_cycles), near_home(platform) or "")


def _roots(
    prepared: Prepared, platform: Platform, given: Mapping[str, GivenHome], constants: Iterable[str]
) -> dict[str, GivenHome]:
    """The tensors that own the bytes of those that are given, with their homes; offsets are the given tensors'."""
    homes = prepared.homes
    placed = [name for name in homes.roots if not homes.is_callers(name) and _kind(homes, name) is not _CONSTANT]
    roots: dict[str, GivenHome] = {}
    names: dict[str, str] = {}
    for name, home in given.items():
        if name in constants:
            continue
        if name not in placed:
            known = name in homes.roots and homes.is_callers(name)
            what = "it is the caller's" if known else "the plan has no such tensor or constant"
            remedy = "IO_IN_POOLS gives it to the plan" if known else suggestion(name, [*placed, *constants])
            raise home_refused(name, what, remedy)
        check_holders(name, home, _kind(homes, name), platform)
        _check_choice(name, home, prepared, platform)
        _check_offset(name, home, platform)
        for root in _owners(homes, name):
            if root in roots and roots[root].pools != home.pools:
                what = f"it shares bytes with '{names[root]}', which is to lie in another pool"
                raise home_refused(name, what, "give one of them")
            roots[root], names[root] = _first_fixed(roots.get(root, home), home), name
    return roots


_CONSTANT = BufferKind.CONSTANT


def _kind(homes: Homes, name: str) -> BufferKind:
    return homes.kinds[homes.roots[name]]


def _owners(homes: Homes, name: str) -> list[str]:
    """The tensors that own a tensor's bytes: of a state, the one before a run and the one that the run leaves."""
    root = homes.roots[name]
    return [root, *(new for new, old in homes.left.items() if old == root), *homes.left.get(root, "").split()]


def _first_fixed(one: GivenHome, other: GivenHome) -> GivenHome:
    return one if one.offset_bytes is not None else other


def _check_choice(name: str, home: GivenHome, prepared: Prepared, platform: Platform) -> None:
    """Of several pools, kernels address all or none, but for the one near the core where tensors may stay."""
    if len(home.pools) == 1:
        return
    reach = _Reach.of(platform)
    addressed = [pool for pool in home.pools if pool in reach.pools and pool != reach.near]
    copied = [pool for pool in home.pools if pool not in reach.pools]
    if addressed and (copied or reach.near in home.pools):
        what = f"kernels work in pool '{addressed[0]}' but not in the others, so tiles and pool cannot be chosen apart"
        raise home_refused(name, what, "give one pool")
    if addressed and any(_is_levelled(way, name) for ways in prepared.problems for way in ways):
        raise home_refused(name, "a layer that works on it has a level, so its pool must be known", "give one pool")


def _is_levelled(problem: TilingProblem, name: str) -> bool:
    return bool(problem.level) and any(operand.tensor == name for operand in problem.operands)


def _check_offset(name: str, home: GivenHome, platform: Platform) -> None:
    if home.offset_bytes is None:
        return
    size = platform.pool(home.pools[0]).usable_bytes
    if size is not None and home.offset_bytes >= size:
        what = f"pool '{home.pools[0]}' has {size:,} bytes, which end before offset {home.offset_bytes:,}"
        raise home_refused(name, what, "give a smaller offset, or a larger pool with POOLS")


def _with_pools(prepared: Prepared, platform: Platform, pools: Mapping[str, tuple[str, ...]]) -> Prepared:
    """``prepared`` with candidate pools for some tensors, by those that own their bytes.

    Where tensors travel, the first pool that kernels do not address is the home until the search takes another one.
    """
    reach = _Reach.of(platform)
    homes = prepared.homes
    start = {}
    for root, names in pools.items():
        far = tuple(pool for pool in names if pool not in reach.pools)
        start[root] = far[:1] or names
    moved = {name: start[root] for name, root in homes.roots.items() if root in pools}
    first = {name: names[0] for name, names in moved.items()}
    problems = tuple(tuple(at_homes(item, platform, first) for item in layer) for layer in prepared.problems)
    return replace(prepared, homes=replace(homes, pools={**homes.pools, **moved}), problems=problems)
