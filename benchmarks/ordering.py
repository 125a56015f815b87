#!/usr/bin/env python3
"""Peaks of operator orders on generated cells: the chosen order, the bound, the order as generated.

RandWire-like: a random graph of 60 operators, whose outputs have 16, 32 or 64 KiB, each reading the
outputs of one to three of the eight operators before it. NasNet-like: cells of five blocks. A block
adds two branches; a branch reads one of the two previous cells or an earlier block of the same cell.
The end of the cell concatenates its blocks. Peaks are printed in KiB; seeds are fixed.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tilewright.storage.order import make_problem
from tilewright.storage.order_search import OrderProblem, best_order

OPERATORS = 60


def main() -> None:
    """Print one row for each generated graph."""
    print(f"{'graph':14} {'seed':>4} {'operators':>9} {'generated':>9} {'chosen':>7} {'bound':>6}")
    generators: list[tuple[str, Callable[[int], OrderProblem]]] = [("randwire", randwire), ("nasnet", nasnet)]
    for name, generate in generators:
        for seed in range(5):
            problem = generate(seed)
            result = best_order(problem)
            operators = len(problem.reads)
            print(
                f"{name:14} {seed:4} {operators:9} {result.given_peak_bytes // 1024:9} "
                f"{result.peak_bytes // 1024:7} {result.lower_bound_bytes // 1024:6}"
            )


def randwire(seed: int) -> OrderProblem:
    """Each operator reads up to three of the eight before it."""
    draw = random.Random(seed)
    reads = [()] + [
        tuple(sorted(draw.sample(range(max(0, number - 8), number), min(number, draw.randint(1, 3)))))
        for number in range(1, OPERATORS)
    ]
    sizes = tuple(draw.choice([16, 32, 64]) * 1024 for _ in range(OPERATORS))
    return _shuffled(draw, reads, sizes)


def nasnet(seed: int) -> OrderProblem:
    """Cells of five blocks, which read the two cells before and earlier blocks of their own cell."""
    draw = random.Random(seed)
    reads: list[tuple[int, ...]] = [(), (0,)]
    sizes = [32 * 1024, 32 * 1024]
    before, last = 0, 1
    while len(reads) + 16 <= OPERATORS:
        states = [before, last]
        for _ in range(5):
            branches = []
            for _ in range(2):
                reads.append((draw.choice(states),))
                sizes.append(32 * 1024)
                branches.append(len(reads) - 1)
            reads.append(tuple(branches))
            sizes.append(32 * 1024)
            states.append(len(reads) - 1)
        reads.append(tuple(states[2:]))
        sizes.append(5 * 32 * 1024)
        before, last = last, len(reads) - 1
    return _shuffled(draw, reads, tuple(sizes))


def _shuffled(draw: random.Random, reads: list[tuple[int, ...]], sizes: tuple[int, ...]) -> OrderProblem:
    """A random topological order of the graph, as an exporter might write it."""
    placed: list[int] = []
    while len(placed) < len(reads):
        ready = [n for n in range(len(reads)) if n not in placed and all(value in placed for value in reads[n])]
        placed.append(draw.choice(ready))
    renamed = {old: new for new, old in enumerate(placed)}
    new_reads = tuple(tuple(sorted(renamed[value] for value in reads[old])) for old in placed)
    writes = tuple((number,) for number in range(len(placed)))
    return make_problem(
        new_reads, writes, tuple(sizes[old] for old in placed), kept=frozenset({renamed[len(reads) - 1]})
    )


if __name__ == "__main__":
    main()
