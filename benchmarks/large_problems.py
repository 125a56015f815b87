"""Placement of ten thousand and a hundred thousand buffers, beside MiniMalloc and idealloc's first fit.

    python benchmarks/large_problems.py [--buffers 10000 100000] [--algorithm exact] [--timeout 12]

Draws problems of five kinds, runs ``tilewright allocate`` on each in a process of its own, and prints CPU
seconds and megabytes of the whole process, the gap between its peak and the most bytes alive at one time, and
the same of ``minimalloc`` (with that bound as capacity) and of ``heuristic`` (idealloc's first fit by size)
where they are on PATH; neither knows alignments. Exit status 1 if a limit of ``LIMITS`` is missed, or if
first fit finds less.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from random import Random

Buffer = tuple[int, int, int, int]
"""First tick, tick behind the last, bytes, alignment."""

NEVER = 1e9


@dataclass(frozen=True)
class Limit:
    """The most CPU seconds and megabytes, and for some kinds of problems the most per cent above the bound."""

    seconds: float
    megabytes: float
    gaps: dict[str, float]


LIMITS = {
    10_000: Limit(10.0, NEVER, {"networks": 0.5, "heavy-tailed": 0.5, "aligned": 0.5, "flat": 1.0, "tiles": 10.0}),
    100_000: Limit(30.0, 300.0, {"networks": 1.5}),
}


def networks(count: int, random: Random) -> list[Buffer]:
    """Tensors that live for 2 to 4 layers, one of ten for 20 to 60; sizes fall for 60 layers, then begin anew."""
    found = []
    for layer in range(count):
        depth = layer % 60
        size = int((1 << 20) * 0.92**depth * random.choice([0.25, 0.5, 1.0, 1.0, 1.5]))
        life = random.randint(20, 60) if random.random() < 0.1 else random.randint(2, 4)
        found.append((layer, layer + life, max(16, size // 16 * 16), 1))
    return found


def heavy_tailed(count: int, random: Random) -> list[Buffer]:
    """Sizes of a Pareto distribution; lives of an exponential one, 60 ticks on average."""
    found = []
    for _ in range(count):
        begin = random.randrange(2 * count)
        life = 1 + int(random.expovariate(1 / 60))
        found.append((begin, begin + life, min(1 << 24, int(64 * random.paretovariate(1.1))), 1))
    return found


def aligned(count: int, random: Random) -> list[Buffer]:
    """As ``heavy_tailed``, with addresses that are multiples of 1, 4, 16 or 64 bytes."""
    return [(a, b, size, random.choice([1, 4, 16, 64])) for a, b, size, _ in heavy_tailed(count, random)]


def flat(count: int, random: Random) -> list[Buffer]:
    """Sizes of one to two kilobytes, lives of up to 200 ticks; about equally many buffers are alive at all times."""
    found = []
    for _ in range(count):
        begin = random.randrange(count)
        found.append((begin, begin + random.randint(1, 200), random.randint(1024, 2048), 1))
    return found


def tiles(count: int, random: Random) -> list[Buffer]:
    """A rectangle cut into smaller ones, the largest first: the bound, its height, is reachable."""
    whole = (0, 40 * count, 0, 1 << 24)
    heap = [(-whole[1] * whole[3], whole)]
    heapify(heap)
    while len(heap) < count:
        _, (left, right, low, high) = heappop(heap)
        if random.random() < 0.5:
            cut = random.randint(left + (right - left) // 4, right - (right - left) // 4)
            parts = [(left, cut, low, high), (cut, right, low, high)]
        else:
            cut = random.randint(low + (high - low) // 4, high - (high - low) // 4)
            parts = [(left, right, low, cut), (left, right, cut, high)]
        for part in parts:
            if part[0] < part[1] and part[2] < part[3]:
                heappush(heap, (-(part[1] - part[0]) * (part[3] - part[2]), part))
    return [(left, right, high - low, 1) for _, (left, right, low, high) in heap]


KINDS: dict[str, Callable[[int, Random], list[Buffer]]] = {
    "networks": networks,
    "heavy-tailed": heavy_tailed,
    "aligned": aligned,
    "flat": flat,
    "tiles": tiles,
}


@dataclass(frozen=True)
class Ran:
    """CPU seconds, megabytes, and the output of a process; None where it was ended for its time."""

    seconds: float
    megabytes: float
    output: str | None


def run(words: list[str], seconds: float) -> Ran:
    """A process to its end, or until it has taken so many CPU seconds."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))

    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limited)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output if process.returncode == 0 else None)


