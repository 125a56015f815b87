"""``python -m tilewright`` is the command line."""

from __future__ import annotations

import gc
import sys

from tilewright.cli import main


def run() -> int:
    """Run one command, as the process's only work."""
    status = main()
    # The process ends, which frees its memory: looking for cycles among all objects first takes a tenth of a second.
    gc.freeze()
    return status


if __name__ == "__main__":
    sys.exit(run())
