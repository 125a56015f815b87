# SPDX-License-Identifier: Apache-2.0
"""Files that scripts write from the code: written where they are out of date, or only named."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def exit_status(description: str, *makers: Callable[[], Mapping[Path, str]]) -> int:
    """What a script that writes files exits with, after it has done so, or compared them for ``--check``.

    Args:
        description: the script's docstring.
        makers: each makes texts by file when those of the former ones are written.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    check = parser.parse_args().check
    old = sum(_brought_up_to_date(make(), check) for make in makers)
    return 1 if check and old else 0


def _brought_up_to_date(files: Mapping[Path, str], check: bool) -> int:
    """How many files have other texts than these; unless ``check``, they have these afterwards."""
    old = [path for path, text in files.items() if not _is(path, text)]
    for path in old:
        sys.stdout.write(f"{os.path.relpath(path, ROOT)}: {'out of date' if check else 'written'}\n")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
    return len(old)


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
