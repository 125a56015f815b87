"""What a linked program takes of the chip, from the verdict that check-elf wrote."""

from __future__ import annotations

import json
from pathlib import Path

from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_utf8


def firmware_line(path: Path) -> str:
    """The line of a verdict that says RAM, flash and what is left of each region.

    Raises bad_input ``firmware-file`` for a file that cannot be read or is no verdict.
    """
    try:
        content = json.loads(read_utf8(path))
        line = content["memory"]["line"]
    except OSError as error:
        raise bad_input("firmware-file", f"cannot read the verdict: {error.strerror or error}", at=str(path)) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        remedy = "tilewright check-elf --json writes it"
        raise bad_input("firmware-file", "the file is no verdict of check-elf", at=str(path), help=remedy) from error
    return str(line)
