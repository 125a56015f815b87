"""``tilewright report``, ``tilewright check`` and ``tilewright diff``: what reads plans."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_file
from tilewright.plan import Plan


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the commands."""
    report = commands.add_parser("report", parents=[common], help="where the memory goes")
    report.add_argument("plan", type=Path, help="a plan, <name>_plan.json")
    report.add_argument("--format", choices=["text", "json", "html"], default="text", help="html: one page to look at")
    report.add_argument("--output", type=Path, help="file for the report; standard output if absent")
    report.add_argument("--profile", type=Path, metavar="FILE.json", help="cycles of each layer, measured on a target")
    report.add_argument("--steps", action="store_true", help="what begins, ends and is alive at each layer, by pool")
    report.set_defaults(run=_report)
    check = commands.add_parser("check", parents=[common], help="prove a plan sound, or name the rule that it breaks")
    check.add_argument("plan", type=Path, help="a plan, <name>_plan.json")
    check.set_defaults(run=_check)
    diff = commands.add_parser("diff", parents=[common], help="what changed between two plans")
    diff.add_argument("old", type=Path, help="a plan, <name>_plan.json")
    diff.add_argument("new", type=Path, help="a later plan")
    diff.add_argument("--format", choices=["text", "json"], default="text", help="for people or for programs")
    diff.set_defaults(run=_diff)


def load_plan(path: Path) -> Plan:
    """A plan from its file. Raises bad_input."""
    from tilewright.plan.json import loads

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise bad_input("plan-file", f"cannot read the plan: {error.strerror or error}", at=str(path)) from error
    except UnicodeDecodeError as error:
        raise bad_input("plan-json", "the plan is not UTF-8 text", at=str(path)) from error
    return loads(text)


def _report(parsed: argparse.Namespace) -> int:
    text = _report_text(parsed, load_plan(parsed.plan))
    if parsed.output is None:
        sys.stdout.write(text)
    else:
        write_file(parsed.output, text.encode())
        sys.stdout.write(f"{parsed.output}\n")
    return 0


def _report_text(parsed: argparse.Namespace, plan: Plan) -> str:
    """The report in the form that was asked for; each form is imported only for itself."""
    measured = layers = None
    if parsed.profile is not None:
        from tilewright.report.measured import read_profile

        measured = read_profile(parsed.profile, plan)
        layers = measured.layers
    if parsed.format == "html":
        from tilewright.report.html import report_html

        return report_html(plan, measured)
    if parsed.format == "json":
        from tilewright.report.data import report_json

        return report_json(plan, with_steps=parsed.steps, measured=layers)
    from tilewright.report.text import report_text

    return report_text(plan, with_steps=parsed.steps, measured=layers)


def _check(parsed: argparse.Namespace) -> int:
    from tilewright.check import require_sound

    plan = load_plan(parsed.plan)
    require_sound(plan, from_file=True)
    sys.stdout.write(f"{plan.name}: sound\n")
    return 0


def _diff(parsed: argparse.Namespace) -> int:
    from tilewright.report.diff import diff_data, diff_text

    old, new = load_plan(parsed.old), load_plan(parsed.new)
    if parsed.format == "json":
        sys.stdout.write(json.dumps(diff_data(old, new), indent=1) + "\n")
    else:
        sys.stdout.write(diff_text(old, new))
    return 0
