"""The command line. CMake calls it and nothing else; so may any other build system.

Standard output carries results only, standard error messages. The exit status is one of
``errors.ExitStatus``.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import NoReturn

from tilewright import __version__
from tilewright.base import resources
from tilewright.base.errors import ExitStatus, TilewrightError, bad_input
from tilewright.base.signals import ending_signals_raise
from tilewright.cli.diagnostics import FORMATS, Diagnostics
from tilewright.cli.progress_bar import PLACES, shown_progress

_INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a standard output that takes nothing more: a full disk, a terminal that is gone."""

_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "generate": "generate",
        "export": "export",
        "plan": "plan",
        "report": "report",
        "check": "check",
        "check-elf": "check_elf",
        "evidence": "evidence",
        "diff": "diff",
        "sweep": "sweep",
        "explore": "explore",
        "inspect": "inspect",
        "platforms": "inspect",
        "example": "example",
        "platform": "platform",
        "linker-script": "linker_script",
        "simulate": "simulate",
        "golden": "golden",
        "verify": "verify_model",
        "allocate": "allocate",
        "workspace": "workspace",
        "where": "where",
        "calibrate": "calibrate",
    }
)
"""The module of this folder that has a command, in the order in which ``--help`` shows them."""


class _Parser(argparse.ArgumentParser):
    """Reports bad usage like every other error."""

    def error(self, message: str) -> NoReturn:
        raise bad_input("usage", message, help=f"{self.prog} --help")


class _ShowFolder(argparse.Action):
    """Prints where others find what Tilewright ships: the option's constant."""

    def __call__(self, *_: object) -> NoReturn:
        sys.stdout.write(f"{self.const}\n")
        raise SystemExit(ExitStatus.DONE)


_COLLECTIONS = (200_000, 20, 50)
"""Thresholds of Python's garbage collector, which looks for cycles: a plan has many objects and few cycles."""


_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""NumPy's products take one thread: to start the others takes longer than they save, and sums of floating-point
numbers would depend on how many the machine has."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; only ``--debug`` lets a traceback out."""
    gc.set_threshold(*_COLLECTIONS)
    os.environ.setdefault(*_ONE_THREAD)
    words = list(sys.argv[1:] if arguments is None else arguments)
    messages = Diagnostics.of(words)
    try:
        with ending_signals_raise():
            return _run(words, messages)
    except TilewrightError as error:
        return _report(messages, error)
    except KeyboardInterrupt:
        return _report(messages, _failure("interrupted", "stopped; earlier outputs are untouched", _INTERRUPTED))
    except BrokenPipeError:
        _leave_standard_output()
        return _report(messages, bad_input("closed-output", "the reader of standard output went away"))
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            return _report(messages, _defect(error))
        _leave_standard_output()
        return _report(messages, bad_input("closed-output", f"cannot write to standard output: {error.strerror}"))
    except MemoryError as error:
        remedy = "a smaller model, or a machine with more memory"
        return _report(messages, bad_input("out-of-memory", f"there is not enough memory: {error}", help=remedy))
    except Exception as error:  # the last line of defence: everything above is a mistake of the user, this is ours
        return _report(messages, _defect(error))


def _run(words: Sequence[str], messages: Diagnostics) -> int:
    parsed = _parser(_modules(words)).parse_args(words)
    messages.log(parsed.log_level)
    _wait_for_readers()
    with shown_progress(parsed.progress):
        status = int(parsed.run(parsed))
    sys.stdout.flush()
    return status


def _wait_for_readers() -> None:
    """Make writes to a full pipe wait, also if its opener chose otherwise: Python would lose what the pipe refuses."""
    with suppress(OSError, ValueError):
        os.set_blocking(sys.stdout.fileno(), True)


def _leave_standard_output() -> None:
    """Let buffered output go nowhere: otherwise Python would write it again when it ends, and complain."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _defect(error: Exception) -> tuple[TilewrightError, int]:
    what = f"{type(error).__name__}: {error}"
    return _failure("internal", what, ExitStatus.INTERNAL, "this is a defect of Tilewright; --debug shows where")


def _failure(code: str, what: str, status: int, *remedies: str) -> tuple[TilewrightError, int]:
    """An error that is no mistake in the input, in the form of one that is, and its exit status."""
    return TilewrightError(code, what, help=remedies), status


def _report(messages: Diagnostics, error: TilewrightError | tuple[TilewrightError, int]) -> int:
    shown, status = error if isinstance(error, tuple) else (error, error.status)
    if messages.debug:
        traceback.print_exc()
    messages.error(shown, int(status))
    return int(status)


def _modules(words: Sequence[str]) -> tuple[str, ...]:
    """The module of the command that the first word names; all of them if it names none, for help and errors."""
    if words and words[0] in _COMMANDS:
        return (_COMMANDS[words[0]],)
    return tuple(dict.fromkeys(_COMMANDS.values()))


@cache
def _parser(modules: tuple[str, ...]) -> argparse.ArgumentParser:
    """The parser of the commands of these modules; the others are not imported, which no start has to pay for."""
    parser = _Parser(prog="tilewright", description="From an ONNX model and a platform file to statically planned C.")
    parser.add_argument("--version", action="version", version=f"tilewright {__version__}")
    for option, folder, what in (
        ("--cmake-dir", resources.cmake(), "folder for Tilewright_DIR"),
        ("--scons-dir", resources.scons(), "toolpath of SCons"),
        ("--gdb-script", resources.gdb_script(), "commands of GDB, to be sourced there"),
    ):
        parser.add_argument(option, action=_ShowFolder, nargs=0, const=folder, help=f"print the {what}")
    _add_common(parser, "warning", "text", False, "own")
    commands = parser.add_subparsers(title="commands", metavar="<command>", required=True)
    common = _Parser(add_help=False)
    _add_common(common, argparse.SUPPRESS, argparse.SUPPRESS, argparse.SUPPRESS, argparse.SUPPRESS)
    for module in modules:
        import_module(f"tilewright.cli.{module}").add_commands(commands, common)
    return parser


def _add_common(parser: argparse.ArgumentParser, level: str, form: str, debug: str | bool, place: str) -> None:
    """Options that may stand before or behind the command; the defaults come from the former place."""
    levels = ["debug", "info", "warning", "error"]
    parser.add_argument(
        "--log-level", choices=levels, default=level, help="the least important messages that standard error gets"
    )
    parser.add_argument("--diagnostics", choices=FORMATS, default=form, help="form of the messages on standard error")
    parser.add_argument("--progress", choices=PLACES, default=place, help="the terminal that shows a bar of progress")
    parser.add_argument("--debug", action="store_true", default=debug, help="show the traceback of an error")
