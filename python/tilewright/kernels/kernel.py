"""The declaration of a C kernel that tiler and code generator read: operands, limits, costs.

A kernel never assumes that an operand is contiguous: C gets, for each operand, base,
strides, extents and origin of the tile (docs/reference/operators-and-kernels.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.kernels.c_structs import CStruct
from tilewright.kernels.liked_orders import ANY_ORDER, LikedOrder
from tilewright.kernels.work_parts import WorkParts
from tilewright.operators.nest import AxisMap, Nest
from tilewright.plan import UNKNOWN_STORES, AttributeValue, Core, Iteration, Stores, WriteOrder


@dataclass(frozen=True, slots=True)
class TensorOperand:
    """An operand that is a tensor of the graph.

    ``axes`` maps each axis of the tensor. ``view`` gives, for each axis of the view that C gets,
    the tensor's axis, or -1 for an axis of extent 1 that the tensor lacks.
    """

    tensor: str
    axes: tuple[AxisMap, ...]
    view: tuple[int, ...]


TileSteps = Mapping[str, int]
"""Dimension name to tile step."""

Pack = Callable[[TileSteps], Array]
"""From the steps of tiles to the array that C reads for these tiles."""


@dataclass(frozen=True, slots=True)
class Packing:
    """An array that is packed once kernel and tiles are chosen; its size is known before.

    Attributes:
        shape, dtype: extents and element type of the array.
        pack: the array for the steps of tiles.
        by_tile: whether the array's elements depend on the steps; else one array serves all tiles.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pack: Pack
    by_tile: bool = False


@dataclass(frozen=True, slots=True)
class ConstantOperand:
    """A constant operand in the kernel's own format; row-major, its axes mapped like a tensor's.

    ``role`` is a C identifier: weights, requantization, table. ``data`` is the array as C reads it, or its
    ``Packing``.
    """

    role: str
    data: Array | Packing
    axes: tuple[AxisMap, ...]
    align_bytes: int = 4


def packed_array(data: Array | Packing, steps: TileSteps) -> Array:
    """The array as C reads it, for tiles of ``steps``."""
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

SCRATCH_ALIGN_BYTES = 4
"""Multiple at which areas of scratch begin."""

MAX_RANK = 6
"""The most axes of a view."""

HEIGHT, WIDTH = 2, 3
"""Positions of the axes h and w in the view [n, c, h, w] of kernels with windows."""


Attributes = TypeVar("Attributes", bound=CStruct)

StoresOf = Callable[["KernelChoice"], Stores]
"""From the choice for a node to the order in which the kernel writes."""

CyclesOf = Callable[["KernelChoice", TileSteps], float]
"""From the choice for a node and the steps of tiles to the predicted cycles of one call on such a tile."""


PartsOf = Callable[["KernelChoice", TileSteps, int | None], WorkParts]
"""From the choice for a node, the steps of tiles, and the axis of the first read's view along which it is a ring (None
for none) to parts of the cycles of one call."""


def no_parts(choice: KernelChoice, steps: TileSteps, ring: int | None) -> WorkParts:
    """``parts`` of kernels of whose cycles platforms weigh no part by itself, and which rings cost nothing."""
    return WorkParts()


ScratchOf = Callable[["KernelChoice", TileSteps], Mapping[str, int]]
"""From the choice for a node and the steps of tiles to the bytes of each area of scratch, by name, in their order."""


def no_scratch(choice: KernelChoice, steps: TileSteps) -> Mapping[str, int]:
    """``scratch`` of kernels without scratch."""
    return {}


def scratch_for_parts(choice: KernelChoice, steps: TileSteps) -> Mapping[str, int]:
    """``scratch`` of kernels that work on partial results, also where nothing is cut and no part follows."""
    carried = (Iteration.REDUCTION, Iteration.SEQUENTIAL)
    dimensions = [item for item in choice.nest.dimensions if item.iteration in carried]
    if choice.partial_bytes is None or any(steps[item.name] < item.extent for item in dimensions):
        return {}
    return {"parts": choice.partial_bytes(steps)}


