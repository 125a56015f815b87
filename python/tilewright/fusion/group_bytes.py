"""Bytes that are alive while a group runs: homes that layers outside need too, rings, and scratch.

Before:  conv a, conv y in blocks of a row; x and y at home; rings of 3 rows of a; scratch of 100 and 300 bytes
After:   outside the homes of x and y; beside the scratch of each stage the ring; together the ring and 300 bytes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.consuming import group_clearance
from tilewright.fusion.homes_alive import Alive
from tilewright.fusion.timing import Ring, Timed
from tilewright.tiling.operand import TILE_ALIGN_BYTES
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class Grown:
    """Layers [first, end) as a group.

    Attributes:
        stages: times of each layer.
        rings: of tensors that no other layer needs.
        scratch: bytes by stage.
        cycles: predicted for the kernels of all stages.
        least_bytes: of rings, in this group and in all that begin with it.
        problems: each layer with the kernel that it has in the group.
    """

    first: int
    stages: Sequence[Timed]
    rings: Mapping[str, Ring]
    scratch: Sequence[int]
    cycles: float
    least_bytes: int
    problems: Sequence[TilingProblem]

    @property
    def end(self) -> int:
        """The number behind the last layer."""
        return self.first + len(self.stages)


def outside_bytes(alive: Alive, grown: Grown) -> int:
    """Bytes of homes alive at a time at most while a group runs."""
    outside = alive.during(grown.first, grown.end) - sum(alive.home_bytes(name) for name in grown.rings)
    return outside - _shared_bytes(alive, grown.first, grown.stages, grown.rings)


def inner_bytes(alive: Alive, grown: Grown) -> int:
    """Bytes of rings and scratch alive at a time at most while a group runs."""
    return max(beside + own for beside, own in zip(bytes_beside(alive, grown), grown.scratch, strict=True))


def bytes_beside(alive: Alive, grown: Grown) -> list[int]:
    """By stage, bytes of rings, sums and kept rows alive while the stage works, without the scratch of its kernel."""
    stages, rings = grown.stages, grown.rings
    staying = sum(alive.ring_bytes(ring) for ring in rings.values() if not ring.passing)
    # The scratch of a sink has its sums, that of others may have rows.
    sums = sum(size for timed, size in zip(stages, grown.scratch, strict=True) if timed.stream.has_memory)
    # Bytes of passing rings and scratch by stage: a ring from its maker to its last reader.
    changes = [0] * (len(stages) + 1)
    last = {read.tensor: number for number, timed in enumerate(stages) for read in timed.stream.reads}
    for number, timed in enumerate(stages):
        ring = rings.get(timed.stream.written)
        if ring is not None and ring.passing:
            changes[number] += alive.ring_bytes(ring)
            changes[last[ring.tensor] + 1] -= alive.ring_bytes(ring)
    own = [size if timed.stream.has_memory else 0 for timed, size in zip(stages, grown.scratch, strict=True)]
    return [staying + sums + size - less for size, less in zip(accumulate(changes), own, strict=False)]


def _shared_bytes(alive: Alive, first: int, stages: Sequence[Timed], rings: Mapping[str, Ring]) -> int:
    """Bytes that the only home which a group writes can share with an input that the group is done with."""
    written = [timed.stream.written for timed in stages if timed.stream.written not in rings]
    life = alive.whole.get(written[0])
    if len(written) > 1 or life is None or life.begin < first or written[0] != stages[-1].stream.written:
        return 0
    end = first + len(stages)
    most = 0
    for name in dict.fromkeys(read.tensor for timed in stages for read in timed.stream.reads):
        dead = alive.whole.get(name)
        if name in rings or dead is None or not first <= dead.end < end:
            continue
        by = group_clearance(stages, name, alive.shapes[name], alive.shapes[written[0]])
        if by is not None:
            sizes = [alive.shapes[item].size_bytes for item in (written[0], name)]
            most = max(most, by.shared_bytes(*sizes))
    return most // TILE_ALIGN_BYTES * TILE_ALIGN_BYTES
