"""How bytes moved and predicted cycles depend on the size of a pool.

``sweep`` takes any executor of ``concurrent.futures``; an executor of Dask or Ray spreads the plans over machines.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import replace

from tilewright.base.errors import ExitStatus, TilewrightError, bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import CompileOptions
from tilewright.pipeline import plan_model
from tilewright.plan import Plan
from tilewright.report.link_bytes import compulsory_by_link, moved_by_link

Progress = Callable[[int, int], None]
"""Called with the number of sizes that are done and the number of all sizes."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The plan's numbers for one size of the pool; all are 0 where the model does not fit (``feasible`` False).

    Attributes:
        size_bytes: the size of the pool.
        feasible: whether the model fits.
        used_bytes: bytes of the pool that the plan uses.
        predicted_cycles: cycles of one inference.
        link_bytes: (link, bytes over it in one inference).
        compulsory_bytes: bytes over all links that no tiling can avoid.
        reason: why the model does not fit.
    """

    size_bytes: int
    feasible: bool
    used_bytes: int = 0
    predicted_cycles: int = 0
    link_bytes: tuple[tuple[str, int], ...] = ()
    compulsory_bytes: int = 0
    reason: str = ""

    @property
    def moved_bytes(self) -> int:
        """Bytes over all links."""
        return sum(count for _, count in self.link_bytes)


def sweep(
    options: CompileOptions,
    pool: str,
    sizes: Sequence[int],
    executor: Executor,
    progress: Progress | None = None,
) -> tuple[SweepPoint, ...]:
    """A plan for each size in bytes of a pool, in the order of ``sizes``.

    Raises the errors of planning, except that a size does not fit; that is a point which is not feasible.
    """
    futures = [executor.submit(measure, options, pool, size) for size in sizes]
    if progress is not None:
        for done, _ in enumerate(as_completed(futures), 1):
            progress(done, len(futures))
    return tuple(future.result() for future in futures)


def measure(options: CompileOptions, pool: str, size_bytes: int) -> SweepPoint:
    """Plan the model with one size of the pool. Raises as ``sweep``."""
    try:
        plan = plan_model(_with_size(options, pool, size_bytes))
    except TilewrightError as error:
        if error.status is not ExitStatus.DOES_NOT_FIT:
            raise
        return SweepPoint(size_bytes, False, reason="; ".join((error.what, *error.at)))
    return _point(plan, pool, size_bytes)


def sizes_between(first: int, last: int, steps: int) -> tuple[int, ...]:
    """``first``, ``last`` and sizes between them, a geometric series of ``steps`` sizes rounded to 16 bytes.

    Raises bad_input ``sweep-range`` for a range that is empty or fewer than two steps.
    """
    if not 0 < first < last or steps < 2:
        what = f"{first}:{last} in {steps} steps is no range"
        raise bad_input("sweep-range", what, help="<pool>=<smallest bytes>:<largest bytes>, and at least 2 steps")
    between = (round(first * (last / first) ** (step / (steps - 1)) / 16) * 16 for step in range(1, steps - 1))
    return tuple(dict.fromkeys((first, *(size for size in between if first < size < last), last)))


def sweep_csv(points: Sequence[SweepPoint]) -> str:
    """The points as CSV: a line for each size, a column for each link; cells are empty where the model does not fit."""
    links = _links(points)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["size_bytes", "feasible", "used_bytes", "moved_bytes", "compulsory_bytes", "predicted_cycles"]
    writer.writerow([*head, *links])
    for point in points:
        known = [point.used_bytes, point.moved_bytes, point.compulsory_bytes, point.predicted_cycles]
        each = [dict(point.link_bytes).get(link, 0) for link in links]
        row = [*known, *each] if point.feasible else [""] * (len(known) + len(each))
        writer.writerow([point.size_bytes, "yes" if point.feasible else "no", *row])
    return text.getvalue()


def sweep_rows(points: Sequence[SweepPoint]) -> Iterator[tuple[str, ...]]:
    """Rows of text: size, used, moved (bytes), moved per compulsory byte, cycles, and why the model does not fit."""
    for point in points:
        if not point.feasible:
            yield f"{point.size_bytes:,}", "-", "-", "-", "-", f"does not fit: {point.reason}"
            continue
        ratio = f"{point.moved_bytes / point.compulsory_bytes:.3f}" if point.compulsory_bytes else "-"
        numbers = (point.size_bytes, point.used_bytes, point.moved_bytes)
        yield (*(f"{number:,}" for number in numbers), ratio, f"{point.predicted_cycles:,}", "")


def _links(points: Sequence[SweepPoint]) -> list[str]:
    return list(dict.fromkeys(link for point in points for link, _ in point.link_bytes))


def _with_size(options: CompileOptions, pool: str, size_bytes: int) -> CompileOptions:
    """Options with another size of a pool, whose address or section stays."""
    places = [text.partition("@")[2] for text in options.pools if text.partition("=")[0] == pool]
    others = tuple(text for text in options.pools if text.partition("=")[0] != pool)
    place = f"@{places[0]}" if places and places[0] else ""
    return replace(options, pools=(*others, f"{pool}={size_bytes}{place}"))


def _point(plan: Plan, pool: str, size_bytes: int) -> SweepPoint:
    used = next((use.used_bytes for use in plan.pool_use if use.pool == pool), 0)
    cycles = sum(layer.predicted_cycles for layer in plan.layers)
    moved, compulsory = tuple(moved_by_link(plan).items()), sum(compulsory_by_link(plan).values())
    return SweepPoint(size_bytes, True, used, cycles, moved, compulsory)
