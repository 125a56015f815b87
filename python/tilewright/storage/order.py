"""The order of operators with the lowest peak of bytes alive.

A set of finished operators decides which tensors are alive, so orders are paths through such
sets and the best one minimises the largest number of bytes along the path: Dijkstra's
algorithm with max in the place of plus. On chains of blocks the sets are few. Where they
are too many for the effort, a beam search finds an order, and the search so far gives a
lower bound.

Before:  a -> b (large) -> c (small), a -> d (large) -> e (small), add(c, e), run as a b d c e
After:   a b c d e: b is dead before d is born
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate, count
from types import MappingProxyType

from tilewright.graph import Graph, Node
from tilewright.options import Effort
from tilewright.plan import BufferKind
from tilewright.storage.homes import Homes
from tilewright.storage.joining import Stored

MAXIMUM_STEPS: Mapping[Effort, int] = MappingProxyType(
    {Effort.FAST: 20_000, Effort.NORMAL: 200_000, Effort.THOROUGH: 1_000_000}
)
"""Operators that the exact search runs, behind all sets of finished ones, before the beam search takes its place."""

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


def order_graph(stored: Stored, effort: Effort = Effort.NORMAL) -> Graph:
    """The graph with its operators in the best order; unchanged where the model's order is as good."""
    graph = stored.graph
    operators = [node for node in graph.nodes if node.name not in stored.homes.views]
    tensor_bytes = {name: graph.tensor(name).size_bytes for name in graph.tensors}
    result = best_order(order_problem(operators, stored.homes, tensor_bytes, stored.over), MAXIMUM_STEPS[effort])
    if result.order == tuple(range(len(operators))):
        return graph
    return graph.with_nodes(_with_views(stored, [operators[number] for number in result.order]))


def as_late_as_possible(graph: Graph) -> Graph:
    """The graph with each operator directly before the first that needs it, of several the longest way first.

    Before:  a, side(a), b(a), c(b), add(side, c)
    After:   a, b(a), c(b), side(a), add(side, c)
    """
    depths: dict[str, int] = {}
    writers = {name: node for node in graph.nodes for name in node.outputs}
    readers = dict.fromkeys((node.name for node in graph.nodes), 0)
    positions = {name: position for position, name in enumerate(readers)}
    for node in graph.nodes:
        before = {writers[name].name for name in node.inputs if name in writers}
        depths[node.name] = 1 + max((depths[name] for name in before), default=0)
        for name in before:
            readers[name] += 1
    ready = [node for node in graph.nodes if readers[node.name] == 0]
    found: list[Node] = []
    while ready:
        # Backward: what is soonest done without the others is what can wait for them.
        node = min(reversed(ready), key=lambda item: depths[item.name])
        ready.remove(node)
        found.append(node)
        before = {writers[name].name for name in node.inputs if name in writers}
        for other in sorted(before, key=positions.__getitem__):
            readers[other] -= 1
            if readers[other] == 0:
                ready.append(graph.nodes[positions[other]])
    return graph.with_nodes(found[::-1])


