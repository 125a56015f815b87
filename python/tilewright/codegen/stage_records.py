"""Records of a profile for each stage of a layer whose function has the steps of several stages.

Before:  copy x, kernel conv, copy y, kernel relu
After:   copy x, kernel conv, end of a part of stage 0; copy y, kernel relu, end of a part of stage 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.steps import StepText
from tilewright.plan import CopyStart, Kernel, Layer, Step, Wait
from tilewright.plan.stages import steps_by_stage


@dataclass(frozen=True, slots=True)
class StageEnds(StepText):
    """The end of a part of stage ``stage``: counts since the previous such end go to the record of this stage."""

    measures: ClassVar[str] = ""

    stage: int
    guard: str | None = None
    is_measured: bool = False

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The call that adds the counts to the stage's record and starts them anew."""
        return (f"begin = tilewright_profile_add(&stages[{self.stage}], &measured, begin, tilewright_cycles());",)


def recorded(layer: Layer, steps: Sequence[Step], texts: Sequence[StepText]) -> tuple[StepText, ...]:
    """``texts`` of ``steps``, with a ``StageEnds`` wherever the next step belongs to another stage, and at the end."""
    stages = {step: stage for stage, step in steps_by_stage(layer)}
    owners = [stages[step] for step in steps if isinstance(step, (CopyStart, Wait, Kernel))]
    found: list[StepText] = []
    for number, (owner, text) in enumerate(zip(owners, texts, strict=True)):
        found.append(text)
        if owners[number + 1 : number + 2] != [owner]:
            found.append(StageEnds(owner))
    return tuple(found)
