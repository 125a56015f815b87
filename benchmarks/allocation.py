"""The exact placement search against MiniMalloc and supermalloc, on MiniMalloc's instances and on tilings.

    TILEWRIGHT_CORPUS=<folder> python benchmarks/allocation.py [--seeds 10] [--thorough] [--tilings]

CPU seconds of this process and its children; each instance includes reading the CSV and building
the problem. ``minimalloc`` runs if there is such a program on PATH, supermalloc if the package
omnimalloc is installed (pip install omnimalloc). Exit status 1 if an instance does not fit.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median

from tilewright.placement import PoolLimit, place
from tilewright.placement.options import Options
from tilewright.placement.place import place_with
from tilewright.tools.allocate import Row, allocate, items_of, read_problem

CAPACITY = 1048576
LETTERS = "ABCDEFGHIJK"
TIMEOUT_SECONDS = 300
# MiniMalloc's total on the machine on which the limits were set, and supermalloc's beside it.
MINIMALLOC_SECONDS = 28.65
SUPERMALLOC_SECONDS = 18.6
MEDIAN_SHARE = 1 / 20
WORST_SHARE = 1 / 10


def cpu_seconds(run: Callable[[], object]) -> float:
    """User and system time of a call and of the programs that it ran."""

    def now() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    start = now()
    run()
    return now() - start


def problem(corpus: Path, letter: str) -> Path:
    return corpus / "allocation" / f"{letter}.{CAPACITY}.csv"


def fits(path: Path, seed: int) -> bool:
    return allocate(path, CAPACITY, seed=seed, stream=io.StringIO()) == 0


def instances(corpus: Path, seeds: int) -> tuple[list[float], bool]:
    """Prints CPU seconds per instance and seed; returns the totals of the seeds."""
    totals = [0.0] * seeds
    all_fit = True
    print(f"{'instance':>9}" + "".join(f"{'seed ' + str(seed):>9}" for seed in range(seeds)))
    for letter in LETTERS:
        cells = []
        path = problem(corpus, letter)
        for seed in range(seeds):
            outcome: list[bool] = []
            seconds = cpu_seconds(lambda path=path, seed=seed, outcome=outcome: outcome.append(fits(path, seed)))
            totals[seed] += seconds
            all_fit = all_fit and outcome[0]
            cells.append(f"{seconds:9.3f}" if outcome[0] else "    NOFIT")
        print(f"{letter:>9}" + "".join(cells), flush=True)
    print(f"{'total':>9}" + "".join(f"{total:9.3f}" for total in totals))
    print(f"median {median(totals):.3f} s, worst {max(totals):.3f} s")
    return totals, all_fit


def minimalloc(corpus: Path) -> float | None:
    """CPU seconds of the program on all instances, None if there is none."""
    program = shutil.which("minimalloc")
    if program is None:
        print("minimalloc is not on PATH")
        return None
    total = 0.0
    for letter in LETTERS:
        command = [program, f"--capacity={CAPACITY}", f"--input={problem(corpus, letter)}", "--output=/dev/null"]
        seconds = cpu_seconds(
            lambda command=command: subprocess.run(command, check=False, capture_output=True, timeout=TIMEOUT_SECONDS)
        )
        print(f"minimalloc {letter} {seconds:.3f}", flush=True)
        total += seconds
    print(f"minimalloc total {total:.2f} s")
    return total


def supermalloc(corpus: Path) -> float | None:
    """CPU seconds of omnimalloc's best allocator on all instances, None if it is not installed."""
    try:
        import omnimalloc as om
        from omnimalloc.allocators import SupermallocAllocator
    except ImportError as error:
        print(f"supermalloc is not installed (pip install omnimalloc): {error}")
        return None
    total, solved = 0.0, 0
    for letter in LETTERS:
        rows = read_problem(problem(corpus, letter))
        pool = om.Pool(
            id=letter,
            allocations=tuple(om.Allocation(id=r.name, size=r.size, start=r.lower, end=r.upper) for r in rows),
        )
        found: list[object] = []
        seconds = cpu_seconds(
            lambda pool=pool, found=found: found.append(
                om.allocate(pool, allocator=SupermallocAllocator(num_threads=12))
            )
        )
        peak = max(a.offset + a.size for a in found[0].allocations)  # type: ignore[attr-defined]
        solved += peak <= CAPACITY
        total += seconds
        print(f"supermalloc {letter} {seconds:.3f} peak {peak:,}", flush=True)
    print(f"supermalloc total {total:.2f} s, {solved} of {len(LETTERS)} fit")
    return total


