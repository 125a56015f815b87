"""Where whole tensors live: which tensors share storage, and the pool that is their home."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.errors import not_supported
from tilewright.graph import Graph
from tilewright.plan import BufferKind
from tilewright.platform import Platform
from tilewright.rewrites.views import is_view


@dataclass(frozen=True, slots=True)
class Homes:
    """Storage of every tensor.

    Attributes:
        roots: tensor to the tensor whose bytes it shares; itself if it is no view.
        kinds: kind of each root's buffer.
        pools: tensor to its candidate pools, in order; all are reached alike by the core.
        io_in_pools: whether the plan places inputs and outputs.
    """

    roots: Mapping[str, str]
    kinds: Mapping[str, BufferKind]
    pools: Mapping[str, tuple[str, ...]]
    io_in_pools: bool = False

    @property
    def homes(self) -> dict[str, str]:
        """Tensor to the first candidate pool."""
        return {name: pools[0] for name, pools in self.pools.items()}


def assign_homes(graph: Graph, platform: Platform, *, io_in_pools: bool = False) -> Homes:
    """Group tensors that views join and give each group its candidate pools.

    Interface tensors live in the caller's pool, or with ``io_in_pools`` in one that holds their
    kind. Raises not_supported where no pool holds a kind.
    """
    roots = _roots(graph)
    kinds = {root: _kind(graph, root) for root in dict.fromkeys(roots.values())}
    callers = () if io_in_pools else (BufferKind.INPUT, BufferKind.OUTPUT)
    candidates = {
        kind: (platform.io_pool,) if kind in callers else candidate_pools(platform, kind)
        for kind in dict.fromkeys(kinds.values())
    }
    pools = {name: candidates[kinds[root]] for name, root in roots.items()}
    return Homes(roots, kinds, pools, io_in_pools)


def _roots(graph: Graph) -> dict[str, str]:
    """The tensor of each view group that owns the bytes: an interface tensor, else the first."""
    roots = {name: name for name in graph.tensors}
    interface = set(graph.inputs) | set(graph.outputs)
    for node in graph.nodes:
        if not is_view(graph, node):
            continue
        source, target = roots[node.inputs[0]], node.outputs[0]
        owner, joined = (target, source) if target in interface and source not in interface else (source, target)
        roots = {name: owner if root == joined else root for name, root in roots.items()}
    return roots


def _kind(graph: Graph, root: str) -> BufferKind:
    if root in graph.inputs:
        return BufferKind.INPUT
    if root in graph.outputs:
        return BufferKind.OUTPUT
    return BufferKind.CONSTANT if graph.tensor(root).is_constant else BufferKind.INTERMEDIATE


def candidate_pools(platform: Platform, kind: BufferKind) -> tuple[str, ...]:
    """Pools where a home of that kind may lie: all that the core addresses, or one that links reach.

    Tiles are cut and links are named before homes are placed, so a home that travels has one pool.
    """
    holders = [pool.name for pool in platform.pools if kind in pool.holds]
    if not holders:
        raise not_supported(
            "no-home",
            f"platform '{platform.name}' has no pool that holds '{kind.value}'",
            help=f"add '{kind.value}' to 'holds' of a pool",
        )
    reach = {name for name, _ in platform.core.access_cycles}
    return tuple(name for name in holders if name in reach) if holders[0] in reach else (holders[0],)
