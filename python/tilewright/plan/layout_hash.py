"""A hash of what generated code depends on, beside the values of constants."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from tilewright.plan.json import dumps
from tilewright.plan.program import Kernel, Layer, Loop, Plan, Step


def layout_hash(plan: Plan) -> str:
    """16 hexadecimal digits that two plans share if their code, headers and places of bytes are the same.

    What is known about the plan (model file, version, facts for reports) and the content of constants do not count.
    Where a file beside the program has the constants and the numbers in attributes, these numbers do not count either,
    but the version of Tilewright does: it decides how constants are packed and what the numbers mean.
    """
    external = plan.external
    bare = replace(
        plan,
        model="",
        model_sha256="",
        tool_version="" if external is None else plan.tool_version,
        external=None if external is None else replace(external, inside_cycles=0, inside_bytes=0),
        program=plan.program if external is None else tuple(_without_numbers(step) for step in plan.program),
        buffers=tuple(replace(item, sha256="" if item.sha256 is not None else None) for item in plan.buffers),
        layers=(),
        tiling=None,
        front=(),
    )
    return sha256(dumps(bare).encode()).hexdigest()[:16]


def _without_numbers(step: Step) -> Step:
    """A step whose kernels have no numbers in their attributes: what is left are names of C functions and objects."""
    if isinstance(step, (Layer, Loop)):
        return replace(step, body=tuple(_without_numbers(inner) for inner in step.body))
    if isinstance(step, Kernel):
        kept = ((name, value if isinstance(value, str) else 0) for name, value in step.attributes)
        return replace(step, attributes=tuple(kept))
    return step
