"""Everything of a model that an importer cannot translate, told in one error."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.errors import TilewrightError, not_supported
from tilewright.base.lazy_dataclass import dataclass

MOST_LISTED = 20
"""Places of a model that an error names; it counts the others."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What cannot be translated: where, why, and what would work."""

    place: str
    reason: str
    help: str


def untranslatable(file: str, problems: Sequence[Problem]) -> TilewrightError:
    """The error ``unsupported-model`` for a file, with the first places and each remedy once."""
    count = "one place" if len(problems) == 1 else f"{len(problems)} places"
    return not_supported(
        "unsupported-model",
        f"{count} in '{file}' cannot be translated",
        at=listed([f"{problem.place}: {problem.reason}" for problem in problems]),
        help=tuple(dict.fromkeys(problem.help for problem in problems[:MOST_LISTED] if problem.help)),
    )


def listed(places: Sequence[str]) -> tuple[str, ...]:
    """The first places, and how many there are beyond them."""
    beyond = len(places) - MOST_LISTED
    return (*places[:MOST_LISTED], *([f"and {beyond} more"] if beyond > 0 else []))
