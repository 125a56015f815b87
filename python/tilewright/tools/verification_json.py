"""A comparison with somebody else's outputs, for programs and for the evidence on a build."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from tilewright import __version__
from tilewright.base.lazy_dataclass import dataclass
from tilewright.tools.manifest import sha256_hex
from tilewright.tools.verification import Compared, Verified


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a comparison.

    Attributes:
        model: the file's name.
        seed: of random inputs; None if inputs were given.
        tolerance: absolute and relative; None if differences are only told.
    """

    model: str
    platform: str
    seed: int | None
    tolerance: tuple[float, float] | None


def verification_json(found: Verified, asked: Asked) -> bytes:
    """The comparison as JSON. The same model, tool, judge and inputs give the same bytes on every machine.

    Judges that were passed over are named without their reasons, which may say where their packages lie.
    """
    document = {
        "agrees": None if asked.tolerance is None else found.worst(*asked.tolerance) is None,
        "tolerance": None if asked.tolerance is None else dict(zip(("abs", "rel"), asked.tolerance, strict=True)),
        "tool_version": __version__,
        "platform": asked.platform,
        "model": {"file": asked.model, "sha256": found.model_sha256},
        "judge": found.judgement.judge,
        "passed_over": [judge.partition(":")[0] for judge in found.judgement.passed_over],
        "seed": asked.seed,
        "inputs_sha256": [sha256_hex(np.ascontiguousarray(array).tobytes()) for array in found.given],
        "outputs": [_output(entry) for entry in found.compared],
        "files": {name: sha256_hex(content) for name, content in sorted(found.files.items())},
    }
    return (json.dumps(document, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


def _output(entry: Compared) -> dict[str, Any]:
    """An output; a difference without end, which JSON has no number for, is null."""
    return {
        "name": entry.name,
        "largest_error": entry.largest if math.isfinite(entry.largest) else None,
        "step": entry.step,
        "different": entry.different,
        "elements": entry.elements,
        "same_largest_entry": entry.agreeing,
        "runs": entry.runs,
        "largest_magnitude": entry.magnitude,
    }
