"""One network at sizes of l1: planned, built with sanitizers and late links, run, compared with the untiled one."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import corpus
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

# These are found by the path above, so they cannot stand before it.
from conformance.build import BuildError, Generated, build  # noqa: E402
from support.forced import late_library, late_platform, run_each  # noqa: E402
from tilewright.base.errors import ExitStatus, TilewrightError  # noqa: E402
from tilewright.graph import Array  # noqa: E402
from tilewright.options import CompileOptions, Groups  # noqa: E402
from tilewright.pipeline import Artifacts, compile_model  # noqa: E402
from tilewright.plan import Plan  # noqa: E402
from tilewright.tools.golden import match_arrays, read_arrays  # noqa: E402

POOL = "l1"
PLENTY = 1 << 28
UNTILED = "qemu-virt-rv32-single"
"""Has no l1 and no links, so that nothing is tiled; groups of layers, which run block by block, are left out."""

LEAST = 1
EQUAL, CLOSE = "equal", "equal within 1e-4, as sums are cut"
NEEDED = re.compile(rf"POOLS {POOL}=(\d+)")


@dataclass(frozen=True)
class Point:
    """One size: bytes of l1 (0: untiled), tiles of all layers, the verdict on the outputs, ``doubled`` layers with
    second slots, whether sums are cut, and seconds."""

    l1_bytes: int
    tiles: int
    verdict: str
    doubled: int = 0
    sums_cut: bool = False
    plan_s: float = 0.0
    build_s: float = 0.0
    run_s: float = 0.0

    @property
    def right(self) -> bool:
        return self.verdict in (EQUAL, CLOSE)


@dataclass(frozen=True)
class Network:
    """A network's sizes, the untiled one first; or why it is not supported."""

    name: str
    refused: str
    points: tuple[Point, ...]

    @property
    def wrong(self) -> bool:
        return not all(point.right for point in self.points)

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_data(data: dict[str, Any]) -> Network:
        return Network(data["name"], data["refused"], tuple(Point(**point) for point in data["points"]))


@dataclass(frozen=True)
class Run:
    """The outputs that a plan computed, or the complaint of the compiler, a sanitizer or the program."""

    outputs: tuple[Array, ...]
    complaint: str
    build_s: float
    run_s: float


@dataclass(frozen=True)
class Attempt:
    """A plan with its C, or why there is none and the size of l1 that the error names; seconds of planning."""

    artifacts: Artifacts | None
    complaint: str
    status: ExitStatus
    needed_bytes: int
    seconds: float


def attempt(model: corpus.Network, platform: str | Path, pool: str, groups: Groups = Groups.AUTO) -> Attempt:
    """The network for a platform, with a pool of another size (<pool>=<bytes>)."""
    types = tuple(model.types.items())
    path = model.folder / "network.onnx"
    options = CompileOptions(path, str(platform), "net", pools=(pool,), types=types, static_pools=True, groups=groups)
    started = time.monotonic()
    try:
        found = compile_model(options)
    except TilewrightError as error:
        told = NEEDED.search("\n".join(error.help))
        complaint = f"{error.code}: {error.what.splitlines()[0]}"
        return Attempt(None, complaint, error.status, int(told[1]) if told else 0, time.monotonic() - started)
    except Exception as error:  # one defect must not hide what the other networks show
        complaint = f"DEFECT: {type(error).__name__}: {error}"
        return Attempt(None, complaint, ExitStatus.INTERNAL, 0, time.monotonic() - started)
    return Attempt(found, "", ExitStatus.DONE, 0, time.monotonic() - started)


def measured(model: corpus.Network, folder: Path, steps: int) -> Network:
    """All sizes of one network; ``folder`` is for files that nobody needs afterwards."""
    try:
        return _measured(model, folder / f"process_{os.getpid()}", steps)
    except Exception as error:  # as above
        return Network(model.label, "", (Point(0, 0, f"DEFECT: {type(error).__name__}: {first_line(str(error))}"),))


def _measured(model: corpus.Network, folder: Path, steps: int) -> Network:
    name = model.label
    untiled = attempt(model, UNTILED, f"sram={PLENTY}", Groups.OFF)
    if untiled.artifacts is None:
        if untiled.status is ExitStatus.NOT_SUPPORTED:
            return Network(name, untiled.complaint, ())
        return Network(name, "", (Point(0, 0, untiled.complaint),))
    reference = outputs(untiled.artifacts, model, folder)
    plan = untiled.artifacts.plan
    seconds = (untiled.seconds, reference.build_s, reference.run_s)
    first = Point(0, tiles(plan), reference.complaint or EQUAL, 0, False, *seconds)
    if not first.right:
        return Network(name, "", (first,))
    case = Case(model, late_platform(folder))
    plenty = case.attempt(PLENTY)
    least, found = smallest(case)
    if plenty.artifacts is None or found.complaint:
        return Network(name, "", (first, Point(least, 0, found.complaint or plenty.complaint)))
    *sizes, _ = sizes_down(used_bytes(plenty.artifacts.plan), least, steps)
    points = [point(size, case.attempt(size), reference, model, folder) for size in sizes]
    return Network(name, "", (first, *points, point(least, found, reference, model, folder)))


