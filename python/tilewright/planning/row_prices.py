"""What layers that run some rows at a time near the core cost together.

Before:  conv and add in blocks of 2 rows, with the kernels' cycles and the rings between them
After:   their bytes near the core and cycles with all copies of constants; what it costs that x and y travel
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.group_bytes import Grown, inner_bytes
from tilewright.fusion.intervals import Interval, Layers
from tilewright.fusion.timing import Timed
from tilewright.options import CompileOptions, Objective
from tilewright.planning.decide import Decider
from tilewright.planning.row_group import Crossing, RowGroup, may_be_near
from tilewright.storage.homes import near_home
from tilewright.tiling.block_tiles import BlockCopies, copies_of
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class StageCopies:
    """The copies of a stage: of its constants, and of the tensors at these positions of its operands."""

    constants: tuple[BlockCopies, ...]
    tensors: tuple[tuple[int, BlockCopies], ...]

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants near the core."""
        return sum(copies.tile_bytes for copies in self.constants)


@dataclass(slots=True)
class RowPrices:
    """Prices of groups; copies of layers that are alike are computed once.

    Attributes:
        kinds: for each layer a number, the same for layers that are alike.
        known: copies by kind of layer, kernel among the layer's, and blocks.
    """

    decider: Decider
    layers: Layers
    kinds: Sequence[int]
    known: dict[Hashable, StageCopies | None] = field(default_factory=dict)

    def copies(self, number: int, timed: Timed, problem: TilingProblem) -> StageCopies | None:
        """The copies of a stage with the layer's ``problem``; None if one is far, or blocks cut a packed constant."""
        others = self.layers.others.get(number, ())
        kernel = next((position for position, other in enumerate(others) if other is problem), None)
        key = (self.kinds[number], kernel, timed.step, timed.shift)
        if key not in self.known:
            self.known[key] = _stage_copies(timed, problem)
        return self.known[key]

    def group(self, grown: Grown, stages: Sequence[StageCopies], elements: int, most_bytes: int) -> RowGroup | None:
        """The group with its bytes and its cost.

        None where a tensor between its stages is needed outside, where one that it reads or makes is far from the core,
        or where it needs more than ``most_bytes`` beside constants.
        """
        last = grown.stages[-1].stream.written
        made = {timed.stream.written for timed in grown.stages}
        if made - grown.rings.keys() != {last} or not self._may_be_near(grown.rings):
            return None
        size, moved = inner_bytes(self.layers.alive, grown), 0
        if size > most_bytes:
            return None
        options, roots = self.decider.options, self.decider.prepared.homes.roots
        cycles = grown.cycles + self.decider.platform.costs.layer_cycles
        crossings: list[Crossing] = []
        for problem, stage in zip(grown.problems, stages, strict=True):
            for copies in stage.constants:
                size, cycles, moved = size + copies.tile_bytes, cycles + copies.cycles, moved + copies.moved_bytes
            for position, copies in stage.tensors:
                operand = problem.operands[position]
                name = operand.tensor or ""
                if name not in grown.rings:
                    if operand.far_links:
                        return None
                    cost = cost_of_rows(options, copies.cycles, copies.moved_bytes)
                    crossings.append(Crossing(roots[name], copies.tile_bytes, cost))
        interval = Interval(grown.first, grown.end, (elements,) * len(grown.stages), size, cycles)
        cost = cost_of_rows(options, cycles, moved)
        rings = frozenset(roots[name] for name in grown.rings)
        return RowGroup(interval, cost, tuple(crossings), roots[last], rings)

    def _may_be_near(self, rings: Iterable[str]) -> bool:
        """Whether the user says of no tensor that it has a home elsewhere, or an address."""
        homes, pool = self.decider.prepared.homes, near_home(self.decider.platform)
        return all(may_be_near(homes, homes.roots[name], pool) for name in rings)


def _stage_copies(timed: Timed, problem: TilingProblem) -> StageCopies | None:
    constants: list[BlockCopies] = []
    tensors: list[tuple[int, BlockCopies]] = []
    for position, operand in enumerate(problem.operands):
        if operand.link is None:
            continue
        if operand.data is None:
            tensors.append((position, copies_of(problem, position, timed.blocks)))
            continue
        if operand.far_links or (timed.count > 1 and timed.stream.dimension in operand.dimensions):
            return None
        constants.append(copies_of(problem, position, timed.blocks))
    return StageCopies(tuple(constants), tuple(tensors))


def cost_of_rows(options: CompileOptions, cycles: float, moved_bytes: int) -> tuple[int, int]:
    """In the unit of the objective, then in the other one of cycles and bytes moved."""
    costs = round(cycles), moved_bytes
    return costs[::-1] if options.objective is Objective.BYTES_MOVED else costs
