"""``tilewright generate``: a model's C, headers, plan, report and manifest."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.base.outputs import write_all
from tilewright.cli.compiling import add_options, compile_options, compiled
from tilewright.tools.manifest import manifest, manifest_name, platform_facts


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    generate = commands.add_parser("generate", parents=[common], help="write C, headers, plan and manifest")
    add_options(generate)
    generate.add_argument("--output-dir", type=Path, required=True, help="folder of the generated files")
    generate.set_defaults(run=_generate)


def _generate(parsed: argparse.Namespace) -> int:
    options = compile_options(parsed)
    facts = platform_facts(options.platform)
    artifacts = compiled(options)
    from tilewright.report.data import report_json

    files = {**artifacts.files, f"{options.name}_report.json": report_json(artifacts.plan).encode()}
    name = manifest_name(options.name)
    content = manifest(options, artifacts.plan, files, facts, artifacts.summary)
    write_all(parsed.output_dir, {**files, name: content}, manifest=name)
    sys.stdout.write(f"{artifacts.summary}\n")
    return 0
