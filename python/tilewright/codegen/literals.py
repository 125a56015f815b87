"""Values as C constants."""

from __future__ import annotations

import numpy as np

from tilewright.plan import AttributeValue


def literal(value: AttributeValue) -> str:
    """A number, name or list of numbers as C writes it."""
    if isinstance(value, tuple):
        return "{" + ", ".join(literal(item) for item in value) + "}"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return float_literal(value)
    if isinstance(value, int):
        return "INT32_MIN" if value == -(1 << 31) else f"{value}u" if value >= 1 << 31 else str(value)
    return value


def float_literal(value: float) -> str:
    """The shortest C float constant that reads back to the same float32."""
    if value != value:
        return '__builtin_nanf("")'
    if value in (float("inf"), float("-inf")):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    return f"{np.float32(value)!s}F"
