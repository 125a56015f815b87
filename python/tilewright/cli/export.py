"""``tilewright export``: plan and constants of a model, for ``tilewright generate --from`` on any machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.base.outputs import write_all
from tilewright.cli.compiling import add_options, compile_options, compiled
from tilewright.tools.manifest import manifest_name


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    export = commands.add_parser(
        "export", parents=[common], help="write plan and constants, from which generate makes C without the model"
    )
    add_options(export)
    export.add_argument("--output-dir", type=Path, required=True, help="folder for plan, constants and manifest")
    export.set_defaults(run=_export)


def _export(parsed: argparse.Namespace) -> int:
    options = compile_options(parsed)
    artifacts = compiled(options)
    from tilewright.tools.all_files import all_files
    from tilewright.tools.exported import MANIFEST, exported_files

    manifest = all_files(options, artifacts)[manifest_name(options.name)]
    files = exported_files(artifacts.plan, artifacts.constants, manifest)
    write_all(parsed.output_dir, files, manifest=MANIFEST)
    sys.stdout.write(f"{artifacts.summary}\n")
    return 0
