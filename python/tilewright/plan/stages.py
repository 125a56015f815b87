"""The stages of a program, counted from 0 through its layers, and the stage that each step of a layer works for.

Before:  layer a (stages conv, relu): copies x, copies w, kernel conv, kernel relu, copies y    layer b (stage pool)
After:   stages conv 0, relu 1, pool 2; in layer a tokens x and w belong to stage 0, token y to stage 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.base.c_names import c_identifier
from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan.lifetimes import Lifetime, tick_count
from tilewright.plan.program import CopyStart, Kernel, Layer, Loop, Plain, Stage, Step, Wait

MOST_NAMED = 3
"""The name of a layer's function has the operators of the first MOST_NAMED stages at most."""


@dataclass(frozen=True, slots=True)
class NumberedLayer:
    """A layer of a program, and the number of its first stage."""

    layer: Layer
    first: int


def numbered_layers(program: Sequence[Step]) -> tuple[NumberedLayer, ...]:
    """The layers of a program in order."""
    found, first = [], 0
    for layer in program:
        if isinstance(layer, Layer):
            found.append(NumberedLayer(layer, first))
            first += len(layer.stages)
    return tuple(found)


def function_name(prefix: str, number: int, layer: Layer) -> str:
    """The C function of a layer, whose first stage has this number: ``kws_layer_07_conv`` for prefix ``kws``."""
    operators = "_".join(c_identifier(stage.operator).lower() for stage in layer.stages[:MOST_NAMED])
    return f"{prefix}_layer_{number:02d}_{operators}"


def stages_of(program: Sequence[Step]) -> tuple[Stage, ...]:
    """The stages of a program in order."""
    return tuple(stage for layer in program if isinstance(layer, Layer) for stage in layer.stages)


def stage_spans(program: Sequence[Step]) -> tuple[Lifetime, ...]:
    """For each stage the half-open ticks of its layer, with all that stands in it."""
    spans: list[Lifetime] = []
    at = 0
    for step in program:
        size = tick_count((step,))
        if isinstance(step, Layer):
            spans += [(at, at + size)] * len(step.stages)
        at += size
    return tuple(spans)


def plain_steps(body: Sequence[Step]) -> Iterator[Plain]:
    """The steps of a body and of loops and layers in it, in order, each loop body once."""
    for step in body:
        if isinstance(step, (Layer, Loop)):
            yield from plain_steps(step.body)
        else:
            yield step


def steps_by_stage(layer: Layer) -> Iterator[tuple[int, CopyStart | Wait | Kernel]]:
    """The copies, waits and kernel calls of a layer in order, each with its stage in the layer.

    A copy, and its wait, work for the first stage whose kernel uses the buffer near the core; a copy that another
    layer started belongs to the first stage.
    """
    owners = copy_owners(layer)
    numbers = {stage.kernel: number for number, stage in enumerate(layer.stages)}
    for step in plain_steps(layer.body):
        if isinstance(step, Kernel):
            yield numbers[step.name], step
        elif isinstance(step, (CopyStart, Wait)):
            yield owners.get(step.token, 0), step


def copy_owners(layer: Layer) -> Mapping[str, int]:
    """By token of each copy that a layer starts: the stage, counted in the layer, for which the copy is made."""
    numbers = {stage.kernel: number for number, stage in enumerate(layer.stages)}
    steps = tuple(plain_steps(layer.body))
    users: dict[str, int] = {}
    for step in steps:
        if isinstance(step, Kernel):
            for operand in (*step.reads, *step.writes):
                users[operand.buffer] = min(users.get(operand.buffer, len(numbers)), numbers[step.name])
    copies = [step for step in steps if isinstance(step, CopyStart)]
    # A larger tile between home and core belongs to the stage of the smaller tiles that are cut from it.
    for copy in reversed(copies):
        if copy.destination.buffer in users:
            users.setdefault(copy.source.buffer, users[copy.destination.buffer])
    return {copy.token: users.get(copy.destination.buffer, users.get(copy.source.buffer, 0)) for copy in copies}
