"""Where whole tensors live: which tensors share storage, at which place in it, and the pool that is their home."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tilewright.base.errors import not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.plan import INTERFACE, BufferKind
from tilewright.platform import Platform
from tilewright.rewrites.views import is_view
from tilewright.storage.families import Families
from tilewright.storage.parts import Joined
from tilewright.storage.places import Part, Place


@dataclass(frozen=True, slots=True)
class Homes:
    """Storage of every tensor.

    Attributes:
        roots: tensor to the tensor whose bytes it shares; itself if it is no view.
        kinds: kind of each root's buffer.
        pools: tensor to its candidate pools, in order: several pools that the core addresses, or one pool.
        callers: kinds of buffers that the caller owns, so that the plan does not place them.
        groups: tensor to the tensor that names its group: all tensors that hold exactly the same bytes.
        parts: group to the part of another group in which the group lies.
        places: tensor to its place in the root.
        sizes: tensor to the bytes from its first to its last one, gaps included.
        views: names of the nodes that need no code.
        left: for each state that a run leaves, the root that held the state before the run.
        pinned: roots, and constants by their names, whose pool the user gives.
        given: for each root for which the user gives several pools, those pools in order.
        fixed: roots of which a tensor has an address that the user gives.
    """

    roots: Mapping[str, str]
    kinds: Mapping[str, BufferKind]
    pools: Mapping[str, tuple[str, ...]]
    callers: tuple[BufferKind, ...] = INTERFACE
    groups: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Part] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    views: frozenset[str] = frozenset()
    left: Mapping[str, str] = field(default_factory=dict)
    pinned: frozenset[str] = frozenset()
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()

    def is_given(self, root: str) -> bool:
        """Whether the bytes have content before a run begins."""
        kind = self.kinds[root]
        return kind is BufferKind.INPUT or (kind is BufferKind.STATE and root not in self.left)

    def is_result(self, root: str) -> bool:
        """Whether the bytes have content after a run ends."""
        return self.kinds[root] is BufferKind.OUTPUT or root in self.left

    @property
    def homes(self) -> dict[str, str]:
        """Tensor to the first candidate pool."""
        return {name: pools[0] for name, pools in self.pools.items()}

    @property
    def strides(self) -> dict[str, tuple[int, ...]]:
        """Strides in bytes of every tensor."""
        return {name: place.strides_bytes for name, place in self.places.items()}

    def is_callers(self, tensor: str) -> bool:
        """Whether the caller owns the bytes, so that the plan does not place them."""
        return self.kinds[self.roots[tensor]] in self.callers


def assign_homes(
    graph: Graph,
    platform: Platform,
    *,
    callers: tuple[BufferKind, ...] = INTERFACE,
    joined: Joined | None = None,
) -> Homes:
    """Group tensors that share bytes and give each group its candidate pools.

    ``joined`` says which parts lie inside other tensors; without it no part does. Tensors of the kinds in
    ``callers`` live in the caller's pool, others in a pool that holds their kind. Raises not_supported
    where no pool holds a kind of tensor.
    """
    families = Families(graph) if joined is None else joined.families
    roots = {name: families.root(name) for name in graph.tensors}
    kinds = {root: _kind(graph, root) for root in dict.fromkeys(roots.values())}
    candidates = {
        kind: (platform.io_pool,) if kind in callers else candidate_pools(platform, kind)
        for kind in dict.fromkeys(kinds.values())
    }
    pools = {name: candidates[kinds[root]] for name, root in roots.items()}
    views = {node.name for node in graph.nodes if is_view(graph, node)}
    return Homes(
        roots=roots,
        kinds=kinds,
        pools=pools,
        callers=callers,
        groups={name: families.group(name) for name in graph.tensors},
        parts=dict(families.parts),
        places=dict(families.places),
        sizes=dict(families.sizes()),
        views=frozenset(views if joined is None else views | joined.nodes),
        left={state.output: state.input for state in graph.states},
    )


def _kind(graph: Graph, root: str) -> BufferKind:
    if any(root in (state.input, state.output) for state in graph.states):
        return BufferKind.STATE
    if root in graph.inputs:
        return BufferKind.INPUT
    if root in graph.outputs:
        return BufferKind.OUTPUT
    return BufferKind.CONSTANT if graph.tensor(root).is_constant else BufferKind.INTERMEDIATE


def candidate_pools(platform: Platform, kind: BufferKind) -> tuple[str, ...]:
    """Pools where a home of ``kind`` may lie, in the platform's order. Raises not_supported if there is none.

    If the core addresses the first pool that holds ``kind``, the candidates are all such pools that the
    core addresses. Else that first pool is the only one: tiles and links are chosen before homes are
    placed, so a tensor that travels to the core needs its pool known. The pool of tiles does not count
    where it is ``near_home``: which tensors stay there is chosen later.
    """
    near = near_home(platform) if kind is BufferKind.INTERMEDIATE else None
    holders = [pool.name for pool in platform.pools if kind in pool.holds and pool.name != near]
    if not holders:
        raise not_supported(
            "no-home",
            f"platform '{platform.name}' has no pool that holds '{kind.value}'",
            help=f"add '{kind.value}' to 'holds' of a pool",
        )
    reach = _addressed(platform)
    return tuple(name for name in holders if name in reach) if holders[0] in reach else (holders[0],)


def near_home(platform: Platform) -> str | None:
    """The pool of tiles, if intermediates may stay there as a whole and else live where the core does not reach.

    None where kernels address all pools that hold intermediates, or none of them.
    """
    reach = _addressed(platform)
    near = next((pool.name for pool in platform.pools if BufferKind.TILE in pool.holds and pool.name in reach), None)
    holders = {pool.name for pool in platform.pools if BufferKind.INTERMEDIATE in pool.holds}
    return near if holders & reach == {near} and holders - reach else None


def _addressed(platform: Platform) -> set[str]:
    return {name for name, _ in platform.core.access_cycles}
