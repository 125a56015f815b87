"""Patterns of operands: which shapes the inputs of a node may have together, in one line of text.

``X[n,c,*s] W[group*p,c/group,*k#s] B?[group*p]; group=1; *k=kernel_shape`` says of Conv:

- ``X`` has axes n and c, then any number of others, called s;
- ``W`` has group * p and c / group channels, then as many axes as s has;
- ``B`` may be absent, else it has one axis of group * p;
- ``group`` is an attribute, 1 where it is not given; the attribute kernel_shape gives the axes k where it is given.

========================  ==========================================================================
``X``                     an operand of any shape
``X*[...]``               one operand or several
``n``, ``3``, ``3*h``     an axis: a name stands for one extent in the whole pattern
``_``, ``...``            an axis of any extent, any axes
``*s``, ``*k#s``          a run of axes, as long as another run
``#s``                    the number of axes of a run, as a factor
``~s``                    a run of axes that broadcasts, both ways, with all others of that name
``<n,c``                  axes that broadcast to these
``@``                     one element: no axis, or one of extent 1
``n|@``                   either
``X:T``, ``X:int8``       an element type, by a name that ``T: int8|uint8`` behind a semicolon explains
========================  ==========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass

Shape = tuple[int, ...]
_OPERAND = re.compile(r"(\w+)([?*]?)(?::([\w|]+))?(?:\[([^\]]*)\])?")
_FACTOR = re.compile(r"([*/]?)(#?\w+)")


class Mismatch(Exception):
    """An operand that does not fit: its position in the node and the reason."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a pattern; ``shapes`` are alternatives, None is any shape."""

    name: str
    optional: bool
    variadic: bool
    types: tuple[str, ...]
    shapes: tuple[tuple[str, ...], ...] | None

    @property
    def text(self) -> str:
        """The shape as a message writes it."""
        return " or ".join(_words(shape) for shape in self.shapes or ()) or "any shape"


def _words(axes: Sequence[str]) -> str:
    if axes[:1] == ("@",):
        return "one element"
    if axes and axes[0].startswith("<"):
        return f"what broadcasts to {_words((axes[0][1:], *axes[1:]))}"
    return f"[{', '.join(axes)}]"


@dataclass(frozen=True, slots=True)
class Pattern:
    """The operands of an operator; see the head of the module.

    Attributes:
        defaults: values of attributes that a node may leave out.
        given: attributes that fix a name of the pattern, by that name.
        types: element types by the names that operands use.
    """

    operands: tuple[Operand, ...]
    defaults: Mapping[str, int]
    given: Mapping[str, str]
    types: Mapping[str, tuple[str, ...]]


@lru_cache(maxsize=1024)
def parsed(text: str) -> Pattern:
    """The pattern that a text says."""
    listed, *clauses = (part.strip() for part in text.split(";"))
    defaults: dict[str, int] = {}
    given: dict[str, str] = {}
    types: dict[str, tuple[str, ...]] = {}
    for clause in clauses:
        name, sign, value = (word.strip() for word in re.split(r"([=:])", clause, maxsplit=1))
        if sign == ":":
            types[name] = tuple(value.split("|"))
        elif value.isdigit():
            defaults[name] = int(value)
        else:
            given[name] = value
    operands = tuple(_operand(match) for match in _OPERAND.finditer(listed))
    return Pattern(operands, defaults, given, types)


def _operand(match: re.Match[str]) -> Operand:
    name, mark, types, shape = match.groups()
    shapes = None
    if shape is not None:
        shapes = tuple(tuple(axis for axis in one.split(",") if axis) for one in shape.split("|"))
    return Operand(name, mark == "?", mark == "*", tuple(types.split("|")) if types else (), shapes)


@dataclass
class _Names:
    """What the names of a pattern stand for, and which operands or attributes said so."""

    extents: dict[str, int] = field(default_factory=dict)
    runs: dict[str, Shape] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def broadcast_text(self, axis: str) -> str:
        """An axis as it is written; a run that broadcasts with what it is by now."""
        return ", ".join(map(str, self.runs[axis])) if axis in self.runs else axis

    def copy(self) -> _Names:
        return _Names(dict(self.extents), dict(self.runs), dict(self.types), dict(self.origin))


