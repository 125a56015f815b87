"""Plans as commands take them: by their files."""

from __future__ import annotations

from pathlib import Path

from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_utf8
from tilewright.plan import Plan

_MODELS = frozenset({".onnx", ".tflite"})


def load_plan(path: Path) -> Plan:
    """A plan from its file. Raises bad_input."""
    from tilewright.plan.json import loads

    if path.suffix in _MODELS:
        raise bad_input(
            "plan-file",
            "this is a model, and a plan is wanted: <name>_plan.json, which generate and plan write",
            at=str(path),
            help=f"tilewright inspect {path} for what the model needs",
        )
    try:
        text = read_utf8(path)
    except OSError as error:
        raise bad_input("plan-file", f"cannot read the plan: {error.strerror or error}", at=str(path)) from error
    except UnicodeDecodeError as error:
        raise bad_input("plan-json", "the plan is not UTF-8 text", at=str(path)) from error
    return loads(text)