def order_problem(
    operators: Sequence[Node],
    homes: Homes,
    tensor_bytes: Mapping[str, int],
    over: Mapping[str, tuple[str, ...]],
) -> OrderProblem:
    """Operators and storage as numbers; a value that the plan does not place has size 0.

    A value is a group of tensors that have all their bytes in common, and that an operator writes or
    the caller gives. Outputs of Concat and Slice that need no code are no values: an operator that
    reads such a Concat's output reads the values of its inputs, and one that reads such a Slice's
    output reads the value that is sliced.

    Example: s = Slice(c), c = Concat(a, b). Operators write a and b, so a and b are values; an
    operator that reads s reads both.
    """
    content = _content(homes)
    values = list(dict.fromkeys(name for groups in content.values() for name in groups))
    numbers = {name: number for number, name in enumerate(values)}

    def of(names: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({numbers[value] for name in names if name for value in content[homes.groups[name]]}))

    placed = {BufferKind.INTERMEDIATE}
    if homes.io_in_pools:
        placed |= {BufferKind.INPUT, BufferKind.OUTPUT}
    kinds = [homes.kinds[homes.roots[name]] for name in values]
    return make_problem(
        reads=tuple(of(node.inputs) for node in operators),
        writes=tuple(of(node.outputs) for node in operators),
        sizes=tuple(tensor_bytes[name] if kind in placed else 0 for name, kind in zip(values, kinds, strict=True)),
        kept=frozenset(number for number, name in enumerate(values) if homes.is_result(homes.roots[name])),
        given=frozenset(number for number, name in enumerate(values) if homes.is_given(homes.roots[name])),
        over=tuple(of(_alone(over.get(node.name, ()), homes)) for node in operators),
        replaced=tuple(
            (numbers[old], numbers[new]) for new, old in homes.left.items() if old in numbers and new in numbers
        ),
    )


def _content(homes: Homes) -> dict[str, tuple[str, ...]]:
    """For each group of tensors the values, as ``order_problem`` has them, in which the group's bytes lie."""
    made_of: dict[str, list[str]] = {}
    for group, part in homes.parts.items():
        if part.made_of:
            made_of.setdefault(homes.groups[part.whole], []).append(group)
    content: dict[str, tuple[str, ...]] = {}

    def find(group: str) -> tuple[str, ...]:
        if group not in content:
            part = homes.parts.get(group)
            if group in made_of:
                found = [value for inner in made_of[group] for value in find(inner)]
            elif part is not None and not part.made_of:
                found = list(find(homes.groups[part.whole]))
            else:
                found = [group]
            content[group] = tuple(dict.fromkeys(found))
        return content[group]

    for group in dict.fromkeys(homes.groups.values()):
        find(group)
    return content


def _alone(names: Iterable[str], homes: Homes) -> list[str]:
    """The tensors whose storage has no parts and is placed by the plan, so that an output may lie over it."""
    shared = {homes.roots[group] for group in homes.parts}
    return [name for name in names if homes.roots[name] not in shared and not homes.is_callers(name)]


def make_problem(
    reads: tuple[tuple[int, ...], ...],
    writes: tuple[tuple[int, ...], ...],
    sizes: tuple[int, ...],
    kept: frozenset[int] = frozenset(),
    given: frozenset[int] = frozenset(),
    over: tuple[tuple[int, ...], ...] = (),
    replaced: tuple[tuple[int, int], ...] = (),
) -> OrderProblem:
    """The problem with its derived fields: an operator that reads a value runs after all that write it.

    Each pair of ``replaced`` is a value and the one that takes its bytes: all that read the first run before
    those that write the second.
    """
    writers = [0] * len(sizes)
    users = [0] * len(sizes)
    for operator, (read, written) in enumerate(zip(reads, writes, strict=True)):
        for value in written:
            writers[value] |= 1 << operator
        for value in (*read, *written):
            users[value] |= 1 << operator
    written_by: dict[int, list[int]] = {}
    for operator, written in enumerate(writes):
        for value in written:
            written_by.setdefault(value, []).append(operator)
    before = []
    behind: list[dict[int, None]] = [{} for _ in reads]
    for operator, values in enumerate(reads):
        mask = 0
        for value in values:
            mask |= writers[value]
            for writer in written_by.get(value, ()):
                behind[writer][operator] = None
        before.append(mask & ~(1 << operator))
    for reader, writer in _pairs_in_order(reads, written_by, replaced):
        before[writer] |= 1 << reader
        behind[reader][writer] = None
    over = over or ((),) * len(reads)
    later = tuple(tuple(sorted(operators)) for operators in behind)
    return OrderProblem(tuple(before), later, reads, writes, sizes, tuple(writers), tuple(users), kept, given, over)


