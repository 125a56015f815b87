"""``tilewright platform``: what a build needs to know of a platform."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.base.outputs import write_all
from tilewright.platform import load_platform, parse_pool_override, with_pool_overrides
from tilewright.tools.manifest import platform_facts, sha256_hex


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    platform = commands.add_parser("platform", parents=[common], help="what a build needs to know of a platform")
    platform.add_argument("--platform", required=True, help="name of a shipped platform, or a TOML file")
    platform.add_argument("--name", help="stem of the files; the platform's name if absent")
    platform.add_argument(
        "--pool",
        action="append",
        default=[],
        metavar="POOL=BYTES[@SECTION]",
        help="as for generate; the script places the section with its pool",
    )
    platform.add_argument("--output-dir", type=Path, help="folder for <name>_platform.json and <name>.ld")
    platform.set_defaults(run=_platform)


def _platform(parsed: argparse.Namespace) -> int:
    facts = platform_facts(parsed.platform)
    name = parsed.name or facts.name
    files = _scripts(parsed.platform, name, parsed.pool)
    content = {
        "platform": facts.to_json(),
        "linker_script": next(iter(files), ""),
        "files": {file: sha256_hex(text) for file, text in files.items()},
    }
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    if parsed.output_dir is None:
        sys.stdout.write(text)
    else:
        manifest = f"{name}_platform.json"
        write_all(parsed.output_dir, {**files, manifest: text.encode()}, manifest=manifest)
    return 0


def _scripts(platform: str, name: str, pools: Sequence[str]) -> dict[str, bytes]:
    """The linker script, with the sections that ``pools`` name beside those of the platform; none without regions."""
    loaded = load_platform(platform)
    if loaded.linker is None:
        return {}
    from tilewright.codegen.linker import linker_script

    given = [item for item in map(parse_pool_override, pools) if item.section is not None]
    return {f"{name}.ld": linker_script(with_pool_overrides(loaded, given)).encode()}
