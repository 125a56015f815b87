#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the index of all declarations, so that a start reads only the files that a model needs; --check compares.

Before:  OPERATORS = (Operator("Gather", ...),) in python/tilewright/operators/indexing.py
After:   "operators.indexing": ("Gather",) in python/tilewright/kernels/index.py
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType

from written_files import ROOT, exit_status

PYTHON = ROOT / "python"
sys.path.insert(0, str(PYTHON))

from tilewright.kernels.kernel import Declaration  # noqa: E402, for the path above

KERNELS = PYTHON / "tilewright/kernels"
TARGET = KERNELS / "index.py"
FOLDERS = ("operators", *sorted(f"kernels.{path.parent.name}" for path in KERNELS.glob("*/__init__.py")))
HEAD = '''\
"""Which file declares what, by the file's module without ``tilewright.``: written by scripts/declaration_index.py."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
'''


def index_text() -> str:
    """The whole index, laid out as ruff does it.

    Raises:
        SystemExit: two files declare the same operator, or options for the same C file.
    """
    modules = {name: import_module(f"tilewright.{name}") for name in _files()}
    kernels = {name: module for name, module in modules.items() if isinstance(_declaration(module), Declaration)}
    text = "\n".join(
        (
            HEAD,
            _table("OPERATORS", "The operators of a file.", _once(modules, _operators)),
            _table("KERNELS", "The operators for which a file of a family has kernels.", _of(kernels, _with_kernels)),
            _table("SOURCES", "The C files for which a file has options of GCC.", _once(kernels, _sources)),
        )
    )
    command = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(TARGET)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _files() -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((PYTHON / "tilewright" / folder.replace(".", "/")).glob("*.py")):
            if path.stem != "__init__":
                yield f"{folder}.{path.stem}"


def _declaration(module: ModuleType) -> object:
    return getattr(module, "DECLARATION", None)


def _operators(module: ModuleType) -> tuple[str, ...]:
    return tuple(operator.name for operator in getattr(module, "OPERATORS", ()))


def _with_kernels(module: ModuleType) -> tuple[str, ...]:
    declared = module.DECLARATION
    return tuple(sorted({*declared.operators, *declared.on_core}))


def _sources(module: ModuleType) -> tuple[str, ...]:
    return tuple(module.DECLARATION.gcc_options)


def _of(
    modules: Mapping[str, ModuleType], names: Callable[[ModuleType], tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    return {file: names(module) for file, module in modules.items()}


def _once(
    modules: Mapping[str, ModuleType], names: Callable[[ModuleType], tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """As ``_of``, for names that one file alone may declare; without the files that declare none."""
    found = {file: declared for file, declared in _of(modules, names).items() if declared}
    twice = _repeated(name for declared in found.values() for name in declared)
    if twice:
        raise SystemExit(f"declared twice: {', '.join(twice)}")
    return found


def _repeated(names: Iterable[str]) -> list[str]:
    seen, twice = set[str](), list[str]()
    for name in names:
        twice += [name] if name in seen else []
        seen.add(name)
    return twice


def _table(name: str, what: str, rows: Mapping[str, tuple[str, ...]]) -> str:
    lines = "".join(f'    "{file}": {declared!r},\n' for file, declared in rows.items())
    return f'{name}: Mapping[str, tuple[str, ...]] = MappingProxyType({{\n{lines}}})\n"""{what}"""\n'


def main() -> int:
    """Write the index, or compare it."""
    return exit_status(__doc__ or "", lambda: {TARGET: index_text()})


if __name__ == "__main__":
    sys.exit(main())
