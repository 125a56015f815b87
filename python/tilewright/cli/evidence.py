"""``tilewright evidence``: what is known of a build, in one folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.base.outputs import write_all


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    evidence = commands.add_parser(
        "evidence", parents=[common], help="collect plans, checks and measurements of a build in one folder"
    )
    evidence.add_argument("build", type=Path, help="the folder in which models were generated and programs linked")
    evidence.add_argument("--output-dir", type=Path, required=True, help="folder for the evidence")
    evidence.set_defaults(run=_evidence)


def _evidence(parsed: argparse.Namespace) -> int:
    from tilewright.tools.evidence_files import evidence_files

    files = evidence_files(parsed.build)
    write_all(parsed.output_dir, files)
    sys.stdout.write(f"{len(files)} files of evidence in {parsed.output_dir}\n")
    return 0
