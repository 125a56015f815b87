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
    """The points that no other point beats in RAM, cycles and energy, from the least RAM on.

    Energy counts where the platforms of all points say what it is.
    """
    is_known = has_energy(rows)

    def costs(row: PointRow) -> tuple[int, int, int]:
        return row.ram_bytes, row.predicted_cycles, row.energy_picojoules if is_known else 0

    best: list[PointRow] = []
    for row in sorted(rows, key=costs):
        beaten = (all(one <= two for one, two in zip(costs(other), costs(row), strict=True)) for other in best)
        if not any(beaten):
            best.append(row)
    return tuple(best)


def has_energy(rows: Sequence[PointRow]) -> bool:
    """Whether the energy of an inference is known of every point."""
    return all(row.energy_picojoules for row in rows)


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
