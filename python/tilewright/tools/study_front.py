"""Points of a study that no other point beats, and the points that are worth a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.tools.study import StudyPoint
    from tilewright.tools.study_plans import PointRow


class Run(Enum):
    """Which points are built and run: none, those that no other beats, or every point that has a plan."""

    NONE = "none"
    FRONT = "front"
    ALL = "all"


def front(rows: Sequence[PointRow]) -> tuple[PointRow, ...]:
    """The points that no other point beats in RAM and in cycles, from the least RAM on."""
    best: list[PointRow] = []
    for row in sorted(rows, key=lambda row: (row.ram_bytes, row.predicted_cycles)):
        if not best or row.predicted_cycles < best[-1].predicted_cycles:
            best.append(row)
    return tuple(best)


def points_to_run(points: Sequence[StudyPoint], rows: Mapping[str, PointRow], which: Run) -> list[StudyPoint]:
    """The points that were not run yet; a model's points compete with each other alone."""
    if which is Run.NONE:
        return []
    planned = [rows[point.fingerprint] for point in points if rows[point.fingerprint].status == "planned"]
    if which is Run.FRONT:
        models = dict.fromkeys(row.model for row in planned)
        planned = [row for model in models for row in front([row for row in planned if row.model == model])]
    names = {row.fingerprint for row in planned if not row.measured}
    return [point for point in points if point.fingerprint in names]