def bound_of(buffers: list[Buffer]) -> int:
    """The most bytes alive at one time."""
    changes = sorted((tick, size) for a, b, s, _ in buffers for tick, size in ((a, s), (b, -s)))
    most = alive = 0
    for _, change in changes:
        alive += change
        most = max(most, alive)
    return most


def write(buffers: list[Buffer], path: Path, with_alignment: bool) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["id", "lower", "upper", "size", *(["alignment"] if with_alignment else [])])
        for number, (lower, upper, size, alignment) in enumerate(buffers):
            out.writerow([number, lower, upper, size, *([alignment] if with_alignment else [])])


def ours(problem: Path, algorithm: str, effort: str) -> tuple[Ran, int]:
    placed = problem.with_suffix(".placed")
    words = [sys.executable, "-m", "tilewright", "allocate", str(problem), "--algorithm", algorithm]
    ran = run([*words, "--effort", effort, "--output", str(placed)], 3600.0)
    if ran.output is None:
        sys.exit(f"tilewright allocate failed on {problem.name}")
    with placed.open(encoding="utf-8", newline="") as file:
        return ran, max(int(row["offset"]) + int(row["size"]) for row in csv.DictReader(file))


def first_fit(problem: Path, timeout: float) -> tuple[Ran, int | None] | None:
    """idealloc's program ``heuristic``: CPU seconds with reading the problem, and the peak."""
    program = shutil.which("heuristic")
    if program is None:
        return None
    ran = run([program, "-i", str(problem), "ex-csv", "size", "first"], timeout)
    found = re.search(r"Makespan:\s*(\d+)", ran.output or "")
    return ran, int(found[1]) if found else None


def minimalloc(problem: Path, capacity: int, timeout: float) -> Ran | None:
    program = shutil.which("minimalloc")
    if program is None:
        return None
    return run([program, f"--capacity={capacity}", f"--input={problem}", "--output=/dev/null"], timeout)


def gap(peak: int, bound: int) -> float:
    return 100 * (peak / bound - 1)


def measure(kind: str, count: int, folder: Path, parsed: argparse.Namespace) -> bool:
    """Print a line; whether all limits are kept."""
    buffers = KINDS[kind](count, Random(0))
    problem, bound = folder / f"{kind}.{count}.csv", bound_of(buffers)
    write(buffers, problem, kind == "aligned")
    ran, peak = ours(problem, parsed.algorithm, parsed.effort)
    line = f"{kind:13}{count:>8,} {ran.seconds:7.2f} s {ran.megabytes:6.0f} MB {gap(peak, bound):7.2f} %"
    good = True
    if kind != "aligned":
        fit = first_fit(problem, parsed.timeout)
        if fit is not None and fit[1] is not None:
            line += f"   first fit {fit[0].seconds:6.2f} s {gap(fit[1], bound):7.2f} %"
            good = peak <= fit[1]
        mini = minimalloc(problem, bound, parsed.timeout)
        if mini is not None:
            line += f"   minimalloc {mini.seconds:6.2f} s {'fits' if mini.output is not None else 'none'}"
    limit = LIMITS.get(count)
    if limit is not None and parsed.algorithm == "exact":
        good = good and ran.seconds <= limit.seconds and ran.megabytes <= limit.megabytes
        good = good and gap(peak, bound) <= limit.gaps.get(kind, NEVER)
    print(line + ("" if good else "  MISSED"), flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--buffers", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--algorithm", default="exact")
    parser.add_argument("--effort", default="normal")
    parser.add_argument(
        "--timeout", type=float, default=12.0, help="CPU seconds after which minimalloc or heuristic is ended"
    )
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = [measure(kind, count, Path(folder), parsed) for count in parsed.buffers for kind in parsed.kinds]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
