"""Writes generated files: only what changed, each whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tilewright.base.errors import TilewrightError, bad_input


def write_all(directory: Path, files: Mapping[str, bytes], *, manifest: str | None = None) -> tuple[str, ...]:
    """Write files (name in ``directory`` -> content) and return the names of those that changed.

    A file that has its content already is not touched. New contents are first written
    beside their files, then renamed, so that an error leaves every earlier file as it was.
    ``manifest`` names the file among ``files`` that lists them under ``files``: it is
    replaced last, and what its earlier version lists and the new one does not is removed.
    Raises bad_input if the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        stale = _listed(directory / manifest) - set(files) if manifest else set()
        changed = [name for name, content in files.items() if not _has_content(directory / name, content)]
        changed.sort(key=lambda name: name == manifest)
        _replace(directory, [(name, files[name]) for name in changed])
        for name in sorted(stale):
            (directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(directory, error) from error
    return tuple(changed)


def write_file(path: Path, content: bytes) -> bool:
    """Write one file as ``write_all`` does; whether it changed."""
    return bool(write_all(path.parent, {path.name: content}))


def unwritable(path: Path, error: OSError) -> TilewrightError:
    """The error for a file or folder that the system does not let us write."""
    remedy = "free some space, or permit writing there; earlier outputs are untouched"
    return bad_input(
        "cannot-write", f"cannot write: {error.strerror or error}", at=str(error.filename or path), help=remedy
    )


def _replace(directory: Path, contents: list[tuple[str, bytes]]) -> None:
    """Write all temporary files before the first rename; remove those that are left on any error."""
    temporary = [(directory / f".{name}.{os.getpid()}.tmp", directory / name) for name, _ in contents]
    try:
        for (path, _), (_, content) in zip(temporary, contents, strict=True):
            path.write_bytes(content)
        for path, final in temporary:
            path.replace(final)
    finally:
        _remove(path for path, _ in temporary)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _has_content(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def _listed(manifest: Path) -> set[str]:
    """Plain file names that a manifest lists; none if it is absent or broken."""
    try:
        content = json.loads(manifest.read_bytes())
    except (OSError, ValueError):
        return set()
    listed = content.get("files") if isinstance(content, dict) else None
    if not isinstance(listed, dict):
        return set()
    return {name for name in listed if name not in ("", ".", "..") and Path(name).name == name}
