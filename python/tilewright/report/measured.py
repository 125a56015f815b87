"""Cycles of each layer as they were measured on a target, from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_utf8
from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Plan


@dataclass(frozen=True, slots=True)
class Measured:
    """Layer to its count on the target; ``counter`` is the unit: cycles, instructions or nanoseconds.

    ``kernels`` and ``waits`` have the part of each count that was spent in kernel calls and in waiting for copies,
    where the profile knows.
    """

    layers: Mapping[str, int]
    counter: str = "cycles"
    kernels: Mapping[str, int] = field(default_factory=dict)
    waits: Mapping[str, int] = field(default_factory=dict)


def read_profile(path: Path, plan: Plan) -> Measured:
    """Read a profile that a target measured; docs/reference/profile.md describes the file.

    Raises bad_input for a file that cannot be read, is no profile, or names a layer that the plan does not have.
    """
    try:
        content = json.loads(read_utf8(path))
    except OSError as error:
        raise bad_input("profile-file", f"cannot read the profile: {error.strerror or error}", at=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise bad_input("profile-json", "the profile is not JSON text", at=str(path)) from error
    return measured_cycles(content, plan, str(path))


def measured_cycles(content: Any, plan: Plan, where: str) -> Measured:
    """The layers' counts from a parsed profile; ``where`` names the file in errors. Raises bad_input."""
    entries = content.get("layers") if isinstance(content, Mapping) else None
    if not isinstance(entries, list):
        raise bad_input("profile-json", "the profile has no list 'layers'", at=where)
    known = {layer.name for layer in plan.layers}
    cycles: dict[str, int] = {}
    for number, entry in enumerate(entries):
        name, value = (entry.get("name"), entry.get("cycles")) if isinstance(entry, Mapping) else (None, None)
        if not isinstance(name, str) or not isinstance(value, int) or isinstance(value, bool) or value < 0:
            what = "an entry of 'layers' needs a name and cycles, a whole number"
            raise bad_input("profile-json", what, at=f"{where}: layers[{number}]")
        if name not in known:
            remedy = "measure the firmware that was built from this plan"
            raise bad_input("profile-layer", f"plan '{plan.name}' has no layer '{name}'", at=where, help=remedy)
        cycles[name] = value
    counter = content.get("counter", "cycles")
    kernels, waits = (_part(entries, key) for key in ("kernel_cycles", "wait_cycles"))
    return Measured(cycles, counter if isinstance(counter, str) else "cycles", kernels, waits)


def _part(entries: Sequence[Mapping[str, Any]], key: str) -> dict[str, int]:
    """Layer to a part of its count; layers of whose part the profile says nothing are left out."""
    found = ((entry["name"], entry.get(key)) for entry in entries)
    return {name: value for name, value in found if isinstance(value, int) and not isinstance(value, bool)}
