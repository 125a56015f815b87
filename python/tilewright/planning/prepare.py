"""What every plan of a graph starts from: storage, layers in their order, and the kernels that can run each.

Sizes of pools decide nothing here, except that constants which exceed their first pool live in the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.base.errors import not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.progress import tracked
from tilewright.graph import Graph, Node
from tilewright.kernels.registry import choices
from tilewright.options import CompileOptions, Groups, Order, TileSteps
from tilewright.planning.callers import callers_of
from tilewright.planning.given_constants import given_constants
from tilewright.planning.given_levels import given_levels, with_known_pools
from tilewright.planning.given_strips import given_strips, not_in_strips, require_strips
from tilewright.platform import Platform
from tilewright.rewrites.interleaved_inputs import with_interleaved_inputs
from tilewright.rewrites.strips import Strips, with_strips
from tilewright.storage.homes import Homes
from tilewright.storage.joining import Stored, layer_nodes, may_group, parts_apart, parts_of, plan_storage
from tilewright.storage.order import as_late_as_possible, order_graph
from tilewright.storage.own_order import find_order, own_order
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
        strips: which layers of the network are in strips.
    """

    graph: Graph
    homes: Homes
    problems: tuple[tuple[TilingProblem, ...], ...]
    arrays: HashedArrays
    others: tuple[Prepared, ...] = ()
    strips: tuple[Strips, ...] = ()


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
    prepared = replace(prepared, others=tuple(_prepared(other, layers, platform, options) for other, layers in ways))
    return _in_given_strips(prepared, platform, options) if options.strips else prepared


def _in_given_strips(prepared: Prepared, platform: Platform, options: CompileOptions) -> Prepared:
    """All ways to store and order a graph, with layers in the strips that the user wants.

    Raises bad_input ``strips-override`` where these cannot be.
    """
    require_strips(options, possible=_may_group(platform, options) and platform.core.count == 1)
    strips = given_strips(prepared.graph, options)
    ways = [prepare_in_strips(way, strips, platform, options) for way in (prepared, *prepared.others)]
    found = [way for way in ways if way is not None]
    if not found:
        raise not_in_strips(strips, "parts of these tensors cannot lie in the whole")
    return replace(found[0], others=tuple(found[1:]))


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
    apart = parts_apart(graph, platform, callers=callers_of(options)) if way[0].homes.parts else None
    for stored in (apart, _interleaved(graph, platform, options)):
        if stored is not None:
            ways.append((stored, _arranged(stored, options)))
            yield ways[-1]
    if options.order != Order.BEST.value or graph.states:
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


def prepare_in_strips(
    prepared: Prepared, strips: Sequence[Strips], platform: Platform, options: CompileOptions
) -> Prepared | None:
    """The same graph with some layers in strips of columns; None where they cannot be, or their parts are no views.

    Each strip runs as a whole before the next one, its layers in the order that they have in ``prepared``.
    """
    ranks = {problems[0].node.name: number for number, problems in enumerate(prepared.problems)}
    stored = stored_in_strips(Stored(_in_order(prepared.graph, ranks), prepared.homes, {}), strips, platform, options)
    if stored is None:
        return None
    found = _prepared(stored, layer_nodes(stored.graph, stored.homes), platform, options)
    return replace(found, strips=tuple(strips))


def _in_order(graph: Graph, ranks: Mapping[str, int]) -> Graph:
    """The graph with its nodes in the order of layers, each behind the views that it needs."""
    producers, taken = graph.producers(), dict[str, Node]()

    def take(node: Node) -> None:
        for name in node.inputs:
            if name in producers and producers[name].name not in taken:
                take(producers[name])
        taken.setdefault(node.name, node)

    for node in sorted(graph.nodes, key=lambda node: ranks.get(node.name, len(ranks))):
        take(node)
    return graph.with_nodes(taken.values())


def stored_in_strips(
    stored: Stored, strips: Iterable[Strips], platform: Platform, options: CompileOptions
) -> Stored | None:
    """The storage of a graph with some of its nodes in strips; None as ``prepare_in_strips``."""
    for item in strips:
        stripped = with_strips(stored.graph, item)
        if stripped is None:
            return None
        chosen = stripped.views | stored.homes.views
        stored = parts_of(stripped.graph, platform, chosen, callers=callers_of(options))
        if not stripped.views <= stored.homes.views:
            return None
    return stored


def prepare_as(
    graph: Graph,
    platform: Platform,
    options: CompileOptions,
    wanted: Collection[str],
    arrange: Arrange,
    strips: Sequence[Strips] = (),
) -> Prepared:
    """``prepare`` for a lock: the way to store the graph that has exactly the layers ``wanted``, in a given order."""
    graph = with_states_last(graph, platform)
    stored = _stored(graph, platform, options)
    if not _is_of(stored, wanted) and _may_group(platform, options):
        apart = parts_apart(graph, platform, callers=callers_of(options))
        ways = [way for way in (stored, apart, _interleaved(graph, platform, options)) if way is not None]
        found = [stored_in_strips(way, strips, platform, options) for way in ways] if strips else ways
        stored = next((way for way in found if way is not None and _is_of(way, wanted)), stored)
    return replace(_prepared(stored, arrange(stored), platform, options), strips=tuple(strips))


def _is_of(stored: Stored, wanted: Collection[str]) -> bool:
    """Whether a storage needs just the layers that are wanted."""
    return {node.name for node in layer_nodes(stored.graph, stored.homes)} == set(wanted)


def _may_group(platform: Platform, options: CompileOptions) -> bool:
    """Whether groups may be formed: not if the user gives tiles, whose layers may have other names in a group."""
    given = options.tiles or options.buffers or options.levels
    return options.groups is not Groups.OFF and may_group(platform) and not given


def _stored(graph: Graph, platform: Platform, options: CompileOptions) -> Stored:
    return plan_storage(graph, platform, callers=callers_of(options), grouped=options.groups is not Groups.OFF)


def _prepared(stored: Stored, layers: list[Node], platform: Platform, options: CompileOptions) -> Prepared:
    """A stored graph with its layers in their order."""
    steps = given_by_layer(layers, options.tiles, "tiles")
    buffers = given_by_layer(layers, options.buffers, "buffers")
    levels = given_levels(layers, options.levels, platform)
    stored = with_known_pools(stored, layers, levels)
    places = (stored.homes.homes, stored.homes.strides)
    found = [
        _kernel_problems(stored.graph, places, node, platform, steps.get(node.name, ()), levels.get(node.name, ""))
        for node in tracked("Finding kernels", layers)
    ]
    found = [with_buffers(items, buffers.get(node.name, ())) for node, items in zip(layers, found, strict=True)]
    arrays = HashedArrays()
    given = given_constants(found, platform, dict(options.homes))
    problems = with_constant_homes(found, platform, arrays, given)
    return Prepared(stored.graph, stored.homes, tuple(map(tuple, problems)), arrays)


def _arranged(stored: Stored, options: CompileOptions) -> list[Node]:
    if options.order == Order.BEST.value:
        return layer_nodes(order_graph(stored, options.effort), stored.homes)
    order = find_order(options.order)
    graph = stored.graph if order is None else own_order(stored, order, options.order)
    return layer_nodes(graph, stored.homes)


def _kernel_problems(
    graph: Graph, places: Places, node: Node, platform: Platform, steps: TileSteps, level: str
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
        problem = tiling_problem(graph, node, kernel, platform, *places, level)
        problems.append(replace(problem, variant=variant))
    return with_given_steps(problems, steps) if steps else problems
