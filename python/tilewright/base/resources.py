"""Where the files live that are not Python: in the source tree, or inside an installed package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def root() -> Path:
    """The folder that holds templates, cmake, runtime and platforms."""
    packaged = _PACKAGE / "_data"
    return packaged if packaged.is_dir() else _PACKAGE.parent.parent


def templates() -> Path:
    """Folder of the Jinja2 templates."""
    return root() / "templates"


def cmake() -> Path:
    """Folder of Tilewright.cmake and TilewrightConfig.cmake."""
    return root() / "cmake"


def examples() -> Path:
    """Folder of the example projects."""
    return root() / "examples"


def scons() -> Path:
    """Folder of the SCons tool, a ``toolpath``."""
    return _PACKAGE / "scons"


def runtime() -> Path:
    """Folder of include/, kernels/, ports/ and test_support/."""
    return root() / "runtime"


def gdb_script() -> Path:
    """GDB's commands that know a plan."""
    return runtime() / "gdb" / "tilewright.py"


def platforms() -> Path:
    """Folder of the shipped platform files."""
    return root() / "platforms"


templates_dir = templates
cmake_dir = cmake
runtime_dir = runtime
platforms_dir = platforms
