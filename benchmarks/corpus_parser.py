# SPDX-License-Identifier: Apache-2.0
"""The command line of benchmarks that measure networks of a corpus."""

import argparse
import os
from pathlib import Path


def corpus_parser(
    description: str, *, only: str = "", build: bool = False, markdown: bool = False
) -> argparse.ArgumentParser:
    """A parser with ``--corpus``, a folder of networks (TILEWRIGHT_CORPUS if absent), and with what is asked for.

    Args:
        description: what the benchmark does, which ``--help`` prints as it is.
        only: what ``--only`` takes, "networks whose path has this text" for example; no such argument if empty.
        build: whether there is ``--build``, a folder for firmwares.
        markdown: whether there is ``--markdown``, a file for the table.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    corpus = os.environ.get("TILEWRIGHT_CORPUS")
    parser.add_argument(
        "--corpus",
        type=Path,
        default=corpus,
        required=corpus is None,
        help="folder of networks; that of the environment variable TILEWRIGHT_CORPUS if absent",
    )
    if only:
        parser.add_argument("--only", default="", metavar="TEXT", help=f"take only {only}")
    if build:
        parser.add_argument("--build", type=Path, help="build folder, which is kept; a temporary one if absent")
    if markdown:
        parser.add_argument("--markdown", type=Path, metavar="FILE.md", help="also write the table to this file")
    return parser
