# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of plans, from the dataclasses that a plan consists of."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from tilewright.plan import PLAN_FORMAT, Plan, Step
from tilewright.plan.json import STEPS

NUMBER = {"$ref": "#/$defs/Number"}
PLAIN = {int: {"type": "integer"}, str: {"type": "string"}, bool: {"type": "boolean"}, float: NUMBER}


def text() -> str:
    """The schema, draft 2020-12, with a trailing newline."""
    definitions: dict[str, Any] = {
        "Number": {
            "anyOf": [
                {"type": "number"},
                {
                    "type": "object",
                    "properties": {"float": {"enum": ["inf", "-inf", "nan"]}},
                    "required": ["float"],
                    "additionalProperties": False,
                },
            ]
        }
    }
    for tag, step in STEPS.items():
        _define(step, definitions, {"step": {"const": tag}})
    definitions["Step"] = {"anyOf": [{"$ref": f"#/$defs/{step.__name__}"} for step in STEPS.values()]}
    plan = _object(Plan, definitions, {"format": {"const": PLAN_FORMAT}})
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of Tilewright",
        **plan,
        "$defs": dict(sorted(definitions.items())),
    }
    return json.dumps(schema, indent=1) + "\n"


def _object(kind: type, definitions: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """A dataclass; a key with its default value is left out, so it is not required."""
    hints = get_type_hints(kind)
    properties = {**first, **{item.name: _schema(hints[item.name], definitions) for item in fields(kind)}}
    required = [*first, *(item.name for item in fields(kind) if item.default is MISSING)]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _define(kind: type, definitions: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}
        definitions[kind.__name__] = _object(kind, definitions, first)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint == Step:
        return {"$ref": "#/$defs/Step"}
    if hint is type(None):
        return {"type": "null"}
    if get_origin(hint) in (Union, types.UnionType):
        return {"anyOf": [_schema(option, definitions) for option in get_args(hint)]}
    if get_origin(hint) is tuple:
        return _array(get_args(hint), definitions)
    if hint in PLAIN:
        return PLAIN[hint]
    if issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    return _define(hint, definitions, {})


def _array(options: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if len(options) == 2 and options[1] is Ellipsis:
        return {"type": "array", "items": _schema(options[0], definitions)}
    items = [_schema(option, definitions) for option in options]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