def thorough(corpus: Path) -> None:
    """Print the smallest peak of each instance at EFFORT thorough, beside its lower bound."""
    reached = 0
    for letter in LETTERS:
        items = items_of(read_problem(problem(corpus, letter)))
        start = time.process_time()
        result = place(items, [PoolLimit("memory", None)], effort="thorough")
        used, bound = result.used["memory"], result.lower_bound["memory"]
        reached += used == bound
        print(
            f"{letter} peak {used:,} bound {bound:,} gap {100 * (used / bound - 1):.2f} % "
            f"{time.process_time() - start:.1f} s",
            flush=True,
        )
    print(f"lower bound reached: {reached} of {len(LETTERS)}")


def tiling(count: int, seed: int, width: int = 4096, height: int = 1 << 20) -> list[Row]:
    """A rectangle cut at random into smaller ones: the optimum is its height."""
    random = Random(seed)
    tiles = [(0, width, 0, height)]
    while len(tiles) < count:
        areas = [(right - left) * (top - bottom) * random.random() for left, right, bottom, top in tiles]
        left, right, bottom, top = tiles.pop(areas.index(max(areas)))
        if right - left > 1 and (random.random() < 0.5 or top - bottom < 2):
            middle = random.randint(left + 1, right - 1)
            tiles += [(left, middle, bottom, top), (middle, right, bottom, top)]
        elif top - bottom > 1:
            middle = random.randint(bottom + 1, top - 1)
            tiles += [(left, right, bottom, middle), (left, right, middle, top)]
        else:
            tiles.append((left, right, bottom, top))
    return [Row(str(i), left, right, top - bottom, 1, None) for i, (left, right, bottom, top) in enumerate(tiles)]


def tilings() -> bool:
    """Tilings of 500 and 1,000 rectangles; whether all optima were found."""
    good = True
    for count in (500, 1000):
        for seed in range(5):
            items = items_of(tiling(count, seed))
            start = time.process_time()
            result = place_with(items, [PoolLimit("memory", None)], "exact", Options.of("thorough", seed))
            good = good and result.optimal["memory"]
            print(
                f"tiling {count} #{seed} {'optimal' if result.optimal['memory'] else 'NOT optimal'} "
                f"{time.process_time() - start:.2f} s",
                flush=True,
            )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--thorough", action="store_true", help="also print the smallest peak of each instance at EFFORT thorough"
    )
    parser.add_argument(
        "--tilings", action="store_true", help="also place generated tilings of 500 and 1,000 rectangles"
    )
    parser.add_argument("--no-peers", action="store_true", help="do not run minimalloc and supermalloc for comparison")
    arguments = parser.parse_args()
    corpus = os.environ.get("TILEWRIGHT_CORPUS")
    if corpus is None:
        parser.error("TILEWRIGHT_CORPUS is not set")
    totals, good = instances(Path(corpus), arguments.seeds)
    peer = None if arguments.no_peers else minimalloc(Path(corpus))
    other = None if arguments.no_peers else supermalloc(Path(corpus))
    scale = other / SUPERMALLOC_SECONDS if other is not None else 1.0
    base = peer if peer is not None else MINIMALLOC_SECONDS * scale
    source = (
        "measured" if peer is not None else "scaled by supermalloc" if other is not None else "on the first machine"
    )
    print(f"minimalloc {base:.2f} s ({source}): 1/{base / median(totals):.0f} median, 1/{base / max(totals):.0f} worst")
    good = good and median(totals) <= base * MEDIAN_SHARE and max(totals) <= base * WORST_SHARE
    if arguments.thorough:
        thorough(Path(corpus))
    if arguments.tilings:
        good = tilings() and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
