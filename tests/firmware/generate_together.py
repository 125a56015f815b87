"""Commands of the tool that CMake would run one by one, each in a process of its own.

    python generate_together.py REQUESTS

REQUESTS has a line for each command: the manifest that it writes, the fingerprint by which CMake knows that nothing
has changed, and the command's words, separated by tabs. A command that fails leaves no stamp, so that CMake runs it
again and shows what it says.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from tilewright.cli import main as main_of_tool

PROCESSES = 2


def main(arguments: list[str]) -> int:
    requests = [line.split("\t") for line in Path(arguments[0]).read_text(encoding="utf-8").splitlines()]
    import_module("tilewright.pipeline")  # once, before the processes divide
    with get_context("fork").Pool(PROCESSES) as pool:
        pool.map(generate, requests, chunksize=1)
    return 0


def generate(request: list[str]) -> None:
    """Run one command and stamp its manifest, as _tilewright_generate does."""
    manifest, fingerprint, *words = Path(request[0]), *request[1:]
    status: object = None
    # The output and the exit status of a command that fails are shown when CMake runs the command again.
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
        status = main_of_tool([*words, "--output-dir", str(manifest.parent), "--progress", "caller"])
    if status == 0:
        stamp = f"{fingerprint}\n{sha256(manifest.read_bytes()).hexdigest()}\n"
        manifest.with_name(f"{manifest.name}.stamp").write_text(stamp, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
