"""The table of a study: rows are added as they arrive, and a study that was ended goes on from there.

A table whose name ends in .parquet cannot be added to: its rows arrive in a CSV file beside it (``<table>.rows``),
which is removed when the table is written.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path

from tilewright.base.outputs import unwritable, write_file
from tilewright.tools.study_parquet import PARQUET, known_parquet, no_table, parquet_bytes
from tilewright.tools.study_plans import COLUMNS, PointRow

_TEXTS = frozenset(item.name for item in fields(PointRow) if item.type == "str")
"""Columns of texts; all others are numbers."""


def known_rows(path: Path) -> dict[str, PointRow]:
    """Rows by fingerprint of a table that may not exist yet; a last line that was cut off is no row.

    Raises bad_input ``study-table`` for a file that is no table of a study.
    """
    if path.suffix == PARQUET:
        return {**known_parquet(path), **known_rows(arriving(path))}
    if not path.exists():
        return {}
    try:
        lines = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise no_table(path) from error
    if lines and tuple(lines[0]) != COLUMNS:
        raise no_table(path)
    rows = [_row(line) for line in lines[1:] if len(line) == len(COLUMNS)]
    return {row.fingerprint: row for row in rows if row is not None}


def _row(line: Sequence[str]) -> PointRow | None:
    named = dict(zip(COLUMNS, line, strict=True))
    try:
        return PointRow(**{name: text if name in _TEXTS else int(text) for name, text in named.items()})  # type: ignore[arg-type]  # texts and numbers by name
    except ValueError:
        return None


def add_row(path: Path, row: PointRow) -> None:
    """Add one row at the end of the table, which ``begin_rows`` has begun. Raises bad_input if that fails."""
    try:
        with arriving(path).open("a", encoding="utf-8", newline="") as file:
            file.write(_lines([row]))
    except OSError as error:
        raise unwritable(path, error) from error


def begin_rows(path: Path, rows: Iterable[PointRow]) -> None:
    """Write the known rows to the file to which ``add_row`` adds. Raises bad_input if it cannot be written."""
    _write_text(arriving(path), rows)


def write_rows(path: Path, rows: Iterable[PointRow]) -> None:
    """Write the whole table: the same rows give the same bytes. Raises bad_input if that fails."""
    if path.suffix != PARQUET:
        _write_text(path, rows)
        return
    write_file(path, parquet_bytes(tuple(rows)))
    arriving(path).unlink(missing_ok=True)


def arriving(path: Path) -> Path:
    """Where rows of a table arrive: in the table itself, or beside it."""
    return path.with_name(f"{path.name}.rows") if path.suffix == PARQUET else path


def _write_text(path: Path, rows: Iterable[PointRow]) -> None:
    text = ",".join(COLUMNS) + "\n" + _lines(rows)
    write_file(path, text.encode())


def _lines(rows: Iterable[PointRow]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(astuple(row) for row in rows)
    return text.getvalue()


def in_order(fingerprints: Iterable[str], rows: Mapping[str, PointRow]) -> tuple[PointRow, ...]:
    """The rows that there are, in the study's order, then those of points that are no longer in the study."""
    first = [name for name in fingerprints if name in rows]
    return tuple(rows[name] for name in dict.fromkeys((*first, *rows)))
