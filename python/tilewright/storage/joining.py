"""Which Concat and Slice nodes move nothing, because their parts can lie inside the whole.

All nodes that can be joined are, unless joining raises the peak of bytes alive: a part with gaps between
its rows keeps the bytes in the gaps from other tensors until its whole is complete.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node
from tilewright.kernels.registry import choices
from tilewright.plan import INTERFACE, BufferKind, Link
from tilewright.platform import Platform
from tilewright.rewrites.rows import without_skipped_rows
from tilewright.rewrites.views import is_view
from tilewright.storage.homes import Homes, assign_homes, candidate_pools
from tilewright.storage.overlaps import LayerUse, layer_use, peak_bytes
from tilewright.storage.parts import join_parts, joining_nodes


@dataclass(frozen=True, slots=True)
class Stored:
    """A graph, with Copy nodes where an input must be copied into its part, and the homes of its tensors.

    ``over`` maps the name of a node to the inputs over which the node's output may lie.
    """

    graph: Graph
    homes: Homes
    over: Mapping[str, tuple[str, ...]]


def may_group(platform: Platform) -> bool:
    """Whether layers could run together: the core addresses tensors itself."""
    reach = {name for name, _ in platform.core.access_cycles}
    return set(candidate_pools(platform, BufferKind.INTERMEDIATE)) <= reach


def parts_apart(graph: Graph, platform: Platform, *, callers: tuple[BufferKind, ...] = INTERFACE) -> Stored:
    """The storage in which each Concat and Slice is a layer, so that parts and wholes may be rings."""
    return parts_of(graph, platform, (), callers=callers)


def parts_of(
    graph: Graph, platform: Platform, chosen: Collection[str], *, callers: tuple[BufferKind, ...] = INTERFACE
) -> Stored:
    """The storage in which the chosen Concat and Slice nodes are views of parts, where they can be."""
    over = {node.name: _over(node, graph, platform) for node in graph.nodes}
    joined = join_parts(graph, chosen, _links_of_tensors(platform))
    return Stored(joined.graph, assign_homes(joined.graph, platform, callers=callers, joined=joined), over)


def plan_storage(
    graph: Graph, platform: Platform, *, callers: tuple[BufferKind, ...] = INTERFACE, grouped: bool = False
) -> Stored:
    """Join parts with their wholes, and give each tensor its home. Raises not_supported as ``assign_homes``.

    With ``grouped``, layers may run together where the core addresses tensors itself: rows that a convolution skips
    cost nothing there, and a Slice of every second row could not be a ring.
    """
    if grouped and may_group(platform):
        return _stored(graph, platform, callers=callers)
    fewer_rows, slices = without_skipped_rows(graph)
    stored = _stored(fewer_rows, platform, callers=callers)
    if slices <= stored.homes.views:
        return stored
    return _stored(graph, platform, callers=callers)


def _stored(graph: Graph, platform: Platform, *, callers: tuple[BufferKind, ...]) -> Stored:
    candidates = joining_nodes(graph)
    over = {node.name: _over(node, graph, platform) for node in graph.nodes}
    links = _links_of_tensors(platform)

    def stored(chosen: Collection[str]) -> Stored:
        joined = join_parts(graph, chosen, links)
        return Stored(joined.graph, assign_homes(joined.graph, platform, callers=callers, joined=joined), over)

    apart = stored(())
    if not candidates:
        return apart
    together = stored(candidates)
    least = _peak(apart)
    if _peak(together) <= least:
        return together
    best, chosen = apart, list[str]()
    for name in candidates:
        tried = stored([*chosen, name])
        peak = _peak(tried)
        if peak <= least:
            best, least = tried, peak
            chosen.append(name)
    return best


def _links_of_tensors(platform: Platform) -> tuple[Link, ...]:
    """Links that may carry tensors other than constants: both ends hold such tensors."""
    held = {pool.name for pool in platform.pools if set(pool.holds) != {BufferKind.CONSTANT}}
    return tuple(link for link in platform.links if {link.source, link.target} <= held)


def layer_nodes(graph: Graph, homes: Homes) -> list[Node]:
    """The nodes that need code: all but views and nodes whose results are constant."""
    return [
        node
        for node in graph.nodes
        if node.name not in homes.views and not all(graph.tensor(output).is_constant for output in node.outputs)
    ]


def _over(node: Node, graph: Graph, platform: Platform) -> tuple[str, ...]:
    """Inputs over which the preferred kernel of a node may write the output."""
    shape = graph.tensor(node.outputs[0]).shape
    alike = [name for name in node.inputs if name and graph.tensor(name).shape == shape]
    if is_view(graph, node) or all(graph.tensor(name).is_constant for name in alike):
        return ()
    kernels = choices(node, graph, platform.target.kernels, platform.core)
    return layer_use(kernels[0], graph).over if kernels else ()


def _peak(stored: Stored) -> int:
    graph, homes = stored.graph, stored.homes
    return peak_bytes([_use(node, graph, stored.over) for node in layer_nodes(graph, homes)], homes, graph)


def _use(node: Node, graph: Graph, over: Mapping[str, tuple[str, ...]]) -> LayerUse:
    reads = tuple(name for name in node.inputs if name and not graph.tensor(name).is_constant)
    return LayerUse(reads, node.outputs, over.get(node.name, ()))
