"""What a user asks for: options of one compilation, and the sources that they come from.

Later sources win: defaults, the options file, ``--set``, the named arguments. Every value
is validated here, whatever its source, so that the stages behind get enums and numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from tilewright.base.c_names import c_identifier
from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.toml_file import Codes, read_toml, suggestion
from tilewright.platform import parse_pool_override

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


OPTION_CODES = Codes("options-file", "options-syntax", "unknown-option", "bad-option", "missing-option", "option")
"""Codes of errors in options, wherever they are given."""


class Buffering(Enum):
    """How many copies tile buffers have."""

    AUTO = "auto"
    SINGLE = "single"
    DOUBLE = "double"


class Effort(Enum):
    """Deterministic budgets of nodes and rounds, never of seconds."""

    FAST = "fast"
    NORMAL = "normal"
    THOROUGH = "thorough"


class Strategy(Enum):
    """How tile shapes are chosen; all but COST exist for comparison."""

    COST = "cost"
    MIN = "min"
    MAX = "max"
    RANDOM_MAX = "random_max"


class Objective(Enum):
    """What COST minimises."""

    CYCLES = "cycles"
    BYTES_MOVED = "bytes_moved"
    BYTES_USED = "bytes_used"


class Order(Enum):
    """In which order operators run."""

    BEST = "best"
    MODEL = "model"


TileSteps = tuple[tuple[str, int], ...]
"""(dimension, step) pairs of one layer; ``<pool>.<dimension>`` for the larger tiles in a pool between home and core."""


LayerBuffers = tuple[tuple[str, str, str], ...]
"""(operand, pool, single, double or auto) of one layer; the pool is empty for tiles near the core."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Everything that a user can say about one compilation.

    Attributes:
        model: the ONNX file.
        platform: name of a shipped platform, or path of a TOML file.
        name: prefix of every C name and file, a C identifier.
        pools: overrides as written, ``<pool>=<bytes>[@<section>|@0x<address>]``, one per pool.
        buffering, effort, strategy, objective, order: see the enums.
        hints: of tiles that cost nearly the same, those are taken that fill SIMD words and cores.
        algorithm: name of the placement algorithm.
        types: (tensor, element type) pairs.
        dims: (symbolic dimension, extent) pairs.
        freeze: an npz file with the values of inputs that become constants (those that decide shapes).
        quantized_io: drop Quantize and Dequantize at the border.
        static_pools: pools are arrays of the generated code.
        io_in_pools: inputs and outputs are placed by the plan.
        tiles: (layer, its tile steps) pairs, for layers whose tiles are given, wholly or in part.
        buffers: (layer, slots of its operands) pairs, where ``buffering`` does not hold.
        budget: (pool, most bytes that the plan may use of it) pairs.
        profile: the program measures itself, layer by layer.
        operators: Python files (``*.py``) and entry points with operators of the firmware project.
        plan_lock: a lock file whose tiles and addresses are taken as they are.
    """

    model: Path
    platform: str
    name: str
    pools: tuple[str, ...] = ()
    buffering: Buffering = Buffering.AUTO
    effort: Effort = Effort.NORMAL
    algorithm: str = "exact"
    types: tuple[tuple[str, str], ...] = ()
    dims: tuple[tuple[str, int], ...] = ()
    freeze: Path | None = None
    quantized_io: bool = False
    static_pools: bool = False
    io_in_pools: bool = False
    strategy: Strategy = Strategy.COST
    objective: Objective = Objective.CYCLES
    order: Order = Order.BEST
    hints: bool = True
    tiles: tuple[tuple[str, TileSteps], ...] = ()
    buffers: tuple[tuple[str, LayerBuffers], ...] = ()
    budget: tuple[tuple[str, int], ...] = ()
    operators: tuple[str, ...] = ()
    plan_lock: Path | None = None
    profile: bool = False

    def to_json(self) -> dict[str, Any]:
        """The options without model and platform, of which only the content counts; files are their hashes."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        del values["model"], values["platform"]
        for key, path in (("freeze", self.freeze), ("plan_lock", self.plan_lock)):
            values[key] = sha256(path.read_bytes()).hexdigest() if path is not None else ""
        values["operators"] = [_content(reference) for reference in self.operators]
        return {key: value.value if isinstance(value, Enum) else value for key, value in values.items()}


