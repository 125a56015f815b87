"""Processes that are still running, found by the program on their command lines."""

from __future__ import annotations

import os
import time
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


def left_after(program: Path, seconds: float) -> list[str]:
    """Processes that are left over after so many seconds; a killed process needs a moment of CPU time to be gone."""
    end = time.monotonic() + seconds
    while (found := left_over(program)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def inside(folder: Path) -> list[str]:
    """Processes, this one aside, that work in the folder or below, or have it on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            used = [str((entry / "cwd").readlink()), (entry / "cmdline").read_text(errors="replace")]
        except OSError:
            continue
        if any(str(folder) in text for text in used):
            found.append(entry.name)
    return found
