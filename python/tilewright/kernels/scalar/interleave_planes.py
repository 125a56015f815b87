"""The kernel of Interleave, which may write its result over its input (runtime/kernels/interleave_planes.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node, channels_last_order, identity_order
from tilewright.kernels.c_structs import CStruct, Int32, ScratchOffset
from tilewright.kernels.integer import words
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, TileSteps
from tilewright.kernels.scalar.movement import ElementBytes, copy
from tilewright.plan import Stores, WriteOrder


@dataclass(frozen=True, slots=True)
class InterleavePlanes(CStruct):
    """Planes of rows become pixels: elements that are a plane apart in x lie side by side in y. y has the bytes of x,
    or shares none with x. Operands: x [1, planes, ...]; y, of the same extents; scratch: a row of all planes, then a
    bit for each row of each plane.
    """

    element_bytes: ElementBytes
    planes: Int32
    rows: Annotated[Int32, "of a plane"]
    row_length: Annotated[Int32, "elements"]
    moved_at: ScratchOffset = 0


def interleave(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Interleave."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    rank = len(x.shape)
    if rank < 3 or x.shape[0] != 1 or (x.order, y.order) != (identity_order(rank), channels_last_order(rank)):
        return ()
    planes, *inside = x.shape[1:]
    length = inside[-1] if len(inside) > 1 else 1
    attributes = InterleavePlanes(x.dtype.size_bytes, planes, prod(inside) // max(length, 1), length)
    uncut = frozenset(f"d{axis}" for axis in range(rank))
    sources = ("interleave_planes.c", "move_row.c", "walk.c")
    return tuple(
        replace(choice, kernel=_INTERLEAVE, attributes=attributes, sources=sources, uncut=uncut)
        for choice in copy(node, graph)
    )


def _permuted(choice: KernelChoice) -> Stores:
    return Stores(WriteOrder.PERMUTED, (0,))


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    given = choice.given(InterleavePlanes)
    row = given.planes * given.row_length * given.element_bytes
    return {"row": words(row), "moved": words(-(-given.planes * given.rows // 8))}


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions in place, fitted to measurements on RV32IMAC."""
    given = choice.given(InterleavePlanes)
    each_row = 90.0 + 2.0 * given.row_length * given.element_bytes
    return 200.0 + given.planes * given.rows * (each_row + 7.0 * given.row_length)


_INTERLEAVE = Kernel("tilewright_interleave_planes", InterleavePlanes, _cycles, stores=_permuted, scratch=_scratch)

DECLARATION = Declaration(operators={"Interleave": interleave}, kernels=(_INTERLEAVE,))
