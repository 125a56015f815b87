"""What a C kernel can do and costs: the declaration that tiler and code generator read.

A kernel never assumes that an operand is contiguous: C gets, for each operand, base,
strides, extents and origin of the tile (docs/reference/operators-and-kernels.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.graph import Array, Graph, Node
from tilewright.kernels.attributes import CStruct
from tilewright.operators.nest import AxisMap, Nest
from tilewright.plan import UNKNOWN_STORES, AttributeValue, Core, Stores, WriteOrder


@dataclass(frozen=True, slots=True)
class TensorOperand:
    """An operand that is a tensor of the graph.

    ``view`` gives, for each axis of the view that C gets, the tensor's axis, or -1 for an
    axis of extent 1 that the tensor lacks.
    """

    tensor: str
    axes: tuple[AxisMap, ...]
    view: tuple[int, ...]


TileSteps = Mapping[str, int]
"""Dimension name to tile step."""

Pack = Callable[[TileSteps], Array]
"""The array for the tiles of these steps."""


@dataclass(frozen=True, slots=True)
class Packing:
    """An array that is made when its kernel was taken, and its tiles; its bytes are known before.

    Attributes:
        pack: the array, of this shape and element type.
        by_tile: the steps decide what the array has; else one array serves all tiles.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pack: Pack
    by_tile: bool = False


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """An operand that the kernel packed for itself; row-major, axes mapped like a tensor's.

    ``role`` is a C identifier: weights, requantization, table. ``data`` is the array as C reads it, or how
    to pack it.
    """

    role: str
    data: Array | Packing
    axes: tuple[AxisMap, ...]
    align_bytes: int = 4


def packed_array(data: Array | Packing, steps: TileSteps) -> Array:
    """The array as C reads it, for the tiles of these steps."""
    if not isinstance(data, Packing):
        return data
    array = data.pack(steps)
    assert array.shape == data.shape, f"packed {array.shape}, declared {data.shape}"
    assert array.dtype == data.dtype, f"packed {array.dtype}, declared {data.dtype}"
    return array


Fields = tuple[tuple[str, AttributeValue], ...]
"""Names and values of the fields of a C struct."""

DECLARATIONS = "tilewright/kernels/declarations.h"
"""The header of Tilewright's own kernels."""

MAX_RANK = 6
"""Axes of a view at most."""

HEIGHT, WIDTH = 2, 3
"""Axes of the view that kernels with windows get."""


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
        symbol: C function.
        called: what reports, locks and a platform's costs call the kernel, where that is not its symbol: kernels
            whose attributes point to a rule or a core are told apart by it.
        sources: C files under runtime/kernels that the symbol needs.
        nest: iteration space; tensor and constant operands map into it.
        reads, writes: operands in the order of C's operand array.
        attributes: of the C function. A project's own kernel may give names and values of the fields of
            ``struct <symbol>_attributes``, which its own header declares.
        multiples: a cut dimension's step is a multiple of this.
        uncut: dimensions that this kernel needs whole, though the operator would allow a cut.
        scratch_bytes: scratch for a tile, 4-byte aligned, 0 for none; with pointers as wide as the core's.
        cycles: predicted cycles of one kernel call on a tile with these steps.
        partial_bytes: bytes of the partial results of an output tile, for kernels that can be
            called part by part of a reduction; None: reductions stay whole. Where a reduction is
            cut, C gets one more view behind scratch, and the flags say FIRST and LAST.
        stores: the order of its stores: over which reads the write may lie, and how close.
        header: what declares the symbol, as it is included; by default ``DECLARATIONS``.
        ring_axes: axes of the first read's view along which its rows may live in a ring.
    """

    symbol: str
    sources: tuple[str, ...]
    nest: Nest
    reads: tuple[TensorOperand | ConstantOperand, ...]
    writes: tuple[TensorOperand, ...]
    attributes: CStruct | Fields
    cycles: Callable[[TileSteps], float]
    scratch_bytes: Callable[[TileSteps], int] = no_scratch
    partial_bytes: Callable[[TileSteps], int] | None = None
    multiples: Mapping[str, int] = field(default_factory=dict)
    uncut: frozenset[str] = frozenset()
    stores: Stores = UNKNOWN_STORES
    header: str = ""
    called: str = ""
    ring_axes: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """What reports, locks and a platform's costs call the kernel."""
        return self.called or self.symbol

    @property
    def fields(self) -> Fields:
        """Names and values of the fields of the C struct, in order."""
        return self.attributes.values() if isinstance(self.attributes, CStruct) else self.attributes

    @property
    def attributes_struct(self) -> str:
        """The C struct of the attributes, without the word."""
        return self.attributes.struct() if isinstance(self.attributes, CStruct) else f"{self.symbol}_attributes"


ChoicesOf = Callable[[Node, Graph], tuple[KernelChoice, ...]]
"""The kernels of one file for a node, best first; empty where they do not apply."""

ChoicesOnCore = Callable[[Node, Graph, Core], tuple[KernelChoice, ...]]
"""The same where the core decides too."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What one file of kernels declares. The registry reads it, and scripts/kernel_header.py writes C from it.

    Attributes:
        operators: names of operators, and what chooses among the file's kernels for a node.
        on_core: the same for kernels that depend on the core: on the bytes of its pointers, or of what an
            instruction works on.
        functions: C functions without ``tilewright_``, and the class of their attributes.
        pointed: what attributes may point to, without ``tilewright_``, by its C type.
        numbers: what C knows as ``TILEWRIGHT_<name>``.
        stack_bytes: what a kernel, or what its attributes point to, needs of a core's stack on RV32 without an
            FPU, where that is more than cores with short stacks have. Multiples of 16, with the 16 bytes that a
            port keeps unwritten; tests/unit/test_cluster_stacks.py compares them with the compiler's frames.
        is_fallback: the kernels are for nodes that no other kernel takes.
    """

    operators: Mapping[str, ChoicesOf] = field(default_factory=dict)
    on_core: Mapping[str, ChoicesOnCore] = field(default_factory=dict)
    functions: Mapping[str, type[CStruct]] = field(default_factory=dict)
    pointed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    stack_bytes: Mapping[str, int] = field(default_factory=dict)
    is_fallback: bool = False

    def choices(self, node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
        """The kernels for a node, best first; empty where the file has none."""
        plain, on_core = self.operators.get(node.operator), self.on_core.get(node.operator)
        found = plain(node, graph) if plain is not None else ()
        return (*found, *on_core(node, graph, core)) if on_core is not None else found
