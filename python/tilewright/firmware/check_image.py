"""The check of a linked program against the plans of its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.call_graph import Calls, Follower
from tilewright.firmware.chip_memory import ChipMemory, chip_memory, over_budget
from tilewright.firmware.cluster_cores import GUARD_BYTES, CoreStack, core_stacks
from tilewright.firmware.code_rules import code_findings, code_spans
from tilewright.firmware.constant_rules import wrong_constants
from tilewright.firmware.disassembly import disassemble
from tilewright.firmware.findings import CheckedModel, Finding, Linked
from tilewright.firmware.image import Image, Symbol
from tilewright.firmware.layout_rules import wrong_layouts
from tilewright.firmware.pointers import PointerFinder
from tilewright.firmware.pool_rules import overlaps, placed_pools
from tilewright.firmware.time_bound import instruction_bound
from tilewright.firmware.walk import Walker, walker
from tilewright.plan import Plan

ENTRIES = ("run", "load", "reset", "check_constants", "set_weights")
"""Names, without the model's prefix, of the functions that an application calls."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The models of a program, the memory that it takes, and its faults.

    Without ``findings`` the program agrees with the plans of its models.
    """

    models: tuple[CheckedModel, ...]
    memory: ChipMemory
    findings: tuple[Finding, ...]


def check_image(
    image: Image, plans: Sequence[Plan], linked: Linked, objdump: str | None = None, *, timed: bool = False
) -> Verdict:
    """Check a program against the plans of all its models; ``timed``, or a budget, also bounds a run's instructions.

    Raises bad_input ``elf-model`` if a model is not in the program, the errors of ``disassemble``, and not_supported
    ``time-bound`` where instructions have no bound.
    """
    timed = timed or linked.most_instructions is not None
    code = walker(image, disassemble(image, objdump))
    models: list[CheckedModel] = []
    findings: list[Finding] = []
    for plan in plans:
        model, found = _checked(image, plan, linked, code)
        models.append(replace(model, instructions=instruction_bound(image, code.code, plan) if timed else None))
        findings += found
    findings += overlaps(image, [place for model in models for place in model.pools])
    memory = chip_memory(image, models, linked)
    findings += [*over_budget(memory, linked.budget), *_too_long(models, linked)]
    return Verdict(tuple(models), memory, tuple(findings))


def _checked(image: Image, plan: Plan, linked: Linked, code: Walker) -> tuple[CheckedModel, list[Finding]]:
    places, findings = placed_pools(image, plan, linked)
    findings += wrong_constants(image, plan, places)
    findings += wrong_layouts(image, plan)
    fed = [f"feed_{item.identifier}" for item in plan.inputs if item.fed_axis is not None and plan.slide is None]
    running = [f"{plan.name}_{entry}" for entry in ("run", *((*fed, "finish") if fed else ()))]
    others = [f"{plan.name}_{entry}" for entry in (*(("start",) if fed else ()), *ENTRIES)]
    roots = [symbol for name in dict.fromkeys((*running, *others)) if (symbol := _function(image, name)) is not None]
    if not any(root.name in running for root in roots):
        remedy = "check a program that calls the model; link-time optimisation must not inline the call away"
        raise bad_input("elf-model", f"the program has no function {running[0]}", at=str(image.path), help=remedy)
    weights = tuple((place.address, place.address + place.size_bytes) for place in places)

    def follow(root: Symbol, told_by: Sequence[Symbol] = ()) -> Calls:
        return Follower(image, code, plan.name, PointerFinder(image, weights)).calls(root, told_by)

    below = [follow(root) for root in roots]
    cores = core_stacks(image, plan, follow, code.body)
    for calls in (*below, *(calls for core in cores for calls in core.below)):
        findings += (item for item in code_findings(image, plan, calls, places, linked) if item not in findings)
    findings += [*_too_deep(plan, below), *_too_deep_on_cores(plan, cores, linked)]
    constants = sum(buffer.sha256 is not None for buffer in plan.buffers)
    deepest = max((calls for calls in below if calls.root.name in running), key=lambda calls: calls.stack_bytes)
    spans = frozenset(item for calls in below for item in code_spans(calls))
    spans |= {item for core in cores for calls in core.below for item in code_spans(calls)}
    return CheckedModel(plan, tuple(places), constants, deepest, spans, cores=cores), findings


def _function(image: Image, name: str) -> Symbol | None:
    return next((symbol for symbol in image.functions if symbol.name == name), None)


def _too_deep_on_cores(plan: Plan, cores: Sequence[CoreStack], linked: Linked) -> list[Finding]:
    """A finding for each core that shares calls and takes more stack than the port gives each core."""
    most = (plan.core_stack_bytes or linked.core_stack_bytes) - GUARD_BYTES
    return [
        Finding("stack", core.who, None, f"at most {most:,} bytes of each core's stack", f"{core.stack_bytes:,} bytes")
        for core in cores
        if core.who == "workers" and core.stack_bytes > most > 0
    ]


def _too_long(models: Sequence[CheckedModel], linked: Linked) -> list[Finding]:
    """A finding for each run that takes more instructions than the user allows."""
    most = linked.most_instructions
    return [
        Finding("budget", f"{plan.name}_run", None, f"at most {most:,} instructions", f"{count:,} instructions")
        for plan, count in ((model.plan, model.instructions) for model in models)
        if most is not None and count is not None and count > most
    ]


def _too_deep(plan: Plan, below: Sequence[Calls]) -> list[Finding]:
    """A finding for each entry of the model that takes more stack than header and report say."""
    return [
        Finding(
            "stack",
            calls.root.name,
            calls.root.address,
            f"at most {plan.stack_bytes:,} bytes of stack",
            f"{calls.stack_bytes:,} bytes: {' > '.join(f'{name} {size}' for name, size in calls.deepest)}",
        )
        for calls in below
        if calls.stack_bytes > plan.stack_bytes
    ]
