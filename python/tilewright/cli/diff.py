"""``tilewright diff``: what changed between two plans."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tilewright.cli.plan_file import load_plan


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    diff = commands.add_parser("diff", parents=[common], help="what changed between two plans")
    diff.add_argument("old", type=Path, help="a plan, <name>_plan.json")
    diff.add_argument("new", type=Path, help="a later plan")
    diff.add_argument("--format", choices=["text", "json"], default="text", help="for people or for programs")
    diff.set_defaults(run=_diff)


def _diff(parsed: argparse.Namespace) -> int:
    from tilewright.report.diff import diff_data, diff_text

    old, new = load_plan(parsed.old), load_plan(parsed.new)
    if parsed.format == "json":
        sys.stdout.write(json.dumps(diff_data(old, new), indent=1) + "\n")
    else:
        sys.stdout.write(diff_text(old, new))
    return 0
