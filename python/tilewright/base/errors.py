"""Errors that a user can act upon, and the exit status that each stands for.

An error says what is wrong, where, and what to do. Anything that is not a
``TilewrightError`` is a defect of Tilewright itself (exit status 70).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Union

Lines = Union[str, tuple[str, ...]]
"""One entry, or several."""


class ExitStatus(IntEnum):
    """Exit status of the command line."""

    DONE = 0
    BAD_INPUT = 2
    DOES_NOT_FIT = 3
    NOT_SUPPORTED = 4
    INTERNAL = 70


@dataclass(eq=False)
class TilewrightError(Exception):
    """A mistake in the input, told as what, where and remedy.

    Attributes:
        code: stable short name, printed in brackets, for example ``pool-overflow``.
        what: one sentence; may span lines.
        at: places (file and line, node, step) that the error is about.
        help: what the user can do; one remedy per entry.
    """

    code: str
    what: str
    at: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    status: ExitStatus = field(default=ExitStatus.BAD_INPUT)

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.what}"]
        lines += [f"  at: {place}" for place in self.at]
        lines += [f"  help: {remedy}" for remedy in self.help]
        return "\n".join(lines)


def bad_input(
    code: str, what: str, *, at: str | tuple[str, ...] = (), help: str | tuple[str, ...] = ()
) -> TilewrightError:
    """An error in a file, an option or a call (exit status 2)."""
    return _error(code, what, at, help, ExitStatus.BAD_INPUT)


def does_not_fit(
    code: str, what: str, *, at: str | tuple[str, ...] = (), help: str | tuple[str, ...] = ()
) -> TilewrightError:
    """A model that does not fit its pools (exit status 3)."""
    return _error(code, what, at, help, ExitStatus.DOES_NOT_FIT)


def not_supported(
    code: str, what: str, *, at: str | tuple[str, ...] = (), help: str | tuple[str, ...] = ()
) -> TilewrightError:
    """Something valid that Tilewright cannot do (exit status 4)."""
    return _error(code, what, at, help, ExitStatus.NOT_SUPPORTED)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The remedy for a misspelt name: the nearest known one, or all that there are."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known: {', '.join(names)}" if names else "none is defined"


def _error(
    code: str,
    what: str,
    at: Lines,
    help: Lines,
    status: ExitStatus,
) -> TilewrightError:
    places = (at,) if isinstance(at, str) else at
    remedies = (help,) if isinstance(help, str) else help
    return TilewrightError(code, what, places, remedies, status)
