# SPDX-License-Identifier: Apache-2.0
"""Files that scripts write from the code: written where they are out of date, or only named."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def asked_to_check(description: str) -> bool:
    """Whether the command line says ``--check``: name the files that are out of date, and write nothing."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    return parser.parse_args().check


def brought_up_to_date(files: Mapping[Path, str], check: bool) -> int:
    """How many files have other texts than these; unless ``check``, they have these afterwards."""
    old = [path for path, text in files.items() if not _is(path, text)]
    for path in old:
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        sys.stdout.write(f"{name}: {'out of date' if check else 'written'}\n")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
    return len(old)


def exit_status(description: str, files: Mapping[Path, str]) -> int:
    """What a script that writes these files exits with, after it has done so or compared them."""
    check = asked_to_check(description)
    old = brought_up_to_date(files, check)
    return 1 if check and old else 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
