"""``tilewright explore``: which chip, which memory, which options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.outputs import write_file
from tilewright.base.progress import progress
from tilewright.base.settings import choices_of
from tilewright.tools.study_front import Run, points_to_run

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from tilewright.tools.study import StudyPoint
    from tilewright.tools.study_plans import PointRow

_STAGE = "Planning points"
_RUNNING = "Running points"
_TABLE = "table of points (CSV, or Parquet by a name in .parquet); points that it has are not planned again"
_RUN = "which points are built and run in their platform's simulator: those that no other beats, or all (default: none)"


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    explore = commands.add_parser("explore", parents=[common], help="plan every combination that a study file names")
    add = explore.add_argument
    add("study", type=Path, help="models, platforms, pool sizes and options to try (TOML)")
    add("--output", type=Path, required=True, help=_TABLE)
    add(
        "--page",
        type=Path,
        help="file for a page: the points of a model that no other beats in bytes, cycles and, where known, energy",
    )
    add("--run", dest="ran", choices=choices_of(Run), default=Run.NONE.value, help=_RUN)
    where = explore.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, help="processes (default: one for each core)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster, such as tcp://10.0.0.1:8786")
    where.add_argument(
        "--executor",
        metavar="MODULE:CALLABLE",
        help="a function that returns an executor as those of concurrent.futures",
    )
    explore.set_defaults(run=_explore)


def _explore(parsed: argparse.Namespace) -> int:
    from tilewright.tools.study_lock import locked_table

    with locked_table(parsed.output):
        return _written(parsed)


def _written(parsed: argparse.Namespace) -> int:
    """Plan the points that the table does not have, and write it."""
    from tilewright.tools.study import points_of, read_study
    from tilewright.tools.study_plans import measured, simulated
    from tilewright.tools.study_rows import begin_rows, in_order, known_rows, write_rows

    points = points_of(read_study(parsed.study), parsed.study.parent)
    rows = known_rows(parsed.output)
    begin_rows(parsed.output, rows.values())
    missing = [point for point in points if point.fingerprint not in rows]
    with _executors(parsed) as started:
        rows |= _worked(parsed.output, (missing, measured, _STAGE), started, len(points))
        wanted = points_to_run(points, rows, Run(parsed.ran))
        rows |= _worked(parsed.output, (wanted, simulated, _RUNNING), started, len(wanted))
    shown = in_order([point.fingerprint for point in points], rows)
    write_rows(parsed.output, shown)
    if parsed.page is not None:
        from tilewright.tools.study_page import study_page

        write_file(parsed.page, study_page(parsed.study.stem, shown).encode())
    sys.stdout.write(_summary(points, len(missing), wanted, rows))
    return 0


def _worked(
    table: Path,
    work: tuple[Sequence[StudyPoint], Callable[[StudyPoint], PointRow], str],
    started: Callable[[], Executor],
    all_points: int,
) -> dict[str, PointRow]:
    """Row by fingerprint of each point, as ``work`` makes it; each row is written as it arrives."""
    from tilewright.tools.study_plans import explore
    from tilewright.tools.study_rows import add_row

    points, function, stage = work
    rows: dict[str, PointRow] = {}
    progress(stage, all_points - len(points), all_points)
    for row in explore(points, started, function):
        add_row(table, row)
        rows[row.fingerprint] = row
        progress(stage, all_points - len(points) + len(rows), all_points)
    return rows


def _executors(parsed: argparse.Namespace) -> AbstractContextManager[Callable[[], Executor]]:
    from tilewright.tools.executors import dask_cluster, jobs_of, named_executor, processes

    if parsed.scheduler is not None:
        return dask_cluster(parsed.scheduler)
    if parsed.executor is not None:
        return named_executor(parsed.executor)
    return processes(jobs_of(parsed.jobs))


def _summary(
    points: Sequence[StudyPoint], planned: int, wanted: Sequence[StudyPoint], rows: Mapping[str, PointRow]
) -> str:
    """``12 points: 9 planned, 3 does not fit; 4 were known; 2 run, 1 could not be run``, by status.

    Args:
        planned: the points that were not known.
        wanted: the points that were to be run now.
    """
    statuses = [rows[point.fingerprint].status for point in points]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(sorted(statuses)))
    run = sum(bool(rows[point.fingerprint].measured) for point in points)
    failed = sum(not rows[point.fingerprint].measured for point in wanted)
    ran = f"; {run} run" if run or failed else ""
    ran += f", {failed} could not be run (see reason)" if failed else ""
    return f"{len(points)} points: {counts}; {len(points) - planned} were known{ran}\n"
