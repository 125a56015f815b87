"""Values of attributes as C constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.plan import AttributeValue


def literal(value: AttributeValue) -> str:
    """A number, a name or a tuple of numbers as C: 3000000000u, INT32_MIN, 0.5F, {1, 2}."""
    if isinstance(value, tuple):
        return "{" + ", ".join(literal(item) for item in value) + "}"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return float_literal(value)
    if isinstance(value, int):
        return "INT32_MIN" if value == -(1 << 31) else f"{value}u" if value >= 1 << 31 else str(value)
    return value


MOST_MEMBERS = 40
"""A struct of more numbers is copied from a constant; the code of its assignments would be longer than the struct."""


def members(attributes: Sequence[tuple[str, AttributeValue]]) -> tuple[tuple[str, str], ...]:
    """(member, value) of each number in a struct, as C, so that code can assign them one by one.

    For example ("shift", "16"), ("pads[0]", "1"). A core stores a constant from its code in less time than it reads
    the constant from distant memory. Empty for a struct of more than ``MOST_MEMBERS`` numbers.
    """
    found: list[tuple[str, str]] = []
    for name, value in attributes:
        if isinstance(value, tuple):
            found += [(f"{name}[{place}]", literal(item)) for place, item in enumerate(value)]
        else:
            found.append((name, literal(value)))
    return tuple(found) if len(found) <= MOST_MEMBERS else ()


def float_literal(value: float) -> str:
    """The shortest C float constant that reads back to the same float32."""
    if value != value:
        return '__builtin_nanf("")'
    if value in (float("inf"), float("-inf")):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    return f"{np.float32(value)!s}F"
