"""The plan as JSON text and back.

The text is a pure function of the plan: fields stand in the order of the dataclasses,
fields with their default value are left out, and whatever fits on a line stands on one,
so that a diff of two plans can be read. Numbers that JSON lacks are {"float": "inf"}.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from tilewright import plan as plan_module
from tilewright.base.errors import bad_input
from tilewright.plan import PLAN_FORMAT, Plan, Step

LINE_WIDTH = 118
STEPS: Mapping[str, type] = types.MappingProxyType(
    {
        "loop": plan_module.Loop,
        "layer": plan_module.Layer,
        "copy_start": plan_module.CopyStart,
        "wait": plan_module.Wait,
        "kernel": plan_module.Kernel,
        "begin": plan_module.Begin,
        "end": plan_module.End,
    }
)
"""What the key ``step`` of a step says, and the step's fields."""
_TAGS: Mapping[type, str] = types.MappingProxyType({step: tag for tag, step in STEPS.items()})


_quoted = json.encoder.encode_basestring_ascii


def dumps(plan: Plan) -> str:
    """JSON text of a plan, with a trailing newline. ``loads(dumps(plan)) == plan``.

    Raises TypeError for a value that no plan may hold.
    """
    entries = [f'"format": {PLAN_FORMAT}', *_entries(plan, 1)]
    return "{\n " + ",\n ".join(entries) + "\n}\n"


def loads(text: str) -> Plan:
    """The plan that a JSON text holds.

    Raises bad_input ``plan-json`` (text that is no JSON), ``plan-format`` (another
    format number) or ``plan-data`` (a missing or unknown key, a wrong type), with the place.
    """
    try:
        return _decode_plan(_parse(text))
    except RecursionError:
        raise bad_input("plan-json", "steps or lists are nested too deeply") from None


def _decode_plan(document: object) -> Plan:
    if not isinstance(document, dict):
        _refuse("plan-data", f"a plan is an object, not {_kind(document)}", "$")
    if "format" not in document:
        _refuse("plan-format", "the key 'format' is missing", "$")
    if document["format"] != PLAN_FORMAT or isinstance(document["format"], bool):
        raise bad_input(
            "plan-format",
            f"plan format {json.dumps(document['format'])} is not known; this version reads {PLAN_FORMAT}",
            at="$.format",
            help="generate the plan again with this version",
        )
    decoded = _decode_fields(Plan, {key: value for key, value in document.items() if key != "format"}, "$")
    assert isinstance(decoded, Plan)
    return decoded


