"""A sound plan with a state, made from a model, and spoilt ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.check import Rule
from tilewright.plan import Begin, BufferKind, CopyStart, End, Operand, Placement, Plan, StateTensor

from support.edits import moved, on_step, same, with_buffer
from support.host_runs import TILED, generated
from support.spoilt_memory import Spoilt
from support.stateful import accumulator, difference


@cache
def stateful(in_place: bool = True) -> Plan:
    """A plan in tiles: state s, which n takes the place of, by a layer that reads it or by a copy at the end."""
    case = accumulator() if in_place else difference()
    with TemporaryDirectory() as folder:
        return generated(case.model, Path(folder), TILED, state=case.option).plan


def _elsewhere() -> Plan:
    return moved(stateful(), "n", 1024)


def _written() -> Plan:
    """The new state goes to the old one's buffer."""

    def into_old(step: CopyStart) -> CopyStart:
        return replace(step, destination=Operand("s", step.destination.rectangle))

    return on_step(stateful(), lambda step: isinstance(step, CopyStart) and step.destination.buffer == "n", into_old)


def _early() -> Plan:
    """The new state, which is read beside the old one, is computed at the old one's place."""
    plan = stateful(in_place=False)
    offset = next(item.offset_bytes for item in plan.placements if item.buffer == "s")
    return moved(plan, "n", offset)


def _never_left() -> Plan:
    """A second state that nothing writes."""
    plan = stateful()
    names = {"s": "p", "n": "q"}
    more = [
        replace(item, name=names[item.name], tensor=names[item.name]) for item in plan.buffers if item.name in names
    ]
    places = (Placement("p", "sram", 2048), Placement("q", "sram", 2048))
    use = tuple(
        replace(item, used_bytes=4096, optimal=False) if item.pool == "sram" else item for item in plan.pool_use
    )
    return replace(
        plan,
        buffers=(*plan.buffers, *more),
        placements=(*plan.placements, *places),
        states=(*plan.states, StateTensor("p", "q", "p", "q")),
        program=(Begin("p"), *plan.program, End("p"), Begin("q")),
        pool_use=use,
    )


def _twice() -> Plan:
    plan = stateful()
    return replace(plan, states=(*plan.states, replace(plan.states[0], input="other")))


STATES: Spoilt = {
    "state of nothing": (
        Rule.UNKNOWN_NAME,
        lambda: replace(stateful(), states=(replace(stateful().states[0], left="nothing"),)),
    ),
    "state left elsewhere": (Rule.STATE, _elsewhere),
    "state in two states": (Rule.STATE, _twice),
    "state that is left as an intermediate": (
        Rule.STATE,
        lambda: with_buffer(stateful(), "n", kind=BufferKind.INTERMEDIATE),
    ),
    "old state written": (Rule.FORBIDDEN_WRITE, _written),
    "new state at the place of the old one while it is read": (Rule.OVERLAP, _early),
    "state that is never left": (Rule.OUTPUT_INCOMPLETE, _never_left),
    "new state without a begin": (
        Rule.OUTSIDE_LIFETIME,
        lambda: on_step(stateful(), same(Begin("n")), lambda step: ()),
    ),
}
