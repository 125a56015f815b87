"""The search for an order of operators, which are numbers here, with the lowest peak of bytes alive.

Dijkstra's algorithm over sets of finished operators, and a beam search where these are too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate, count
from types import MappingProxyType

from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import Effort

MAXIMUM_STEPS: Mapping[Effort, int] = MappingProxyType(
    {Effort.FAST: 20_000, Effort.NORMAL: 200_000, Effort.THOROUGH: 1_000_000}
)
"""The most steps of the exact search; a step runs one operator behind one set of finished operators."""

BEAM_WIDTH = 48


@dataclass(frozen=True, slots=True)
class OrderProblem:
    """Operators by number, with the values (by number) that they read and write.

    Attributes:
        before: for each operator a mask of the operators that must run earlier.
        behind: for each operator the operators that must run later, because they read what it writes.
        reads: for each operator the values that it reads.
        writes: for each operator the values that it writes.
        sizes: bytes of each value.
        writers: for each value a mask of the operators that write it.
        users: for each value a mask of the operators that read or write it.
        kept: values that stay alive to the end.
        given: values that are alive from the start.
        over: for each operator the values over which it may write its result, if they die with it.
    """

    before: tuple[int, ...]
    behind: tuple[tuple[int, ...], ...]
    reads: tuple[tuple[int, ...], ...]
    writes: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    writers: tuple[int, ...]
    users: tuple[int, ...]
    kept: frozenset[int] = frozenset()
    given: frozenset[int] = frozenset()
    over: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class OrderResult:
    """An order, its peak, a proven lower bound for all orders, and the peak of the given order."""

    order: tuple[int, ...]
    peak_bytes: int
    lower_bound_bytes: int
    given_peak_bytes: int


def best_order(problem: OrderProblem, maximum_steps: int = MAXIMUM_STEPS[Effort.NORMAL]) -> OrderResult:
    """The order with the lowest peak; the given order if no other has a lower peak.

    The exact search ends after ``maximum_steps``; the beam search takes as many at most, but continues at least one
    state behind each operator.
    """
    given = tuple(range(len(problem.reads)))
    given_peak = peak_of(problem, given)
    found, bound = _search(problem, given_peak, maximum_steps)
    if found is None:
        found = _beam(problem, maximum_steps)
    peak = peak_of(problem, found)
    if peak >= given_peak:
        return OrderResult(given, given_peak, min(bound, given_peak), given_peak)
    return OrderResult(found, peak, min(bound, peak), given_peak)


def peak_of(problem: OrderProblem, order: Sequence[int]) -> int:
    """The most bytes that are alive at one time while the operators run in ``order``."""
    effects = _effects(problem)
    state = _start(problem)
    for operator in order:
        state = _after(problem, effects, state, operator)
    return state.peak


@dataclass(frozen=True, slots=True)
class _Effect:
    """What running an operator does to memory; values of no bytes are left out.

    Attributes:
        born: (bytes, mask of the writers) of each value that it writes and that the caller does not give.
        died: (bytes, mask of the users) of each value that it reads or writes and that is not kept.
        over: the same of each value over which it may write its result.
    """

    born: tuple[tuple[int, int], ...]
    died: tuple[tuple[int, int], ...]
    over: tuple[tuple[int, int], ...]


def _effects(problem: OrderProblem) -> tuple[_Effect, ...]:
    """The effect of each operator; the search looks at it a hundred thousand times."""
    sizes, writers, users = problem.sizes, problem.writers, problem.users

    def used(values: Iterable[int]) -> tuple[tuple[int, int], ...]:
        return tuple((sizes[value], users[value]) for value in values if value not in problem.kept)

    return tuple(
        _Effect(
            tuple((sizes[value], writers[value]) for value in written if value not in problem.given and sizes[value]),
            tuple(item for item in used(dict.fromkeys((*read, *written))) if item[0]),
            used(over),
        )
        for read, written, over in zip(problem.reads, problem.writes, problem.over, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _State:
    """The state of memory behind some operators.

    Attributes:
        done: a mask of the operators that have run.
        peak: most bytes that were alive while they ran.
        alive: bytes that are alive behind the last operator that has run.
        ready: the operators that can run next, in ascending order.
        length: number of operators that have run.
        last: the operator that has run last; -1 at the start.
        earlier: the state before the last operator.
    """

    done: int
    peak: int
    alive: int
    ready: tuple[int, ...]
    length: int = 0
    last: int = -1
    earlier: _State | None = None


def _start(problem: OrderProblem) -> _State:
    alive = sum(problem.sizes[value] for value in problem.given)
    return _State(0, alive, alive, tuple(operator for operator, before in enumerate(problem.before) if not before))


def _after(problem: OrderProblem, effects: Sequence[_Effect], state: _State, operator: int) -> _State:
    effect, done = effects[operator], state.done | 1 << operator
    died = sum([size for size, users in effect.died if not users & ~done])
    alive = state.alive + _born(effect, state.done) - died
    ready = [other for other in state.ready if other != operator]
    later = [other for other in problem.behind[operator] if not problem.before[other] & ~done]
    following = tuple(sorted(ready + later)) if later else tuple(ready)
    return _State(done, _peak_after(effect, state, operator), alive, following, state.length + 1, operator, state)


def _peak_after(effect: _Effect, state: _State, operator: int) -> int:
    """The peak of the state behind an operator."""
    born = _born(effect, state.done)
    during = state.alive + born
    if during <= state.peak or _is_replaced(effect, state.done | 1 << operator, born):
        return state.peak
    return during


def _born(effect: _Effect, done: int) -> int:
    """Bytes of the values that no operator has written before."""
    return sum([size for size, writers in effect.born if not done & writers])


def _is_replaced(effect: _Effect, done: int, born: int) -> bool:
    """Whether the result lies over a value that dies with the operator."""
    return any(size == born and not users & ~done for size, users in effect.over)


def _order_of(state: _State) -> tuple[int, ...]:
    """The operators that have run, in their order."""
    order: list[int] = []
    at: _State | None = state
    while at is not None and at.earlier is not None:
        order.append(at.last)
        at = at.earlier
    return tuple(reversed(order))


def _search(problem: OrderProblem, limit: int, maximum_steps: int) -> tuple[tuple[int, ...] | None, int]:
    """The order with the lowest peak, if that peak is below ``limit`` bytes, and a lower bound of all peaks in bytes.

    The order is None if every peak is at least ``limit``, or if ``maximum_steps`` do not suffice.
    """
    everything = (1 << len(problem.reads)) - 1
    effects = _effects(problem)
    ties = count()
    start = _start(problem)
    # Of a state that waits only its peak is known, and how it is reached: most are never continued.
    queue: list[tuple[int, int, int, int, _State]] = [(start.peak, 0, next(ties), -1, start)]
    lowest: dict[int, int] = {start.done: start.peak}
    seen: set[int] = set()
    steps = 0
    while queue:
        peak, _, _, last, earlier = heappop(queue)
        done = earlier.done | 1 << last if last >= 0 else earlier.done
        if peak < limit and done in seen:
            continue
        state = _after(problem, effects, earlier, last) if last >= 0 else earlier
        if peak >= limit or done == everything:
            return (_order_of(state) if done == everything else None), peak
        seen.add(done)
        steps += len(state.ready)
        if steps > maximum_steps:
            return None, peak
        for operator in state.ready:
            following = done | 1 << operator
            # Of two ways to the same state the one with the lower peak is continued, or else the first.
            known = lowest.get(following)
            if known is not None and known <= peak:
                continue
            after = _peak_after(effects[operator], state, operator)
            if known is None or after < known:
                lowest[following] = after
                heappush(queue, (after, -state.length - 1, next(ties), operator, state))
    return None, limit


def _beam(problem: OrderProblem, maximum_steps: int) -> tuple[int, ...]:
    """A good order: of all states after the same number of operators, only the best ``BEAM_WIDTH`` are continued.

    Fewer where these would take more than their share of ``maximum_steps``.
    """
    share = maximum_steps // max(len(problem.reads), 1)
    effects = _effects(problem)
    states: list[tuple[_State, tuple[int, ...]]] = [(_start(problem), ())]
    for _ in problem.reads:
        following: dict[int, tuple[_State, tuple[int, ...]]] = {}
        for state, order in states:
            for operator in state.ready:
                new, new_order = _after(problem, effects, state, operator), (*order, operator)
                old = following.get(new.done)
                if old is None or (new.peak, new_order) < (old[0].peak, old[1]):
                    following[new.done] = (new, new_order)
        ranked = sorted(following.values(), key=lambda found: (found[0].peak, found[0].alive, found[1]))
        steps = accumulate(len(state.ready) for state, _ in ranked[:BEAM_WIDTH])
        states = ranked[: max(1, sum(taken <= share for taken in steps))]
    return states[0][1]
