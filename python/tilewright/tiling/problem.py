"""The tiler's input: one node's kernel with the homes of its operands, and the links to the core's pool.

Before:  y = Conv(x, weights), x and y at home in sram, weights in flash, core beside l1
After:   operands x (sram over link sram->l1), weights (flash->l1), y (l1->sram), tiles in l1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

from tilewright.graph import Graph, Node
from tilewright.kernels.kernel import KernelChoice, TileSteps
from tilewright.operators.nest import Dimension, Iteration
from tilewright.options import Slots
from tilewright.plan import AttributeValue, BufferKind, Index
from tilewright.platform import Platform
from tilewright.platform.costs import Costs
from tilewright.tiling.core_split import CoreSplit, best_core_split, views_bytes
from tilewright.tiling.footprint import moved_elements, needed_elements, written_elements
from tilewright.tiling.homed_operand import operand_of
from tilewright.tiling.operand import TILE_ALIGN_BYTES, TileOperand
from tilewright.tiling.paths import near_pools
from tilewright.tiling.row_starts import further_rows, walks_rows

VIEWS_ALIGN_BYTES = 8
"""The cores' views of operands hold pointers."""

WORDS_BYTES = 64
"""The least bytes of the buffer for bytes at the ends of lines that are no whole words of a link."""


