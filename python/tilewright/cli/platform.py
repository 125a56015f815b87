"""``tilewright platform`` and ``tilewright linker-script``: what a build needs of a platform."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.outputs import write_all, write_file
from tilewright.platform import find_platform, load_platform
from tilewright.tools.manifest import PlatformFacts, file_sha256, sha256_hex

if TYPE_CHECKING:
    pass


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the commands."""
    platform = commands.add_parser("platform", parents=[common], help="what a build needs to know of a platform")
    platform.add_argument("--platform", required=True, help="name of a shipped platform, or a TOML file")
    platform.add_argument("--name", help="stem of the files; the platform's name if absent")
    platform.add_argument("--output-dir", type=Path, help="folder for <name>_platform.json and <name>.ld")
    platform.set_defaults(run=_platform)
    script = commands.add_parser("linker-script", parents=[common], help="the script for a platform's regions")
    script.add_argument("--platform", required=True, help="name of a shipped platform, or a TOML file")
    script.add_argument("--output", type=Path, help="file for the script; standard output if absent")
    script.set_defaults(run=_linker_script)


def platform_facts(platform: str) -> PlatformFacts:
    """What a build needs from a platform, by name or file. Raises bad_input."""
    loaded = load_platform(platform)
    return PlatformFacts(
        name=loaded.name,
        compile_options=loaded.target.compile_options,
        port=loaded.target.port,
        simulator=(loaded.simulator.programs or loaded.simulator.command[:1]) if loaded.simulator else (),
        sha256=file_sha256(_platform_file(platform)),
    )


def _platform_file(platform: str) -> Path:
    return Path(platform) if platform.endswith(".toml") or "/" in platform else find_platform(platform)


def _platform(parsed: argparse.Namespace) -> int:
    facts = platform_facts(parsed.platform)
    name = parsed.name or facts.name
    files = _scripts(parsed.platform, name)
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


def _scripts(platform: str, name: str) -> dict[str, bytes]:
    loaded = load_platform(platform)
    if loaded.linker is None:
        return {}
    from tilewright.codegen.linker import linker_script

    return {f"{name}.ld": linker_script(loaded).encode()}


def _linker_script(parsed: argparse.Namespace) -> int:
    from tilewright.codegen.linker import linker_script

    text = linker_script(load_platform(parsed.platform))
    if parsed.output is None:
        sys.stdout.write(text)
    else:
        write_file(parsed.output, text.encode())
    return 0
