"""The search for decisions whose buffers can all be placed.

It begins with the best tiles of each layer for itself. If some buffer finds no place, the remedies of
``first_that_fits`` are tried in turn: each changes the decisions that failed last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, repeat

from tilewright.base.errors import TilewrightError
from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import CompileOptions, Objective
from tilewright.placement import DoesNotFit
from tilewright.plan.lifetimes import layer_at
from tilewright.planning.constant_room import require_room_for_constants
from tilewright.planning.core_stacks import require_room_for_stacks, with_room_for_stacks
from tilewright.planning.decide import Decider, best_tiles, cost_of, with_layers
from tilewright.planning.decisions import Decisions
from tilewright.planning.given_groups import BLOCK_OVERRIDE, GROUP_OVERRIDE, gives_groups
from tilewright.planning.given_homes import with_given_homes
from tilewright.planning.grouping import Grouping, Way, first_choice, groupings_of, smaller, tradeoffs, ways_of
from tilewright.planning.lean_constants import with_leaner_constants
from tilewright.planning.near_homes import with_near_tensors
from tilewright.planning.prepare import Prepared
from tilewright.planning.realise import Planned, realise, schedule_of
from tilewright.planning.shortage import explained, with_exact
from tilewright.planning.spill import Room, spilled
from tilewright.planning.stripping import in_strips, may_be_in_strips
from tilewright.planning.tiles_together import together
from tilewright.platform import Platform, parse_pool_override
from tilewright.rewrites.feed_nodes import NOT_FED
from tilewright.rewrites.frames import NOT_SLIDING
from tilewright.schedule.building import Schedule
from tilewright.tiling.field import Capacities
from tilewright.tiling.overflow import TileOverflow
from tilewright.tiling.own_tiler import find_tiler

EXACT = "exact"
"""The placement algorithm that finds a place where there is one."""

MOST_PLACED = 3
"""Ways to group layers that are placed at most where the fewest bytes are wanted."""

ROUNDS = 31
"""How often tiles are made smaller at most, counted over all layers together."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Decisions whose buffers found no place.

    Attributes:
        decisions: what was decided.
        limits: pool to bytes that the tiles of each layer could take, by number of the layer.
        schedule: the program of the decisions.
        overflow: the pool that was too small, and how many bytes are missing.
    """

    decisions: Decisions
    limits: tuple[Capacities, ...]
    schedule: Schedule
    overflow: DoesNotFit


_Attempt = tuple[Decisions, tuple[Capacities, ...]]
"""Decisions to be realised, and pool to bytes that the tiles of each layer may take, by number of the layer."""

_Remedy = Callable[[_Failure, Decider], _Attempt | None]
"""Makes other decisions of those that failed; None where the remedy does not apply to this failure."""


def search(prepared: Prepared, platform: Platform, options: CompileOptions, explains: bool = True) -> Planned:
    """The plan of a prepared graph, which leaves room for the stacks that its kernels need.

    Where stacks need some of a pool whose size the user did not give, the plan is made again
    for a smaller pool. Raises TilewrightError ``does-not-fit`` with pool, need, have, missing
    bytes, operator and the smallest size that works; without ``explains`` it does not seek that
    size, for which whole plans are made.
    """
    prepared = with_given_homes(prepared, platform, dict(options.homes))
    require_room_for_constants(prepared, platform)
    decider = Decider(prepared, platform, options, find_tiler(options.strategy))
    plan = _explained if explains else first_that_fits
    planned = plan(decider)
    stacks = platform.core_stacks
    given = {parse_pool_override(text).pool for text in options.pools}
    if stacks is not None and stacks.pool not in given:
        limited = with_room_for_stacks(planned, platform)
        planned = planned if limited == platform else plan(replace(decider, platform=limited))
    require_room_for_stacks(planned, platform)
    return planned


def _explained(decider: Decider) -> Planned:
    def attempt(sized: Platform) -> Planned:
        return first_that_fits(replace(decider, platform=sized))

    try:
        return attempt(decider.platform)
    except TileOverflow as overflow:
        raise explained(overflow, attempt, decider.platform) from overflow
    except DoesNotFit as overflow:
        raise with_exact(explained(overflow, attempt, decider.platform), _exactly(decider), overflow) from overflow


def _exactly(decider: Decider) -> Planned | None:
    """The plan by the exact search, where another algorithm was asked for; None if it does not fit either."""
    if decider.options.algorithm == EXACT:
        return None
    try:
        return first_that_fits(replace(decider, options=replace(decider.options, algorithm=EXACT)))
    except (TileOverflow, DoesNotFit):
        return None


def first_that_fits(decider: Decider) -> Planned:
    """The first decisions that find a place in the pools of the decider's platform.

    Where tensors that travel have several pools to live in, some leave the pool that is too small (``spill``);
    where they may stay near the core, those do that save cycles, or without which the pool has room (``near_homes``).
    Layers run as groups where no tensor can leave the pool, or where that costs less than tensors that leave.
    Where constants find no place after all this, some layers get kernels with smaller ones (``lean_constants``).
    Raises TileOverflow for a layer without tiles that fit, and the last DoesNotFit where no remedy is left.
    """
    rounds = 0
    while True:
        try:
            return _with_these_kernels(decider)
        except DoesNotFit as overflow:
            leaner = with_leaner_constants(decider, overflow, rounds)
            if leaner is None:
                raise
            decider = leaner
            rounds += 1


def _with_these_kernels(decider: Decider) -> Planned:
    room: Room = {}
    first, crowded = decider, ""
    while True:
        found = _in_these_homes(decider)
        if isinstance(found, Planned):
            planned = with_near_tensors(decider, cost_of(found.layers)) or found
            grouped = with_near_tensors(first, cost_of(planned.layers), crowded) if crowded else None
            return grouped or planned
        relieved = with_near_tensors(decider)
        if relieved is not None:
            return relieved
        crowded = crowded or found.overflow.diagnosis.pool
        placement = decider.options.placement
        spilt = spilled(decider.prepared, decider.platform, found.schedule, found.overflow, room, placement)
        if spilt is None:
            grouped = with_near_tensors(first, crowded=crowded)
            if grouped is None:
                raise found.overflow
            return grouped
        prepared, room = spilt
        decider = replace(decider, prepared=prepared, known={})


def _in_these_homes(decider: Decider) -> Planned | _Failure:
    """The first decisions that find a place, or the last ones that found none. Raises TileOverflow."""
    prepared, platform, options = decider.prepared, decider.platform, decider.options
    decisions = best_tiles(decider)
    groupings = _groupings(decisions, decider)
    if groupings:
        alone = next((item.alone for item in groupings if item.decider is decider), decisions)
        return _grouped_or_in_strips(groupings, alone, decider)
    limits = (decider.capacities,) * len(decisions.layers)
    remedies = chain((_each_store_awaited, _tiles_together), repeat(_smaller_at_the_peak, ROUNDS))
    while True:
        schedule = schedule_of(prepared, decisions, platform, options)
        try:
            return realise(schedule, decisions, platform, options)
        except DoesNotFit as overflow:
            failure = _Failure(decisions, limits, schedule, overflow)
        attempt = _after(failure, remedies, decider)
        if attempt is None:
            return failure
        decisions, limits = attempt


def _groupings(decisions: Decisions, decider: Decider) -> list[Grouping]:
    """The groups that can be made of layers, and of the same graph stored or ordered in other ways.

    Raises the first of the refusals where none can be fed, or grouped, as the user wants.
    """
    found: list[Grouping] = []
    refusals: list[TilewrightError] = []
    others = [replace(decider, prepared=other, known={}, shared={}) for other in decider.prepared.others]
    for other in (decider, *others):
        try:
            groupings = groupings_of(decisions if other is decider else best_tiles(other), other)
        except TilewrightError as refusal:
            if refusal.code not in (NOT_FED, NOT_SLIDING, GROUP_OVERRIDE, BLOCK_OVERRIDE):
                raise
            refusals.append(refusal)
            continue
        if not groupings:
            return found
        found += groupings
    if refusals and not found:
        raise refusals[0]
    return found


def _grouped_or_in_strips(groupings: Sequence[Grouping], alone: Decisions, decider: Decider) -> Planned:
    """The plan with groups; with strips of columns where the fewest bytes are wanted, or nothing else finds a place."""
    if decider.options.objective is not Objective.BYTES_USED:
        try:
            return _grouped(groupings, alone, decider)
        except DoesNotFit:
            if not may_be_in_strips(decider):
                raise
    return _grouped([*groupings, *in_strips(groupings, decider)], alone, decider)


def _grouped(groupings: Sequence[Grouping], alone: Decisions, decider: Decider) -> Planned:
    """The first way that finds a place, from the one that the objective asks for to that of the fewest bytes.

    Where the fewest bytes are the objective, also ways that are predicted to need more are placed. Raises DoesNotFit of
    the last one.
    """
    ways, usual = ways_of(groupings), ways_of(groupings, usual=True)
    way = first_choice(ways, usual, decider)
    if decider.options.objective is Objective.BYTES_USED and way is ways[-1]:
        return _of_fewest_bytes(ways, alone, decider)
    while True:
        try:
            shown = ways if any(way is item for item in ways) else usual
            return _in_groups(shown, way, alone, decider, _alone_planned(shown, alone, decider))
        except DoesNotFit as overflow:
            found = smaller(ways, way, overflow.diagnosis.missing)
            if found is None:
                raise
            way = found


def _of_fewest_bytes(ways: Sequence[Way], alone: Decisions, decider: Decider) -> Planned:
    """Of the ways that promise the fewest bytes the plan that needs the fewest: gaps between buffers are not predicted.

    Raises DoesNotFit of the way that promises the fewest.
    """
    best: Planned | None = None
    failure: DoesNotFit | None = None
    pool, alone_planned = decider.platform.io_pool, _alone_planned(ways, alone, decider)
    for way in ways[: -MOST_PLACED - 1 : -1]:
        if best is not None and way.cover.size_bytes >= _used_bytes(best, pool):
            break
        try:
            planned = _in_groups(ways, way, alone, decider, alone_planned)
        except DoesNotFit as overflow:
            failure = failure or overflow
            continue
        if best is None or _used_bytes(planned, pool) < _used_bytes(best, pool):
            best = planned
    if best is None:
        assert failure is not None
        raise failure
    return best


def _in_groups(
    shown: Sequence[Way], way: Way, alone: Decisions, decider: Decider, alone_planned: Callable[[], Planned | None]
) -> Planned:
    """The plan of a way, one of those that are shown; or of the layers alone, where that needs no more bytes.

    Gaps between buffers cannot be predicted.
    """
    decisions = replace(way.grouping.decisions(way.cover), front=tradeoffs(shown, way))
    planned = _realised(decisions, way.grouping.decider)
    if decider.prepared.graph.fed or gives_groups(decider.options):
        return planned
    if not planned.decisions.groups and _kernels(planned.decisions) == _kernels(alone):
        return planned
    other = alone_planned()
    if other is None:
        return planned
    used = [sum(use.used_bytes for use in item.pool_use) for item in (planned, other)]
    return planned if used[0] < used[1] else other


def _alone_planned(shown: Sequence[Way], alone: Decisions, decider: Decider) -> Callable[[], Planned | None]:
    """Gives the plan of the layers alone with their fastest kernels, made once when it is asked for.

    It is None where the layers find no place.
    """

    @cache
    def planned() -> Planned | None:
        try:
            return _realised(replace(alone, front=tradeoffs(shown, None)), decider)
        except DoesNotFit:
            return None

    return planned


def _used_bytes(planned: Planned, pool: str) -> int:
    return next(use.used_bytes for use in planned.pool_use if use.pool == pool)


def _kernels(decisions: Decisions) -> list[str]:
    return [layer.problem.kernel.name for layer in decisions.layers]


def _realised(decisions: Decisions, decider: Decider) -> Planned:
    schedule = schedule_of(decider.prepared, decisions, decider.platform, decider.options)
    return realise(schedule, decisions, decider.platform, decider.options)


def _after(failure: _Failure, remedies: Iterator[_Remedy], decider: Decider) -> _Attempt | None:
    """The attempt of the first remedy that applies to a failure; None if none applies."""
    for remedy in remedies:
        attempt = remedy(failure, decider)
        if attempt is not None or remedy is _smaller_at_the_peak:
            return attempt
    return None


def _each_store_awaited(failure: _Failure, _: Decider) -> _Attempt | None:
    """Let each layer await its last store, so that fewer buffers are alive at once; None if all layers did already."""
    if not failure.schedule.handed_over:
        return None
    return replace(failure.decisions, hand_over=False), failure.limits


def _tiles_together(failure: _Failure, decider: Decider) -> _Attempt | None:
    """Choose tiles that leave room for the homes in their pools; None if tiles share no pool with homes."""
    decisions = together(failure.schedule, failure.decisions, decider)
    return None if decisions is None else (decisions, failure.limits)


def _smaller_at_the_peak(failure: _Failure, decider: Decider) -> _Attempt | None:
    """Give the layer at the pool's peak fewer bytes of it, by the bytes that are missing.

    The bytes can be missing though the layer's tiles fit, because gaps between buffers take room as well. None if
    smaller tiles of that layer do not help.
    """
    number = _at_peak(failure)
    if number is None:
        return None
    diagnosis, layers = failure.overflow.diagnosis, list(failure.decisions.layers)
    share = layers[number].choice.near_bytes[diagnosis.pool] - diagnosis.missing
    limit = {**failure.limits[number], diagnosis.pool: share}
    try:
        layers[number] = decider.choose(number, limit)
    except TileOverflow:
        # This overflow would name the layer's share; the first failure names the pool's size on the platform.
        return None
    limits = (*failure.limits[:number], limit, *failure.limits[number + 1 :])
    return replace(with_layers(failure.decisions, layers), hand_over=False), limits


def _at_peak(failure: _Failure) -> int | None:
    """The layer at the peak of the pool that overflowed, if smaller tiles of it can help.

    Without a peak that is known, the layer with the largest tiles there.
    """
    diagnosis = failure.overflow.diagnosis
    where = layer_at(failure.schedule.program, diagnosis.step) if diagnosis.step is not None else None
    shares = {
        number: layer.choice.near_bytes.get(diagnosis.pool, 0)
        for number, layer in enumerate(failure.decisions.layers)
        if layer.problem.moves and where in (None, layer.problem.node.name)
    }
    number = max(shares, key=lambda item: shares[item], default=None)
    if number is None or diagnosis.missing <= 0 or shares[number] <= diagnosis.missing:
        return None
    return number
