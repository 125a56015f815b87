"""Split calls in two halves, start and join; the core that runs the layer starts copies for later tiles between them.

Before:  start x of tile t + 1, wait for x of tile t, kernel, start y
After:   wait for x of tile t, start the kernel, start x of tile t + 1, join, start y

A copy starts later than in the plan and ends where the plan waits for it, so bytes that the plan keeps
apart stay apart. A copy for which the same iteration waits before the kernel stays where it is (for
example, a single slot of staged rows that must be filled before the next tile is cut from it).
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from tilewright.codegen.kernel_calls import KernelText
from tilewright.codegen.steps import CopyText, StepText, WaitText
from tilewright.plan import CopyStart, Kernel, Step, Wait


def copies_meanwhile(body: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a layer; if its single kernel step is split, copies for later tiles follow the kernel step.

    In a layer with several kernel steps each copy stays in its place: behind the first kernel, a copy may change
    bytes that the second kernel reads.
    """
    calls = [(number, step) for number, step in enumerate(body) if isinstance(step, Kernel)]
    if len(calls) != 1:
        return tuple(body)
    number, kernel = calls[0]
    if kernel.split is None:
        return tuple(body)
    at_once = {(step.token, step.runs.first) for step in body[:number] if isinstance(step, Wait)}
    later = [step for step in body[:number] if _is_for_later(step, kernel, at_once)]
    before = [step for step in body[:number] if step not in later]
    return (*before, kernel, *later, *body[number + 1 :])


def _is_for_later(step: Step, kernel: Kernel, at_once: Set[tuple[str, int]]) -> bool:
    """Whether a step starts a copy for which no step waits before the kernel in the same iteration."""
    if not isinstance(step, CopyStart) or step.runs.first >= kernel.runs.first:
        return False
    return (step.token, step.runs.first) not in at_once


def joined(steps: Sequence[StepText], *, looped: bool) -> tuple[StepText, ...]:
    """The steps of a layer with a join behind each split call, and with ``AttributesText`` once before all calls.

    Attributes are copied while the first copies of the layer are under way. The join follows the copies that start
    while the cores work; in a layer with several kernel steps the join follows its call at once. Local calls have both
    in their own block.
    """
    calls = [step for step in steps if isinstance(step, KernelText)]
    shared = [step for step in calls if step.split is not None and not step.is_local]
    first = next(place for place, step in enumerate(steps) if isinstance(step, (WaitText, KernelText)))
    near = [call.near_cores(f"t == {call.first}" if looped else "") for call in shared]
    found = [*steps[:first], *near, *steps[first:]]
    for call in shared:
        end = found.index(call) + 1
        while len(calls) == 1 and end < len(found) and _is_inward(found[end]):
            end += 1
        assert call.split is not None
        found.insert(end, call.join(call.split))
    return tuple(found)


def _is_inward(step: StepText) -> bool:
    return isinstance(step, CopyText) and step.inward
