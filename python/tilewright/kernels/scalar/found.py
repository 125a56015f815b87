"""Kernels that find as many entries as values say (runtime/kernels/found_*.c)."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, ScratchOffset
from tilewright.kernels.float_common import CALL_CYCLES, all_float, fits_rank, per_point, trailing_operand
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, TileSteps
from tilewright.operators.found import SuppressionAttributes, UniqueAttributes
from tilewright.operators.found import nest as nest_of

_COMPARE_CYCLES = 40.0
_SCORE_CYCLES = 12.0
_BOX_CYCLES = 60.0
_SIGNED, _UNSIGNED, _REAL = range(3)


@dataclass(frozen=True, slots=True)
class FoundNonZero(CStruct):
    """Operands: x of bool with six axes, positions int64 [rank, bound], count int32 [1]."""

    rank: Int32


@dataclass(frozen=True, slots=True)
class FoundUnique(CStruct):
    """Operands: x [row, width], different rows [bound, width], their first rows int64 [bound], numbers int64 [row],
    counts int64 [bound], count int32 [1]; scratch: int32 for each row.
    """

    element_bytes: Int32
    kind: Annotated[Int32, "0: signed, 1: unsigned integers, 2: float"]
    is_sorted: Int32
    order_at: ScratchOffset = 0


@dataclass(frozen=True, slots=True)
class FoundBoxes(CStruct):
    """Operands: boxes [batch, box, 4], scores [batch, class, box], most int64 [1], overlap [1], threshold [1], found
    int64 [bound, 3], count int32 [1]; scratch: a byte for each box.
    """

    by_center: Int32
    has_threshold: Int32
    closed_at: ScratchOffset = 0


def non_zero(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for flags."""
    x = graph.tensor(node.inputs[0])
    if x.dtype is not DType.BOOL:
        return ()
    return _choice(node, graph, _NON_ZERO, "found_non_zero.c", FoundNonZero(len(x.shape)))


def unique(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for rows of any element type."""
    dtype = graph.tensor(node.inputs[0]).dtype
    kind = _REAL if dtype.numpy.kind == "f" else _SIGNED if dtype.numpy.kind == "i" else _UNSIGNED
    attributes = FoundUnique(dtype.size_bytes, kind, int(node.given(UniqueAttributes).is_sorted))
    return _choice(node, graph, _UNIQUE, "found_unique.c", attributes)


def boxes(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for float32 boxes and scores."""
    if not all_float(graph, (*node.inputs[:2], *node.inputs[3:])):
        return ()
    given = node.given(SuppressionAttributes)
    attributes = FoundBoxes(int(given.by_center), int(given.has_threshold))
    return _choice(node, graph, _BOXES, "found_boxes.c", attributes)


def _choice(node: Node, graph: Graph, kernel: Kernel, source: str, attributes: CStruct) -> tuple[KernelChoice, ...]:
    if not fits_rank(graph, (*node.inputs, *node.outputs)):
        return ()
    nest = nest_of(node, graph)
    return (
        KernelChoice(
            kernel=kernel,
            sources=(source,),
            nest=nest,
            reads=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.inputs, nest.reads, strict=True)
            ),
            writes=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.outputs, nest.writes, strict=True)
            ),
            attributes=attributes,
        ),
    )


def _extents(choice: KernelChoice, read: int) -> tuple[int, ...]:
    return tuple(axis.last_offset + 1 for axis in choice.reads[read].axes)


def _unique_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    rows, width = _extents(choice, 0)
    return CALL_CYCLES + rows * (1.0 + log2(rows)) * 2 * _COMPARE_CYCLES + rows * width * _COMPARE_CYCLES


def _unique_scratch(choice: KernelChoice, steps: TileSteps) -> Mapping[str, int]:
    return {"order": 4 * _extents(choice, 0)[0]}


def _boxes_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Each box that is kept takes a look at all scores and boxes of its class; one in eight is taken to be."""
    batches, classes, count = _extents(choice, 1)
    return CALL_CYCLES + batches * classes * count * (1 + count / 8) * (_SCORE_CYCLES + _BOX_CYCLES)


def _boxes_scratch(choice: KernelChoice, steps: TileSteps) -> Mapping[str, int]:
    return {"closed": _extents(choice, 1)[2]}


_NON_ZERO = Kernel("tilewright_found_non_zero", FoundNonZero, per_point(15.0))
_UNIQUE = Kernel("tilewright_found_unique", FoundUnique, _unique_cycles, scratch=_unique_scratch)
_BOXES = Kernel("tilewright_found_boxes", FoundBoxes, _boxes_cycles, scratch=_boxes_scratch)

DECLARATION = Declaration(
    operators={"NonZero": non_zero, "Unique": unique, "NonMaxSuppression": boxes},
    kernels=(_NON_ZERO, _UNIQUE, _BOXES),
    numbers={"FOUND_SIGNED": _SIGNED, "FOUND_UNSIGNED": _UNSIGNED, "FOUND_REAL": _REAL},
)
