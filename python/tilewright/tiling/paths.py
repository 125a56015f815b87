"""Chains of links between the homes of tensors and the pool of the core.

Before:  y at home in l3, core beside l1, links l1 -> l2 and l2 -> l3
After:   tiles of y are stored over l1 -> l2, larger tiles over l2 -> l3
"""

from __future__ import annotations

from tilewright.base.errors import TilewrightError, not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Node
from tilewright.plan import BufferKind, Link
from tilewright.platform import Platform


def near_pools(platform: Platform, kind: BufferKind) -> tuple[str, ...]:
    """The pools that hold ``kind`` and that the core addresses, in order. Raises not_supported if there is none."""
    reach = {name for name, _ in platform.core.access_cycles}
    pools = tuple(pool.name for pool in platform.pools if kind in pool.holds and pool.name in reach)
    if pools:
        return pools
    raise not_supported(
        "no-near-pool",
        f"platform '{platform.name}' has no pool for '{kind.value}' that the core addresses",
        help=f"add '{kind.value}' to 'holds' of a pool listed in [core] access_cycles",
    )


def near_pool(platform: Platform, kind: BufferKind) -> str:
    """The first of ``near_pools``."""
    return near_pools(platform, kind)[0]


@dataclass(frozen=True, slots=True)
class Path:
    """Links between ``near``, the pool where kernels work, and a home, from near to far; none where both are one."""

    near: str
    links: tuple[Link, ...] = ()

    @property
    def link(self) -> Link | None:
        """The link at the core's end."""
        return self.links[0] if self.links else None

    @property
    def far_links(self) -> tuple[Link, ...]:
        """The links behind ``link``, up to the home."""
        return self.links[1:]

    @property
    def align_bytes(self) -> int:
        """The alignment in bytes that the links ask of the addresses they read and write."""
        return max((link.align_bytes for link in self.links), default=1)


def _check_far(link: Link, element_bytes: int, node: Node, name: str) -> None:
    """Raise not_supported for a far link that cannot copy single elements.

    The core cannot help: it does not address the pools at the ends of such a link.
    """
    if element_bytes % link.align_bytes == 0:
        return
    raise not_supported(
        "link-words",
        f"link '{link.name}' takes multiples of {link.align_bytes} bytes, elements of '{name}' have {element_bytes}",
        at=f"{node.name} ({node.operator})",
        help="a link to a pool that kernels do not address needs align_bytes = 1, with round_up_bytes if lines end "
        "within words",
    )


def path_to(
    platform: Platform, node: Node, name: str, home: str, write: bool, element_bytes: int, level: str = ""
) -> Path:
    """How an operand ``name`` of a layer travels from its home, or with ``write`` to it.

    A kernel works in the home where the core addresses that; with ``level`` in that pool only. Raises not_supported
    if no chain of links joins the home with the kernel's pool, or if one takes no such elements.
    """
    reach = {level} if level else {pool for pool, _ in platform.core.access_cycles}
    if home in reach:
        return Path(home)
    near = level or near_pool(platform, BufferKind.TILE)
    found = links_between(platform, near, home, write=write)
    if not found:
        raise _no_link(platform, node, name, (near, home) if write else (home, near))
    if write and element_bytes % found[0].align_bytes:
        _check_back(platform, found[0], node, name)
    for link in found[1:]:
        _check_far(link, element_bytes, node, name)
    return Path(near, found)


def links_between(platform: Platform, near: str, home: str, *, write: bool) -> tuple[Link, ...]:
    """The fewest links from a home to ``near``, or with ``write`` to the home, the one at ``near`` first.

    Pools between hold tiles; of chains of equally many links, the one whose pools the platform names first.
    Empty if no chain joins the two.
    """
    ends = {(link.source, link.target) if write else (link.target, link.source): link for link in platform.links}
    pools = [pool.name for pool in platform.pools if BufferKind.TILE in pool.holds]
    chains: dict[str, tuple[Link, ...]] = {near: ()}
    reached = [near]
    while reached:
        for pool in reached:
            if (pool, home) in ends:
                return (*chains[pool], ends[pool, home])
        steps = [(pool, at) for pool in pools if pool not in chains for at in reached if (at, pool) in ends]
        fresh = {pool: (*chains[at], ends[at, pool]) for pool, at in reversed(steps)}
        reached = [pool for pool in pools if pool in fresh]
        chains.update(fresh)
    return ()


def _check_back(platform: Platform, link: Link, node: Node, name: str) -> None:
    """Raise not_supported unless some link leads the other way in words that the link's consist of.

    A store of whole words must first read the bytes around its own.
    """
    back = [other for other in platform.links if (other.source, other.target) == (link.target, link.source)]
    if not back:
        raise _no_link(platform, node, name, (link.target, link.source))
    if link.align_bytes % back[0].align_bytes:
        raise not_supported(
            "link-back",
            f"link '{link.name}' stores words of {link.align_bytes} bytes, but those that '{name}' changes in part are "
            f"read over '{back[0].name}' in words of {back[0].align_bytes}",
            at=f"{node.name} ({node.operator})",
            help=f"give '{link.name}' the align_bytes of '{back[0].name}'",
        )


def _no_link(platform: Platform, node: Node, name: str, ends: tuple[str, str]) -> TilewrightError:
    return not_supported(
        "no-link",
        f"no link from pool '{ends[0]}' to pool '{ends[1]}' for '{name}'",
        at=f"{node.name} ({node.operator})",
        help=f"add a [[link]] between '{ends[0]}' and '{ends[1]}' to platform '{platform.name}', or hold it elsewhere",
    )
