"""``tilewright allocate``: places the buffers of a problem in MiniMalloc's CSV format.

Columns: id, lower, upper, size; optionally alignment, and offset for buffers with a fixed offset.
A buffer lives in [lower, upper) ticks; sizes, alignments and offsets are bytes.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import lcm
from pathlib import Path
from typing import TextIO

from tilewright.base.errors import ExitStatus, bad_input
from tilewright.base.inputs import read_utf8
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.outputs import write_file
from tilewright.placement.items import DoesNotFit, Item, PoolLimit
from tilewright.placement.options import Options
from tilewright.placement.place import place_with

POOL = "memory"
REQUIRED = ("id", "lower", "upper", "size")
PROGRESS_NODES = 50_000


@dataclass(frozen=True, slots=True)
class Row:
    """A buffer of a problem; ``offset`` is None for a buffer that may lie anywhere."""

    name: str
    lower: int
    upper: int
    size: int
    alignment: int
    offset: int | None


def read_problem(path: Path) -> list[Row]:
    """The buffers of a CSV file.

    Raises:
        TilewrightError: ``bad-problem`` with file and line, if the file is not a problem in this format.
    """
    try:
        reader = csv.DictReader(io.StringIO(read_utf8(path), newline=""))
        missing = [column for column in REQUIRED if column not in (reader.fieldnames or [])]
        if missing:
            raise bad_input("bad-problem", f"no column '{missing[0]}'", at=f"{path.name}:1", help=",".join(REQUIRED))
        rows = [_row(line, f"{path.name}:{reader.line_num}") for line in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise bad_input("bad-problem", f"cannot read the problem: {error}", at=str(path)) from error
    names = [row.name for row in rows]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise bad_input("bad-problem", f"the id '{twice}' is there twice", at=path.name)
    return rows


def _row(line: dict[str, str], place: str) -> Row:
    try:
        offset = (line.get("offset") or "").strip()
        row = Row(
            line["id"].strip(),
            int(line["lower"]),
            int(line["upper"]),
            int(line["size"]),
            int(line.get("alignment") or 1),
            int(offset) if offset else None,
        )
    except (ValueError, AttributeError, TypeError) as error:
        raise bad_input("bad-problem", f"not a buffer: {error}", at=place) from error
    if row.upper <= row.lower or row.size < 0 or row.alignment < 1:
        raise bad_input("bad-problem", "upper must be above lower, size not negative, alignment positive", at=place)
    return row


def items_of(rows: Sequence[Row]) -> list[Item]:
    """Items for placement; two buffers conflict if their lifetimes have a tick in common."""
    return [
        Item(
            row.name,
            row.size,
            row.alignment,
            (POOL,),
            fixed_offset=row.offset,
            lifetime=(row.lower, row.upper),
            by_lifetime=True,
        )
        for row in rows
    ]


def allocate(
    problem: Path,
    capacity: int | None = None,
    algorithm: str = "exact",
    seed: int = 0,
    effort: str = "normal",
    output: Path | None = None,
    stream: TextIO | None = None,
) -> int:
    """Place the buffers of a problem and print peak, lower bound (bytes), gap and status.

    With a capacity in bytes, any placement within the capacity will do; without a capacity the smallest peak is
    searched. Returns the exit status, 3 if no placement fits. Raises TilewrightError as ``read_problem``
    and ``place_with``.
    """
    stream = stream or sys.stdout
    rows = read_problem(problem)
    pool = PoolLimit(POOL, capacity, lcm(1, *(row.alignment for row in rows)))
    try:
        with _progress() as show:
            options = replace(Options.of(effort, seed), minimise=capacity is None, progress=show)
            result = place_with(items_of(rows), [pool], algorithm, options)
    except DoesNotFit as error:
        found = error.diagnosis
        stream.write(f"buffers      {len(rows):,}\n")
        stream.write(f"needed       {found.needed:,} bytes, {found.missing:,} more than there are\n")
        proof = "proved: nothing fits" if found.proved else "not proved: the search ended without a placement"
        stream.write(f"status       does not fit ({proof})\n")
        return int(ExitStatus.DOES_NOT_FIT)
    used, bound = result.used[POOL], result.lower_bound[POOL]
    stream.write(f"buffers      {len(rows):,}\n")
    stream.write(f"peak         {used:,} bytes\n")
    stream.write(f"lower bound  {bound:,} bytes\n")
    stream.write(f"gap          {100 * (used - bound) / max(bound, 1):.2f} %\n")
    fits = "fits" if capacity is not None else "placed"
    stream.write(f"status       {fits}, {'optimal' if result.optimal[POOL] else 'not proved optimal'}\n")
    if output is not None:
        _write(output, rows, {name: offset for name, (_, offset) in result.placements.items()})
    return int(ExitStatus.DONE)


def _write(path: Path, rows: Sequence[Row], offsets: dict[str, int]) -> None:
    aligned = any(row.alignment != 1 for row in rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*REQUIRED, *(["alignment"] if aligned else []), "offset"])
    for row in rows:
        extra = [row.alignment] if aligned else []
        writer.writerow([row.name, row.lower, row.upper, row.size, *extra, offsets[row.name]])
    write_file(path, text.getvalue().encode())


@contextmanager
def _progress() -> Iterator[Callable[[int, int, int], None] | None]:
    """A line on the terminal that each report overwrites and the end wipes; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    shown = width = 0

    def show(peak: int, bound: int, nodes: int) -> None:
        nonlocal shown, width
        if nodes - shown >= PROGRESS_NODES:
            shown = nodes
            gap = 100 * (peak - bound) / max(bound, 1)
            text = f"peak {peak:,}  bound {bound:,}  gap {gap:.2f} %  nodes {nodes:,}"
            sys.stderr.write(f"\r{text:{width}}")
            width = len(text)

    try:
        yield show
    finally:
        if width:
            sys.stderr.write(f"\r{' ' * width}\r")
            sys.stderr.flush()
