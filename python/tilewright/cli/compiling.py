"""What commands that compile a model share: its options on the command line, and the compilation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import bad_input
from tilewright.options import CompileOptions, build_options, parse_setting, read_options_file
from tilewright.options.arguments import add_arguments, given_arguments

if TYPE_CHECKING:
    from tilewright.pipeline import Artifacts


def add_options(parser: argparse.ArgumentParser) -> None:
    """The model file and the options of everything that compiles a model; ``compile_options`` reads them."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="the model file; the same as --model")
    add_arguments(parser)
    parser.add_argument("--options", type=Path, metavar="FILE.toml", help="options file; the command line wins over it")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one key of the options file; repeatable"
    )


def compile_options(parsed: argparse.Namespace) -> CompileOptions:
    """Options from the options file, ``--set`` and the other arguments, the later ones winning. Raises bad_input."""
    file = read_options_file(parsed.options) if parsed.options else {}
    settings = [("--set", dict([parse_setting(text)])) for text in parsed.set]
    return build_options((str(parsed.options), file), *settings, ("command line", _given(parsed)))


def _given(parsed: argparse.Namespace) -> dict[str, Any]:
    """What the command line gives; ``model`` is FILE or --model. Raises bad_input if both are given."""
    given = given_arguments(parsed)
    if parsed.file is None:
        return given
    if parsed.model is not None:
        raise bad_input("usage", f"the model is given twice: '{parsed.file}' and --model", help="leave one of them out")
    return {**given, "model": parsed.file}


def compiled(options: CompileOptions) -> Artifacts:
    """The model's files and plan. The solver is imported here, so that other commands start without it."""
    from tilewright.pipeline import compile_model

    return compile_model(options)
