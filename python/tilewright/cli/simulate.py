"""``tilewright simulate``: run a program in a platform's simulator."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_file
from tilewright.cli.plan_file import load_plan
from tilewright.platform import load_platform


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    simulate = commands.add_parser("simulate", parents=[common], help="run a program in a platform's simulator")
    simulate.add_argument("--platform", required=True, help="name of a shipped platform, or a TOML file")
    simulate.add_argument("--elf", type=Path, required=True, help="the program")
    simulate.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="end the program after so many seconds"
    )
    simulate.add_argument(
        "--argument", action="append", default=[], help="one more word of the simulator's command; repeatable"
    )
    simulate.add_argument(
        "--plan",
        type=Path,
        action="append",
        default=[],
        help="plan of a model in the program that was generated with PROFILE; repeatable",
    )
    simulate.add_argument(
        "--profile",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.json",
        help="file for the profile of a model, one for each --plan",
    )
    simulate.set_defaults(run=_simulate)


def _simulate(parsed: argparse.Namespace) -> int:
    from tilewright.tools.simulate import simulate

    if not parsed.timeout > 0:
        raise bad_input("usage", f"--timeout is {parsed.timeout:g}, but must be above 0 seconds")
    platform = load_platform(parsed.platform)
    if len(parsed.plan) != len(parsed.profile):
        raise bad_input("usage", f"{len(parsed.plan)} --plan, but {len(parsed.profile)} --profile")
    if not parsed.plan:
        return simulate(platform, parsed.elf, parsed.timeout, parsed.argument)
    from tilewright.tools.measurements import profile_json

    plans = [load_plan(path) for path in parsed.plan]
    lines: list[str] = []
    status = simulate(platform, parsed.elf, parsed.timeout, parsed.argument, lines.append)
    for plan, path in zip(plans, parsed.profile, strict=True):
        if status == 0:
            write_file(path, profile_json(plan, platform, lines).encode())
    return status
