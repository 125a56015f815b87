"""Platforms by the name of a shipped one, or by the path of a file."""

from __future__ import annotations

from pathlib import Path

from tilewright.base.errors import bad_input, suggestion
from tilewright.base.resources import platforms_dir
from tilewright.platform.file import parse_platform
from tilewright.platform.types import Platform


def load_platform(name_or_path: str | Path) -> Platform:
    """Read and validate a platform: a shipped name, or the path of a TOML file.

    Raises bad_input with file, line and key for anything that is wrong.
    """
    return parse_platform(platform_file(name_or_path))


def platform_file(name_or_path: str | Path) -> Path:
    """The file of a platform, by its path or the name of a shipped one. Raises bad_input for an unknown name."""
    if isinstance(name_or_path, Path) or name_or_path.endswith(".toml") or "/" in name_or_path:
        return Path(name_or_path)
    return find_platform(name_or_path)


def platform_names() -> tuple[str, ...]:
    """Names of the shipped platforms, sorted."""
    return tuple(sorted(path.stem for path in platforms_dir().glob("*.toml")))


def find_platform(name: str) -> Path:
    """The file of a shipped platform. Raises bad_input for an unknown name, with the nearest one."""
    path = platforms_dir() / f"{name}.toml"
    if path.is_file():
        return path
    remedies = (suggestion(name, platform_names()), "a file of your own is given by its path, ending in .toml")
    raise bad_input("platform-unknown", f"no platform '{name}' is shipped", help=remedies)
