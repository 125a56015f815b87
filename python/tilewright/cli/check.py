"""``tilewright check``: prove a plan sound, or name the rule that it breaks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.cli.plan_file import load_plan


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    check = commands.add_parser("check", parents=[common], help="prove a plan sound, or name the rule that it breaks")
    check.add_argument("plan", type=Path, help="a plan, <name>_plan.json")
    check.set_defaults(run=_check)


def _check(parsed: argparse.Namespace) -> int:
    from tilewright.check import require_sound

    plan = load_plan(parsed.plan)
    require_sound(plan, from_file=True)
    sys.stdout.write(f"{plan.name}: sound\n")
    return 0
