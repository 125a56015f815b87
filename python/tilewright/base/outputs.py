"""Writes generated files: only what changed, each whole or not at all. Links, pipes and devices stay what they are."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.inputs import read_content


def write_all(directory: Path, files: Mapping[str, bytes], *, manifest: str | None = None) -> tuple[str, ...]:
    """Write files (path in ``directory`` -> content) and return the names of those that changed.

    A file that has its content already is not touched. New contents are first written
    beside their files, then renamed, so that an error leaves every earlier file as it was.
    Symbolic links stay, and what they lead to is written. Pipes and devices are written to.
    ``manifest`` names the file among ``files`` that lists all of them under its key ``files``.
    The manifest is replaced last; files that only its earlier version lists are removed.
    Raises bad_input if the directory cannot be written.
    """
    try:
        for folder in sorted({(directory / name).parent for name in files}):
            folder.mkdir(parents=True, exist_ok=True)
        stale = _listed(directory / manifest) - set(files) if manifest else set()
        changed = [name for name, content in files.items() if not _has_content(directory / name, content)]
        changed.sort(key=lambda name: name == manifest)
        _replace(directory, [(name, files[name]) for name in changed])
        for path in (directory / name for name in sorted(stale)):
            if path.is_file():
                path.unlink()
    except OSError as error:
        raise unwritable(directory, error) from error
    return tuple(changed)


def write_file(path: Path, content: bytes) -> bool:
    """Write one file as ``write_all`` does, and return whether the file changed."""
    return bool(write_all(path.parent, {path.name: content}))


def unwritable(path: Path, error: OSError) -> TilewrightError:
    """The error for a file or folder that the system does not let us write."""
    remedy = "free some space, or permit writing there; earlier outputs are untouched"
    return bad_input(
        "cannot-write", f"cannot write: {error.strerror or error}", at=str(error.filename or path), help=remedy
    )


def _replace(directory: Path, contents: list[tuple[str, bytes]]) -> None:
    """Write all temporary files before the first rename; remove those that are left on any error."""
    targets = [(_target(directory / name), content) for name, content in contents]
    renamed = [(_temporary(target), target, content) for target, content in targets if _may_be_renamed_over(target)]
    try:
        for path, _, content in renamed:
            path.write_bytes(content)
        for target, content in targets:
            if not _may_be_renamed_over(target):
                target.write_bytes(content)
        for path, target, _ in renamed:
            path.replace(target)
    finally:
        _remove(path for path, _, _ in renamed)


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def _target(path: Path) -> Path:
    """Where a file is written: behind symbolic links, except where these name no path (``/dev/stdout`` of a pipe)."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target if target.exists() or not path.exists() else path


def _may_be_renamed_over(target: Path) -> bool:
    """Whether there is a regular file or nothing; devices, pipes and links would be lost."""
    try:
        return stat.S_ISREG(target.lstat().st_mode)
    except FileNotFoundError:
        return True


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _has_content(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and read_content(path) == content


def _listed(manifest: Path) -> set[str]:
    """Files in the manifest's folder, or below, that a manifest lists; none if it is absent or broken."""
    try:
        content = json.loads(read_content(manifest))
    except (OSError, ValueError, RecursionError):
        return set()
    listed = content.get("files") if isinstance(content, dict) else None
    if not isinstance(listed, dict):
        return set()
    return {name for name in listed if _is_below(manifest.parent, name)}


def _is_below(directory: Path, name: str) -> bool:
    """Whether a name from a manifest leads to a file in the folder, also where links stand for folders."""
    if not name or "\0" in name or ".." in Path(name).parts:
        return False
    return (directory / name).parent.resolve().is_relative_to(directory.resolve())