def require_match(
    pattern: Pattern, operands: Sequence[tuple[str, Shape] | None], attributes: Mapping[str, Any], *, types: bool = True
) -> None:
    """Hold the operands of a node, (element type, shape) each or None, against a pattern, in order.

    Args:
        types: whether element types count as well.

    Raises:
        Mismatch: the first operand that does not fit, with both sides.
    """
    names = _given_names(pattern, attributes)
    variadic = bool(pattern.operands) and pattern.operands[-1].variadic
    if len(operands) > len(pattern.operands) and not variadic:
        raise Mismatch(len(pattern.operands), f"{len(operands)} inputs; the operator has {len(pattern.operands)}")
    for position in range(max(len(operands), len(pattern.operands))):
        operand = pattern.operands[min(position, len(pattern.operands) - 1)]
        found = operands[position] if position < len(operands) else None
        if found is None:
            if not operand.optional and not (operand.variadic and position):
                raise Mismatch(position, f"input {position} ({operand.name}) is missing")
            continue
        if types:
            _require_type(pattern, operand, position, found[0], names)
        _require_shape(operand, position, found[1], names)


def _given_names(pattern: Pattern, attributes: Mapping[str, Any]) -> _Names:
    """The names that attributes and defaults fix."""
    names = _Names()
    for name, value in pattern.defaults.items():
        got = attributes.get(name, value)
        names.extents[name] = int(got) if isinstance(got, (int, float)) else value
        names.origin[name] = f"{name} = {names.extents[name]}"
    for name, attribute in pattern.given.items():
        stated = attributes.get(attribute)
        if isinstance(stated, (int, float)):
            names.extents[name] = int(stated)
        elif isinstance(stated, list) and stated:
            names.runs[name.lstrip("*")] = tuple(int(extent) for extent in stated)
        else:
            continue
        names.origin[name.lstrip("*")] = f"{attribute} = {stated}"
    return names


def _require_type(pattern: Pattern, operand: Operand, position: int, found: str, names: _Names) -> None:
    wanted: tuple[str, ...] = ()
    for name in operand.types:
        wanted += pattern.types.get(name, () if len(name) == 1 else (name,))
    if wanted and found not in wanted:
        raise Mismatch(position, f"input {position} ({operand.name}) has type {found}; wanted: {' or '.join(wanted)}")
    for name in (name for name in operand.types if len(name) == 1):
        if names.types.setdefault(name, found) != found:
            before = f"{names.types[name]} as {names.origin[name + ':']}"
            raise Mismatch(position, f"input {position} ({operand.name}) has type {found}; wanted: {before}")
        names.origin.setdefault(name + ":", operand.name)


def _require_shape(operand: Operand, position: int, shape: Shape, names: _Names) -> None:
    """Match the first alternative that fits, and note what its names stand for."""
    if operand.shapes is None:
        return
    for axes in operand.shapes:
        trial = names.copy()
        if _matches(axes, shape, trial):
            for name in _names_in(axes):
                text = ", ".join(axes)
                trial.origin.setdefault(name, f"{operand.name} [{text}] = {list(shape)}")
            names.extents, names.runs, names.origin = trial.extents, trial.runs, trial.origin
            return
    known = [_known(axes, names) for axes in operand.shapes]
    equal = " or ".join(text for text in known if text)
    origins = dict.fromkeys(
        names.origin[name] for axes in operand.shapes for name in _names_in(axes) if name in names.origin
    )
    because = f", with {' and '.join(origins)}" if origins else ""
    wanted = operand.text if not equal or equal == operand.text else f"{operand.text} = {equal}"
    raise Mismatch(position, f"input {position} ({operand.name}) has shape {list(shape)}; wanted: {wanted}{because}")