def _content(reference: str) -> str:
    """The hash of a file, or the name of an entry point."""
    return sha256(Path(reference).read_bytes()).hexdigest() if reference.endswith(".py") else reference


E = TypeVar("E", bound=Enum)
Parser = Callable[[Any, str], Any]


def build_options(*sources: tuple[str, Mapping[str, Any]]) -> CompileOptions:
    """Merge sources, each (where it was written, key to value), the later ones winning.

    ``pools``, ``types``, ``dims``, ``tiles``, ``buffers`` and ``budget`` are merged name by name. Raises
    bad_input for an unknown key, a value of the wrong kind, or a missing model or platform.
    """
    merged: dict[str, Any] = {}
    for origin, values in sources:
        for key, value in values.items():
            parsed = _parser(key, origin)(value, f"{origin}: {key}")
            merged[key] = _merge(merged.get(key), parsed) if key in _MERGED else parsed
    for key in ("model", "platform"):
        if key not in merged:
            raise bad_input(
                "missing-option", f"no {key} was given", help=f"--{key} <{key}>, or '{key}' in the options file"
            )
    merged.setdefault("name", c_identifier(Path(merged["model"]).stem))
    for key in _MERGED:
        merged[key] = tuple(merged.get(key, {}).values())
    return CompileOptions(**merged)


def read_options_file(path: Path) -> dict[str, Any]:
    """The keys of an options file, unknown ones refused; a relative model or platform file is beside it.

    Raises bad_input for a missing file, broken TOML, an unknown key or a wrong value, each with its line.
    """
    table = read_toml(path, OPTION_CODES)
    values = dict(table.values)
    for key, value in values.items():
        where = table.place(key)
        _parser(key, where)(value, where)
    for key in ("model", "freeze", "plan_lock"):
        if key in values:
            values[key] = str(path.parent / values[key])
    if "operators" in values:
        listed = _texts(values["operators"], str(path))
        values["operators"] = [str(path.parent / text) if text.endswith(".py") else text for text in listed]
    if str(values.get("platform", "")).endswith(".toml"):
        values["platform"] = str(path.parent / values["platform"])
    return values


def parse_setting(text: str) -> tuple[str, Any]:
    """``key=value`` of ``--set``; the value is TOML, or else a string. Raises bad_input."""
    key, separator, value = text.partition("=")
    if not separator:
        raise bad_input("bad-setting", f"'{text}' is not <key>=<value>", at="--set")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def _parser(key: str, origin: str) -> Parser:
    if key in _PARSERS:
        return _PARSERS[key]
    raise bad_input("unknown-option", f"unknown option '{key}'", at=origin, help=suggestion(key, sorted(_PARSERS)))


def _merge(earlier: dict[str, Any] | None, later: dict[str, Any]) -> dict[str, Any]:
    return {**(earlier or {}), **later}


