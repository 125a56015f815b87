"""``tilewright platform``, ``linker-script``, ``simulate`` and ``golden``: what firmware and tests need."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tilewright.cli_plan import load_plan
from tilewright.errors import bad_input
from tilewright.manifest import PlatformFacts, file_sha256, sha256_hex
from tilewright.outputs import write_all, write_file
from tilewright.platform import find_platform, load_platform


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
    simulate = commands.add_parser("simulate", parents=[common], help="run a program in a platform's simulator")
    simulate.add_argument("--platform", required=True, help="name of a shipped platform, or a TOML file")
    simulate.add_argument("--elf", type=Path, required=True, help="the program")
    simulate.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="kill it after this long")
    simulate.add_argument("--argument", action="append", default=[], help="appended to the simulator's command")
    simulate.set_defaults(run=_simulate)
    golden = commands.add_parser("golden", parents=[common], help="a firmware that compares a model with vectors")
    golden.add_argument("--plan", type=Path, required=True, help="the model's plan, a JSON file")
    golden.add_argument("--inputs", type=Path, required=True, help="npz with input arrays")
    golden.add_argument("--outputs", type=Path, required=True, help="npz with the expected output arrays")
    golden.add_argument("--tolerance", default="0:0", metavar="ABS:REL", help="|got - want| <= abs + rel * |want|")
    golden.add_argument("--output-dir", type=Path, required=True, help="folder of the generated files")
    golden.set_defaults(run=_golden)


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


def _simulate(parsed: argparse.Namespace) -> int:
    from tilewright.simulate import simulate

    if not parsed.timeout > 0:
        raise bad_input("usage", f"--timeout is {parsed.timeout:g}, but must be above 0 seconds")
    return simulate(load_platform(parsed.platform), parsed.elf, parsed.timeout, parsed.argument)


def _golden(parsed: argparse.Namespace) -> int:
    from tilewright.golden import GoldenRequest, golden_files

    request = GoldenRequest(load_plan(parsed.plan), parsed.inputs, parsed.outputs, parsed.tolerance)
    files = golden_files(request)
    manifest = "golden_manifest.json"
    write_all(parsed.output_dir, files, manifest=manifest)
    return 0