def unknown_stores(choice: KernelChoice) -> Stores:
    """``stores`` of kernels that may read anything after their first store."""
    return UNKNOWN_STORES


def elementwise_over(*reads: int) -> StoresOf:
    """``stores`` of kernels that load an element of these reads before they store the element at the same position.

    They never load that element again. ``reads`` are positions in the kernel's reads.
    """
    return lambda choice: Stores(WriteOrder.ELEMENTWISE, reads)


def elementwise_over_tensors(choice: KernelChoice) -> Stores:
    """``stores`` of kernels that are elementwise over all their reads but the constants that are packed for them."""
    over = (position for position, read in enumerate(choice.reads) if isinstance(read, TensorOperand))
    return Stores(WriteOrder.ELEMENTWISE, tuple(over))


def raster_over(
    *walk: str, block: int = 1, restarts: tuple[str, ...] = (), apart: tuple[str, ...] = (), rereads: bool = False
) -> StoresOf:
    """``stores`` of kernels that walk over their output and load from their first read only what lies ahead of it.

    Args:
        walk: dimensions in their order, outermost first; those that the nest of a node lacks are left out.
        block: points that the kernel reads for before it stores their results.
        restarts: dimensions of the walk with each value of which a new block begins.
        apart: dimensions whose points the kernel takes in any order, since each has elements of its own.
        rereads: whether the kernel reads between the stores of a block.
    """

    def stores(choice: KernelChoice) -> Stores:
        extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
        begins_anew = any(extents.get(name, 1) > 1 for name in restarts)
        if begins_anew and block > 1 and rereads:
            return UNKNOWN_STORES
        walked, alone = (tuple(name for name in names if name in extents) for names in (walk, apart))
        # Blocks that begin anew have several sizes. A kernel of any block size keeps the promise for blocks of one.
        return Stores(WriteOrder.RASTER, (0,), walked, 1 if begins_anew else block, apart=alone, rereads=rereads)

    return stores


