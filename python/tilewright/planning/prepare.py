"""What every plan of a graph starts from: storage, layers in their order, and the kernels that can run each.

Sizes of pools decide nothing here, except that constants which exceed their first pool live in the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from tilewright.base.errors import not_supported
from tilewright.base.progress import tracked
from tilewright.graph import Graph, Node
from tilewright.kernels.registry import choices
from tilewright.options import CompileOptions, Groups, Order, TileSteps
from tilewright.platform import Platform
from tilewright.rewrites.interleaved_inputs import with_interleaved_inputs
from tilewright.storage.homes import Homes
from tilewright.storage.joining import Stored, layer_nodes, may_group, parts_apart, plan_storage
from tilewright.storage.order import as_late_as_possible, order_graph
from tilewright.storage.state_places import with_states_last
from tilewright.tiling.buffering import with_buffers
from tilewright.tiling.constant_homes import with_constant_homes
from tilewright.tiling.given import given_by_layer, with_given_steps
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.problem import TilingProblem, tiling_problem

Arrange = Callable[[Stored], list[Node]]
"""The layers of a graph in the order in which they run."""

Places = tuple[Mapping[str, str], Mapping[str, tuple[int, ...]]]
"""The home of each tensor, and its strides in bytes."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A graph with its storage, and the choices that are left for each layer.

    Attributes:
        graph: tensors and nodes; its layers may stand in another order.
        homes: which tensors share bytes, and in which pools they may be.
        problems: for each layer, in the order in which they run, a problem for each kernel that
            can run it, in order of preference.
        arrays: constants with their hashes.
        others: the same graph, stored or ordered in other ways that allow other groups; empty without groups.
    """

    graph: Graph
    homes: Homes
    problems: tuple[tuple[TilingProblem, ...], ...]
    arrays: HashedArrays
    others: tuple[Prepared, ...] = ()


def prepare(graph: Graph, platform: Platform, options: CompileOptions) -> Prepared:
    """Storage of all tensors, the order of layers, and the choices that are left for each layer.

    Raises not_supported for an operator without kernel or a missing link, bad_input for options
    that name no layer or that no kernel allows.
    """
    graph = with_states_last(graph, platform)
    stored = _stored(graph, platform, options)
    layers = _arranged(stored, options)
    prepared = _prepared(stored, layers, platform, options)
    ways = _ways_for_groups(graph, (stored, layers), platform, options) if _may_group(platform, options) else []
    return replace(prepared, others=tuple(_prepared(other, layers, platform, options) for other, layers in ways))


def _ways_for_groups(
    graph: Graph, way: tuple[Stored, list[Node]], platform: Platform, options: CompileOptions
) -> Iterator[tuple[Stored, list[Node]]]:
    """Other ways than the given one to store a graph and to order its layers.

    There are three. Where the parts of a Concat or Slice lie in the whole tensor, the operator becomes a layer of its
    own, so that a group can hold its tensors as rings. Images whose channels are planes get their channels side by
    side, so that a group is done with an image row after row. Each layer runs as late as it can, so that a short
    branch (a residual, say) does not hold its result while a long branch runs.
    """
    ways = [way]
    apart = parts_apart(graph, platform, io_in_pools=options.io_in_pools) if way[0].homes.parts else None
    for stored in (apart, _interleaved(graph, platform, options)):
        if stored is not None:
            ways.append((stored, _arranged(stored, options)))
            yield ways[-1]
    if options.order is not Order.BEST or graph.states:
        return
    for stored, layers in ways:
        late = layer_nodes(as_late_as_possible(stored.graph), stored.homes)
        if late != layers:
            yield stored, late


def _interleaved(graph: Graph, platform: Platform, options: CompileOptions) -> Stored | None:
    """The graph stored with an Interleave behind inputs whose channels are planes; None unless it can run in place."""
    if not options.io_in_pools:
        return None
    other = with_interleaved_inputs(graph, platform.target.kernels, platform.core)
    return None if other is None else _stored(other, platform, options)


def prepare_as(
    graph: Graph, platform: Platform, options: CompileOptions, wanted: Collection[str], arrange: Arrange
) -> Prepared:
    """``prepare`` for a lock: the way to store the graph that has exactly the layers ``wanted``, in a given order."""
    graph = with_states_last(graph, platform)
    stored = _stored(graph, platform, options)
    names = {node.name for node in layer_nodes(stored.graph, stored.homes)}
    if names != set(wanted) and _may_group(platform, options):
        others = (parts_apart(graph, platform, io_in_pools=options.io_in_pools), _interleaved(graph, platform, options))
        for other in (item for item in others if item is not None):
            if {node.name for node in layer_nodes(other.graph, other.homes)} == set(wanted):
                stored = other
    return _prepared(stored, arrange(stored), platform, options)


def _may_group(platform: Platform, options: CompileOptions) -> bool:
    """Whether groups may be formed: not if the user gives tiles, whose layers may have other names in a group."""
    return options.groups is not Groups.OFF and may_group(platform) and not options.tiles and not options.buffers


def _stored(graph: Graph, platform: Platform, options: CompileOptions) -> Stored:
    return plan_storage(graph, platform, io_in_pools=options.io_in_pools, grouped=options.groups is not Groups.OFF)


def _prepared(stored: Stored, layers: list[Node], platform: Platform, options: CompileOptions) -> Prepared:
    """A stored graph with its layers in their order."""
    steps = given_by_layer(layers, options.tiles, "tiles")
    buffers = given_by_layer(layers, options.buffers, "buffers")
    places = (stored.homes.homes, stored.homes.strides)
    found = [
        _kernel_problems(stored.graph, places, node, platform, steps.get(node.name, ()))
        for node in tracked("Finding kernels", layers)
    ]
    found = [with_buffers(items, buffers.get(node.name, ())) for node, items in zip(layers, found, strict=True)]
    arrays = HashedArrays()
    problems = with_constant_homes(found, platform, arrays)
    return Prepared(stored.graph, stored.homes, tuple(map(tuple, problems)), arrays)


def _arranged(stored: Stored, options: CompileOptions) -> list[Node]:
    graph = order_graph(stored, options.effort) if options.order is Order.BEST else stored.graph
    return layer_nodes(graph, stored.homes)


def _kernel_problems(
    graph: Graph, places: Places, node: Node, platform: Platform, steps: TileSteps
) -> list[TilingProblem]:
    """The choices that are left for a layer, for each kernel that can run it and that allows the given steps."""
    kernels = choices(node, graph, platform.target.kernels, platform.core)
    if not kernels:
        raise not_supported(
            "no-kernel",
            f"no kernel for {node.operator} with these types and attributes",
            at=f"{node.name} ({node.operator})",
            help="docs/reference/operators.md lists what is supported",
        )
    problems: list[TilingProblem] = []
    for kernel in kernels:
        variant = sum(kernel.name == other.kernel.name for other in problems)
        problem = tiling_problem(graph, node, kernel, platform, *places)
        problems.append(replace(problem, variant=variant))
    return with_given_steps(problems, steps) if steps else problems
