"""The command line. CMake calls it and nothing else; so may any other build system.

Standard output carries results only, standard error messages. The exit status is one of
``errors.ExitStatus``.
"""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from tilewright import __version__, cli_allocate, cli_compile, cli_plan, cli_platform, cli_workspace, resources
from tilewright.errors import ExitStatus, TilewrightError, bad_input

_COMMANDS = (cli_compile, cli_plan, cli_platform, cli_allocate, cli_workspace)


class _Parser(argparse.ArgumentParser):
    """Reports bad usage like every other error."""

    def error(self, message: str) -> NoReturn:
        raise bad_input("usage", message, help=f"{self.prog} --help")


class _ShowFolder(argparse.Action):
    """Prints where another build system finds Tilewright: the option's constant."""

    def __call__(self, *_: object) -> NoReturn:
        sys.stdout.write(f"{self.const}\n")
        raise SystemExit(ExitStatus.DONE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; only ``--debug`` lets a traceback out."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        parsed = _parser().parse_args(words)
        logging.basicConfig(level=parsed.log_level.upper(), format="%(message)s", stream=sys.stderr)
        return int(parsed.run(parsed))
    except TilewrightError as error:
        return _report(str(error), error.status, debug)
    except KeyboardInterrupt:
        return _report("error[interrupted]: stopped; earlier outputs are untouched", 130, debug)
    except BrokenPipeError:
        return _report("error[closed-output]: the reader of standard output went away", ExitStatus.BAD_INPUT, debug)
    except Exception as error:  # the last line of defence: everything above is a mistake of the user, this is ours
        what = f"error[internal]: {type(error).__name__}: {error}"
        return _report(
            f"{what}\n  help: this is a defect of Tilewright; --debug shows where", ExitStatus.INTERNAL, debug
        )


def _report(text: str, status: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    sys.stderr.write(f"{text}\n")
    return int(status)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tilewright", description="From an ONNX model and a platform file to statically planned C.")
    parser.add_argument("--version", action="version", version=f"tilewright {__version__}")
    for option, folder, what in (
        ("--cmake-dir", resources.cmake(), "folder for Tilewright_DIR"),
        ("--scons-dir", resources.scons(), "toolpath of SCons"),
    ):
        parser.add_argument(option, action=_ShowFolder, nargs=0, const=folder, help=f"print the {what}")
    _add_common(parser, "warning", False)
    commands = parser.add_subparsers(title="commands", metavar="<command>", required=True)
    common = _Parser(add_help=False)
    _add_common(common, argparse.SUPPRESS, argparse.SUPPRESS)
    for module in _COMMANDS:
        module.add_commands(commands, common)
    return parser


def _add_common(parser: argparse.ArgumentParser, level: str, debug: str | bool) -> None:
    """Options that may stand before or behind the command; the defaults come from the former place."""
    levels = ["debug", "info", "warning", "error"]
    parser.add_argument("--log-level", choices=levels, default=level, help="what goes to standard error")
    parser.add_argument("--debug", action="store_true", default=debug, help="show the traceback of an error")
