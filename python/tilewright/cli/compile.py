"""``tilewright generate`` and ``tilewright plan``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.outputs import write_all, write_file
from tilewright.cli.platform import platform_facts
from tilewright.options import (
    Buffering,
    CompileOptions,
    Effort,
    Objective,
    Strategy,
    build_options,
    parse_setting,
    read_options_file,
)
from tilewright.tools.manifest import manifest, manifest_name

if TYPE_CHECKING:
    from tilewright.pipeline import Artifacts

_GIVEN = ("model", "platform", "name", "buffering", "effort", "algorithm", "strategy", "objective", "plan_lock")
_FLAGS = ("quantized_io", "static_pools", "io_in_pools", "profile")
_LISTS = {"pools": "pool", "budget": "budget", "types": "type", "dims": "dim", "operators": "operators"}


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add both commands."""
    generate = commands.add_parser("generate", parents=[common], help="write C, headers, plan and manifest")
    add_options(generate)
    generate.add_argument("--output-dir", type=Path, required=True, help="folder of the generated files")
    generate.set_defaults(run=_generate)
    plan = commands.add_parser("plan", parents=[common], help="everything up to the plan, no C")
    add_options(plan)
    plan.add_argument("--output", type=Path, help="file for the plan; standard output if absent")
    plan.add_argument("--update", action="store_true", help="make the plan lock anew instead of taking it")
    plan.set_defaults(run=_plan)


def compile_options(parsed: argparse.Namespace) -> CompileOptions:
    """Options from the options file, ``--set`` and the named arguments, the later ones winning."""
    file = read_options_file(parsed.options) if parsed.options else {}
    given: dict[str, Any] = {key: getattr(parsed, key) for key in _GIVEN if getattr(parsed, key) is not None}
    given.update({key: True for key in _FLAGS if getattr(parsed, key)})
    given.update({key: getattr(parsed, word) for key, word in _LISTS.items() if getattr(parsed, word)})
    settings = [("--set", dict([parse_setting(text)])) for text in parsed.set]
    return build_options((str(parsed.options), file), *settings, ("command line", given))


def _generate(parsed: argparse.Namespace) -> int:
    options = compile_options(parsed)
    facts = platform_facts(options.platform)
    artifacts = _compile(options)
    from tilewright.report.data import report_json

    files = {**artifacts.files, f"{options.name}_report.json": report_json(artifacts.plan).encode()}
    name = manifest_name(options.name)
    content = manifest(options, artifacts.plan, files, facts, artifacts.summary)
    write_all(parsed.output_dir, {**files, name: content}, manifest=name)
    sys.stdout.write(f"{artifacts.summary}\n")
    return 0


def _plan(parsed: argparse.Namespace) -> int:
    options = compile_options(parsed)
    if parsed.update:
        return _update(options, parsed.output)
    from tilewright.plan.json import dumps

    text = dumps(_compile(options).plan)
    if parsed.output is None:
        sys.stdout.write(text)
    else:
        write_file(parsed.output, text.encode())
    return 0


def _update(options: CompileOptions, output: Path | None) -> int:
    """Plan without the lock, and write the lock (and the plan, where a file is given for it)."""
    path = options.plan_lock or Path(f"{options.name}.lock.json")
    artifacts = _compile(replace(options, plan_lock=None))
    if output is not None:
        from tilewright.plan.json import dumps

        write_file(output, dumps(artifacts.plan).encode())
    changed = write_file(path, artifacts.lock.encode())
    sys.stdout.write(f"{artifacts.summary}\n{path}: {'written' if changed else 'unchanged'}\n")
    return 0


def _compile(options: CompileOptions) -> Artifacts:
    """Imported here, so that commands that need no solver start without it."""
    from tilewright.pipeline import compile_model

    return compile_model(options)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of everything that compiles a model; ``compile_options`` reads them."""
    add = parser.add_argument
    add("--model", type=Path, help="the ONNX file")
    add("--platform", help="name of a shipped platform, or a TOML file")
    add("--name", help="prefix of every C name; from the model's file name if absent")
    add("--pool", action="append", default=[], metavar="POOL=BYTES[@SECTION|@0xADDRESS]", help="override a pool")
    add("--budget", action="append", default=[], metavar="POOL=BYTES", help="fail where a pool takes more than this")
    add("--buffering", metavar=_choices(Buffering), help="copies of tile buffers")
    add("--effort", metavar=_choices(Effort), help="budgets of the searches")
    add("--algorithm", help="placement algorithm")
    add("--strategy", metavar=_choices(Strategy), help="how tile shapes are chosen")
    add("--objective", metavar=_choices(Objective), help="what the strategy 'cost' minimises")
    add("--type", action="append", default=[], metavar="TENSOR=DTYPE", help="element type of an input")
    add("--dim", action="append", default=[], metavar="SYMBOL=N", help="extent of a symbolic dimension")
    add("--operators", action="append", default=[], metavar="FILE.py|NAME", help="operators of your own")
    add("--quantized-io", action="store_true", help="drop Quantize and Dequantize at the border")
    add("--static-pools", action="store_true", help="pools are arrays of the generated code")
    add("--io-in-pools", action="store_true", help="the plan places inputs and outputs")
    add("--profile", action="store_true", help="the program measures itself, layer by layer")
    add("--plan-lock", type=Path, metavar="FILE.lock.json", help="take tiles and addresses from this file")
    add("--options", type=Path, metavar="FILE.toml", help="options file; the command line wins")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="one key as in the options file")


def _choices(kind: Sequence[Any] | type[Any]) -> str:
    return "|".join(str(member.value) for member in kind)
