"""Handed over stores: copies that one layer starts and the next layer waits for; and the steps around these waits."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Begin, CopyStart, End, Layer, Loop, Step, Wait, loop_in


@dataclass(frozen=True, slots=True)
class HandedOverCopy:
    """The last copy of its token, over ``link``; ``number`` counts the token's copies from 0."""

    link: str
    number: int


@dataclass(frozen=True, slots=True)
class LayerSteps:
    """The steps of a layer, without marks, in the order in which they run.

    Attributes:
        early: copies that start before the layer does anything else, such as wait for the previous layer's last store.
        ready: the steps from there to the loop: waits for that store (``taken_over``) and for early copies.
        loop: the loop, None if the layer has none.
        body: the steps of the loop; without a loop, all steps behind ``early`` and the last wait of ``taken_over``.
        after: the steps behind the loop.
    """

    early: tuple[CopyStart, ...]
    ready: tuple[Step, ...]
    loop: Loop | None
    body: tuple[Step, ...]
    after: tuple[Step, ...] = ()

    @property
    def all(self) -> tuple[Step, ...]:
        """The steps of all parts, in order."""
        return (*self.early, *self.ready, *self.body, *self.after)

    @property
    def taken_over(self) -> tuple[Wait, ...]:
        """The waits for copies that the previous layer started."""
        started = {step.token for step in self.all if isinstance(step, CopyStart)}
        return tuple(step for step in self.ready if isinstance(step, Wait) and step.token not in started)


def steps_of(layer: Layer) -> LayerSteps:
    """The parts of a layer's body; the body has at most one loop, which has no loop inside."""
    steps = tuple(step for step in layer.body if not isinstance(step, (Begin, End)))
    loop = loop_in(steps)
    if loop is not None:
        place = steps.index(loop)
        early = _leading_copies(steps[:place])
        body = tuple(step for step in loop.body if not isinstance(step, (Begin, End)))
        return LayerSteps(early, steps[len(early) : place], loop, body, steps[place + 1 :])
    started = {step.token for step in steps if isinstance(step, CopyStart)}
    foreign = [number for number, step in enumerate(steps) if isinstance(step, Wait) and step.token not in started]
    behind = foreign[-1] + 1 if foreign else len(_leading_copies(steps))
    early = _leading_copies(steps[:behind])
    return LayerSteps(early, steps[len(early) : behind], None, steps[behind:])


def _leading_copies(steps: Sequence[Step]) -> tuple[CopyStart, ...]:
    found: list[CopyStart] = []
    for step in steps:
        if not isinstance(step, CopyStart):
            break
        found.append(step)
    return tuple(found)


def handed_over_copies(program: Sequence[Step]) -> dict[str, HandedOverCopy]:
    """Token to the copy that one layer starts and a later layer waits for."""
    found: dict[str, HandedOverCopy] = {}
    links: dict[str, str] = {}
    for layer in program:
        if not isinstance(layer, Layer):
            continue
        steps = steps_of(layer)
        for wait in steps.taken_over:
            found[wait.token] = HandedOverCopy(links[wait.token], wait.number)
        links.update({step.token: step.link for step in steps.all if isinstance(step, CopyStart)})
    return found
