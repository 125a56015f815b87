"""What a model's C computes in the simulator of its platform."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tilewright.base.errors import bad_input
from tilewright.codegen.buffers import storage_of
from tilewright.codegen.interface import storage_bytes
from tilewright.codegen.render import render
from tilewright.graph import Array
from tilewright.plan import InterfaceTensor, Plan
from tilewright.tools.simulated_program import StepError, printed_by

_BYTES = re.compile(r"^bytes ([0-9a-f]*)$", re.MULTILINE)


def computed_on(
    platform: str, plan: Plan, files: Mapping[str, bytes], feeds: Sequence[Sequence[Array]]
) -> list[list[Array]]:
    """For each run the outputs of a model in the platform's simulator, where the runs follow each other."""
    try:
        printed = printed_by(platform, plan.name, files, target_main(plan, feeds))
    except StepError as error:
        help_text = "name a platform with a simulator that is installed, or leave --platform out"
        raise bad_input("verify-target", f"the C was not run for '{platform}': {error}", help=help_text) from error
    lines = iter(_BYTES.findall(printed))
    return [[_array(item, next(lines, "")) for item in plan.outputs] for _ in feeds]


def target_main(plan: Plan, feeds: Sequence[Sequence[Array]]) -> str:
    """The C file with main(), which has the inputs of all runs as constants."""
    inputs = [
        {**_tensor(plan, item, "input"), "runs": [list(np.ascontiguousarray(run[at]).tobytes()) for run in feeds]}
        for at, item in enumerate(plan.inputs)
    ]
    outputs = [_tensor(plan, item, "output") for item in plan.outputs]
    sides = {"inputs": inputs, "outputs": outputs, "tensors": [*inputs, *outputs]}
    return render("verify_target.c.j2", prefix=plan.name, stateful=bool(plan.states), runs=len(feeds), **sides)


def _tensor(plan: Plan, item: InterfaceTensor, side: str) -> dict[str, object]:
    size = prod(item.shape) * np.dtype(item.dtype).itemsize
    macro = f"{plan.name}_{side}_{item.identifier}".upper()
    length = f"{macro}_{'STORAGE' if storage_bytes(storage_of(plan), item) else 'SIZE'}"
    return {"macro": macro, "variable": f"{side}_{item.identifier}", "size_bytes": size, "length": length}


def _array(item: InterfaceTensor, digits: str) -> Array:
    content, dtype = bytes.fromhex(digits), np.dtype(item.dtype)
    if len(content) != prod(item.shape) * dtype.itemsize:
        raise bad_input("verify-target", f"the simulator printed {len(content)} bytes of output '{item.name}'")
    return np.frombuffer(content, dtype).reshape(item.shape)
