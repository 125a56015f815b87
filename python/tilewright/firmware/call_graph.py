"""The calls below a function of a model: the deepest stack, and every function that is reached."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.image import Image, Symbol
from tilewright.firmware.pointers import PointerFinder, Pointers
from tilewright.firmware.walk import Body, CallSite, Walker

SPLIT = "tilewright_split_part"
"""The function that each core of a split call runs: it computes the core's part, then calls the kernel on it."""

PART = re.compile(r"(layer_\d+_).*_part(_call)?")
"""Names, without the model's prefix, of the functions of a layer's parts and of those that call its kernel on them.

The first group of the pattern is the same for all functions of a layer.
"""

FORKS = frozenset(("tilewright_fork", "tilewright_fork_start", "tilewright_fork_join"))
"""Functions of the port that start cores on a split call, or wait for their end."""

Chain = tuple[int, ...]
"""Addresses of functions, each of which calls the next."""


Depth = tuple[int, Chain]
"""The most stack of a call in bytes, and the chain of functions that takes it."""

_Visit = Generator["_Visit", Depth, Depth]
"""The visit of a function: it asks for visits of those that it calls, one after the other, and returns its depth."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A call that was followed; ``by_pointer`` calls are resolved to all functions that the caller can know."""

    caller: Symbol
    callee: Symbol
    address: int
    by_pointer: bool


@dataclass(frozen=True, slots=True)
class Calls:
    """What lies below one function: all that it reaches by calls.

    Attributes:
        root: the function.
        stack_bytes: the most stack that a call of it takes, its own frame included.
        deepest: names of the functions that take it, the root first, with the bytes that each has taken at its call.
        edges: all calls that were followed.
        bodies: functions that were reached, by address.
        cycles: recursions, each as the names of the functions from the first call of one of them to its second.
        lost: calls by pointer that no known function answers: (caller, address).
        named: function to the (address, bytes) of read-only objects that it names, itself or through others.
    """

    root: Symbol
    stack_bytes: int
    deepest: tuple[tuple[str, int], ...]
    edges: tuple[Edge, ...]
    bodies: dict[int, Body]
    cycles: tuple[tuple[str, ...], ...]
    lost: tuple[tuple[Symbol, int], ...]
    named: dict[int, frozenset[tuple[int, int]]]


