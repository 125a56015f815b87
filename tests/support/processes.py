"""What is still running."""

from __future__ import annotations

import os
from pathlib import Path


def left_over(program: Path) -> list[str]:
    """Processes, this one aside, that have the program on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(program).encode() in command and int(entry.name) != os.getpid():
                found.append(entry.name)
    return found
