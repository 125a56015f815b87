"""``tilewright sweep``: the size of a pool against bytes moved and predicted cycles."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_file
from tilewright.base.progress import progress
from tilewright.cli.compiling import add_options, compile_options


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    sweep = commands.add_parser(
        "sweep", parents=[common], help="plan a model for many sizes of a pool: bytes moved and cycles of each"
    )
    add_options(sweep)
    add = sweep.add_argument
    add(
        "--steps",
        type=int,
        default=16,
        help="how many sizes to try, each larger than the last by the same factor (default 16)",
    )
    add("--jobs", type=int, help="processes (default: one for each core)")
    add("--csv", type=Path, help="file for the table, as CSV")
    add("--svg", type=Path, help="file for the table as a picture; needs matplotlib")
    add("--png", type=Path, help="file for the same picture as a bitmap")
    sweep.epilog = "One --pool is a range: --pool l1=4096:131072. The others are as for 'generate'."
    sweep.set_defaults(run=_sweep)


def split_pools(pools: Sequence[str]) -> tuple[str, int, int, list[str]]:
    """Pool, smallest and largest size of the one range among ``--pool``, and the others. Raises bad_input."""
    ranges = [text for text in pools if ":" in text.partition("=")[2].partition("@")[0]]
    if len(ranges) != 1:
        what = f"{len(ranges)} of the pools are ranges; one has to be"
        raise bad_input("sweep-range", what, at="--pool", help="for example --pool l1=4096:131072")
    pool, _, text = ranges[0].partition("=")
    first, _, last = text.partition(":")
    if not pool or not first.isdecimal() or not last.isdecimal():
        raise bad_input("sweep-range", f"'{ranges[0]}' is not <pool>=<bytes>:<bytes>", at="--pool")
    return pool, int(first), int(last), [text for text in pools if text not in ranges]


def _sweep(parsed: argparse.Namespace) -> int:
    pool, first, last, others = split_pools(parsed.pools or [])
    parsed.pools = others
    options = compile_options(parsed)
    from tilewright.report.text import table
    from tilewright.tools.executors import jobs_of, processes
    from tilewright.tools.sweep import sizes_between, sweep, sweep_csv, sweep_rows

    jobs = jobs_of(parsed.jobs)
    sizes = sizes_between(first, last, parsed.steps)
    progress("Planning sizes", 0, len(sizes))
    with processes(min(jobs, len(sizes))) as started, started() as executor:
        try:
            points = sweep(options, pool, sizes, executor, partial(progress, "Planning sizes"))
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    headings = (pool, "used", "moved", "of compulsory", "cycles", "")
    sys.stdout.write(table(headings, list(sweep_rows(points)), 0) + "\n")
    if parsed.csv is not None:
        write_file(parsed.csv, sweep_csv(points).encode())
    for path in (parsed.svg, parsed.png):
        if path is not None:
            from tilewright.tools.sweep_picture import draw

            draw(points, pool, f"{options.name} on {options.platform}", path)
    return 0
