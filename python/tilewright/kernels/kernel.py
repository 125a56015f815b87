"""What a C kernel can do and costs: the declaration that tiler and code generator read.

A kernel never assumes that an operand is contiguous: C gets, for each operand, base,
strides, extents and origin of the tile (docs/reference/operators-and-kernels.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tilewright.graph import Array
from tilewright.operators.nest import AxisMap, Nest
from tilewright.plan import UNKNOWN_STORES, AttributeValue, Stores, WriteOrder


@dataclass(frozen=True, slots=True)
class TensorOperand:
    """An operand that is a tensor of the graph.

    ``view`` gives, for each axis of the view that C gets, the tensor's axis, or -1 for an
    axis of extent 1 that the tensor lacks.
    """

    tensor: str
    axes: tuple[AxisMap, ...]
    view: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """An operand that the kernel packed for itself; row-major, axes mapped like a tensor's.

    ``role`` is a C identifier: weights, requantization, table.
    """

    role: str
    data: Array
    axes: tuple[AxisMap, ...]
    align_bytes: int = 4


HEIGHT, WIDTH = 2, 3
"""Axes of the view that kernels with windows get."""

TileSteps = Mapping[str, int]
"""Dimension name to tile step."""


def no_scratch(steps: TileSteps) -> int:
    """For kernels without scratch."""
    return 0


def elementwise_over(*reads: int) -> Stores:
    """For kernels that load an element of these reads before they store that at its position, and never again."""
    return Stores(WriteOrder.ELEMENTWISE, reads)


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """One way to run one node.

    Attributes:
        symbol: C function; its attributes are ``struct <symbol>_attributes``.
        sources: C files under runtime/kernels that the symbol needs.
        nest: iteration space; tensor and constant operands map into it.
        reads, writes: operands in the order of C's operand array.
        attributes: fields of the C struct, in order, with values.
        multiples: a cut dimension's step is a multiple of this.
        uncut: dimensions that this kernel needs whole, though the operator would allow a cut.
        scratch_bytes: scratch for a tile, 4-byte aligned, 0 for none; without pointers in it.
        scratch_pointers: pointers that C keeps in the scratch besides.
        cycles: predicted cycles of one kernel call on a tile with these steps.
        partial_bytes: bytes of the partial results of an output tile, for kernels that can be
            called part by part of a reduction; None: reductions stay whole. Where a reduction is
            cut, C gets one more view behind scratch, and the flags say FIRST and LAST.
        stores: the order of its stores: over which reads the write may lie, and how close.
        header: what declares the symbol, as it is included; by default that of the first source.
        ring_axes: axes of the first read's view along which its rows may live in a ring.
    """

    symbol: str
    sources: tuple[str, ...]
    nest: Nest
    reads: tuple[TensorOperand | ConstantOperand, ...]
    writes: tuple[TensorOperand, ...]
    attributes: tuple[tuple[str, AttributeValue], ...]
    cycles: Callable[[TileSteps], float]
    scratch_bytes: Callable[[TileSteps], int] = no_scratch
    scratch_pointers: Callable[[TileSteps], int] = no_scratch
    partial_bytes: Callable[[TileSteps], int] | None = None
    multiples: Mapping[str, int] = field(default_factory=dict)
    uncut: frozenset[str] = frozenset()
    stores: Stores = UNKNOWN_STORES
    header: str = ""
    ring_axes: frozenset[int] = frozenset()
