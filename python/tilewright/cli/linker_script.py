"""``tilewright linker-script``: the script for a platform's regions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.base.outputs import write_file
from tilewright.platform import load_platform


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    script = commands.add_parser("linker-script", parents=[common], help="the script for a platform's regions")
    script.add_argument("--platform", required=True, help="name of a shipped platform, or a TOML file")
    script.add_argument("--output", type=Path, help="file for the script; standard output if absent")
    script.set_defaults(run=_linker_script)


def _linker_script(parsed: argparse.Namespace) -> int:
    from tilewright.codegen.linker import linker_script

    text = linker_script(load_platform(parsed.platform))
    if parsed.output is None:
        sys.stdout.write(text)
    else:
        write_file(parsed.output, text.encode())
    return 0
