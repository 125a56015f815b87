"""Small changes to steps of loops: more or fewer runs, other rows, other order, as a wrong schedule would have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tilewright.plan import CopyStart, Kernel, Layer, Loop, Operand, Plan, Runs, Step, Wait

Plain = CopyStart | Wait | Kernel
Edit = Callable[[list[Step], int, Random, int], None]
"""Changes a loop's body at a plain step; the last number is how many iterations the loop has."""


def edited(plan: Plan, random: Random) -> Plan:
    """The plan with one change in one of its loops."""
    places = [
        (at, inside)
        for at, layer in enumerate(plan.program)
        if isinstance(layer, Layer)
        for inside, step in enumerate(layer.body)
        if isinstance(step, Loop) and any(isinstance(item, Plain) for item in step.body)
    ]
    at, inside = random.choice(places)
    layer = plan.program[at]
    assert isinstance(layer, Layer)
    loop = layer.body[inside]
    assert isinstance(loop, Loop)
    body = list(loop.body)
    plain = [number for number, step in enumerate(body) if isinstance(step, Plain)]
    random.choice(EDITS)(body, random.choice(plain), random, len(loop.iterations))
    steps = (*layer.body[:inside], replace(loop, body=tuple(body)), *layer.body[inside + 1 :])
    program = (*plan.program[:at], replace(layer, body=steps), *plan.program[at + 1 :])
    return replace(plan, program=program)


def _plain(body: list[Step], at: int) -> Plain:
    step = body[at]
    assert isinstance(step, Plain)
    return step


def _once_more(body: list[Step], at: int, random: Random, turns: int) -> None:
    """The step runs for its first block again, at one iteration; a copy is awaited at once."""
    step = _plain(body, at)
    runs = replace(step.runs, first=random.randrange(turns), every=turns, count=1)
    again = replace(step, runs=runs)
    if isinstance(again, CopyStart):
        again = replace(again, token="again")
        body[at:at] = [again, Wait("again", Runs(runs.first, runs.every, 1))]
    else:
        body.insert(at, again)


def _fewer_runs(body: list[Step], at: int, random: Random, turns: int) -> None:
    step = _plain(body, at)
    body[at] = replace(step, runs=replace(step.runs, count=max(0, step.runs.count - random.choice([1, 2]))))


def _shifted(body: list[Step], at: int, random: Random, turns: int) -> None:
    step = _plain(body, at)
    body[at] = replace(step, runs=replace(step.runs, first=step.runs.first + random.choice([-1, 1])))


def _swapped(body: list[Step], at: int, random: Random, turns: int) -> None:
    other = random.randrange(len(body))
    body[at], body[other] = body[other], body[at]


def _other_rows(body: list[Step], at: int, random: Random, turns: int) -> None:
    """Move the rectangle of a copy's source, of both ends of a copy, or of one read; or wait for another number.

    Where both ends move, the copy is consistent, but brings rows that the kernel does not ask for.
    """
    step = _plain(body, at)
    if isinstance(step, CopyStart):
        axis, by = random.randrange(len(step.source.rectangle)), random.choice([-1, 1])
        source = _moved(step.source, axis, by)
        both = replace(step, source=source, destination=_moved(step.destination, axis, by))
        body[at] = random.choice([both, replace(step, source=source)])
    elif isinstance(step, Kernel):
        reads = list(step.reads)
        number = random.randrange(len(reads))
        axis = random.randrange(len(reads[number].rectangle))
        reads[number] = _moved(reads[number], axis, random.choice([-1, 1]))
        body[at] = replace(step, reads=tuple(reads))
    else:
        body[at] = replace(step, number=step.number + random.choice([-1, 1]))


def _moved(operand: Operand, axis: int, by: int) -> Operand:
    """The operand with its rectangle moved along an axis, clipped to the tensor: first and last tiles differ."""
    if axis >= len(operand.rectangle):
        return operand
    old = operand.rectangle[axis]
    new = replace(old, first_offset=old.first_offset + by, last_offset=old.last_offset + by)
    return replace(operand, rectangle=(*operand.rectangle[:axis], new, *operand.rectangle[axis + 1 :]))


EDITS: tuple[Edit, ...] = (_once_more, _fewer_runs, _shifted, _swapped, _other_rows)
