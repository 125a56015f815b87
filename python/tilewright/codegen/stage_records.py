"""Where the steps of several stages stand in one function, a profile still has a record for each stage.

Before:  copy x, kernel conv, copy y, kernel relu
After:   copy x, kernel conv, end of a part of stage 0; copy y, kernel relu, end of a part of stage 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tilewright.codegen.steps import StepText
from tilewright.plan import CopyStart, Kernel, Layer, Step, Wait
from tilewright.plan.stages import steps_by_stage


@dataclass(frozen=True, slots=True)
class StageEnds(StepText):
    """What was measured since the last such step belongs to stage ``stage`` of the layer."""

    measures: ClassVar[str] = ""

    stage: int
    guard: str | None = None
    is_measured: bool = False

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The call that adds what was measured to the stage's record, and begins anew."""
        return (f"begin = tilewright_profile_add(&stages[{self.stage}], &measured, begin, tilewright_cycles());",)


def recorded(layer: Layer, steps: Sequence[Step], texts: Sequence[StepText]) -> tuple[StepText, ...]:
    """The texts of steps, with an end behind the last of each run of steps of one stage."""
    stages = {step: stage for stage, step in steps_by_stage(layer)}
    owners = [stages[step] for step in steps if isinstance(step, (CopyStart, Wait, Kernel))]
    found: list[StepText] = []
    for number, (owner, text) in enumerate(zip(owners, texts, strict=True)):
        found.append(text)
        if owners[number + 1 : number + 2] != [owner]:
            found.append(StageEnds(owner))
    return tuple(found)
