"""How bytes moved and predicted cycles depend on the size of a pool.

``sweep`` takes any ``concurrent.futures`` executor, so that Dask's or Ray's spread it over machines.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace

from tilewright.base.errors import ExitStatus, TilewrightError, bad_input
from tilewright.options import CompileOptions
from tilewright.pipeline import plan_model
from tilewright.plan import Plan

Progress = Callable[[int, int], None]
"""Called with the number of sizes that are done, and of all."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One size of the pool. ``link_bytes`` is (link, bytes in one inference); nothing is known where it does not fit.

    ``reason`` says why it does not fit.
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

    Raises what planning raises, unless it is that a size does not fit.
    """
    futures = [executor.submit(measure, options, pool, size) for size in sizes]
    if progress is not None:
        for done, _ in enumerate(as_completed(futures), 1):
            progress(done, len(futures))
    return tuple(future.result() for future in futures)


def measure(options: CompileOptions, pool: str, size_bytes: int) -> SweepPoint:
    """One point of a sweep."""
    try:
        plan = plan_model(_with_size(options, pool, size_bytes))
    except TilewrightError as error:
        if error.status is not ExitStatus.DOES_NOT_FIT:
            raise
        return SweepPoint(size_bytes, False, reason="; ".join((error.what, *error.at)))
    return _point(plan, pool, size_bytes)


def sizes_between(first: int, last: int, steps: int) -> tuple[int, ...]:
    """Sizes from first to last, each the same factor above the one before, rounded to 16 bytes; both ends are there.

    Raises bad_input ``sweep-range`` for a range that is empty or fewer than two steps.
    """
    if not 0 < first < last or steps < 2:
        what = f"{first}:{last} in {steps} steps is no range"
        raise bad_input("sweep-range", what, help="<pool>=<smallest bytes>:<largest bytes>, and at least 2 steps")
    between = (round(first * (last / first) ** (step / (steps - 1)) / 16) * 16 for step in range(1, steps - 1))
    return tuple(dict.fromkeys((first, *(size for size in between if first < size < last), last)))


def sweep_csv(points: Sequence[SweepPoint]) -> str:
    """The points as CSV: a line for each size, a column for each link; empty where it does not fit."""
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
    """The points for people: size, bytes used, moved, moved for each compulsory byte, cycles; or why not."""
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
    """Another size of a pool that stays where it is."""
    places = [text.partition("@")[2] for text in options.pools if text.partition("=")[0] == pool]
    others = tuple(text for text in options.pools if text.partition("=")[0] != pool)
    place = f"@{places[0]}" if places and places[0] else ""
    return replace(options, pools=(*others, f"{pool}={size_bytes}{place}"))


def _point(plan: Plan, pool: str, size_bytes: int) -> SweepPoint:
    moved = {link.name: sum(dict(layer.link_bytes).get(link.name, 0) for layer in plan.layers) for link in plan.links}
    compulsory = sum(count for layer in plan.layers for _, count in layer.compulsory_link_bytes)
    used = next((use.used_bytes for use in plan.pool_use if use.pool == pool), 0)
    cycles = sum(layer.predicted_cycles for layer in plan.layers)
    return SweepPoint(size_bytes, True, used, cycles, tuple(moved.items()), compulsory)
