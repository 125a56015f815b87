"""``tilewright report`` and ``tilewright check``: what reads a plan."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.errors import bad_input
from tilewright.plan import Plan


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add both commands."""
    report = commands.add_parser("report", parents=[common], help="where the memory goes")
    report.add_argument("plan", type=Path, help="a plan, <name>_plan.json")
    report.add_argument("--format", choices=["text", "json"], default="text", help="for people or for programs")
    report.set_defaults(run=_report)
    check = commands.add_parser("check", parents=[common], help="prove a plan sound, or name the rule that it breaks")
    check.add_argument("plan", type=Path, help="a plan, <name>_plan.json")
    check.set_defaults(run=_check)


def load_plan(path: Path) -> Plan:
    """A plan from its file. Raises bad_input."""
    from tilewright.plan_json import loads

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise bad_input("plan-file", f"cannot read the plan: {error.strerror or error}", at=str(path)) from error
    except UnicodeDecodeError as error:
        raise bad_input("plan-json", "the plan is not UTF-8 text", at=str(path)) from error
    return loads(text)


def _report(parsed: argparse.Namespace) -> int:
    plan = load_plan(parsed.plan)
    if parsed.format == "json":
        from tilewright.report.data import report_json

        sys.stdout.write(report_json(plan))
    else:
        from tilewright.report.text import report_text

        sys.stdout.write(report_text(plan))
    return 0


def _check(parsed: argparse.Namespace) -> int:
    from tilewright.check import require_sound

    plan = load_plan(parsed.plan)
    require_sound(plan, from_file=True)
    sys.stdout.write(f"{plan.name}: sound\n")
    return 0
