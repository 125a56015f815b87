"""``tilewright golden``: a firmware that compares a model with stored vectors on the target."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_all
from tilewright.cli.compiling import add_options, compile_options
from tilewright.cli.plan_file import load_plan
from tilewright.platform import load_platform

if TYPE_CHECKING:
    from tilewright.options import CompileOptions
    from tilewright.tools.golden import GoldenRequest


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    golden = commands.add_parser("golden", parents=[common], help="a firmware that compares a model with vectors")
    golden.add_argument("--plan", type=Path, required=True, help="the model's plan, a JSON file")
    golden.add_argument("--inputs", type=Path, help="npz with input arrays; random ones if absent")
    what = "npz with the expected output arrays; if absent, what the best judge that is installed computes"
    golden.add_argument("--outputs", type=Path, help=what)
    golden.add_argument("--tolerance", default="0:0", metavar="ABS:REL", help="|got - want| <= abs + rel * |want|")
    golden.add_argument(
        "--platform", help="platform that runs the program, which says what is counted; cycles if absent"
    )
    golden.add_argument("--output-dir", type=Path, required=True, help="folder of the generated files")
    golden.add_argument(
        "--compare-layers",
        metavar="RUNS",
        help="in the first RUNS runs compare what each layer writes; the model is what --generate says",
    )
    golden.add_argument(
        "--generate", action="append", default=[], metavar="WORD", help="an argument with which generate made the model"
    )
    golden.set_defaults(run=_golden)


class _GenerateWords(argparse.ArgumentParser):
    """Parses what ``--generate`` gives: arguments of ``tilewright generate``, one each."""

    def error(self, message: str) -> NoReturn:
        raise bad_input("usage", message, at="--compare-layers", help="--generate=--model --generate=<file> ...")


def _comparing(request: GoldenRequest, runs: str, words: Sequence[str]) -> GoldenRequest:
    """The request with the graph of the model and the number of runs in which its layers are compared.

    ``words`` are the arguments with which ``tilewright generate`` made the model. Raises bad_input.
    """
    from tilewright.pipeline import imported_graph, sized_platform

    if not runs.isdecimal() or int(runs) == 0:
        raise bad_input("usage", f"--compare-layers is '{runs}', but must be a number of runs above 0")
    options = _generated_options(words)
    graph = imported_graph(options, sized_platform(options))
    return replace(request, compared=graph, compared_runs=int(runs))


def _request(parsed: argparse.Namespace, unit: str) -> GoldenRequest:
    """The request; vectors that were left out are made and written beside the firmware. Raises bad_input."""
    from tilewright.tools.golden import GoldenRequest

    plan, inputs, outputs, judge = load_plan(parsed.plan), parsed.inputs, parsed.outputs, ""
    if inputs is None or outputs is None:
        if not parsed.generate:
            raise bad_input(
                "usage", "neither --outputs nor --generate is given", help="--generate=--model --generate=<file>"
            )
        from tilewright.tools.made_vectors import made_vectors

        made = made_vectors(_generated_options(parsed.generate), plan, inputs, parsed.output_dir)
        inputs, judge = made.inputs, made.judge if outputs is None else ""
        outputs = outputs or made.outputs
    return GoldenRequest(plan, inputs, outputs, parsed.tolerance, unit, judge=judge)


def _generated_options(words: Sequence[str]) -> CompileOptions:
    """The options with which ``tilewright generate`` made the model."""
    parser = _GenerateWords(prog="golden", add_help=False)
    add_options(parser)
    return compile_options(parser.parse_args(list(words)))


def _golden(parsed: argparse.Namespace) -> int:
    from tilewright.tools.golden import golden_files

    simulator = load_platform(parsed.platform).simulator if parsed.platform else None
    unit = simulator.counter.value if simulator is not None else "cycles"
    request = _request(parsed, unit)
    if parsed.compare_layers is not None:
        request = _comparing(request, parsed.compare_layers, parsed.generate)
    files = golden_files(request)
    manifest = "golden_manifest.json"
    write_all(parsed.output_dir, files, manifest=manifest)
    return 0
