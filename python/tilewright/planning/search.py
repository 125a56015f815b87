"""The loop: homes, tiles, program, lifetimes, placement; on overflow tiles are chosen again.

Each layer's tiles are the best for themselves as long as everything can be placed. Else tiles are
chosen together with the homes in their pools (``tiles_together``). Where placement still needs more
of a pool than it has, the share of that pool shrinks by what is missing for the layer that runs at
the peak, whose tiles are chosen again, at most ``ROUNDS`` times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.base.errors import not_supported
from tilewright.base.progress import progress, tracked
from tilewright.graph import Graph, Node
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.registry import choices
from tilewright.options import Buffering, CompileOptions, Order, TileSteps
from tilewright.placement.place import place
from tilewright.placement.problem import DoesNotFit, Item, PoolLimit, Result
from tilewright.plan import BufferKind, Placement, PoolUse, RelationKind, TilingProof
from tilewright.plan.lifetimes import disjoint_pairs, layer_at, lifetimes
from tilewright.planning.shortage import Fitting, explained
from tilewright.planning.tiles_together import Choose, proof, together
from tilewright.platform import Platform
from tilewright.schedule.building import Schedule, build_schedule
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.homes import Homes
from tilewright.storage.joining import layer_nodes, plan_storage
from tilewright.storage.order import order_graph
from tilewright.storage.pressure import pressure_bytes
from tilewright.tiling.buffering import with_buffers
from tilewright.tiling.choice import TilingOptions
from tilewright.tiling.constant_homes import with_constant_homes
from tilewright.tiling.field import Capacities
from tilewright.tiling.given import given_by_layer, with_given_steps
from tilewright.tiling.kernel_choice import cheapest_kernel
from tilewright.tiling.overflow import TileOverflow
from tilewright.tiling.problem import TilingProblem, tiling_problem

ROUNDS = 32
"""Each round makes the tiles of one layer smaller."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A placed schedule; ``layers`` are in the order in which they run."""

    schedule: Schedule
    layers: tuple[ScheduledLayer, ...]
    lifetimes: Mapping[str, tuple[int, int]]
    placements: tuple[Placement, ...]
    pool_use: tuple[PoolUse, ...]
    tiling: TilingProof | None = None

    @property
    def kernels(self) -> tuple[KernelChoice, ...]:
        """The kernel of each layer."""
        return tuple(layer.problem.kernel for layer in self.layers)


def plan_graph(graph: Graph, platform: Platform, options: CompileOptions) -> Planned:
    """Choose kernels and tiles, build the program and place every buffer.

    Raises TilewrightError: not supported (an operator without kernel, a missing link), or
    does not fit, with pool, need, have, missing bytes, operator and the smallest size that works.
    """
    stored = plan_storage(graph, platform, io_in_pools=options.io_in_pools)
    homes = stored.homes
    graph = order_graph(stored) if options.order is Order.BEST else stored.graph
    nodes = layer_nodes(graph, homes)
    given = given_by_layer(nodes, options.tiles, "tiles")
    buffers = given_by_layer(nodes, options.buffers, "buffers")
    found = [
        kernel_problems(graph, node, platform, homes, given.get(node.name, ()))
        for node in tracked("Finding kernels", nodes)
    ]
    found = [with_buffers(items, buffers.get(node.name, ())) for node, items in zip(nodes, found, strict=True)]
    problems = with_constant_homes(found, platform)

    def attempt(sized: Platform) -> Planned:
        return _plan(graph, sized, options, homes, problems)

    def fitting(sized: Platform) -> Fitting:
        found = attempt(sized)
        return Fitting(found.schedule, found.lifetimes, found.placements, found.pool_use)

    try:
        return attempt(platform)
    except (TileOverflow, DoesNotFit) as overflow:
        raise explained(overflow, fitting, platform) from overflow


