"""The plan: everything that was decided about a model, as data.

A ``Plan`` is frozen and serialisable. Generated C, headers, reports, simulation
and lock file are pure functions of it and of the constants that it names by hash.
Sizes, strides and offsets are bytes; lifetimes are half-open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Union

from tilewright.plan.facts import (
    KernelOffer,
    LayerFacts,
    LayerReasons,
    LayerWork,
    LinkLoad,
    PoolUse,
    TilingProof,
)
from tilewright.plan.memory import (
    Access,
    Buffer,
    BufferKind,
    Core,
    InterfaceTensor,
    Link,
    Placement,
    Pool,
    Quantization,
    Relation,
    RelationKind,
)

__all__ = [
    "PLAN_FORMAT",
    "Access",
    "AttributeValue",
    "AxisRange",
    "Barrier",
    "Begin",
    "Buffer",
    "BufferKind",
    "CopyStart",
    "Core",
    "End",
    "Fork",
    "Group",
    "Index",
    "InterfaceTensor",
    "Kernel",
    "KernelOffer",
    "Layer",
    "LayerFacts",
    "LayerReasons",
    "LayerWork",
    "Link",
    "LinkLoad",
    "Loop",
    "Operand",
    "Phase",
    "Placement",
    "Plan",
    "Pool",
    "PoolUse",
    "Quantization",
    "Relation",
    "RelationKind",
    "Split",
    "SplitAxis",
    "Step",
    "TilingProof",
    "Wait",
    "When",
    "kernel_steps",
    "loop_in",
]

PLAN_FORMAT = 1


class Phase(Enum):
    """When, within a period of tiles, a step runs: at its first or at its last tile."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Index:
    """A tiled dimension of a loop: tile c covers [c*step, min(c*step + step, extent))."""

    name: str
    extent: int
    step: int

    @property
    def count(self) -> int:
        """Number of tiles."""
        return -(-self.extent // self.step)


@dataclass(frozen=True, slots=True)
class Group:
    """Coarser tiles of an index, for pools between home and core: ``tiles`` tiles of index ``of`` in a row.

    Group c covers [c*tiles*step, min((c + 1)*tiles*step, extent)) of the index's dimension;
    axis ranges name it like an index. ``tiles`` divides the index's number of tiles.
    """

    name: str
    of: str
    tiles: int


@dataclass(frozen=True, slots=True)
class AxisRange:
    """The part of one tensor axis that a tile touches, from the tile's index bounds.

    With [lower_i, upper_i) the bounds of index i, and s_i its stride in ``terms``:
    first = floor((sum s_i * lower_i + first_offset) / divisor),
    last = floor((sum s_i * (upper_i - 1) + last_offset) / divisor)
    (for a negative s_i the two bounds change places), clipped to [0, extent).
    """

    terms: tuple[tuple[str, int], ...]
    first_offset: int
    last_offset: int
    divisor: int
    extent: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A rectangle of a buffer as a step sees it.

    The rectangle is in coordinates of the whole tensor. A home buffer holds the tensor
    from its origin; slot (u // period) % copies of a tile buffer holds the rectangle of
    tile u from the slot's first byte, or, where ``within`` is given, the larger rectangle
    ``within`` of which the operand is a part.
    """

    buffer: str
    rectangle: tuple[AxisRange, ...]
    period: int = 1
    within: tuple[AxisRange, ...] = ()


@dataclass(frozen=True, slots=True)
class When:
    """At which iterations t of the enclosing loop a step runs, and for which tile u.

    u = t + ahead; the step runs if 0 <= u < tiles and u is the first (or last) tile of
    its period. Outside a loop there is one tile, u = 0; only a Wait there may be for another.
    """

    ahead: int = 0
    period: int = 1
    phase: Phase = Phase.FIRST


@dataclass(frozen=True, slots=True)
class CopyStart:
    """Start to copy a rectangle over a link. ``token`` names it for Wait, by tile.

    The destination is a ring where ``kept`` names an index: of the ring's axis only those elements
    are copied that lie behind the rectangle of the tile before along that index, all of them in the
    index's first tile. Source and destination name the whole rectangle.
    """

    link: str
    token: str
    source: Operand
    destination: Operand
    when: When = When()
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until the copy that CopyStart ``token`` started for tile u is complete.

    Copies of a token are numbered from 0 on, one for each period: outside a loop u is that number, and
    the copy may be one that a layer before started.
    """

    token: str
    when: When = When()


@dataclass(frozen=True, slots=True)
class SplitAxis:
    """An axis of a kernel's operand (reads, then writes) that follows a split dimension alone."""

    operand: int
    axis: int
    range: AxisRange


@dataclass(frozen=True, slots=True)
class Split:
    """How cores share a kernel call along one dimension, of which the tile covers [lower, upper).

    These are the bounds of the loop's index of that name, else [0, ``extent``). Core c works on
    [lower + c * chunk, min(lower + (c + 1) * chunk, upper)), with ``axes`` cut down to it, and on
    bytes [c * size, (c + 1) * size) of each of the kernel's scratch buffers, whose sizes for one
    core are ``scratch_bytes``. Its views of the operands are in bytes [c * views_bytes,
    (c + 1) * views_bytes) of scratch buffer ``views``.
    """

    dimension: str
    extent: int
    chunk: int
    cores: int
    axes: tuple[SplitAxis, ...]
    scratch_bytes: tuple[int, ...]
    views: str
    views_bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """Run a kernel on a tile.

    ``operands`` stand in the order that the C symbol expects; reads, then writes, then
    scratch. ``attributes`` are the fields of ``struct <symbol>_attributes``.
    ``reduction`` names the indices over which partial results are accumulated. With ``split``
    several cores run it, and go on when all have ended.
    """

    name: str
    symbol: str
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    scratch: tuple[str, ...]
    axes: tuple[tuple[int, ...], ...]
    attributes: tuple[tuple[str, AttributeValue], ...]
    reduction: tuple[str, ...] = ()
    when: When = When()
    split: Split | None = None


@dataclass(frozen=True, slots=True)
class Fork:
    """Start the kernel steps up to the next Barrier on ``cores`` cores."""

    cores: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """All cores arrive before any goes on; empty on one core."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The buffer is alive from here."""

    buffer: str


@dataclass(frozen=True, slots=True)
class End:
    """The buffer is dead from here."""

    buffer: str


@dataclass(frozen=True, slots=True)
class Loop:
    """Tiles in lexicographic order of ``indices``, the last one fastest.

    With T tiles the body runs for t = -lead ... T - 1 + trail; each step decides by its
    ``When`` whether it has a tile there. A prologue is a lead, an epilogue a trail.
    """

    indices: tuple[Index, ...]
    body: tuple[Step, ...]
    lead: int = 0
    trail: int = 0
    groups: tuple[Group, ...] = ()

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        product = 1
        for index in self.indices:
            product *= index.count
        return product


@dataclass(frozen=True, slots=True)
class Layer:
    """The steps of one operator (or fusion group): one C function."""

    name: str
    body: tuple[Step, ...]


def loop_in(body: Sequence[Step]) -> Loop | None:
    """The loop of a layer's body; None for a straight line."""
    return next((step for step in body if isinstance(step, Loop)), None)


def kernel_steps(body: tuple[Step, ...]) -> tuple[Kernel, ...]:
    """All kernel steps of a program, in order."""
    found: list[Kernel] = []
    for step in body:
        if isinstance(step, Kernel):
            found.append(step)
        elif isinstance(step, (Layer, Loop)):
            found += kernel_steps(step.body)
    return tuple(found)


AttributeValue = Union[int, float, str, tuple[int, ...], tuple[float, ...]]
Step = Union[Loop, Layer, CopyStart, Wait, Kernel, Fork, Barrier, Begin, End]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything decided about one model.

    ``profile`` names the buffer where the program keeps what it measures of each layer, if it does.
    ``core_stack_bytes`` are what each core needs of a stack, where that is more than the platform's cores
    have, else 0.
    """

    name: str
    model: str
    model_sha256: str
    platform: str
    port: str | None
    tool_version: str
    pools: tuple[Pool, ...]
    links: tuple[Link, ...]
    core: Core
    io_pool: str
    stack_bytes: int
    inputs: tuple[InterfaceTensor, ...]
    outputs: tuple[InterfaceTensor, ...]
    buffers: tuple[Buffer, ...]
    relations: tuple[Relation, ...]
    placements: tuple[Placement, ...]
    program: tuple[Step, ...]
    layers: tuple[LayerFacts, ...]
    pool_use: tuple[PoolUse, ...]
    kernel_sources: tuple[str, ...]
    kernel_headers: tuple[str, ...] = ()
    static_pools: bool = False
    io_in_pools: bool = False
    tiling: TilingProof | None = None
    profile: str | None = None
    core_stack_bytes: int = 0
