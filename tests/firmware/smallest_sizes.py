"""The smallest size of l1 with which each network can be tiled.

    python smallest_sizes.py REQUEST RESULT

REQUEST has a line for each network: name, model, platform and TYPES, separated by tabs. RESULT
is written as JSON: {"key": ..., "sizes": {name: bytes}}; if it has the request's key already,
nothing is done. The search follows the numbers in the errors: each says what the operator (or
the placement) that did not fit needs. The size that it ends with works; one byte less does not.
The checker is left to the models that are built with these sizes.
"""

from __future__ import annotations

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
STEPS = 64
NEEDED = re.compile(r"POOLS l1=(\d+)")


def main(arguments: list[str]) -> int:
    request, result = Path(arguments[0]), Path(arguments[1])
    networks = [line.split("\t") for line in request.read_text(encoding="utf-8").splitlines()]
    key = request_key(networks)
    if result.exists() and json.loads(result.read_text(encoding="utf-8"))["key"] == key:
        return 0
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
    size = 16
    for _ in range(STEPS):
        needed = needed_bytes(graph, options, size)
        if needed is None:
            assert needed_bytes(graph, options, size - 1) is not None, f"{name}: {size - 1:,} bytes work as well"
            return size
        assert needed > size, f"{name}: the error at {size:,} bytes asks for {needed:,}"
        size = needed
    raise AssertionError(f"{name}: no size was found in {STEPS} steps")


def needed_bytes(graph: Graph, options: CompileOptions, size: int) -> int | None:
    """What the error says that l1 needs, or None if this size works."""
    sized = replace(options, pools=(f"l1={size}",))
    platform = sized_platform(sized)
    try:
        search(prepare(graph, platform, sized), platform, sized)
    except TilewrightError as error:
        if error.status is not ExitStatus.DOES_NOT_FIT:
            raise
        return size_in(error)
    return None


def size_in(error: TilewrightError) -> int:
    """The size of l1 that an error recommends."""
    found = NEEDED.search("\n".join(error.help))
    if found is None:
        raise AssertionError(f"the error names no size of l1: {error}")
    return int(found[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