@dataclass(frozen=True, slots=True)
class Backward:
    """Lets a function that stores in raster order walk from the last value of a dimension to the first.

    C gets views whose axes that follow ``dimension`` have negative strides: they begin with the last element, and
    their positions are counted from the end of the whole axis. ``attributes`` gives the attributes for that, from
    the choice and the extent of the first read's axis; None where they cannot say it.
    """

    dimension: str
    attributes: Callable[[KernelChoice, int], CStruct | None]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Facts about a C function that hold for every node; they stand in the ``Declaration`` of the function's file.

    Facts that depend on the node are functions of the ``KernelChoice``, which has operands, nest and attributes of the
    node; facts that depend on the tile, too, are functions of the choice and of the steps.

    Attributes:
        symbol: name of the C function.
        attributes: class of the C function's attributes; None where a project's own header declares the struct.
        cycles: predicted cycles of one call on a tile with these steps.
        parts: parts of these cycles that platforms weigh by themselves, and what a ring costs beside them.
        scratch: the areas of scratch for a tile with these steps, or smaller; each begins at a multiple of 4 bytes.
            Where the attributes have a field ``<area>_at``, C gets the area's offset in it. Pointers in scratch count
            with the core's pointer size.
        stores: the order in which the function writes, and the reads over which the write may lie.
        ring_axes: axes of the first read's view along which the rows of the read may live in a ring.
        group_ring_axes: the same for rings between the layers of a group alone. A layer by itself that keeps halo rows
            in a ring saves copies, which run beside a kernel of a cluster anyway.
        likes: the memory order in which the function likes best to read and write tensors.
        header: the header that declares the symbol, as in ``#include``; empty for ``DECLARATIONS``.
        backward: how the function walks backward over one dimension of its walk; None if it cannot.
    """

    symbol: str
    attributes: type[CStruct] | None
    cycles: CyclesOf
    stores: StoresOf = unknown_stores
    ring_axes: frozenset[int] = frozenset()
    group_ring_axes: frozenset[int] = frozenset()
    likes: LikedOrder = ANY_ORDER
    header: str = ""
    backward: Backward | None = None
    scratch: ScratchOf = no_scratch
    parts: PartsOf = no_parts


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """One way to run one node.

    Attributes:
        kernel: the declaration of the C function.
        sources: C files under runtime/kernels that the symbol needs.
        nest: iteration space; tensor and constant operands map into it.
        reads, writes: operands in the order of C's operand array.
        attributes: attributes of the C function. A project's own kernel may give names and values of the
            fields of ``struct <symbol>_attributes``, which its own header declares.
        multiples: by dimension, a number that divides every step with which the dimension is cut: {"oc": 4}.
        uncut: dimensions that this kernel needs whole, though the operator would allow a cut.
        partial_bytes: bytes of the partial results of an output tile, for kernels that can be
            called part by part of a reduction; None: reductions stay whole. Where a reduction is
            cut, C gets one more view behind scratch, and the flags say FIRST and LAST.
        in_groups: whether only layers of a group take the choice, which is for few rows at a time.
        saves_scratch: whether the choice is only for pools that are too small for the others, and for plans that need
            fewer bytes: it takes less scratch, and code that a network has not yet.
        called: the choice's name in reports, locks and a platform's costs, where that is not the symbol: it tells
            apart choices of one C function whose attributes point to different rules or cores.
    """

    kernel: Kernel
    sources: tuple[str, ...]
    nest: Nest
    reads: tuple[TensorOperand | ConstantOperand, ...]
    writes: tuple[TensorOperand, ...]
    attributes: CStruct | Fields
    partial_bytes: Callable[[TileSteps], int] | None = None
    multiples: Mapping[str, int] = field(default_factory=dict)
    uncut: frozenset[str] = frozenset()
    in_groups: bool = False
    saves_scratch: bool = False
    called: str = ""

    @property
    def symbol(self) -> str:
        """Name of the C function."""
        return self.kernel.symbol

    @property
    def name(self) -> str:
        """The choice's name in reports, locks and a platform's costs."""
        return self.called or self.symbol

    @property
    def header(self) -> str:
        """The header that declares the C function, as in ``#include``."""
        return self.kernel.header or DECLARATIONS

    @property
    def ring_axes(self) -> frozenset[int]:
        """Axes of the first read's view along which the rows of the read may live in a ring."""
        return self.kernel.ring_axes

    @property
    def ring_axes_in_groups(self) -> frozenset[int]:
        """The same where the ring lies between the layers of a group."""
        return self.kernel.ring_axes | self.kernel.group_ring_axes

    @property
    def stores(self) -> Stores:
        """The order in which the kernel writes, and the reads over which the write may lie."""
        return self.kernel.stores(self)

    def backward(self, extent: int) -> KernelChoice | None:
        """The choice whose kernel walks backward; None if it cannot.

        Args:
            extent: of the first read's axis that follows the dimension over which it walks backward.
        """
        stores, turned = self.stores, self.kernel.backward
        if turned is None or turned.dimension not in stores.walk:
            return None
        attributes = turned.attributes(self, extent)
        if attributes is None:
            return None
        order = replace(stores, backward=(turned.dimension,))
        kernel = replace(self.kernel, stores=lambda _: order, backward=None)
        return replace(self, kernel=kernel, attributes=attributes)

    def cycles(self, steps: TileSteps) -> float:
        """Predicted cycles of one kernel call on a tile with these steps."""
        return self.kernel.cycles(self, steps)

    def parts(self, steps: TileSteps, ring: int | None) -> WorkParts:
        """Parts of these cycles, and what a ring along axis ``ring`` of the first read's view costs beside them."""
        return self.kernel.parts(self, steps, ring)

    def given(self, kind: type[Attributes]) -> Attributes:
        """The attributes, which are of class ``kind``."""
        assert isinstance(self.attributes, kind), f"{self.symbol} has {type(self.attributes).__name__}"
        return self.attributes

    @property
    def fields(self) -> Fields:
        """Names and values of the fields of the C struct, in order."""
        return self.attributes.values() if isinstance(self.attributes, CStruct) else self.attributes

    def for_tiles(self, steps: TileSteps) -> KernelChoice:
        """The choice for tiles with these steps: its attributes have the offsets of the areas of scratch."""
        names = {name for name, _ in self.fields}
        offsets = {f"{area}_at": offset for area, (offset, _) in self._areas(steps).items() if f"{area}_at" in names}
        if isinstance(self.attributes, CStruct):
            return replace(self, attributes=replace(self.attributes, **offsets)) if offsets else self
        return replace(self, attributes=tuple((name, offsets.get(name, value)) for name, value in self.attributes))

    def scratch_bytes(self, steps: TileSteps) -> int:
        """Bytes of scratch for a tile with these steps; 0 for none."""
        return max((offset + size for offset, size in self._areas(steps).values()), default=0)

    def _areas(self, steps: TileSteps) -> dict[str, tuple[int, int]]:
        """Offset and bytes of each area of scratch."""
        areas, end = dict[str, tuple[int, int]](), 0
        for name, size in self.kernel.scratch(self, steps).items():
            areas[name] = (-(-end // SCRATCH_ALIGN_BYTES) * SCRATCH_ALIGN_BYTES, size)
            end = sum(areas[name])
        return areas

    @property
    def attributes_struct(self) -> str:
        """Name of the C struct of the attributes, without the word ``struct``."""
        return self.attributes.struct() if isinstance(self.attributes, CStruct) else f"{self.symbol}_attributes"


ChoicesOf = Callable[[Node, Graph], tuple[KernelChoice, ...]]
"""The kernels of one file that can run a node, best first; empty if none can."""

ChoicesOnCore = Callable[[Node, Graph, Core], tuple[KernelChoice, ...]]
"""The kernels of one file that can run a node on a core, best first; empty if none can."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of one file of kernels. The registry reads it; scripts/kernel_header.py writes C from it.

    Attributes:
        operators: by name of an operator, the function that chooses among the file's kernels for a node.
        on_core: like ``operators``, for kernels that depend on the core's pointer size or SIMD width.
        kernels: the C functions, each with what holds for it whatever node it runs.
        pointed: names without ``tilewright_`` of the functions and objects that attributes may point to, by C type.
        numbers: numbers that C knows as ``TILEWRIGHT_<name>``.
        stack_bytes: bytes of a core's stack that a kernel, or a function to which its attributes point, needs on
            RV32 without an FPU, where cores with short stacks have fewer. Multiples of 16, with the 16 bytes that a
            port keeps unwritten; tests/unit/test_cluster_stacks.py compares them with the compiler's frames.
        gcc_options: options of GCC for files of runtime/kernels, which follow all others. ``-Os`` is for files
            whose loops that matter are in other files, or are as fast so.
        is_fallback: whether the kernels are only for nodes that no other kernel takes.
    """

    operators: Mapping[str, ChoicesOf] = field(default_factory=dict)
    on_core: Mapping[str, ChoicesOnCore] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    pointed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    stack_bytes: Mapping[str, int] = field(default_factory=dict)
    gcc_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_fallback: bool = False

    def choices(self, node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
        """The kernels for a node, best first; empty where the file has none."""
        plain, on_core = self.operators.get(node.operator), self.on_core.get(node.operator)
        found = plain(node, graph) if plain is not None else ()
        return (*found, *on_core(node, graph, core)) if on_core is not None else found