def _plan(
    graph: Graph,
    platform: Platform,
    options: CompileOptions,
    homes: Homes,
    problems: Sequence[Sequence[TilingProblem]],
) -> Planned:
    """Tiles, program and places for pools of given sizes. Raises TileOverflow or DoesNotFit."""
    capacities = {pool.name: pool.size_bytes for pool in platform.pools}
    tiling = TilingOptions(options.buffering, options.objective, options.strategy, options.hints)

    def choose(number: int, limits: Capacities) -> ScheduledLayer:
        found = cheapest_kernel(problems[number], limits, tiling)
        return ScheduledLayer(found.problem, found.choice, found.others)

    layers = _each(choose, capacities, len(problems))
    bound = sum(layer.choice.least_cost for layer in layers)
    for schedule in _schedules(graph, layers, platform, options, homes):
        try:
            return _placed(schedule, layers, proof(options, layers, bound), platform, options)
        except DoesNotFit:
            continue
    better = together(schedule, layers, platform, options, choose)
    if better is not None:
        layers, bound = better
    return _shrunk(graph, layers, bound, platform, options, homes, choose)


def _schedules(
    graph: Graph, layers: Sequence[ScheduledLayer], platform: Platform, options: CompileOptions, homes: Homes
) -> Iterator[Schedule]:
    """The programs to place, until one fits; first with last stores handed over. The last one hands none over."""
    if options.buffering is not Buffering.SINGLE and any(link.asynchronous for link in platform.links):
        handed = build_schedule(graph, layers, homes, platform, profiled=options.profile, handed_over=True)
        yield handed
        if not handed.handed_over:
            return
    yield build_schedule(graph, layers, homes, platform, profiled=options.profile)


def _each(choose: Choose, capacities: Capacities, count: int) -> list[ScheduledLayer]:
    """The best tiles of every layer. Raises the TileOverflow that asks for the most, so that its size suits all."""
    layers: list[ScheduledLayer] = []
    failures: list[TileOverflow] = []
    for number in tracked("Choosing tiles", range(count)):
        try:
            layers.append(choose(number, capacities))
        except TileOverflow as error:
            failures.append(error)
    if failures:
        raise max(failures, key=lambda failure: (failure.pool == failures[0].pool, failure.needed_bytes))
    return layers


def _shrunk(
    graph: Graph,
    layers: list[ScheduledLayer],
    bound: int,
    platform: Platform,
    options: CompileOptions,
    homes: Homes,
    choose: Choose,
) -> Planned:
    """The tiles placed, smaller ones at the peak until they fit: gaps between buffers take room as well."""
    limits: list[Capacities] = [{pool.name: pool.size_bytes for pool in platform.pools}] * len(layers)
    for _ in tracked("Making tiles smaller", range(ROUNDS)):
        schedule = build_schedule(graph, layers, homes, platform, profiled=options.profile)
        try:
            return _placed(schedule, layers, proof(options, layers, bound), platform, options)
        except DoesNotFit as error:
            overflow = error
        number = _at_peak(schedule, overflow, layers)
        if number is None:
            break
        pool = overflow.diagnosis.pool
        share = layers[number].choice.near_bytes[pool] - overflow.diagnosis.missing
        limits[number] = {**limits[number], pool: share}
        try:
            layers[number] = choose(number, limits[number])
        except TileOverflow:
            # Said in terms of what the platform has, not of a share of it.
            break
    raise overflow


def kernel_problems(
    graph: Graph, node: Node, platform: Platform, homes: Homes, given: TileSteps = ()
) -> list[TilingProblem]:
    """What the tiler decides about a node, for each kernel that can run it, in order of preference.

    Raises not_supported without a kernel, bad_input if no kernel allows the ``given`` steps.
    """
    kernels = choices(node, graph, platform.target.kernels)
    if not kernels:
        raise not_supported(
            "no-kernel",
            f"no kernel for {node.operator} with these types and attributes",
            at=f"{node.name} ({node.operator})",
            help="docs/reference/operators.md lists what is supported",
        )
    problems: list[TilingProblem] = []
    for kernel in kernels:
        variant = sum(kernel.symbol == other.kernel.symbol for other in problems)
        problem = tiling_problem(graph, node, kernel, platform, homes.homes, homes.strides)
        problems.append(replace(problem, variant=variant))
    return with_given_steps(problems, given) if given else problems


