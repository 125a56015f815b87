"""Objects of the runtime and of test support, compiled once for all tests and all their processes.

An object is kept in build/objects under a hash of everything that it depends on: the compiler's words, the source,
and all headers of the project. Nothing else may decide what a compiler makes of a source.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "objects"
SANITIZED = (
    *"gcc -std=c11 -O1 -g1 -fPIC -fsanitize=address,undefined -fno-sanitize-recover=all -ffp-contract=off".split(),
    *"-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wcast-qual".split(),
    *"-Wmissing-prototypes -Wstrict-prototypes -Werror".split(),
)
"""How every test that wants both sanitizers compiles the runtime, so that one object serves all of them."""
LINKER = ("-fuse-ld=gold",) if which("ld.gold") else ()
"""For programs that sanitizers watch, which the other linker of binutils takes twice as long to link."""


def sanitized(sources: Sequence[Path], words: Sequence[str] = SANITIZED) -> list[str]:
    """``kept`` objects of sources of the runtime under both sanitizers; ``words`` may say more to the compiler."""
    return kept([*words, f"-I{ROOT / 'runtime' / 'include'}"], sources)


def kept(compile_words: Sequence[str], sources: Sequence[Path]) -> list[str]:
    """Arguments for the linking command: objects in the place of the project's sources, other files as they are.

    ``compile_words`` are the compiler and its options up to ``-c``; ``-I`` of folders outside the project is left
    out, since the project's sources include nothing of a test's own. Raises CalledProcessError, with the compiler's
    words in ``stderr``, for a source that does not compile; a warning is an error too.
    """
    words = tuple(word for word in compile_words if not word.startswith("-I") or _is_inside(Path(word[2:])))
    return [str(_object(words, source) if _is_ours(source) else source) for source in sources]


def _is_ours(source: Path) -> bool:
    return source.suffix == ".c" and _is_inside(source) and FOLDER.parent not in source.parents


def _is_inside(path: Path) -> bool:
    return path.resolve().is_relative_to(ROOT)


def _object(words: tuple[str, ...], source: Path) -> Path:
    return _kept_file(words, source, ".o")


def call_graph(compile_words: Sequence[str], source: Path) -> str:
    """GCC's call graph of a source of the project, with the bytes of each frame; errors as for ``kept``."""
    return _kept_file((*compile_words, "-fcallgraph-info=su"), source, ".ci").read_text(encoding="utf-8")


def _kept_file(words: tuple[str, ...], source: Path, suffix: str) -> Path:
    """What a compiler writes for a source under a suffix, from the folder or made now."""
    key = hashlib.sha256(repr((words, _headers())).encode())
    key.update(source.read_bytes())
    target = FOLDER / f"{source.stem}_{key.hexdigest()[:24]}{suffix}"
    if target.exists():
        return target
    locks = FOLDER.with_name("locks")
    for path in (FOLDER, locks):
        path.mkdir(parents=True, exist_ok=True)
    # Several processes begin with the same files, the largest of which takes half a minute: one makes each file.
    with (locks / target.name).open("w") as lock, tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return target
        made = Path(folder) / source.stem
        command = [*words, "-c", str(source), "-o", f"{made}.o"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=without_preloaded())
        if done.returncode != 0 or done.stderr:
            raise subprocess.CalledProcessError(done.returncode or 1, command, done.stdout, done.stderr)
        made.with_suffix(suffix).replace(target)
    return target


def without_preloaded() -> dict[str, str]:
    """The environment for compilers: a sanitizer that is preloaded for the kernels would slow them several times."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


@cache
def _headers() -> str:
    """A hash of every header that a source of the project may include."""
    found = hashlib.sha256()
    for folder in (ROOT / "runtime", ROOT / "tests"):
        for path in sorted(folder.rglob("*.h")):
            found.update(str(path.relative_to(ROOT)).encode())
            found.update(path.read_bytes())
    return found.hexdigest()