def _text(value: Any, where: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise _wrong(value, "a text", where)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(value, "a list of texts", where)
    return tuple(_text(text, where) for text in value)


def _path(value: Any, where: str) -> Path:
    return value if isinstance(value, Path) else Path(_text(value, where))


def _flag(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(value, "true or false", where)


def _one_of(kind: type[E]) -> Parser:
    def parse(value: Any, where: str) -> E:
        choices = [str(member.value) for member in kind]
        if isinstance(value, str) and value in choices:
            return kind(value)
        what = f"'{value}' is not one of {', '.join(choices)}"
        raise bad_input("bad-option", what, at=where, help=suggestion(str(value), choices))

    return parse


def _name(value: Any, where: str) -> str:
    text = _text(value, where)
    if c_identifier(text) == text:
        return text
    rule = "letters, digits and single underscores, beginning with a letter, and no keyword"
    what = f"'{text}' cannot be the prefix of C names"
    raise bad_input("bad-name", what, at=where, help=f"{rule}; for example '{c_identifier(text)}'")


def _pools(value: Any, where: str) -> dict[str, str]:
    """Pool name to override as written, from a table of sizes or a list of overrides."""
    if isinstance(value, Mapping):
        value = [f"{pool}={size}" for pool, size in value.items()]
    if not isinstance(value, (list, tuple)):
        raise _wrong(value, "a list of <pool>=<bytes>", where)
    return {parse_pool_override(str(text)).pool: str(text) for text in value}


def _types(value: Any, where: str) -> dict[str, tuple[str, str]]:
    return {name: (name, _text(text, where)) for name, text in _table(value, where).items()}


def _dims(value: Any, where: str) -> dict[str, tuple[str, int]]:
    return {name: (name, _positive(extent, name, where)) for name, extent in _table(value, where).items()}


def _positive(value: Any, name: str, where: str) -> int:
    digits = str(value)
    if isinstance(value, bool) or not digits.isdecimal() or int(digits) == 0:
        raise _wrong(value, f"a positive whole number for '{name}'", where)
    return int(digits)


def _tiles(value: Any, where: str) -> dict[str, tuple[str, TileSteps]]:
    """Layer to steps by dimension; a table instead of a step is for the tiles in the pool of that name."""
    if not isinstance(value, Mapping):
        raise _wrong(value, "a table of layers", where)
    return {layer: (layer, tuple(_steps(table, f"{where}.{layer}"))) for layer, table in value.items()}


def _steps(value: Any, where: str) -> Iterator[tuple[str, int]]:
    if not isinstance(value, Mapping) or not value:
        raise _wrong(value, "a table of steps by dimension", where)
    for name, step in value.items():
        if isinstance(step, Mapping):
            yield from ((f"{name}.{inner}", number) for inner, number in _steps(step, f"{where}.{name}"))
        else:
            yield name, _positive(step, name, where)


def _buffers(value: Any, where: str) -> dict[str, tuple[str, LayerBuffers]]:
    """Layer to single, double or auto by operand; a table instead is for the tiles in the pool of that name."""
    if not isinstance(value, Mapping):
        raise _wrong(value, "a table of layers", where)
    return {layer: (layer, tuple(_slots(table, f"{where}.{layer}"))) for layer, table in value.items()}


def _slots(value: Any, where: str, pool: str = "") -> Iterator[tuple[str, str, str]]:
    if not isinstance(value, Mapping) or not value:
        raise _wrong(value, "a table of single, double or auto by operand", where)
    for name, how in value.items():
        if isinstance(how, Mapping) and not pool:
            yield from _slots(how, f"{where}.{name}", name)
        else:
            yield name, pool, _one_of(Buffering)(how, f"{where}.{name}").value


def _table(value: Any, where: str) -> Mapping[str, Any]:
    """A table, or a list of ``<name>=<value>`` (tensor names may hold '=': the last one counts)."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, (list, tuple)):
        raise _wrong(value, "a table", where)
    table = {}
    for text in value:
        name, separator, right = str(text).rpartition("=")
        if not separator or not name or not right:
            raise bad_input("bad-option", f"'{text}' is not <name>=<value>", at=where)
        table[name] = right
    return table


def _wrong(value: Any, expected: str, where: str) -> TilewrightError:
    return bad_input("bad-option", f"{value!r} is not {expected}", at=where)


_MERGED = ("pools", "types", "dims", "tiles", "buffers", "budget")
_PARSERS: Mapping[str, Parser] = {
    "model": _path,
    "platform": _text,
    "name": _name,
    "pools": _pools,
    "buffering": _one_of(Buffering),
    "effort": _one_of(Effort),
    "algorithm": _text,
    "types": _types,
    "dims": _dims,
    "freeze": _path,
    "operators": _texts,
    "quantized_io": _flag,
    "static_pools": _flag,
    "io_in_pools": _flag,
    "strategy": _one_of(Strategy),
    "objective": _one_of(Objective),
    "order": _one_of(Order),
    "hints": _flag,
    "tiles": _tiles,
    "buffers": _buffers,
    "budget": _dims,
    "plan_lock": _path,
    "profile": _flag,
}
assert set(_PARSERS) == {field.name for field in fields(CompileOptions)}
