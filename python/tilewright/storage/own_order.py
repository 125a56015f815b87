"""Orders of the user's own: functions that say in which order layers run, whose answers are checked.

    def order(network: NetworkOrder) -> Sequence[str]:
        return [layer.name for layer in network.layers]

gives the model's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import cast

from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.own_code import CannotImport, own_function
from tilewright.graph import Graph, Node
from tilewright.options import Order
from tilewright.plan import BufferKind
from tilewright.storage.joining import Stored
from tilewright.storage.order import ordered_nodes, problem_of, value_names, with_order
from tilewright.storage.order_search import OrderProblem, peak_of

ENTRY_POINTS = "tilewright.orders"


@dataclass(frozen=True, slots=True)
class OrderedLayer:
    """A layer: what it reads and writes, and the layers that must run before it.

    ``reads`` and ``writes`` are names in ``NetworkOrder.sizes``: tensors that share all their bytes have one name.
    ``over`` are those of ``reads`` over which it may write its result, where nothing reads them later.
    """

    name: str
    operator: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    over: tuple[str, ...]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class NetworkOrder:
    """The layers for which an order is wanted, in the order of the model.

    ``sizes`` has the bytes of each value that layers read or write, 0 for one that the plan does not place: the
    caller's inputs and outputs, and states. Constants are left out.
    """

    layers: tuple[OrderedLayer, ...]
    sizes: Mapping[str, int]
    _problem: OrderProblem = field(repr=False)

    def peak_bytes(self, order: Sequence[str]) -> int:
        """The most bytes of values alive at one time in an order, by the names of all layers.

        Raises ValueError for what is no order in which the layers can run.
        """
        wrong = _wrong(self, order)
        if wrong:
            raise ValueError(wrong)
        return peak_of(self._problem, _numbers(self, order))


OwnOrder = Callable[[NetworkOrder], Sequence[str]]
"""Gives the names of all layers in the order in which they run."""


def find_order(name: str) -> OwnOrder | None:
    """The function that option ``order`` means: an entry point, or ``package.module:function``; None for our own.

    Raises bad_input ``unknown-order`` if there is none of that name, or if it is no function(network).
    """
    ours = tuple(order.value for order in Order)
    if name in ours:
        return None
    try:
        return cast("OwnOrder", own_function(name, ENTRY_POINTS, "network", ours))
    except CannotImport as error:
        remedy = error.help or "docs/how-to/write-a-tiler.md says what an order is"
        raise bad_input("unknown-order", f"order '{name}' {error}", help=remedy) from error


def own_order(stored: Stored, order: OwnOrder, name: str) -> Graph:
    """The graph with its operators in the user's order.

    Raises bad_input ``own-order`` for an answer that does not name each layer once, behind all that it needs.
    """
    operators = ordered_nodes(stored)
    network = _network(stored, operators)
    try:
        answer = list(order(network))
    except Exception as error:  # the user's own code may raise anything
        raise bad_input("own-order", f"order '{name}' failed: {type(error).__name__}: {error}") from error
    wrong = _wrong(network, answer)
    if wrong:
        remedy = "an order has the name of each layer once, behind all layers of its 'after'"
        raise bad_input("own-order", f"order '{name}': {wrong}", help=remedy)
    return with_order(stored, [operators[number] for number in _numbers(network, answer)])


def _network(stored: Stored, operators: Sequence[Node]) -> NetworkOrder:
    values, problem = value_names(stored.homes), problem_of(stored, operators)
    names = [node.name for node in operators]
    sizes = {
        name: size
        for name, size in zip(values, problem.sizes, strict=True)
        if stored.homes.kinds[stored.homes.roots[name]] is not BufferKind.CONSTANT
    }

    def of(numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(values[number] for number in numbers if values[number] in sizes)

    layers = tuple(
        OrderedLayer(
            node.name,
            node.operator,
            of(problem.reads[number]),
            of(problem.writes[number]),
            of(problem.over[number]),
            frozenset(name for other, name in enumerate(names) if problem.before[number] >> other & 1),
        )
        for number, node in enumerate(operators)
    )
    return NetworkOrder(layers, sizes, problem)


def _wrong(network: NetworkOrder, order: Sequence[object]) -> str:
    """Why an order cannot be; empty if it can."""
    after = {layer.name: layer.after for layer in network.layers}
    done: set[str] = set()
    for name in order:
        if not isinstance(name, str) or name not in after:
            return f"there is no layer {name!r}"
        if name in done:
            return f"layer '{name}' would run twice"
        early = sorted(after[name] - done)
        if early:
            return f"layer '{name}' would run before '{early[0]}', which it needs"
        done.add(name)
    missing = [name for name in after if name not in done]
    return f"layer '{missing[0]}' is left out" if missing else ""


def _numbers(network: NetworkOrder, order: Sequence[str]) -> list[int]:
    numbers = {layer.name: number for number, layer in enumerate(network.layers)}
    return [numbers[name] for name in order]
