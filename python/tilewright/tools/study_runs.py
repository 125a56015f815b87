"""A point of a study as a program: compiled for its platform, and run once in the platform's simulator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.errors import not_supported
from tilewright.codegen.render import render
from tilewright.options import CompileOptions, Weights
from tilewright.pipeline import compile_model
from tilewright.plan import InterfaceTensor, Plan
from tilewright.platform import Platform, load_platform
from tilewright.tools.all_files import all_files
from tilewright.tools.simulated_program import StepError, printed_by

_TAKEN = re.compile(r"^taken ([0-9]+)$", re.MULTILINE)


def run_point(options: CompileOptions) -> tuple[int, str]:
    """(Count, what is counted) of one run: ``cycles``, ``instructions`` or ``nanoseconds``.

    Raises:
        TilewrightError: ``study-run``, if the platform has no simulator, the options give the run function other
            arguments, or a step fails, with the end of what it printed.
    """
    platform = load_platform(options.platform)
    _require_runnable(options, platform)
    assert platform.simulator is not None
    options = replace(options, static_pools=True)
    artifacts = compile_model(options)
    try:
        printed = printed_by(options.platform, options.name, all_files(options, artifacts), _main(artifacts.plan))
    except StepError as error:
        raise not_supported("study-run", f"not run: {error}") from error
    found = _TAKEN.search(printed)
    if found is None:
        raise not_supported("study-run", f"not run: the program failed: {printed.strip()[-500:]}")
    return int(found[1]), platform.simulator.counter.value


def _require_runnable(options: CompileOptions, platform: Platform) -> None:
    problems = {
        f"platform '{platform.name}' has no simulator": platform.simulator is None,
        "IO_IN_POOLS leaves inputs to the plan": options.io_in_pools,
        "OUTPUTS_IN_POOLS leaves outputs to the plan": options.outputs_in_pools,
        "FEED gives an input in parts": bool(options.feed),
        "SLIDE gives a run some frames": bool(options.slide),
        "WEIGHTS external needs a file": options.weights is Weights.EXTERNAL,
    }
    for what, is_so in problems.items():
        if is_so:
            raise not_supported("study-run", f"not run: {what}", help="leave --run out for this study")


def _main(plan: Plan) -> str:
    inputs, outputs = _named(plan, plan.inputs, "input"), _named(plan, plan.outputs, "output")
    sides = {"inputs": inputs, "outputs": outputs, "tensors": [*inputs, *outputs]}
    return render("study_main.c.j2", prefix=plan.name, stateful=bool(plan.states), **sides)


def _named(plan: Plan, items: Sequence[InterfaceTensor], side: str) -> list[dict[str, str]]:
    """Tensors of the interface as the template prints them."""
    return [
        {"macro": f"{plan.name}_{side}_{item.identifier}".upper(), "variable": f"{side}_{item.identifier}"}
        for item in items
    ]
