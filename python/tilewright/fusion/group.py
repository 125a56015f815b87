"""Groups as decisions: which layers run together, in which blocks, and the rings between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import gcd

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.streams import Stream
from tilewright.fusion.timing import Ring, Timed, Timetable


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that follow each other and run together, block by block.

    Attributes:
        first: number of the first layer.
        stages: the times of each layer, in order.
        rings: rows of the tensors that no other layer needs, by tensor.
    """

    first: int
    stages: tuple[Timed, ...]
    rings: Mapping[str, Ring]

    @property
    def layers(self) -> range:
        """Numbers of the layers."""
        return range(self.first, self.first + len(self.stages))


def group_of(
    first: int, streams: Sequence[Stream], blocks: Sequence[int], inside: Collection[str], period: int = 0
) -> Group | None:
    """The group of layers from number ``first`` on; None where they cannot run together.

    Args:
        streams: of each layer.
        blocks: how many times the fewest rows each layer makes at a time.
        inside: the tensors that no layer outside needs.
        period: iterations after which every ring is at its first row again; 0 where that does not matter.
    """
    table = Timetable(period=period)
    for stream, times in zip(streams, blocks, strict=True):
        if not table.add(stream, times):
            return None
    rings = {name: ring for name, ring in table.rings.items() if name in inside}
    return Group(first, _shortened(table.stages), rings)


def group_in_steps(
    first: int, streams: Sequence[Stream], steps: Sequence[int], inside: Collection[str], period: int = 0
) -> Group | None:
    """The group of layers from number ``first`` on in blocks of ``steps`` rows; None where they cannot run so."""
    table = Timetable()
    blocks: list[int] = []
    for stream, step in zip(streams, steps, strict=True):
        fewest = table.fewest(stream)
        if fewest is None or (step % fewest and step < stream.extent):
            return None
        blocks.append(-(-step // fewest))
        table.add(stream, blocks[-1])
    return group_of(first, streams, blocks, inside, period)


def _shortened(stages: Sequence[Timed]) -> tuple[Timed, ...]:
    """The stages without iterations at which none of them works.

    A stage of a single block gets a rate at which that is possible: its rate does not matter.
    """
    common = gcd(*(stage.every for stage in stages if stage.count > 1)) or 1
    return tuple(
        replace(stage, first=stage.first // common, every=stage.every // common if stage.count > 1 else 1)
        for stage in stages
    )
