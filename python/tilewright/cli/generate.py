"""``tilewright generate``: a model's C, headers, plan, report and manifest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright import __version__
from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_all
from tilewright.cli.compiling import add_options, compile_options, compiled
from tilewright.options.arguments import given_arguments
from tilewright.tools.manifest import manifest_name, platform_facts, with_files


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    generate = commands.add_parser("generate", parents=[common], help="write C, headers, plan and manifest")
    add_options(generate)
    generate.add_argument(
        "--from",
        type=Path,
        dest="exported",
        metavar="FOLDER",
        help="folder that `tilewright export` wrote, in place of a model",
    )
    folder = generate.add_mutually_exclusive_group(required=True)
    folder.add_argument("--output-dir", type=Path, help="folder of the generated files")
    what = "folder for the generated files with all C that they need and a makefile"
    folder.add_argument("--bundle", type=Path, metavar="DIR", help=what)
    generate.set_defaults(run=_generate)


def _generate(parsed: argparse.Namespace) -> int:
    if parsed.exported is not None:
        return _generate_from(parsed)
    options = compile_options(parsed)
    platform_facts(options.platform)  # a mistake there is told before the model is compiled
    artifacts = compiled(options)
    from tilewright.tools.all_files import all_files

    _write(parsed, all_files(options, artifacts), manifest_name(options.name))
    sys.stdout.write(f"{artifacts.summary}\n")
    return 0


def _generate_from(parsed: argparse.Namespace) -> int:
    """The files of a plan that was exported: neither model nor solver is imported."""
    if parsed.file or given_arguments(parsed) or parsed.options or parsed.set:
        what = "options of a model are given beside --from, where everything is decided"
        raise bad_input("usage", what, help="give them to tilewright export")
    from tilewright.tools.exported import generated

    found = generated(parsed.exported)
    _write(parsed, found.files, found.manifest)
    sys.stdout.write(f"{found.summary}\n")
    return 0


def _write(parsed: argparse.Namespace, files: Mapping[str, bytes], manifest_file: str) -> None:
    """Write the generated files, and with ``--bundle`` everything else that a build needs."""
    if not parsed.bundle:
        write_all(parsed.output_dir, files, manifest=manifest_file)
        return
    from tilewright.tools.bundle import bundle_files

    others = bundle_files(files[manifest_file], __version__)
    listed = {manifest_file: with_files(files[manifest_file], others)}
    write_all(parsed.bundle, {**files, **others, **listed}, manifest=manifest_file)
