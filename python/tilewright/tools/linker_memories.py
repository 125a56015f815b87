"""Memories of a GNU linker script: its ``MEMORY`` command, as the manual of ld describes it.

    MEMORY { FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 512K   RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 96K - _own }

Numbers, their suffixes K and M, + - * / << >> & |, brackets, ORIGIN() and LENGTH() of earlier memories and symbols that
were assigned before are understood; anything else is refused with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.inputs import read_utf8
from tilewright.tools.found_memories import Memory

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\bMEMORY\s*\{([^}]*)\}")
_ENTRY = re.compile(
    r"(?P<name>[\w.$-]+)\s*(?:\((?P<flags>[^)]*)\))?\s*:\s*(?:ORIGIN|org|o)\s*=\s*(?P<base>[^,]+?)\s*,?\s*"
    r"(?:LENGTH|len|l)\s*=\s*(?P<size>[^\n]+?)\s*(?:,\s*)?(?=\n|$|[\w.$-]+\s*(?:\([^)]*\))?\s*:)"
)
_SYMBOL = re.compile(r"(?:\bPROVIDE\s*\(\s*)?([A-Za-z_.$][\w.$]*)\s*=\s*([^=;]+?)\s*\)?\s*;")
_TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+[KkMm]?|\d+[KkMm]?)|([A-Za-z_.$][\w.$]*)|(<<|>>|[-+*/&|()]))")
_READ_ONLY_NAME = re.compile(r"flash|rom\b|rom_|qspi|xip|irom|drom|code", re.IGNORECASE)
_BINDING: Mapping[str, int] = {"|": 1, "&": 2, "<<": 3, ">>": 3, "+": 4, "-": 4, "*": 5, "/": 5}


def linker_memories(path: Path) -> tuple[Memory, ...]:
    """The memories of a script in its order.

    Memories with the attribute ``w`` are RAM; where a script gives no attributes, names such as FLASH and ROM decide.

    Raises bad_input for a file that cannot be read, has no MEMORY, or has numbers that cannot be known from it.
    """
    try:
        text = read_utf8(path)
    except (OSError, UnicodeDecodeError) as error:
        raise bad_input("linker-script", f"the linker script cannot be read: {error}", at=str(path)) from error
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    symbols: dict[str, int] = {}
    memories: list[Memory] = []
    position = 0
    for block in _BLOCK.finditer(text):
        _assign(text[position : block.start()], symbols)
        position = block.end()
        for entry in _ENTRY.finditer(block[1]):
            line = text.count("\n", 0, block.start(1) + entry.start()) + 1
            memories.append(_memory(entry, symbols, memories, f"{path}:{line}"))
    if not memories:
        remedy = "give the script with MEMORY, as the linker reads it after the preprocessor"
        raise bad_input("linker-script", "the linker script names no memories", at=str(path), help=remedy)
    return tuple(memories)


def _memory(entry: re.Match[str], symbols: Mapping[str, int], before: list[Memory], place: str) -> Memory:
    base = _value(entry["base"], symbols, before, place)
    size = _value(entry["size"], symbols, before, place)
    if size <= 0:
        raise bad_input("linker-script", f"memory '{entry['name']}' has {size} bytes", at=place)
    return Memory(entry["name"], base, size, _writable(entry))


def _writable(entry: re.Match[str]) -> bool:
    if entry["flags"] is None:
        return _READ_ONLY_NAME.search(entry["name"]) is None
    wanted, _, refused = entry["flags"].lower().partition("!")
    return "w" in wanted and "w" not in refused


def _assign(text: str, symbols: dict[str, int]) -> None:
    """Symbols that are assigned numbers; those that only the linker knows stay unknown."""
    for name, expression in _SYMBOL.findall(text):
        try:
            symbols[name] = _value(expression, symbols, [], "")
        except TilewrightError:
            symbols.pop(name, None)


def _value(expression: str, symbols: Mapping[str, int], before: list[Memory], place: str) -> int:
    """The value of an expression. Raises bad_input ``linker-script`` where it cannot be known from the script."""
    known = {**symbols, **{f"ORIGIN({item.name})": item.base for item in before}}
    known |= {f"LENGTH({item.name})": item.size_bytes for item in before}
    try:
        tokens = list(_tokens(expression, known))
        value, rest = _operators(tokens, 0, 1)
        if rest == len(tokens):
            return value
    except (ValueError, IndexError, ZeroDivisionError, KeyError, RecursionError):
        pass
    what = f"'{expression.strip()}' cannot be computed from the script alone"
    remedy = "give the script as the linker reads it, with numbers in the place of options"
    raise bad_input("linker-script", what, at=place, help=remedy)


def _tokens(expression: str, known: Mapping[str, int]) -> Iterator[int | str]:
    """Numbers and operators of an expression; each name that is known becomes its value."""
    text = re.sub(
        r"\b(ORIGIN|LENGTH)\s*\(\s*([\w.$-]+)\s*\)", lambda found: str(known[f"{found[1]}({found[2]})"]), expression
    )
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(text)
        position = found.end()
        number, name, operator = found.groups()
        yield _number(number) if number else known[name] if name else operator


def _number(text: str) -> int:
    scale = {"k": 1 << 10, "m": 1 << 20}.get(text[-1].lower(), 1)
    return int(text[:-1] if scale > 1 else text, 0) * scale


def _operators(tokens: list[int | str], position: int, binding: int) -> tuple[int, int]:
    """The value of what begins at ``position``, as far as operators bind at least as tightly as ``binding``.

    Also the position behind it.
    """
    value, position = _operand(tokens, position)
    while position < len(tokens) and _BINDING.get(str(tokens[position]), 0) >= binding:
        operator = str(tokens[position])
        right, position = _operators(tokens, position + 1, _BINDING[operator] + 1)
        value = _applied(operator, value, right)
    return value, position


def _operand(tokens: list[int | str], position: int) -> tuple[int, int]:
    token = tokens[position]
    if isinstance(token, int):
        return token, position + 1
    if token == "-":
        value, position = _operand(tokens, position + 1)
        return -value, position
    if token != "(":
        raise ValueError(token)
    value, position = _operators(tokens, position + 1, 1)
    if tokens[position] != ")":
        raise ValueError(tokens[position])
    return value, position + 1


def _applied(operator: str, left: int, right: int) -> int:
    if operator in ("<<", ">>") and not 0 <= right < 64:
        raise ValueError(right)
    results = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left // right,
        "<<": lambda: left << right,
        ">>": lambda: left >> right,
        "&": lambda: left & right,
        "|": lambda: left | right,
    }
    return results[operator]()