@dataclass(frozen=True)
class Case:
    """A model of the corpus for a platform with links and l1."""

    model: corpus.Network
    platform: Path

    def attempt(self, size: int) -> Attempt:
        """The network with that many bytes of l1."""
        return attempt(self.model, self.platform, f"{POOL}={size}")


def sizes_down(first: int, last: int, steps: int) -> tuple[int, ...]:
    """Sizes from ``first`` down to ``last``, each the same factor smaller."""
    if steps < 2 or first <= last:
        return (last,)
    return tuple(dict.fromkeys(round(first * (last / first) ** (step / (steps - 1))) for step in range(steps)))


def point(size: int, found: Attempt, reference: Run, model: corpus.Network, folder: Path) -> Point:
    """One size, beside what the untiled plan computed."""
    if found.artifacts is None:
        return Point(size, 0, found.complaint, plan_s=found.seconds)
    got = outputs(found.artifacts, model, folder)
    cut = '"reduction": [' in found.artifacts.files["net_plan.json"].decode()
    verdict = got.complaint or compared(got.outputs, reference.outputs, sums_cut=cut)
    plan = found.artifacts.plan
    return Point(size, tiles(plan), verdict, doubled(plan), cut, found.seconds, got.build_s, got.run_s)


def compared(got: Sequence[Array], wanted: Sequence[Array], *, sums_cut: bool) -> str:
    """EQUAL, CLOSE, or how many elements differ and by how much."""
    if all(mine.tobytes() == theirs.tobytes() for mine, theirs in zip(got, wanted, strict=True)):
        return EQUAL
    pairs = list(zip(got, wanted, strict=True))
    if sums_cut and all(
        np.allclose(mine, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
        if mine.dtype.kind == "f"
        else np.array_equal(mine, theirs)
        for mine, theirs in pairs
    ):
        return CLOSE
    differing = sum(int((mine.view(np.uint8) != theirs.view(np.uint8)).sum()) for mine, theirs in pairs)
    largest = max(float(np.abs(mine.astype(float) - theirs.astype(float)).max(initial=0)) for mine, theirs in pairs)
    return f"OTHER OUTPUT: {differing:,} bytes, by up to {largest:g}"


def smallest(case: Case) -> tuple[int, Attempt]:
    """The least l1 that works, from the errors, which say what does, and its plan; a complaint if that is not so."""
    size = LEAST
    while True:
        found = case.attempt(size)
        if found.status is not ExitStatus.DOES_NOT_FIT or found.needed_bytes <= size:
            break
        size = found.needed_bytes
    if found.artifacts is not None and size > LEAST and case.attempt(size - 1).artifacts is not None:
        complaint = f"{size:,} bytes are said to be the least that works, but one less does"
        return size, replace(found, complaint=complaint)
    return size, found


def used_bytes(plan: Plan) -> int:
    return next((use.used_bytes for use in plan.pool_use if use.pool == POOL), 0)


def doubled(plan: Plan) -> int:
    return sum(any(slots > 1 for _, slots in layer.copies) for layer in plan.layers)


def tiles(plan: Plan) -> int:
    return sum(layer.tiles for layer in plan.layers)


def inputs_of(plan: Plan, model: corpus.Network) -> list[Array]:
    """The first stored input; some vectors have weights behind it, which belong to no tensor."""
    arrays = read_arrays(model.folder / "inputs.npz")
    if len(arrays) > len(plan.inputs) and not all(item.name in arrays for item in plan.inputs):
        arrays = dict(list(arrays.items())[: len(plan.inputs)])
    return [runs[0] for runs in match_arrays(plan.inputs, arrays, model.label)]


def outputs(found: Artifacts, network: corpus.Network, folder: Path) -> Run:
    """Outputs for the first stored input."""
    plan = found.plan
    sources = {name: text for name, text in found.files.items() if name.endswith((".c", ".h"))}
    model = Generated("net", plan, sources)
    started = time.monotonic()
    try:
        program = build(folder / "net", [model], late_library(folder / "objects", [model]))
    except BuildError as error:
        return Run((), f"does not compile: {first_line(str(error))}", time.monotonic() - started, 0.0)
    built = time.monotonic()
    (content,) = run_each(program, [(model, inputs_of(plan, network))], folder)
    build_s, run_s = built - started, time.monotonic() - built
    if isinstance(content, str):
        return Run((), f"FAILS: {first_line(content)}", build_s, run_s)
    parts, at = [], 0
    for item in plan.outputs:
        size = int(np.prod(item.shape)) * np.dtype(item.dtype).itemsize
        parts.append(np.frombuffer(content[at : at + size], item.dtype))
        at += size
    return Run(tuple(parts), "", build_s, run_s)


def first_line(text: str) -> str:
    """The line of a complaint that says most."""
    telling = [line for line in text.splitlines() if "error" in line.lower()]
    return (telling or text.splitlines() or [""])[0].strip()


def product_sha256() -> str:
    """A SHA-256 of everything on which results depend, the corpus aside."""
    folders = ("python", "templates", "runtime", "platforms", "benchmarks", "tests/support", "tests/conformance")
    endings = (".py", ".j2", ".c", ".h", ".toml")
    files = [path for folder in folders for path in (HERE.parent / folder).rglob("*") if path.suffix in endings]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(HERE.parent)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
