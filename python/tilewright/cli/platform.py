"""``tilewright platform``: what a build needs to know of a platform."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_all, write_file
from tilewright.platform import load_platform, parse_pool_override, with_pool_overrides
from tilewright.tools.manifest import platform_facts, sha256_hex


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    platform = commands.add_parser("platform", parents=[common], help="what a build needs to know of a platform")
    which = platform.add_mutually_exclusive_group(required=True)
    which.add_argument("--platform", help="name of a shipped platform, or a TOML file")
    which.add_argument(
        "--from-linker-script", type=Path, metavar="FILE.ld", help="write a platform file for the script's MEMORY"
    )
    which.add_argument(
        "--from-devicetree", type=Path, metavar="FILE.dts", help="write a platform file for a devicetree's memories"
    )
    platform.add_argument("--output", type=Path, help="the platform file to write; standard output if absent")
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
    _require_agreeing(parsed)
    if parsed.platform is None:
        return _found(parsed)
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


def _require_agreeing(parsed: argparse.Namespace) -> None:
    """Raise bad_input for arguments that would have no effect."""
    if parsed.platform is not None and parsed.output is not None:
        what = "--output goes with --from-linker-script and --from-devicetree"
        raise bad_input("usage", what, help="--output-dir takes the files of a platform")
    if parsed.platform is None and (parsed.pool or parsed.output_dir is not None):
        what = "--pool and --output-dir go with --platform"
        raise bad_input("usage", what, help="--output takes the platform file; its sizes are edited there")


def _found(parsed: argparse.Namespace) -> int:
    """Write a platform file for memories that another file names."""
    from tilewright.tools.devicetree_memories import devicetree_memories
    from tilewright.tools.found_memories import platform_text
    from tilewright.tools.linker_memories import linker_memories

    script: Path | None = parsed.from_linker_script
    path = script or parsed.from_devicetree
    memories = linker_memories(path) if script else devicetree_memories(path)
    text = platform_text(parsed.name or path.stem, path.name, memories)
    if parsed.output is None:
        sys.stdout.write(text)
    else:
        write_file(parsed.output, text.encode())
    return 0


def _scripts(platform: str, name: str, pools: Sequence[str]) -> dict[str, bytes]:
    """The linker script, with the sections that ``pools`` name beside those of the platform; none without regions."""
    loaded = load_platform(platform)
    if loaded.linker is None:
        return {}
    from tilewright.codegen.linker import linker_script

    given = [item for item in map(parse_pool_override, pools) if item.section is not None]
    return {f"{name}.ld": linker_script(with_pool_overrides(loaded, given)).encode()}
