"""Values of the C expressions and declarations that generated code has for a tile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_FUNCTIONS = {
    "__builtins__": {},
    "tilewright_minimum": min,
    "tilewright_maximum": max,
    "tilewright_floor": lambda a, b: a // b,
}


def evaluated(expression: str, names: Mapping[str, int]) -> int:
    """The value of an expression, of which ``?`` and ``:`` are outermost; / is exact where operands are positive."""
    condition, is_choice, rest = expression.partition(" ? ")
    if is_choice:
        yes, _, no = rest.partition(" : ")
        return evaluated(yes if evaluated(condition, names) else no, names)
    return int(eval(expression.replace("/", "//"), dict(_FUNCTIONS), dict(names)))


def declared(lines: Iterable[str], tile: int) -> dict[str, int]:
    """The values in a tile of the variables that ``const int32_t`` lines declare, and of ``tile``."""
    names = {"tile": tile}
    for line in lines:
        name, expression = line.removeprefix("const int32_t ").removesuffix(";").split(" = ", 1)
        names[name] = evaluated(expression, names)
    return names
