"""A page for a study: RAM against cycles of each model, the front (of energy too, if known), and what has no plan."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.report.pages import rendered
from tilewright.tools.study_front import front, has_energy
from tilewright.tools.study_plans import PointRow

WIDTH, HEIGHT, MARGIN = 720, 360, 56
"""Size and margin of a picture in units of SVG."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point in a picture: its centre, whether it is of the front, and what it is."""

    x: float
    y: float
    in_front: bool
    row: PointRow


def study_page(name: str, rows: Sequence[PointRow]) -> str:
    """The page as HTML text without scripts; the same rows give the same text."""
    models = []
    for model in dict.fromkeys(row.model for row in rows):
        planned = [row for row in rows if row.model == model and row.status == "planned"]
        others = [row for row in rows if row.model == model and row.status != "planned"]
        best = front(planned)
        of_energy = has_energy(planned)
        models.append(
            {"name": model, "dots": _dots(planned, best), "front": best, "others": others, "of_energy": of_energy}
        )
    size = {"width": WIDTH, "height": HEIGHT, "margin": MARGIN}
    return rendered("study.html.j2", name=name, models=models, **size)


def _dots(rows: Sequence[PointRow], best: Sequence[PointRow]) -> tuple[Dot, ...]:
    """Centres on logarithmic axes: RAM from left to right, cycles upward."""
    across = _scaled([row.ram_bytes for row in rows], MARGIN, WIDTH - MARGIN)
    upward = _scaled([row.predicted_cycles for row in rows], HEIGHT - MARGIN, MARGIN)
    return tuple(Dot(x, y, row in best, row) for x, y, row in zip(across, upward, rows, strict=True))


def _scaled(values: Sequence[int], first: float, last: float) -> list[float]:
    """Logarithms of values, spread between two ends; equal values lie in the middle."""
    logarithms = [math.log(max(value, 1)) for value in values]
    low, high = min(logarithms, default=0.0), max(logarithms, default=0.0)
    if low == high:
        return [(first + last) / 2 for _ in values]
    return [round(first + (last - first) * (value - low) / (high - low), 1) for value in logarithms]
