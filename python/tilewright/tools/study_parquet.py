"""The table of a study as Parquet, for those who read it with pandas, DuckDB or Polars; needs pyarrow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from tilewright.base.errors import TilewrightError, bad_input, not_supported
from tilewright.tools.study_plans import COLUMNS, PointRow

PARQUET = ".parquet"


def known_parquet(path: Path) -> dict[str, PointRow]:
    """Rows by fingerprint of a table that may not exist yet.

    Raises bad_input ``study-table`` for a file that is something else, not_supported ``no-pyarrow`` without pyarrow.
    """
    arrow, parquet = _pyarrow()
    if not path.exists():
        return {}
    try:
        table = parquet.read_table(io.BytesIO(path.read_bytes()))
    except (OSError, arrow.ArrowException) as error:
        raise no_table(path) from error
    if tuple(table.column_names) != COLUMNS:
        raise no_table(path)
    return {row["fingerprint"]: PointRow(**row) for row in table.to_pylist()}


def parquet_bytes(rows: Sequence[PointRow]) -> bytes:
    """A file of texts and 64-bit integers: the same rows give the same bytes with one version of pyarrow."""
    arrow, parquet = _pyarrow()
    types = {"str": arrow.string(), "int": arrow.int64()}
    schema = arrow.schema([(item.name, types[str(item.type)]) for item in fields(PointRow)])
    columns = [[getattr(row, name) for row in rows] for name in COLUMNS]
    table = arrow.table(dict(zip(COLUMNS, columns, strict=True)), schema=schema)
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def no_table(path: Path) -> TilewrightError:
    """The error for a file that is something else."""
    return bad_input("study-table", "this file is no table of a study", at=str(path), help="give another --output")


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        remedies = ("pip install 'tilewright[parquet]'", "or give --output a name that ends in .csv")
        raise not_supported("no-pyarrow", "Parquet needs pyarrow, which is not installed", help=remedies) from error
