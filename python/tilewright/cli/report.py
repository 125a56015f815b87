"""``tilewright report``: where the memory goes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_file
from tilewright.cli.plan_file import load_plan
from tilewright.plan import Plan


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    report = commands.add_parser(
        "report", parents=[common], help="show what is in each pool, and what each layer takes"
    )
    report.add_argument("plan", type=Path, help="a plan, <name>_plan.json")
    report.add_argument(
        "--format",
        choices=["text", "json", "html"],
        default="text",
        help="text, json for programs, or html: a page with pictures",
    )
    report.add_argument("--output", type=Path, help="file for the report; standard output if absent")
    report.add_argument(
        "--profile", type=Path, metavar="FILE.json", help="profile of a run, which stands beside the prediction"
    )
    report.add_argument(
        "--firmware",
        type=Path,
        metavar="FILE.json",
        help="verdict of check-elf (its --json): text and page begin with what the program takes of chip and time",
    )
    what = "another plan, <name>_plan.json: the page shows what changed since, and both timelines"
    report.add_argument("--compare", type=Path, metavar="PLAN", help=what)
    report.add_argument("--steps", action="store_true", help="what begins, ends and is alive at each layer, by pool")
    report.set_defaults(run=_report)


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
    if parsed.compare is not None and parsed.format != "html":
        remedy = "--format html, or 'tilewright diff' for text and JSON"
        raise bad_input("usage", f"--compare is for the page, but --format is {parsed.format}", help=remedy)
    measured = layers = firmware = None
    if parsed.profile is not None:
        from tilewright.report.measured import read_profile

        measured = read_profile(parsed.profile, plan)
        layers = measured.layers
    if parsed.firmware is not None:
        from tilewright.report.firmware_line import read_firmware

        firmware = read_firmware(parsed.firmware, plan.name)
    if parsed.format == "html":
        from tilewright.report.html import report_html

        return report_html(plan, measured, firmware, load_plan(parsed.compare) if parsed.compare else None)
    if parsed.format == "json":
        from tilewright.report.data import report_json

        return report_json(plan, with_steps=parsed.steps, measured=layers)
    from tilewright.report.text import report_text

    text = report_text(plan, with_steps=parsed.steps, measured=layers)
    if firmware is None:
        return text
    from tilewright.report.firmware_line import firmware_text

    return f"{firmware_text(firmware, measured)}\n{text}"
