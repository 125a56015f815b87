"""Installs the solver CP-SAT when a model needs it: few models do, and CP-SAT is as large as all else together.

An installation by pip has CP-SAT already. An environment that CMake made has instead a file that says how to install
it. Every such environment gets the same version, so that no plan depends on the day of the installation.
"""

from __future__ import annotations

import importlib
import json
import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tilewright.base.errors import TilewrightError, bad_input

FILE = "tilewright-solver.json"
"""In an environment's folder: ``command`` (argument vector of the installation), ``done`` and ``lock`` (files)."""

_log = logging.getLogger(__name__)


def bring_solver(environment: Path | None = None) -> None:
    """Make sure that ``ortools`` can be imported; ``environment`` is the running interpreter's if None.

    Raises:
        TilewrightError: ``no-solver``, if CP-SAT is not installed and cannot be.
    """
    recipe = (environment or Path(sys.prefix)) / FILE
    if not recipe.is_file():
        if find_spec("ortools") is None:
            raise _absent("it is not installed", f"{sys.executable} -m pip install ortools")
        return
    words = json.loads(recipe.read_text(encoding="utf-8"))
    done = Path(words["done"])
    if done.exists():
        return
    with _locked(Path(words["lock"])):
        if not done.exists():
            _install(words["command"], done)
    importlib.invalidate_caches()


def _install(command: Sequence[str], done: Path) -> None:
    _log.warning("installing the solver CP-SAT (OR-Tools), which this model needs, into %s (once)", done.parent)
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise _absent(f"it could not be installed: {ran.stderr.strip() or ran.stdout.strip()}", " ".join(command))
    done.write_text("", encoding="utf-8")


def _absent(why: str, command: str) -> TilewrightError:
    remedies = (
        f"install it: {command}",
        "with CMake and without a network, set TILEWRIGHT_WHEELS to a folder that has the wheels of ortools, too",
    )
    return bad_input("no-solver", f"the solver CP-SAT (OR-Tools) is needed, and {why}", help=remedies)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold CMake's lock of the cache folder; where the system has no such locks, nothing waits."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("a", encoding="utf-8") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield
