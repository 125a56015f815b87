"""Stacks of the cores that run a model for the core that called it.

The walker is the core that runs the model's program; the workers are the cores that share its split calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.call_graph import PART, SPLIT, Calls
from tilewright.firmware.image import Image, Symbol
from tilewright.firmware.walk import Body
from tilewright.plan import Plan

CORE_MAIN = "pulp_cluster_main"
"""The port's function in which a core waits for work; its frame is on every core's stack."""

GUARD_BYTES = 16
"""The end of a stack that the port lets nobody write."""


@dataclass(frozen=True, slots=True)
class CoreStack:
    """The most stack of a core, and the functions that take it.

    Attributes:
        who: ``walker`` or ``workers``.
        calls: what lies below the function that takes the most stack.
        below: what lies below each function that such a core begins with; of workers one entry for each layer.
        stack_bytes: the most stack of the core, the port's own frame included.
    """

    who: str
    calls: Calls
    below: tuple[Calls, ...]
    stack_bytes: int


Follow = Callable[[Symbol, Sequence[Symbol]], Calls]
"""Gives what lies below a function, to which other functions pass the addresses that they know."""


def core_stacks(image: Image, plan: Plan, follow: Follow, body: Callable[[Symbol], Body]) -> tuple[CoreStack, ...]:
    """The stacks of walker and workers; none where the core that calls the model runs it."""
    walkers = _functions(image, f"{plan.name}_infer")
    if not walkers:
        return ()
    layer = re.compile(rf"{re.escape(plan.name)}_(layer_\d+_).*")
    layers: dict[str, list[Symbol]] = {}
    for item in image.functions:
        if (matched := layer.fullmatch(item.name)) is not None:
            layers.setdefault(matched[1], []).append(item)
    # A layer's parts know the functions that the layer's attributes name.
    split = [functions for _, functions in sorted(layers.items()) if any(map(_is_part(plan), functions))]
    workers = [follow(start, functions) for functions in split for start in _functions(image, SPLIT)]
    groups = (("walker", [follow(item, ()) for item in walkers]), ("workers", workers))
    own = [(main, body(main)) for main in _functions(image, CORE_MAIN)]
    own_bytes = max((site.depth_bytes for _, main in own for site in main.calls if site.target is None), default=0)
    return tuple(_deepest(who, below, own_bytes) for who, below in groups if below)


def _is_part(plan: Plan) -> Callable[[Symbol], bool]:
    return lambda item: PART.fullmatch(item.name.partition(".")[0].removeprefix(f"{plan.name}_")) is not None


def _functions(image: Image, name: str) -> list[Symbol]:
    """Functions of a name, also with a suffix that compilers append (``.constprop.0``)."""
    return [item for item in image.functions if item.name.partition(".")[0] == name]


def _deepest(who: str, below: Sequence[Calls], own_bytes: int) -> CoreStack:
    deepest = max(below, key=lambda calls: calls.stack_bytes)
    return CoreStack(who, deepest, tuple(below), own_bytes + deepest.stack_bytes)
