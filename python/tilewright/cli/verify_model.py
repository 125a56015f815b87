"""``tilewright verify``: a model's C against somebody else's outputs, on this machine or in a simulator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_file
from tilewright.cli.compiling import add_options, compile_options


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    verify = commands.add_parser(
        "verify", parents=[common], help="compare a model's C with what ONNX Runtime or TensorFlow Lite Micro computes"
    )
    add_options(verify)
    verify.add_argument("--runs", type=int, metavar="N", help=f"runs with random inputs; {_RUNS} by default")
    verify.add_argument("--seed", type=int, metavar="N", help="seed of the random inputs; 0 by default")
    verify.add_argument("--inputs", type=Path, metavar="FILE.npz", help="inputs in place of random ones")
    what = "end with an error where |got - want| > abs + rel * the largest |want|; integers in stored units"
    verify.add_argument("--tolerance", metavar="ABS:REL", help=what)
    where = "write the comparison there too, agreeing or not"
    verify.add_argument("--json", type=Path, metavar="FILE.json", help=where)
    verify.set_defaults(run=_verify)


_RUNS = 8


def _drawn(parsed: argparse.Namespace) -> tuple[int, int]:
    """Number and seed of runs with random inputs, which a file of inputs replaces."""
    for word in ("runs", "seed"):
        if parsed.inputs is not None and getattr(parsed, word) is not None:
            raise bad_input("usage", f"--{word} is for random inputs, but --inputs gives others", help="leave one out")
    runs: int = _RUNS if parsed.runs is None else parsed.runs
    if runs < 1:
        raise bad_input("usage", f"--runs is {runs}, but must be above 0")
    return runs, parsed.seed or 0


def _verify(parsed: argparse.Namespace) -> int:
    from tilewright.tools.golden import parse_tolerance
    from tilewright.tools.verification import verified
    from tilewright.tools.verification_json import Asked, verification_json

    runs, seed = _drawn(parsed)
    for field, value in (("platform", "host"), ("name", "model"), ("static_pools", True)):
        if getattr(parsed, field) is None:
            setattr(parsed, field, value)
    options = compile_options(parsed)
    tolerance = parse_tolerance(parsed.tolerance) if parsed.tolerance else None
    found = verified(options, parsed.inputs, runs, seed)
    worst = found.worst(*(tolerance or (float("inf"), 0.0)))
    if parsed.json is not None:
        asked = Asked(options.model.name, options.platform, None if parsed.inputs else seed, tolerance)
        write_file(parsed.json, verification_json(found, asked))
    judgement = found.judgement
    lines = [f"judge: {judgement.judge}", *(f"passed over {judge}" for judge in judgement.passed_over)]
    sys.stdout.write("\n".join([*lines, *(entry.line() for entry in found.compared), ""]))
    if worst is not None:
        raise bad_input("verify-differs", f"'{worst.name}' differs by {worst.largest:g}", at=str(options.model))
    return 0