def _parse(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise bad_input(
            "plan-json", f"not valid JSON: {error.msg}", at=f"line {error.lineno}, column {error.colno}"
        ) from None
    except ValueError as error:
        # int() refuses numbers of thousands of digits.
        raise bad_input("plan-json", f"not valid JSON: {error}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        _refuse("plan-data", f"the key {twice!r} stands twice in one object", "$")
    return result


def _no_constant(name: str) -> NoReturn:
    _refuse("plan-json", f"not valid JSON: {name}", "$")


def _refuse(code: str, what: str, where: str) -> NoReturn:
    raise bad_input(code, what, at=where)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    names = {dict: "an object", list: "a list", str: "a string", int: "an integer", float: "a number"}
    return names.get(type(value), "null")


@cache
def _shape(name: str) -> tuple[tuple[Field[Any], Any], ...]:
    cls = getattr(plan_module, name)
    hints = get_type_hints(cls)
    return tuple((field, hints[field.name]) for field in fields(cls))


def _entries(value: Any, depth: int) -> list[str]:
    """Key and text of each field of a dataclass, at a depth."""
    entries = []
    for name, key, default, exact in _written(type(value).__name__):
        content = getattr(value, name)
        if default is not MISSING and content == default:
            continue
        # An int in a real or boolean field makes an equal plan, so it must give equal text.
        if exact is bool:
            entries.append(key + ("true" if content else "false"))
        else:
            entries.append(key + _text(float(content) if exact is float else content, depth))
    return entries


@cache
def _written(cls: str) -> tuple[tuple[str, str, Any, type | None], ...]:
    """Of each field its name, its key as text, its default, and the type to which its content is turned."""
    return tuple(
        (field.name, f"{_quoted(field.name)}: ", field.default, hint if hint in (bool, float) else None)
        for field, hint in _shape(cls)
    )


def _text(value: Any, depth: int) -> str:
    """JSON text: on one line where that is short, else one entry per line, indented by one space for each depth."""
    kind: Any = type(value)
    if kind is int:
        return str(value)
    if kind is str:
        return _quoted(value)
    if isinstance(value, tuple):
        # Most of a plan are lists of a few numbers.
        items = [str(item) if type(item) is int else _text(item, depth + 1) for item in value]
        return _lines("[", items, "]", depth)
    first = _first_entries(kind)
    return _of_scalar(value) if first is None else _lines("{", [*first, *_entries(value, depth + 1)], "}", depth)


@cache
def _first_entries(kind: type) -> tuple[str, ...] | None:
    """What an object of a class begins with before its fields; None for what is no object."""
    if kind in _TAGS:
        return (f'"step": "{_TAGS[kind]}"',)
    return () if is_dataclass(kind) else None


def _of_scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Enum):
        return _quoted(value.value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        return repr(number) if math.isfinite(number) else f'{{"float": "{number!r}"}}'
    raise TypeError(f"a plan cannot hold {value!r}")


def _lines(opening: str, entries: list[str], closing: str, depth: int) -> str:
    """A list or an object. What one entry has on several lines, the whole has too: it is longer."""
    if sum(map(len, entries)) <= LINE_WIDTH:
        line = opening + ", ".join(entries) + closing
        if not entries or (depth + len(line) <= LINE_WIDTH and "\n" not in line):
            return line
    pad = "\n" + " " * (depth + 1)
    return opening + pad + ("," + pad).join(entries) + "\n" + " " * depth + closing


def _decode(hint: Any, value: object, where: str) -> Any:
    if hint == Step:
        return _decode_step(value, where)
    origin = get_origin(hint)
    if origin is Union or origin is types.UnionType:
        return _decode_union(hint, value, where)
    if origin is tuple:
        return _decode_tuple(get_args(hint), value, where)
    if hint is float:
        return _decode_float(value, where)
    if hint in (int, str, bool):
        if type(value) is not hint:
            names = {int: "an integer", str: "a string", bool: "a boolean"}
            _refuse("plan-data", f"expected {names[hint]}, got {_kind(value)}", where)
        return value
    if issubclass(hint, Enum):
        return _decode_enum(hint, value, where)
    if not isinstance(value, dict):
        _refuse("plan-data", f"expected an object, got {_kind(value)}", where)
    return _decode_fields(hint, value, where)


def _decode_fields(cls: type, value: Mapping[str, object], where: str) -> Any:
    shape = _shape(cls.__name__)
    unknown = sorted(value.keys() - {field.name for field, _ in shape})
    if unknown:
        _refuse("plan-data", f"unknown key {unknown[0]!r}", where)
    arguments = {}
    for field, hint in shape:
        if field.name in value:
            arguments[field.name] = _decode(hint, value[field.name], f"{where}.{field.name}")
        elif field.default is MISSING:
            _refuse("plan-data", f"the key {field.name!r} is missing", where)
    return cls(**arguments)


def _decode_step(value: object, where: str) -> Any:
    if not isinstance(value, dict):
        _refuse("plan-data", f"expected a step, got {_kind(value)}", where)
    tag = value.get("step")
    if not isinstance(tag, str) or tag not in STEPS:
        _refuse("plan-data", f"'step' must be one of {', '.join(STEPS)}; got {json.dumps(tag)}", where)
    return _decode_fields(STEPS[tag], {key: item for key, item in value.items() if key != "step"}, where)


def _decode_union(hint: Any, value: object, where: str) -> Any:
    options = get_args(hint)
    if type(None) in options:
        if value is None:
            return None
        (inner,) = (option for option in options if option is not type(None))
        return _decode(inner, value, where)
    # The only other union is the value of a kernel's attribute: a string, a number or numbers.
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return tuple(_decode_number(item, f"{where}[{i}]") for i, item in enumerate(value))
    return _decode_number(value, where)


def _decode_number(value: object, where: str) -> int | float:
    if type(value) is int:
        return value
    return _decode_float(value, where)


def _decode_float(value: object, where: str) -> float:
    if type(value) is float or type(value) is int:
        try:
            return float(value)
        except OverflowError:
            _refuse("plan-data", "the number is too large", where)
    if isinstance(value, dict) and list(value) == ["float"] and value["float"] in ("inf", "-inf", "nan"):
        return float(value["float"])
    _refuse("plan-data", f"expected a number, got {_kind(value)}", where)


def _decode_tuple(options: tuple[Any, ...], value: object, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        _refuse("plan-data", f"expected a list, got {_kind(value)}", where)
    if len(options) == 2 and options[1] is Ellipsis:
        return tuple(_decode(options[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if len(value) != len(options):
        _refuse("plan-data", f"expected {len(options)} entries, got {len(value)}", where)
    pairs = zip(options, value, strict=True)
    return tuple(_decode(hint, item, f"{where}[{i}]") for i, (hint, item) in enumerate(pairs))


def _decode_enum(hint: type[Enum], value: object, where: str) -> Enum:
    for member in hint:
        if member.value == value and isinstance(value, str):
            return member
    _refuse("plan-data", f"expected one of {', '.join(str(m.value) for m in hint)}; got {json.dumps(value)}", where)
