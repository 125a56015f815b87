"""The kernels that a layer of a group may have, and which of them the group takes for fewer and fewer bytes.

Before:  stages beside whose scratch 100, 300 and 120 bytes are alive; kernels with 768 bytes of scratch, or 512
After:   1,068 bytes with the fastest kernels; 888 bytes where the second stage has 512 bytes of scratch; ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class KernelWay:
    """A layer in its blocks with one kernel.

    Attributes:
        cycles: predicted, of all calls.
        scratch_bytes: of the kernel.
        problem: the layer with the kernel.
    """

    cycles: float
    scratch_bytes: int
    problem: TilingProblem


@dataclass(frozen=True, slots=True)
class Taken:
    """What the stages of a group take with one choice of kernels.

    Attributes:
        size_bytes: beside homes, alive at a time at most.
        cycles: predicted, of all stages.
        scratch_bytes: of each stage's kernel.
    """

    size_bytes: int
    cycles: float
    scratch_bytes: tuple[int, ...]


def leaner(ways: Iterable[KernelWay]) -> tuple[KernelWay, ...]:
    """The ways from the fastest on, of which each needs less scratch than all before."""
    found: list[KernelWay] = []
    for way in sorted(ways, key=lambda way: (way.cycles, way.scratch_bytes)):
        if not found or way.scratch_bytes < found[-1].scratch_bytes:
            found.append(way)
    return tuple(found)


def with_less_scratch(beside: Sequence[int], stages: Sequence[Sequence[KernelWay]]) -> Iterator[Taken]:
    """The fastest kernels of all stages, then those for fewer and fewer bytes.

    Args:
        beside: bytes alive at each stage beside the scratch of its kernel.
        stages: for each stage its ``leaner`` ways.
    """
    numbers = [0] * len(stages)
    while True:
        taken = [ways[number] for ways, number in zip(stages, numbers, strict=True)]
        sizes = [size + way.scratch_bytes for size, way in zip(beside, taken, strict=True)]
        most = max(sizes)
        yield Taken(most, sum(way.cycles for way in taken), tuple(way.scratch_bytes for way in taken))
        for stage in (stage for stage, size in enumerate(sizes) if size == most):
            numbers[stage] += 1
            if numbers[stage] == len(stages[stage]):
                return
