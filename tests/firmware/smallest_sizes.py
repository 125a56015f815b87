"""The smallest size of l1 with which each network can be tiled.

    python smallest_sizes.py REQUEST RESULT

REQUEST has a line for each network: name, model, platform and TYPES, separated by tabs. RESULT
is written as JSON: {"key": ..., "sizes": {name: bytes}}; if it has the request's key already,
nothing is done. The error for a few bytes names the size. One byte less is tried here; that the size works, the
models show that are built with it.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from dataclasses import replace
from hashlib import sha256
from multiprocessing import Pool
from pathlib import Path

import tilewright
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import Graph
from tilewright.options import CompileOptions
from tilewright.pipeline import imported_graph, sized_platform
from tilewright.planning.prepare import prepare
from tilewright.planning.retries import search

PROCESSES = 2
LEAST = 16
"""Bytes of l1 at which the search begins; no network fits in fewer."""
NEEDED = re.compile(r"POOLS l1=(\d+)")


def main(arguments: list[str]) -> int:
    request, result = Path(arguments[0]), Path(arguments[1])
    networks = [line.split("\t") for line in request.read_text(encoding="utf-8").splitlines()]
    key = request_key(networks)
    if result.exists() and json.loads(result.read_text(encoding="utf-8"))["key"] == key:
        return 0
    # Plans have many objects and few cycles; the command sets the same thresholds for itself.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    with Pool(PROCESSES) as pool:
        sizes = pool.map(smallest_size, networks, chunksize=1)
    names = [name for name, *_ in networks]
    text = json.dumps({"key": key, "sizes": dict(zip(names, sizes, strict=True))}, indent=2)
    result.write_text(text + "\n", encoding="utf-8")
    return 0


def request_key(networks: list[list[str]]) -> str:
    """A hash of the networks, this script and the whole tool."""
    package = Path(tilewright.__file__).parent
    files = [Path(__file__), *(Path(model) for _, model, *_ in networks)]
    files += sorted(path for path in package.rglob("*") if path.suffix in (".py", ".so"))
    digest = sha256(repr(networks).encode())
    for path in files:
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def smallest_size(network: list[str]) -> int:
    """Bytes of l1 that one network needs."""
    name, model, platform, types = network
    pairs = tuple((tensor, dtype) for tensor, _, dtype in (text.rpartition("=") for text in types.split()))
    options = CompileOptions(Path(model), platform, name, types=pairs)
    graph = imported_graph(options, sized_platform(options))
    error = refusal(graph, options, LEAST, explains=True)
    size = LEAST if error is None else size_in(error)
    assert error is None or size > LEAST, f"{name}: the error at {LEAST:,} bytes asks for {size:,}"
    assert refusal(graph, options, size - 1, explains=False) is not None, f"{name}: {size - 1:,} bytes work as well"
    return size


def refusal(graph: Graph, options: CompileOptions, size: int, explains: bool) -> TilewrightError | None:
    """What a plan with so many bytes of l1 is refused with, or None; with ``explains`` the error names a size."""
    sized = replace(options, pools=(f"l1={size}",))
    platform = sized_platform(sized)
    try:
        search(prepare(graph, platform, sized), platform, sized, explains)
    except TilewrightError as error:
        if error.status is not ExitStatus.DOES_NOT_FIT:
            raise
        return error
    return None


def size_in(error: TilewrightError) -> int:
    """The size of l1 that an error recommends."""
    found = NEEDED.search("\n".join(error.help))
    if found is None:
        raise AssertionError(f"the error names no size of l1: {error}")
    return int(found[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
