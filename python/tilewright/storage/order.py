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

from tilewright.graph import Graph, Node
from tilewright.options import Effort
from tilewright.plan import INTERFACE, BufferKind
from tilewright.storage.homes import Homes
from tilewright.storage.joining import Stored
from tilewright.storage.order_search import MAXIMUM_STEPS, OrderProblem, best_order


def order_graph(stored: Stored, effort: Effort = Effort.NORMAL) -> Graph:
    """The graph with its operators in the best order; unchanged where the model's order is as good."""
    operators = ordered_nodes(stored)
    result = best_order(problem_of(stored, operators), MAXIMUM_STEPS[effort])
    if result.order == tuple(range(len(operators))):
        return stored.graph
    return with_order(stored, [operators[number] for number in result.order])


def ordered_nodes(stored: Stored) -> list[Node]:
    """The operators that have a place in an order: all but views, which need no code."""
    return [node for node in stored.graph.nodes if node.name not in stored.homes.views]


def problem_of(stored: Stored, operators: Sequence[Node]) -> OrderProblem:
    """``order_problem`` for the operators of a stored graph."""
    graph = stored.graph
    tensor_bytes = {name: graph.tensor(name).size_bytes for name in graph.tensors}
    return order_problem(operators, stored.homes, tensor_bytes, stored.over)


def with_order(stored: Stored, operators: Sequence[Node]) -> Graph:
    """The graph with its operators in this order, and each view right before its first reader."""
    return stored.graph.with_nodes(_with_views(stored, operators))


def value_names(homes: Homes) -> list[str]:
    """The values of ``order_problem`` by their numbers."""
    return list(dict.fromkeys(name for groups in _content(homes).values() for name in groups))


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
        # From the last operator to the first: of those that may stand here, the one with the shortest way to it.
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
    content, values = _content(homes), value_names(homes)
    numbers = {name: number for number, name in enumerate(values)}

    def of(names: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({numbers[value] for name in names if name for value in content[homes.groups[name]]}))

    placed = {BufferKind.INTERMEDIATE, *INTERFACE} - set(homes.callers)
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
