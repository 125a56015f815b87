"""``tilewright plan``: everything up to the plan, or the plan lock."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.base.outputs import write_file
from tilewright.cli.compiling import add_options, compile_options, compiled
from tilewright.options import CompileOptions


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    plan = commands.add_parser("plan", parents=[common], help="plan a model, without writing C")
    add_options(plan)
    plan.add_argument("--output", type=Path, help="file for the plan; without one a summary goes to standard output")
    plan.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="what goes to standard output: a summary, or the plan",
    )
    plan.add_argument("--update", action="store_true", help="make the plan lock anew instead of taking it")
    plan.set_defaults(run=_plan)


def _plan(parsed: argparse.Namespace) -> int:
    options = compile_options(parsed)
    if parsed.update:
        return _update(options, parsed.output)
    from tilewright.pipeline import plan_model
    from tilewright.plan.json import dumps

    plan = plan_model(options)
    if parsed.output is not None:
        write_file(parsed.output, dumps(plan).encode())
    elif parsed.format == "json":
        sys.stdout.write(dumps(plan))
    else:
        from tilewright.report.text import summary_text

        sys.stdout.write(summary_text(plan))
    return 0


def _update(options: CompileOptions, output: Path | None) -> int:
    """Plan without the lock, and write the lock (and the plan, where a file is given for it)."""
    path = options.plan_lock or Path(f"{options.name}.lock.json")
    artifacts = compiled(replace(options, plan_lock=None))
    if output is not None:
        from tilewright.plan.json import dumps

        write_file(output, dumps(artifacts.plan).encode())
    changed = write_file(path, artifacts.lock.encode())
    sys.stdout.write(f"{artifacts.summary}\n{path}: {'written' if changed else 'unchanged'}\n")
    return 0