@dataclass(frozen=True)
class TilingProblem:
    """One node, one kernel, its operands in the order of the C call, and where scratch lives.

    ``given`` has the tile steps that the user gives, ``given_far`` (by pool) the steps of the larger tiles
    in a pool between home and core; dimensions that are absent are free. ``buffers`` says by operand
    how many slots tiles have, ``far_buffers`` (by operand and pool) how many larger tiles have.
    ``variant`` numbers the kernels of one symbol that can run the node. ``level`` is the pool in which the user wants
    the kernel to work, empty where the platform says it. ``blocks`` are dimensions that are cut twice, each with the
    step of its blocks (``tiling.cut_twice``). ``costs``, ``simd_bytes`` and ``pointer_bytes`` are the platform's.
    """

    node: Node
    kernel: KernelChoice
    operands: tuple[TileOperand, ...]
    scratch_pool: str
    given: TileSteps = field(default_factory=dict)
    given_far: Mapping[str, TileSteps] = field(default_factory=dict)
    buffers: Mapping[str, Slots] = field(default_factory=dict)
    far_buffers: Mapping[tuple[str, str], Slots] = field(default_factory=dict)
    variant: int = 0
    level: str = ""
    blocks: tuple[tuple[str, int], ...] = ()
    cores: int = 1
    costs: Costs = field(default_factory=Costs)
    simd_bytes: int = 1
    pointer_bytes: int = 8
    _core_splits: dict[tuple[tuple[str, int], ...], CoreSplit | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _moved_bytes: dict[tuple[int, tuple[tuple[str, int], ...]], int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    known_cycles: dict[tuple[int, ...], tuple[float, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Kernel cycles of all tiles, and the idle share of cores, by the steps of all dimensions, as the choice asked."""

    known_copies: dict[tuple[int, Index], tuple[int, int, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Bytes of the tile, bytes moved and cycles of an operand's copies, by its position and the blocks of a group."""

    known_larger: dict[tuple[int, int, tuple[int, ...]], tuple[int, int, bool]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What ``staging`` found of larger tiles, by an operand's position, the far link's, and the steps that decide."""

    known_setups: dict[tuple[int, int, tuple[int, ...]], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Cycles in which a far link sets up the copy of one larger tile, by the same keys."""

    _scratch_bytes: dict[tuple[int, ...], int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def extents(self) -> dict[str, int]:
        """Extent of every iteration dimension."""
        return {dimension.name: dimension.extent for dimension in self.kernel.nest.dimensions}

    @cached_property
    def cuttable(self) -> tuple[str, ...]:
        """Dimensions that operator and kernel allow to cut, outermost first."""
        return tuple(
            dimension.name
            for dimension in self.kernel.nest.dimensions
            if dimension.extent > 1
            and (dimension.iteration is Iteration.PARALLEL or self._is_cuttable_reduction(dimension))
            and dimension.name not in self.kernel.uncut
        )

    @cached_property
    def reductions(self) -> frozenset[str]:
        """The reductions and sequences among the cuttable dimensions; partial results stay near the core."""
        return self._cuttable_of(Iteration.REDUCTION) | frozenset(self.sequence)

    @cached_property
    def sequence(self) -> tuple[str, ...]:
        """The cuttable dimensions whose points come in lexicographic order, outermost first."""
        found = self._cuttable_of(Iteration.SEQUENTIAL)
        return tuple(dimension.name for dimension in self.kernel.nest.dimensions if dimension.name in found)

    def _cuttable_of(self, iteration: Iteration) -> frozenset[str]:
        cuttable = self.cuttable
        dimensions = self.kernel.nest.dimensions
        return frozenset(item.name for item in dimensions if item.iteration is iteration and item.name in cuttable)

    def _is_cuttable_reduction(self, dimension: Dimension) -> bool:
        carried = dimension.iteration in (Iteration.REDUCTION, Iteration.SEQUENTIAL)
        if not carried or self.kernel.partial_bytes is None:
            return False
        # A packed constant has no strides, so a kernel that reads the constant in its home cannot skip a part.
        return not any(
            operand.link is None and operand.tensor is None and dimension.name in operand.dimensions
            for operand in self.operands
        )

    def overlapped_slots(self, operand: TileOperand) -> int:
        """Slots of an operand of which one at least is filled ahead: two, unless the user gives more."""
        given = self.buffers.get(operand.name)
        return given if isinstance(given, int) and given > 1 else 2

    @property
    def has_given_tiles(self) -> bool:
        """Whether the user gives steps or slots, near the core or farther away."""
        return any((self.given, self.given_far, self.buffers, self.far_buffers))

    @cached_property
    def runs_beside(self) -> bool:
        """Whether copies go on while the core does something else: whether no link copies by the core itself."""
        return all(operand.link.asynchronous for operand in self.operands if operand.link is not None)

    @property
    def moves(self) -> bool:
        """Whether any operand travels over a link."""
        return any(operand.link is not None for operand in self.operands)

    def constant_name(self, operand: TileOperand) -> str:
        """The name of a constant operand in plans and options: the tensor's, or layer and role."""
        return operand.tensor or f"{self.node.name}.{operand.name}"

    @cached_property
    def word_bytes(self) -> int:
        """The largest ``align_bytes`` of a link whose tiles may begin or end within such a word; 1 if none may."""
        links = (operand.link for operand in self.operands if operand.needs_words)
        return max((link.align_bytes for link in links if link is not None), default=1)

    @cached_property
    def words_bytes(self) -> int:
        """Bytes of the buffer for bytes at the ends of lines that are no whole words of a link; 0 if there are none."""
        return max(WORDS_BYTES, self.word_bytes) if self.word_bytes > 1 else 0

    def with_operands(self, operands: tuple[TileOperand, ...]) -> TilingProblem:
        """The problem with the same operands in other homes. What is known of its kernel's calls stays true.

        But homes decide where rows lie apart, so cycles that count rows are not known of other homes.
        """
        found = replace(self, operands=operands)
        found._core_splits.update(self._core_splits)
        found._scratch_bytes.update(self._scratch_bytes)
        if not self.costs.row_cycles or not walks_rows(self.kernel):
            found.known_cycles.update(self.known_cycles)
        return found

    def scratch_bytes(self, steps: TileSteps) -> int:
        """Bytes of all scratch buffers that a tile needs, for all cores, each padded to ``TILE_ALIGN_BYTES``."""
        # The choice asks again for other slots, and for the same tiles beside other tensors.
        key = tuple(steps[dimension.name] for dimension in self.kernel.nest.dimensions)
        if key not in self._scratch_bytes:
            self._scratch_bytes[key] = sum(_padded(size) for size in self.scratch_sizes(steps).values())
        return self._scratch_bytes[key] + self.words_bytes

    def scratch_sizes(self, steps: TileSteps) -> dict[str, int]:
        """Bytes of each scratch buffer that a tile needs, by role, for all cores that share the tile.

        The roles: ``scratch`` and ``partial`` where the kernel asks for them, ``views`` where a call is split.
        """
        core_split, part = self.core_split(steps), self._part(steps)
        cores = 1 if core_split is None else core_split.cores
        scratch_bytes = self.kernel.scratch_bytes(part)
        sizes = {"scratch": cores * scratch_bytes, "partial": cores * self.partial_bytes(part)}
        sizes = {role: size for role, size in sizes.items() if size}
        if core_split is not None:
            sizes["views"] = cores * views_bytes(self.operands, len(sizes), core_split.dimension, self.pointer_bytes)
        return sizes

    def attributes(self, steps: TileSteps) -> tuple[tuple[str, AttributeValue], ...]:
        """Names and values of the kernel's attributes for tiles with these steps."""
        return self.kernel.for_tiles(self._part(steps)).fields

    def _part(self, steps: TileSteps) -> TileSteps:
        """Steps of the part of a tile that one core computes."""
        core_split = self.core_split(steps)
        return steps if core_split is None else core_split.part(steps)

    def core_split(self, steps: TileSteps) -> CoreSplit | None:
        """How the cores share a tile with these steps; None if one core does it alone."""
        if self.cores == 1:
            return None
        # Callers ask for the same steps again, with other slots and for scratch.
        key = tuple(steps.items())
        if key not in self._core_splits:
            fork_cycles = self.costs.fork_cycles / self.costs.kernel(self.kernel.name).factor
            self._core_splits[key] = best_core_split(self.kernel, self.operands, steps, self.cores, fork_cycles)
        return self._core_splits[key]

    def kernel_cycles(self, lengths: TileSteps, core_split: CoreSplit | None, ring: int | None = None) -> float:
        """Cycles of one call on a tile of these lengths, on the slowest core; ``ring`` as ``tiling.kept`` says."""
        cost = self.costs.kernel(self.kernel.name)
        cycles = cost.call_cycles + (0.0 if core_split is None else self.costs.fork_cycles)
        cycles += cost.factor * self.work(lengths, core_split, ring)
        if self.costs.row_cycles:
            cycles += self.costs.row_cycles * self.rows(lengths, core_split)
        if not cost.element_cycles and not cost.point_cycles:
            return cycles
        part = lengths if core_split is None else core_split.part(lengths)
        cycles += cost.element_cycles * written_elements(self.operands, part)
        return cycles + cost.point_cycles * prod(part.values())

    def work(self, lengths: TileSteps, core_split: CoreSplit | None, ring: int | None = None) -> float:
        """Cycles of one call by the kernel's formula, parts weighed as the platform says, on the slowest core."""
        part, cost = lengths if core_split is None else core_split.part(lengths), self.costs.kernel(self.kernel.name)
        cycles = self.kernel.cycles(part)
        if ring is None and not cost.weighs_parts:
            return cycles
        parts = self.kernel.parts(part, ring)
        return cycles + cost.weighed(parts.lone, parts.loops) + parts.ring

    def rows(self, lengths: TileSteps, core_split: CoreSplit | None) -> int:
        """Rows of adjacent elements beyond the first of one call of an elementwise kernel, on the slowest core."""
        part = lengths if core_split is None else core_split.part(lengths)
        return further_rows(self.kernel, self.operands, part, lengths)

    def moved_bytes(self, position: int, steps: TileSteps) -> int:
        """Bytes of all distinct tiles of operand ``position`` together, halos counted in each."""
        operand = self.operands[position]
        # Callers ask for the same tiles again, in other loop orders and beside other operands.
        key = (position, tuple((name, steps[name]) for name in sorted(operand.dimensions)))
        if key not in self._moved_bytes:
            self._moved_bytes[key] = moved_elements(operand, steps, self.extents) * operand.element_bytes
        return self._moved_bytes[key]

    @cached_property
    def least_far_bytes(self) -> int:
        """Bytes over links behind the core's own if each element travels once."""
        return sum(
            len(operand.far_links) * needed_elements(operand, self.cuttable, self.extents) * operand.element_bytes
            for operand in self.operands
            if operand.far_links
        )

    def partial_bytes(self, steps: TileSteps) -> int:
        """Bytes of partial results for a tile; 0 where no reduction is cut."""
        if self.kernel.partial_bytes is None:
            return 0
        extents = self.extents
        cut = any(steps[name] < extents[name] for name in self.reductions)
        return self.kernel.partial_bytes(steps) if cut else 0


def tile_lengths(problem: TilingProblem, steps: TileSteps) -> Iterator[tuple[dict[str, int], int]]:
    """Lengths of the tiles in every dimension, each with the number of tiles that have them: edges are shorter."""
    parts = []
    for name, extent in problem.extents.items():
        step = steps[name]
        if step == extent:
            continue
        whole, rest = divmod(extent, step)
        sizes = ((step, whole), (rest, 1)) if rest else ((step, whole),)
        parts.append([(name, size, times) for size, times in sizes])
    for tile in product(*parts):
        yield {**steps, **{name: size for name, size, _ in tile}}, prod(times for _, _, times in tile)


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // TILE_ALIGN_BYTES) * TILE_ALIGN_BYTES


def tiling_problem(
    graph: Graph,
    node: Node,
    kernel: KernelChoice,
    platform: Platform,
    homes: Mapping[str, str],
    strides: Mapping[str, tuple[int, ...]] | None = None,
    level: str = "",
) -> TilingProblem:
    """Attach homes and links to a kernel's operands.

    ``homes`` gives the pool of each tensor, ``strides`` its strides in bytes (packed without
    them); packed constants live in the first pool that holds constants. ``level`` is the pool in
    which the kernel is to work. Raises not_supported if no link joins a home with the kernel's pool.
    """
    operands = [operand_of(graph, node, item, False, platform, homes, level) for item in kernel.reads]
    operands += [operand_of(graph, node, item, True, platform, homes, level) for item in kernel.writes]
    operands = [_with_strides(operand, strides or {}) for operand in operands]
    pools = near_pools(platform, BufferKind.SCRATCH)
    scratch_pool = level if level in pools else pools[0]
    core = platform.core
    return TilingProblem(
        node,
        kernel,
        _with_unique_names(operands),
        scratch_pool,
        level=level,
        cores=core.count,
        costs=platform.costs,
        simd_bytes=core.simd_bytes,
        pointer_bytes=core.pointer_bytes,
    )


def _with_strides(operand: TileOperand, strides: Mapping[str, tuple[int, ...]]) -> TileOperand:
    if operand.tensor is None or operand.data is not None or operand.tensor not in strides:
        return operand
    return replace(operand, home_strides=strides[operand.tensor])


def _with_unique_names(operands: list[TileOperand]) -> tuple[TileOperand, ...]:
    """An operator may read one tensor twice (x + x); each use has a tile of its own."""
    seen: dict[str, int] = {}
    named = []
    for operand in operands:
        seen[operand.name] = seen.get(operand.name, 0) + 1
        uses = seen[operand.name]
        named.append(operand if uses == 1 else replace(operand, name=f"{operand.name}.{uses}"))
    return tuple(named)
