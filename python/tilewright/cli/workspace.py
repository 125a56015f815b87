"""``tilewright workspace``: one set of pools for several models."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tilewright.base.c_names import c_identifier
from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_all
from tilewright.cli.plan_file import load_plan


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    workspace = commands.add_parser("workspace", parents=[common], help="one set of pools for several models")
    workspace.add_argument("--name", required=True, help="prefix of every C name and file")
    workspace.add_argument("--plan", action="append", type=Path, required=True, help="plan of a model; repeatable")
    workspace.add_argument(
        "--concurrent", action="store_true", help="models may run at the same time, so they share no bytes"
    )
    workspace.add_argument("--output-dir", type=Path, required=True, help="folder of <name>.h and its manifest")
    workspace.set_defaults(run=_workspace)


def _workspace(parsed: argparse.Namespace) -> int:
    from tilewright.tools.workspace import Sharing, workspace_files

    name = parsed.name
    if c_identifier(name) != name:
        what = f"'{name}' cannot be the prefix of C names"
        raise bad_input("bad-name", what, at="--name", help=f"for example '{c_identifier(name)}'")
    sharing = Sharing.CONCURRENT if parsed.concurrent else Sharing.EXCLUSIVE
    files = workspace_files(name, [load_plan(path) for path in parsed.plan], sharing)
    write_all(parsed.output_dir, files, manifest=f"{name}_manifest.json")
    return 0
