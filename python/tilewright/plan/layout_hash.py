"""A hash of what generated code depends on, beside the values of constants."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from tilewright.plan.json import dumps
from tilewright.plan.program import Plan


def layout_hash(plan: Plan) -> str:
    """16 hexadecimal digits that two plans share if their code, headers and places of bytes are the same.

    What is known about the plan (model file, version, facts for reports) and the content of constants do not count.
    """
    bare = replace(
        plan,
        model="",
        model_sha256="",
        tool_version="",
        buffers=tuple(replace(item, sha256="" if item.sha256 is not None else None) for item in plan.buffers),
        layers=(),
        tiling=None,
        front=(),
    )
    return sha256(dumps(bare).encode()).hexdigest()[:16]
