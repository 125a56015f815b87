"""Runs networks on this machine at sizes of l1 from plenty down to the smallest that works.

    python benchmarks/sweep.py --corpus FOLDER [--steps N] [--network NAME]...

Every network of the corpus is planned for the memories of qemu-virt-rv32 with ever less l1, built
for this machine with AddressSanitizer and UndefinedBehaviorSanitizer and links that deliver late,
and run on its first stored input. Prints size, bytes moved for each compulsory byte, predicted
cycles, and whether the output is that of the largest size, bit for bit (floats: within 1e-4, where
sums are cut). Exit status 1 if one differs. A network that is not supported is named and left out.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

# These are found by the path above, so they cannot stand before it.
from conformance.build import Generated, build  # noqa: E402
from support.forced import late_library  # noqa: E402
from tilewright.errors import ExitStatus, TilewrightError  # noqa: E402
from tilewright.golden import match_arrays, read_arrays  # noqa: E402
from tilewright.options import CompileOptions  # noqa: E402
from tilewright.pipeline import Artifacts, compile_model  # noqa: E402

LARGEST = 65_536
NEEDED = re.compile(r"POOLS l1=(\d+)")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=6, help="sizes between the largest and the smallest")
    parser.add_argument("--network", action="append", default=[], help="part of a folder's name; all if absent")
    arguments = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(arguments.corpus.rglob("network.onnx")):
            name = str(path.parent.relative_to(arguments.corpus))
            if arguments.network and not any(part in name for part in arguments.network):
                continue
            if (path.parent / "inputs.npz").exists():
                wrong += network(name, path, Path(folder), arguments.steps)
    return 1 if wrong else 0


def network(name: str, path: Path, folder: Path, steps: int) -> int:
    """Sizes at which the output of one network is another."""
    try:
        first = at_size(path, LARGEST)
        least = smallest(path)
    except TilewrightError as error:
        print(f"{name}: left out, {error.code}")
        return 0
    sizes = (
        [round(least * (LARGEST / least) ** (step / (steps - 1))) for step in range(steps)] if steps > 1 else [least]
    )
    wanted = outputs(first, path, folder / "largest")
    wrong = 0
    for size in reversed(sizes):
        try:
            found = at_size(path, size)
        except TilewrightError as error:
            print(f"{name}: {size:,}: does not fit although {least:,} bytes work: {error.what}")
            wrong += 1
            continue
        got = outputs(found, path, folder / "sized")
        same = all(equal(a, b, found) for a, b in zip(got, wanted, strict=True))
        wrong += not same
        layers = found.plan.layers
        moved, must = (
            sum(count for layer in layers for _, count in getattr(layer, key))
            for key in ("link_bytes", "compulsory_link_bytes")
        )
        cycles = sum(layer.predicted_cycles for layer in layers)
        ratio = moved / must if must else 1.0
        print(f"{name}: l1 {size:7,}  moved {ratio:6.3f}  {cycles:13,} cycles  {'same' if same else 'OTHER OUTPUT'}")
    return wrong


def at_size(path: Path, size: int) -> Artifacts:
    file = path.with_name("types.json")
    types = tuple((json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}).items())
    options = CompileOptions(path, "qemu-virt-rv32", "net", pools=(f"l1={size}",), types=types, static_pools=True)
    return compile_model(options)


def smallest(path: Path) -> int:
    """The least l1 that works, from the errors, which say what does."""
    size = 16
    while True:
        try:
            at_size(path, size)
        except TilewrightError as error:
            if error.status is not ExitStatus.DOES_NOT_FIT:
                raise
            found = NEEDED.search("\n".join(error.help))
            if found is None or int(found[1]) <= size:
                raise
            size = int(found[1])
            continue
        return size


def outputs(found: Artifacts, path: Path, folder: Path) -> list[np.ndarray]:
    """Outputs for the first stored input."""
    plan = found.plan
    model = Generated("net", plan, {name: text for name, text in found.files.items() if name.endswith((".c", ".h"))})
    program = build(folder, [model], late_library(folder.parent / "objects", [model]))
    arrays = match_arrays(plan.inputs, read_arrays(path.with_name("inputs.npz")), str(path))
    given, got = folder / "inputs", folder / "outputs"
    given.write_bytes(b"".join(np.ascontiguousarray(array[0]).tobytes() for array in arrays))
    subprocess.run([program, "net", given, got], check=True)
    content = got.read_bytes()
    parts, at = [], 0
    for item in plan.outputs:
        size = int(np.prod(item.shape)) * np.dtype(item.dtype).itemsize
        parts.append(np.frombuffer(content[at : at + size], item.dtype))
        at += size
    return parts


def equal(got: np.ndarray, wanted: np.ndarray, found: Artifacts) -> bool:
    if got.dtype.kind != "f" or '"reduction": [' not in found.files["net_plan.json"].decode():
        return np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")
    return np.allclose(got, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


if __name__ == "__main__":
    sys.exit(main())