def _placed(
    schedule: Schedule,
    layers: Sequence[ScheduledLayer],
    found: TilingProof | None,
    platform: Platform,
    options: CompileOptions,
) -> Planned:
    alive = lifetimes(schedule.program)
    items = placement_items(schedule, alive, io_in_pools=options.io_in_pools)
    limits = [
        PoolLimit(
            pool.name, pool.size_bytes, pool.align_bytes, pool.granule_bytes, platform.access_cycles(pool.name) or 0
        )
        for pool in platform.pools
    ]
    progress("Placing buffers", 0, len(items))
    result = place(items, limits, options.algorithm, options.effort.value)
    placements = tuple(
        Placement(item.name, pool, offset) for item in items for pool, offset in (result.placements[item.name],)
    )
    return Planned(schedule, tuple(layers), alive, placements, _pool_use(items, alive, platform, result), found)


def placement_items(schedule: Schedule, alive: Mapping[str, tuple[int, int]], *, io_in_pools: bool) -> list[Item]:
    """Everything that the plan places; the caller's buffers and views of them are not."""
    views = {
        relation.first: (relation.second, relation.offset_bytes)
        for relation in schedule.relations
        if relation.kind is RelationKind.AT_OFFSET
    }
    parents = {**views, **schedule.fixed}
    relatives = _relatives(schedule, parents)
    external = () if io_in_pools else (BufferKind.INPUT, BufferKind.OUTPUT)
    placed = [buffer for buffer in schedule.buffers if buffer.kind not in external]
    names = {buffer.name for buffer in placed}
    conflicts = disjoint_pairs({name: alive[name] for name in alive if name in names})
    return [
        Item(
            name=buffer.name,
            size_bytes=buffer.size_bytes,
            align_bytes=buffer.align_bytes,
            pools=buffer.pools,
            conflicts=frozenset(conflicts[buffer.name]) - relatives[buffer.name],
            at_offset=parents.get(buffer.name),
            accesses=buffer.accessed_bytes,
            lifetime=alive[buffer.name],
        )
        for buffer in placed
    ]


def _relatives(schedule: Schedule, parents: Mapping[str, tuple[str, int]]) -> dict[str, frozenset[str]]:
    """For each buffer all whose distance from it is given, itself among them."""
    ends = {}
    for buffer in schedule.buffers:
        at = buffer.name
        while at in parents:
            at = parents[at][0]
        ends[buffer.name] = at
    joined: dict[str, set[str]] = {}
    for name, end in ends.items():
        joined.setdefault(end, set()).add(name)
    sets = {end: frozenset(names) for end, names in joined.items()}
    return {name: sets[end] for name, end in ends.items()}


def _pool_use(
    items: Sequence[Item], alive: Mapping[str, tuple[int, int]], platform: Platform, result: Result
) -> tuple[PoolUse, ...]:
    """Use and bound; what is alive together is a bound too, and sees the lives of parts."""
    uses = []
    for pool in platform.pools:
        spots = {item: offset for item, (name, offset) in result.placements.items() if name == pool.name}
        inside = [item for item in items if item.name in spots]
        spans = {item.name: (spots[item.name], spots[item.name] + item.size_bytes) for item in inside}
        pressure = -(-pressure_bytes(spans, alive) // pool.granule_bytes) * pool.granule_bytes
        bound = max(result.lower_bound[pool.name], pressure)
        uses.append(PoolUse(pool.name, result.used[pool.name], bound, result.used[pool.name] == bound))
    return tuple(uses)


def _at_peak(schedule: Schedule, overflow: DoesNotFit, layers: Sequence[ScheduledLayer]) -> int | None:
    """The layer at the peak of the pool that overflowed, if smaller tiles of it can help.

    Without a peak that is known, the layer with the largest tiles there.
    """
    diagnosis = overflow.diagnosis
    where = layer_at(schedule.program, diagnosis.step) if diagnosis.step is not None else None
    shares = {
        number: layer.choice.near_bytes.get(diagnosis.pool, 0)
        for number, layer in enumerate(layers)
        if layer.problem.moves and where in (None, layer.problem.node.name)
    }
    number = max(shares, key=lambda item: shares[item], default=None)
    if number is None or diagnosis.missing <= 0 or shares[number] <= diagnosis.missing:
        return None
    return number
