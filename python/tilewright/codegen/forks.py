"""Calls that cores share, in two halves: whoever walks the program starts the next copies meanwhile.

Before:  start x of tile t + 1, wait for x of tile t, kernel, start y
After:   wait for x of tile t, start the kernel, start x of tile t + 1, join, start y

A copy is then in flight for no longer than the plan has it, so what the plan keeps apart stays apart.
One that the same iteration waits for before the kernel (the only slot between home and core, filled
before the next tile is cut from it) stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from tilewright.codegen.calls import AttributesText, JoinText, KernelText
from tilewright.codegen.steps import BlockCopyText, RectangleCopyText, StepText, WaitText
from tilewright.plan import CopyStart, Kernel, Step, Wait


def copies_meanwhile(body: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a layer, with copies for later tiles behind a kernel that cores share."""
    number = next(number for number, step in enumerate(body) if isinstance(step, Kernel))
    kernel = body[number]
    assert isinstance(kernel, Kernel)
    if kernel.split is None:
        return tuple(body)
    at_once = {(step.token, step.runs.first) for step in body[:number] if isinstance(step, Wait)}
    later = [step for step in body[:number] if _is_for_later(step, kernel, at_once)]
    before = [step for step in body[:number] if step not in later]
    return (*before, kernel, *later, *body[number + 1 :])


def _is_for_later(step: Step, kernel: Kernel, at_once: Set[tuple[str, int]]) -> bool:
    """Whether nothing before the kernel, in the same iteration, needs the copy that the step starts."""
    if not isinstance(step, CopyStart) or step.runs.first >= kernel.runs.first:
        return False
    return (step.token, step.runs.first) not in at_once


def joined(steps: Sequence[StepText], *, looped: bool) -> tuple[StepText, ...]:
    """A join behind the copies that are started while cores work, and attributes and shapes brought near them.

    The latter while the first copies are under way.
    """
    number, kernel = next((number, step) for number, step in enumerate(steps) if isinstance(step, KernelText))
    waits = (place for place, step in enumerate(steps[:number]) if isinstance(step, WaitText))
    first = next(waits, number)
    end = number + 1
    while end < len(steps) and _is_inward(steps[end]):
        end += 1
    assert kernel.split is not None
    near = AttributesText("t == 0" if looped else "", kernel.attributes, kernel.members, kernel.shapes)
    join = JoinText(kernel.guard, kernel.split.cores)
    return (*steps[:first], near, *steps[first:end], join, *steps[end:])


def _is_inward(step: StepText) -> bool:
    return isinstance(step, (BlockCopyText, RectangleCopyText)) and step.inward
