"""``tilewright allocate``: place the buffers of a MiniMalloc problem."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tilewright.base.settings import choices_of
from tilewright.options import Effort


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    allocate = commands.add_parser("allocate", parents=[common], help="offsets for buffers with lifetimes, from a CSV")
    allocate.add_argument("problem", type=Path, help="columns id, lower, upper, size; optional alignment, offset")
    allocate.add_argument(
        "--capacity", type=int, help="bytes of the memory; without it the smallest that suffices is sought"
    )
    allocate.add_argument("--algorithm", default="exact", help="exact, greedy_by_size, ... or package.module:function")
    allocate.add_argument("--seed", type=int, default=0, help="seed of algorithms that draw random numbers")
    allocate.add_argument(
        "--effort", choices=choices_of(Effort), default="normal", help="how many nodes the search may visit"
    )
    allocate.add_argument("--output", type=Path, help="the problem with a column of offsets")
    allocate.set_defaults(run=_allocate)


def _allocate(parsed: argparse.Namespace) -> int:
    from tilewright.tools.allocate import allocate

    return allocate(parsed.problem, parsed.capacity, parsed.algorithm, parsed.seed, parsed.effort, parsed.output)
