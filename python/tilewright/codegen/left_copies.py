"""Copies that a layer leaves under way for the next one to wait for, and what that one does first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.plan import Begin, CopyStart, End, Layer, Loop, Step, Wait, loop_in


@dataclass(frozen=True, slots=True)
class LeftCopy:
    """A copy over ``link``, the last one of its token: number ``number``, counted from 0."""

    link: str
    number: int


@dataclass(frozen=True, slots=True)
class LayerSteps:
    """The steps of a layer without marks: first copies, the wait for the layer before, and the loop's body.

    Without a loop all but the first two is the body.
    """

    early: tuple[CopyStart, ...]
    taken_over: tuple[Wait, ...]
    loop: Loop | None
    body: tuple[Step, ...]

    @property
    def all(self) -> tuple[Step, ...]:
        """All of them, in order."""
        return (*self.early, *self.taken_over, *self.body)


def steps_of(layer: Layer) -> LayerSteps:
    """The parts of a layer's body."""
    steps = tuple(step for step in layer.body if not isinstance(step, (Begin, End)))
    loop = loop_in(steps)
    started = {step.token for step in steps if isinstance(step, CopyStart)}
    waits = [step for step in steps if isinstance(step, Wait) and step.token not in started]
    before = steps[: steps.index(waits[0])] if waits else ()
    early = tuple(step for step in before if isinstance(step, CopyStart))
    body = loop.body if loop is not None else steps[len(before) + len(waits) :]
    return LayerSteps(early, tuple(waits), loop, body)


def left_copies(program: Sequence[Step]) -> dict[str, LeftCopy]:
    """By token the copies for which a later layer waits than the one that starts them."""
    found: dict[str, LeftCopy] = {}
    links: dict[str, str] = {}
    for layer in program:
        if not isinstance(layer, Layer):
            continue
        steps = steps_of(layer)
        for wait in steps.taken_over:
            found[wait.token] = LeftCopy(links[wait.token], wait.number)
        links.update({step.token: step.link for step in steps.all if isinstance(step, CopyStart)})
    return found