@dataclass(slots=True)
class Follower:
    """Follows calls from function to function.

    A call by pointer may reach every function whose address the caller knows: from its own code and constants, or
    because one of its callers knows it. Three facts make that set smaller. Only generated code calls the functions of
    layers, from its table of them. Only ``SPLIT`` calls parts of layers. And no call by pointer goes back to a caller:
    pointers of the runtime lead from kernels to their inner functions.
    """

    image: Image
    walker: Walker
    model: str
    finder: PointerFinder
    bodies: dict[int, Body] = field(default_factory=dict)
    edges: dict[tuple[int, int, int, bool], Edge] = field(default_factory=dict)
    cycles: set[tuple[str, ...]] = field(default_factory=set)
    lost: dict[tuple[int, int], tuple[Symbol, int]] = field(default_factory=dict)
    depths: dict[tuple[int, frozenset[int], frozenset[int]], Depth] = field(default_factory=dict)
    pointers: dict[int, Pointers] = field(default_factory=dict)

    def calls(self, root: Symbol, told_by: Sequence[Symbol] = ()) -> Calls:
        """Everything below ``root``, which knows by memory what the functions ``told_by`` know."""
        own = [self._own(function) for function in told_by]
        told = frozenset(address for pointers in own for address in pointers.in_code | pointers.in_data)
        handed = frozenset(address for address in told if not self._is_layer(address))
        stack_bytes, chain = _visited(self._depth(root, handed, ()))
        names = tuple((self._named(address), self.bodies[address].frame_bytes) for address in chain)
        return Calls(
            root=root,
            stack_bytes=stack_bytes,
            deepest=names,
            edges=tuple(self.edges.values()),
            bodies=self.bodies,
            cycles=tuple(sorted(self.cycles)),
            lost=tuple(self.lost.values()),
            named={address: pointers.objects for address, pointers in self.pointers.items()},
        )

    def _named(self, address: int) -> str:
        symbol = self.image.function_at(address)
        return f"{address:#x}" if symbol is None else symbol.name

    def _body(self, function: Symbol) -> Body:
        if function.address not in self.bodies:
            self.bodies[function.address] = self.walker.body(function)
        return self.bodies[function.address]

    def _own(self, function: Symbol) -> Pointers:
        if function.address not in self.pointers:
            body = self._body(function)
            self.pointers[function.address] = self.finder.of(body.touched - body.compared)
        return self.pointers[function.address]

    def _depth(self, function: Symbol, handed: frozenset[int], above: Chain) -> _Visit:
        """The depth of a call of a function."""
        # Callers matter only through the pointers that they hand down.
        key = (function.address, handed, frozenset(above) if handed else frozenset())
        if key in self.depths:
            return self.depths[key]
        body, own = self._body(function), self._own(function)
        layers = frozenset(address for address in own.in_data if self._is_layer(address))
        handed_on = handed | (own.in_code | own.in_data) - layers
        chain = (*above, function.address)
        deepest: tuple[int, Chain] = (body.frame_bytes, ())
        for site in body.calls:
            known = handed_on | layers if site.target is None else handed_on
            for callee in self._targets(function, site, known, chain):
                below, way = yield self._depth(callee, handed_on, chain)
                deepest = max(deepest, (site.depth_bytes + below, way))
        self.depths[key] = deepest[0], (function.address, *deepest[1])
        return self.depths[key]

    def _targets(self, caller: Symbol, site: CallSite, known: frozenset[int], chain: Chain) -> Iterator[Symbol]:
        """The functions that a call may reach; recursions go to ``cycles``, calls that reach nothing to ``lost``."""
        by_pointer = site.target is None
        addresses = [site.target] if site.target is not None else sorted(self._answering(caller, known, chain))
        callees = [symbol for address in addresses if (symbol := self.image.function_at(address)) is not None]
        if not callees:
            self.lost[caller.address, site.address] = (caller, site.address)
        for callee in callees:
            if callee.address in chain:
                names = [self._named(address) for address in chain[chain.index(callee.address) :]]
                self.cycles.add((*names, callee.name))
                continue
            edge = (caller.address, callee.address, site.address, by_pointer)
            self.edges.setdefault(edge, Edge(caller, callee, site.address, by_pointer))
            yield callee

    def _answering(self, caller: Symbol, known: frozenset[int], chain: Chain) -> frozenset[int]:
        """The functions that a call by pointer may reach, of those that the caller knows."""
        known = known - frozenset(chain)
        if self._is_of_model(caller.address):
            return known
        parts = frozenset(address for address in known if self._is_part(address))
        if self._is_split(caller.address):
            return frozenset(address for address in parts if self._base(address).endswith("_call")) or parts
        if len(chain) > 1 and self._is_split(chain[-2]):
            return frozenset(address for address in parts if not self._base(address).endswith("_call")) or parts
        splits = frozenset(address for address in known if self._is_split(address))
        if splits and self._is_forked(chain):
            return splits
        return known - parts - splits

    def _is_forked(self, chain: Chain) -> bool:
        """Whether the chain goes from a layer into the port's fork, and not yet on to a part."""
        forks = [place for place, address in enumerate(chain) if self._base(address) in FORKS]
        if not forks or any(map(self._is_part, chain)):
            return False
        caller = chain[max(forks[0] - 1, 0)]
        return self._is_of_model(caller) or self._base(caller).startswith("tilewright_split_")

    def _base(self, address: int) -> str:
        """A function's name in its source; compilers put a dot and more behind it."""
        return self._named(address).partition(".")[0]

    def _is_split(self, address: int) -> bool:
        return self._base(address) == SPLIT

    def _is_of_model(self, address: int) -> bool:
        return self._named(address).startswith(f"{self.model}_")

    def _is_part(self, address: int) -> bool:
        return PART.fullmatch(self._base(address).removeprefix(f"{self.model}_")) is not None

    def _is_layer(self, address: int) -> bool:
        is_named = re.match(rf"{re.escape(self.model)}_layer_\d+_", self._named(address)) is not None
        return is_named and not self._is_part(address)


def _visited(first: _Visit) -> Depth:
    """What a visit returns. Visits wait in a list, since programs may nest calls deeper than Python's own stack."""
    waiting: list[_Visit] = [first]
    answer: Depth | None = None
    while waiting:
        try:
            # A visit begins without an answer; then each of its requests has one.
            request = next(waiting[-1]) if answer is None else waiting[-1].send(answer)
        except StopIteration as end:
            waiting.pop()
            answer = end.value
        else:
            waiting.append(request)
            answer = None
    assert answer is not None
    return answer
