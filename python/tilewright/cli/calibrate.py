"""``tilewright calibrate``: constants of the cost model from profiles."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_utf8
from tilewright.base.outputs import write_file
from tilewright.platform import Platform, load_platform, platform_file


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    calibrate = commands.add_parser("calibrate", parents=[common], help="fit predicted cycles to profiles")
    calibrate.add_argument("--platform", required=True, help="name of a shipped platform, or a TOML file")
    calibrate.add_argument("--profile", type=Path, action="append", default=[], help="a profile, <test>_profile.json")
    calibrate.add_argument(
        "--output", type=Path, help="file for the platform with the fitted constants; standard output if absent"
    )
    calibrate.set_defaults(run=_calibrate)


def _calibrate(parsed: argparse.Namespace) -> int:
    from tilewright.tools.calibrate import fit, read_samples, with_unmeasured, without_first_calls
    from tilewright.tools.calibration_text import with_constants

    platform = load_platform(parsed.platform)
    if not parsed.profile:
        raise bad_input("usage", "there is no --profile to fit to", help="docs/how-to/calibrate.md")
    samples = without_first_calls(read_samples(parsed.profile, platform.name), platform.costs)
    widths = {link.name: link.bytes_per_cycle for link in platform.links}
    fitted = fit(samples, _same_links(platform), widths)
    fitted = replace(fitted, costs=with_unmeasured(fitted.costs, platform.costs, samples))
    text = with_constants(read_utf8(platform_file(parsed.platform)), fitted)
    if parsed.output is None:
        sys.stdout.write(text)
        return 0
    changed = write_file(parsed.output, text.encode())
    count, largest = len(samples), 100.0 * fitted.largest_error
    sys.stdout.write(
        f"{parsed.output}: {'written' if changed else 'unchanged'}; {count} layers, "
        f"kernel cycles of each within {largest:.0f} %\n"
    )
    return 0


def _same_links(platform: Platform) -> dict[str, str]:
    """Link to the link that leads the other way, for the later of two links of one table (``both_ways``)."""
    names = {link.name: (link.target, link.source) for link in platform.links}
    same: dict[str, str] = {}
    for name, (target, source) in names.items():
        back = f"{target}->{source}"
        if back in names and name not in same:
            same[back] = name
    return same