def _matches(axes: Sequence[str], shape: Shape, names: _Names) -> bool:
    if axes[:1] == ("@",):
        return shape in ((), (1,))
    if axes and axes[0].startswith("<"):
        target = _whole((axes[0][1:], *axes[1:]), names)
        return target is not None and _broadcast(shape, target) == target
    run = next((number for number, axis in enumerate(axes) if axis == "..." or axis[0] in "*~"), None)
    if run is None:
        return len(axes) == len(shape) and all(_axis(*pair, names) for pair in zip(axes, shape, strict=True))
    behind = len(axes) - run - 1
    if len(shape) < run + behind:
        return False
    middle, tail = shape[run : len(shape) - behind], shape[len(shape) - behind :]
    before = all(_axis(*pair, names) for pair in zip(axes[:run], shape, strict=False))
    return before and _run(axes[run], middle, names) and all(map(_axis, axes[run + 1 :], tail, [names] * behind))


def _run(axis: str, middle: Shape, names: _Names) -> bool:
    if axis == "...":
        return True
    if axis.startswith("~"):
        total = _broadcast(names.runs.get(axis, ()), middle)
        if total is not None:
            names.runs[axis] = total
        return total is not None
    name, _, like = axis[1:].partition("#")
    if like and len(names.runs[like]) != len(middle):
        return False
    return names.runs.setdefault(name, middle) == middle


def _broadcast(*shapes: Shape) -> Shape | None:
    try:
        return tuple(int(extent) for extent in np.broadcast_shapes(*shapes))
    except ValueError:
        return None


def _axis(axis: str, extent: int, names: _Names) -> bool:
    """Whether an axis has that extent; a name that is new takes the value that makes it so."""
    if axis == "_":
        return True
    unknown, value = _value(axis, names)
    if value is None:
        return False
    if unknown is None:
        return value == extent
    if extent % value:
        return False
    names.extents[unknown] = extent // value
    return True


def _value(axis: str, names: _Names) -> tuple[str | None, int | None]:
    """(name that is not known, product of the others) of an axis; None for a division that leaves a rest."""
    unknown: str | None = None
    product = 1
    for sign, factor in _FACTOR.findall(axis):
        number = _factor(factor, names)
        if number is None:
            unknown = factor
        elif sign != "/":
            product *= number
        elif number < 1 or product % number:
            return None, None
        else:
            product //= number
    return unknown, (product if product > 0 or unknown is None else None)


def _factor(factor: str, names: _Names) -> int | None:
    if factor.isdigit():
        return int(factor)
    return len(names.runs[factor[1:]]) if factor.startswith("#") else names.extents.get(factor)


def _whole(axes: Sequence[str], names: _Names) -> Shape | None:
    """The extents of axes all of whose names are known; else None."""
    shape: list[int] = []
    for axis in axes:
        if axis.startswith("*"):
            shape += names.runs.get(axis[1:].partition("#")[0], ())
            continue
        unknown, value = _value(axis, names)
        if unknown is not None or value is None:
            return None
        shape.append(value)
    return tuple(shape)


def _known(axes: Sequence[str], names: _Names) -> str:
    """The axes with numbers in the place of what is known; empty where nothing is."""
    if not any(name in names.extents or name in names.runs for name in _names_in(axes)):
        return ""
    texts = []
    for axis in (axis.lstrip("<") for axis in axes):
        whole = _whole((axis,), names) if axis[0] not in "@~._" else None
        known = whole is not None and (axis[0] != "*" or axis[1:].partition("#")[0] in names.runs)
        texts.append(", ".join(map(str, whole or ())) if known else names.broadcast_text(axis))
    return f"[{', '.join(text for text in texts if text)}]"


def _names_in(axes: Sequence[str]) -> list[str]:
    """The names of extents and runs; a run that broadcasts keeps its sign."""
    names: list[str] = []
    for axis in axes:
        if axis.startswith("~"):
            names.append(axis)
            continue
        names += re.findall(r"[A-Za-z]\w*", axis)
    return names
