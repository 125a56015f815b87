"""Ways to spoil a plan: change or drop single steps, buffers and placements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilewright.plan import Buffer, CopyStart, Kernel, Layer, Loop, Placement, Plan, Pool, Step, Wait

Change = Callable[[Any], Any]


def map_steps(body: tuple[Step, ...], change: Callable[[Step], tuple[Step, ...]]) -> tuple[Step, ...]:
    """Replace every step by what ``change`` gives for it, in loops and layers too."""
    result: list[Step] = []
    for step in body:
        for item in change(step):
            inner = isinstance(item, (Loop, Layer))
            result.append(replace(item, body=map_steps(item.body, change)) if inner else item)  # type: ignore[union-attr]
    return tuple(result)


def on_step(plan: Plan, wanted: Callable[[Step], bool], change: Change) -> Plan:
    """Replace each step that is ``wanted`` by what ``change`` gives: a step, several steps, or None for no step."""
    hits = []

    def apply(step: Step) -> tuple[Step, ...]:
        if not wanted(step):
            return (step,)
        hits.append(step)
        changed = change(step)
        if changed is None:
            return ()
        return changed if isinstance(changed, tuple) else (changed,)

    spoilt = replace(plan, program=map_steps(plan.program, apply))
    assert hits, "the edit found nothing to change"
    return spoilt


def without(step: Step) -> None:
    """A change that drops the step."""


def wait(token: str) -> Callable[[Step], bool]:
    return lambda step: isinstance(step, Wait) and step.token == token


def copy(token: str) -> Callable[[Step], bool]:
    return lambda step: isinstance(step, CopyStart) and step.token == token


def kernel(name: str) -> Callable[[Step], bool]:
    return lambda step: isinstance(step, Kernel) and step.name == name


def loops(step: Step) -> bool:
    return isinstance(step, Loop)


def same(expected: Step) -> Callable[[Step], bool]:
    return lambda step: step == expected


def source(**fields: Any) -> Change:
    return lambda step: replace(step, source=replace(step.source, **fields))


def destination(**fields: Any) -> Change:
    return lambda step: replace(step, destination=replace(step.destination, **fields))


def runs(**fields: Any) -> Change:
    return lambda step: replace(step, runs=replace(step.runs, **fields))


def read(position: int, **fields: Any) -> Change:
    def change(step: Kernel) -> Kernel:
        reads = list(step.reads)
        reads[position] = replace(reads[position], **fields)
        return replace(step, reads=tuple(reads))

    return change


def write(**fields: Any) -> Change:
    return lambda step: replace(step, writes=(replace(step.writes[0], **fields),))


def with_buffer(plan: Plan, name: str, **fields: Any) -> Plan:
    def edit(item: Buffer) -> Buffer:
        return replace(item, **fields) if item.name == name else item

    return replace(plan, buffers=tuple(edit(item) for item in plan.buffers))


def with_pool(plan: Plan, name: str, **fields: Any) -> Plan:
    def edit(item: Pool) -> Pool:
        return replace(item, **fields) if item.name == name else item

    return replace(plan, pools=tuple(edit(item) for item in plan.pools))


def with_links(plan: Plan, **fields: Any) -> Plan:
    return replace(plan, links=tuple(replace(link, **fields) for link in plan.links))


def moved(plan: Plan, name: str, offset: int) -> Plan:
    def edit(item: Placement) -> Placement:
        return replace(item, offset_bytes=offset) if item.buffer == name else item

    return replace(plan, placements=tuple(edit(item) for item in plan.placements))


def in_pool(plan: Plan, name: str, pool: str) -> Plan:
    def edit(item: Placement) -> Placement:
        return replace(item, pool=pool) if item.buffer == name else item

    return replace(plan, placements=tuple(edit(item) for item in plan.placements))
