"""Messages on standard error: as text, or one JSON object in a line for each."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from itertools import pairwise

from tilewright.base.errors import TilewrightError
from tilewright.base.lazy_dataclass import dataclass

FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """The form in which messages are written; known before the command line is parsed, since that may fail.

    Attributes:
        is_json: one object in a line, with severity, code, message, at, help and exit_status.
        debug: whether tracebacks are shown.
    """

    is_json: bool
    debug: bool

    @classmethod
    def of(cls, words: Sequence[str]) -> Diagnostics:
        """From the words of a command line; mistakes in them are left to the parser."""
        pairs = pairwise(words)
        is_json = "--diagnostics=json" in words or ("--diagnostics", "json") in pairs
        return cls(is_json, "--debug" in words)

    def log(self, level: str) -> None:
        """Send log records of this level and above to standard error."""
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_JsonLines() if self.is_json else logging.Formatter("%(message)s"))
        logging.basicConfig(level=level.upper(), handlers=[handler])

    def error(self, error: TilewrightError, status: int) -> None:
        """Write an error and the exit status that it leads to."""
        if not self.is_json:
            sys.stderr.write(f"{error}\n")
            return
        content = {
            "severity": "error",
            "code": error.code,
            "message": error.what,
            "at": list(error.at),
            "help": list(error.help),
            "exit_status": status,
        }
        sys.stderr.write(json.dumps(content, ensure_ascii=False) + "\n")


class _JsonLines(logging.Formatter):
    """Log records as JSON objects in a line each."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps({"severity": record.levelname.lower(), "message": record.getMessage()}, ensure_ascii=False)