def _pairs_in_order(
    reads: Sequence[tuple[int, ...]], written_by: Mapping[int, Sequence[int]], replaced: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Each operator that reads an old value, with each that writes the one which takes the old one's bytes."""
    for old, new in replaced:
        readers = [operator for operator, values in enumerate(reads) if old in values]
        for writer in written_by.get(new, ()):
            yield from ((reader, writer) for reader in readers if reader != writer)


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
    state = _start(problem)
    for operator in order:
        state = _after(problem, state, operator)
    return state.peak


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


def _after(problem: OrderProblem, state: _State, operator: int) -> _State:
    born = sum(problem.sizes[value] for value in problem.writes[operator] if not _exists(problem, state.done, value))
    done = state.done | 1 << operator
    replaced = any(problem.sizes[value] == born and _is_dead(problem, done, value) for value in problem.over[operator])
    during = state.alive + (0 if replaced else born)
    touched = {*problem.reads[operator], *problem.writes[operator]}
    died = sum(problem.sizes[value] for value in touched if _is_dead(problem, done, value))
    ready = {other for other in state.ready if other != operator}
    ready.update(other for other in problem.behind[operator] if not problem.before[other] & ~done)
    peak, alive = max(state.peak, during), state.alive + born - died
    return _State(done, peak, alive, tuple(sorted(ready)), state.length + 1, operator, state)


def _exists(problem: OrderProblem, done: int, value: int) -> bool:
    return value in problem.given or bool(done & problem.writers[value])


def _is_dead(problem: OrderProblem, done: int, value: int) -> bool:
    return value not in problem.kept and problem.users[value] & ~done == 0


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
    ties = count()
    start = _start(problem)
    queue: list[tuple[int, int, int, _State]] = [(start.peak, 0, next(ties), start)]
    seen: set[int] = set()
    steps = 0
    while queue:
        peak, _, _, state = heappop(queue)
        if peak >= limit or state.done == everything:
            return (_order_of(state) if state.done == everything else None), peak
        if state.done in seen:
            continue
        seen.add(state.done)
        steps += len(state.ready)
        if steps > maximum_steps:
            return None, peak
        for operator in state.ready:
            following = _after(problem, state, operator)
            if following.done not in seen:
                heappush(queue, (following.peak, -following.length, next(ties), following))
    return None, limit


def _beam(problem: OrderProblem, maximum_steps: int) -> tuple[int, ...]:
    """A good order: of all states after the same number of operators, only the best ``BEAM_WIDTH`` are continued.

    Fewer where these would take more than their share of ``maximum_steps``.
    """
    share = maximum_steps // max(len(problem.reads), 1)
    states: list[tuple[_State, tuple[int, ...]]] = [(_start(problem), ())]
    for _ in problem.reads:
        following: dict[int, tuple[_State, tuple[int, ...]]] = {}
        for state, order in states:
            for operator in state.ready:
                new, new_order = _after(problem, state, operator), (*order, operator)
                old = following.get(new.done)
                if old is None or (new.peak, new_order) < (old[0].peak, old[1]):
                    following[new.done] = (new, new_order)
        ranked = sorted(following.values(), key=lambda found: (found[0].peak, found[0].alive, found[1]))
        steps = accumulate(len(state.ready) for state, _ in ranked[:BEAM_WIDTH])
        states = ranked[: max(1, sum(taken <= share for taken in steps))]
    return states[0][1]


def _with_views(stored: Stored, operators: Sequence[Node]) -> list[Node]:
    """Operators in their new order, each view right before its first reader."""
    views = {node.outputs[0]: node for node in stored.graph.nodes if node.name in stored.homes.views}
    placed: list[Node] = []
    pending = dict(views)

    def place(name: str) -> None:
        view = pending.pop(name, None)
        if view is not None:
            for source in view.inputs:
                place(source)
            placed.append(view)

    for operator in operators:
        for name in operator.inputs:
            place(name)
        placed.append(operator)
    for name in views:
        place(name)
    return placed
