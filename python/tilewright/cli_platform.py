"""``tilewright platform``, ``linker-script``, ``simulate`` and ``golden``: what firmware and tests need."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright.cli_plan import load_plan
from tilewright.errors import bad_input
from tilewright.manifest import PlatformFacts, file_sha256, sha256_hex
from tilewright.outputs import write_all, write_file
from tilewright.platform import find_platform, load_platform

if TYPE_CHECKING:
    from tilewright.golden import GoldenRequest


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
    simulate.add_argument("--plan", type=Path, action="append", default=[], help="plan of a profiled model in it")
    simulate.add_argument(
        "--profile", type=Path, action="append", default=[], metavar="FILE.json", help="where to write what it measured"
    )
    simulate.set_defaults(run=_simulate)
    golden = commands.add_parser("golden", parents=[common], help="a firmware that compares a model with vectors")
    golden.add_argument("--plan", type=Path, required=True, help="the model's plan, a JSON file")
    golden.add_argument("--inputs", type=Path, required=True, help="npz with input arrays")
    golden.add_argument("--outputs", type=Path, required=True, help="npz with the expected output arrays")
    golden.add_argument("--tolerance", default="0:0", metavar="ABS:REL", help="|got - want| <= abs + rel * |want|")
    golden.add_argument("--platform", help="where it runs, and so what is counted; cycles if absent")
    golden.add_argument("--output-dir", type=Path, required=True, help="folder of the generated files")
    golden.add_argument(
        "--compare-layers",
        metavar="RUNS",
        help="in so many runs compare what each layer writes",
    )
    golden.add_argument(
        "--generate", action="append", default=[], metavar="WORD", help="a word of generate's that says which model"
    )
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
    platform = load_platform(parsed.platform)
    if len(parsed.plan) != len(parsed.profile):
        raise bad_input("usage", f"{len(parsed.plan)} --plan, but {len(parsed.profile)} --profile")
    if not parsed.plan:
        return simulate(platform, parsed.elf, parsed.timeout, parsed.argument)
    from tilewright.profiles import profile_json

    plans = [load_plan(path) for path in parsed.plan]
    lines: list[str] = []
    status = simulate(platform, parsed.elf, parsed.timeout, parsed.argument, lines.append)
    for plan, path in zip(plans, parsed.profile, strict=True):
        if status == 0:
            write_file(path, profile_json(plan, platform, lines).encode())
    return status


class _GenerateWords(argparse.ArgumentParser):
    """The options of generate as words of another command."""

    def error(self, message: str) -> NoReturn:
        raise bad_input("usage", message, at="--compare-layers", help="--generate=--model --generate=<file> ...")


def _comparing(request: GoldenRequest, runs: str, words: Sequence[str]) -> GoldenRequest:
    """The request with the graph of the model that ``words`` say, as for generate. Raises bad_input."""
    from tilewright.cli_compile import add_options, compile_options
    from tilewright.pipeline import imported_graph

    if not runs.isdecimal() or int(runs) == 0:
        raise bad_input("usage", f"--compare-layers is '{runs}', but must be a number of runs above 0")
    parser = _GenerateWords(prog="golden", add_help=False)
    add_options(parser)
    graph = imported_graph(compile_options(parser.parse_args(list(words))))
    return replace(request, compared=graph, compared_runs=int(runs))


def _golden(parsed: argparse.Namespace) -> int:
    from tilewright.golden import GoldenRequest, golden_files

    simulator = load_platform(parsed.platform).simulator if parsed.platform else None
    unit = simulator.counter.value if simulator is not None else "cycles"
    request = GoldenRequest(load_plan(parsed.plan), parsed.inputs, parsed.outputs, parsed.tolerance, unit)
    if parsed.compare_layers is not None:
        request = _comparing(request, parsed.compare_layers, parsed.generate)
    files = golden_files(request)
    manifest = "golden_manifest.json"
    write_all(parsed.output_dir, files, manifest=manifest)
    return 0
