"""The table of a study as CSV: rows are added as they arrive, and a study that was ended goes on from there."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.outputs import unwritable, write_file
from tilewright.tools.study_plans import COLUMNS, PointRow

_TEXTS = ("fingerprint", "model", "platform", "pools", "options", "status", "reason", "used_bytes")


def known_rows(path: Path) -> dict[str, PointRow]:
    """Rows by fingerprint of a table that may not exist yet; a last line that was cut off is no row.

    Raises bad_input ``study-table`` for a file that is no table of a study.
    """
    if not path.exists():
        return {}
    try:
        lines = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _no_table(path) from error
    if lines and tuple(lines[0]) != COLUMNS:
        raise _no_table(path)
    rows = [_row(line) for line in lines[1:] if len(line) == len(COLUMNS)]
    return {row.fingerprint: row for row in rows if row is not None}


def _no_table(path: Path) -> TilewrightError:
    return bad_input("study-table", "this file is no table of a study", at=str(path), help="give another --output")


def _row(line: Sequence[str]) -> PointRow | None:
    named = dict(zip(COLUMNS, line, strict=True))
    try:
        return PointRow(**{name: text if name in _TEXTS else int(text) for name, text in named.items()})  # type: ignore[arg-type]  # texts and numbers by name
    except ValueError:
        return None


def add_row(path: Path, row: PointRow) -> None:
    """Add one row at the end of the table, which ``write_rows`` has begun. Raises bad_input if that fails."""
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(_lines([row]))
    except OSError as error:
        raise unwritable(path, error) from error


def write_rows(path: Path, rows: Iterable[PointRow]) -> None:
    """Write the whole table: the same rows give the same bytes. Raises bad_input if that fails."""
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
