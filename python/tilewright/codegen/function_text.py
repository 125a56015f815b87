"""C functions as the templates print them: a signature and finished lines."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function: its signature, its statements without indentation, and the lines before the signature."""

    signature: str
    lines: tuple[str, ...]
    before: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The C name."""
        return self.signature.partition("(")[0].split()[-1].lstrip("*")


def indented(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines with one more level of indentation."""
    return tuple(f"    {line}" for line in lines)


def block(opening: str, lines: Sequence[str]) -> tuple[str, ...]:
    """Lines in braces behind ``opening``, for example ``for (...)`` or ``if (...)``."""
    return (f"{opening} {{" if opening else "{", *indented(lines), "}")
