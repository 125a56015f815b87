"""Runs the C kernels of a KernelChoice on the host as generated code does: tile by tile, through views.

This is the executable form of docs/reference/operators-and-kernels.md. Every tile of every operand
gets memory of its own, exactly as large as the tile, with poison around it; or, ``in_place``, tiles
lie in the whole tensor. Where a reduction is cut, partial results pass from call to call, and the
output's tile must stay as it is until the last.

Kernels run under AddressSanitizer and UndefinedBehaviorSanitizer in a process of their own.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from support.kernel_calls import ADDRESS, SIZE_BYTES, KernelProcess, shared_memory
from support.objects import SANITIZED
from tilewright.graph import Array, Graph, packed_strides_bytes
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, TensorOperand, packed_array
from tilewright.operators.nest import Interval, Iteration, axis_range, clipped

RUNTIME = Path(__file__).parents[1] / "runtime"
MAX_RANK = 6
POISON = 0xA5
FIRST, LAST = 1, 2
_GUARD_BYTES = 64

POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)


@dataclass(frozen=True)
class Ring:
    """Rows of operand number ``operand`` live in a ring on an axis of its view."""

    operand: int
    axis: int
    rows: int


class Shape(ctypes.Structure):
    """struct tilewright_shape."""

    _fields_ = (
        ("stride", ctypes.c_int32 * MAX_RANK),
        ("extent", ctypes.c_int32 * MAX_RANK),
        ("origin", ctypes.c_int32 * MAX_RANK),
        ("ring_axis", ctypes.c_int32),
        ("ring_rows", ctypes.c_int32),
    )


class View(ctypes.Structure):
    """struct tilewright_view."""

    _fields_ = (("base", ctypes.c_void_p), ("shape", ctypes.POINTER(Shape)))


@cache
def library(sources: tuple[str, ...]) -> KernelProcess:
    """The kernels of some files, compiled with both sanitizers."""
    return KernelProcess([RUNTIME / "kernels" / name for name in sources], SANITIZED)


class Memory:
    """Blocks of exact size, poisoned, with guards on both sides, in memory that the kernels' process shares.

    A new one takes the place of the one before.
    """

    pointer_bytes = POINTER_BYTES

    def __init__(self) -> None:
        self._used = 0
        self._blocks: list[tuple[int, int]] = []

    def allocate(self, size_bytes: int) -> int:
        """Address of ``size_bytes`` bytes of poison."""
        whole = size_bytes + 2 * _GUARD_BYTES
        address = self.take(whole)
        ctypes.memset(address, POISON, whole)
        self._blocks.append((address, whole))
        return address + _GUARD_BYTES

    def take(self, size_bytes: int) -> int:
        """Address, on this machine, of memory as it comes, aligned as malloc aligns."""
        shared_memory()
        address = ADDRESS + self._used
        self._used += -(-size_bytes // 16) * 16
        assert self._used <= SIZE_BYTES, "the operands exceed the shared memory"
        return address

    def call(self, choice: KernelChoice, sources: tuple[str, ...], views: Sequence[View], flags: int) -> None:
        """One call of a kernel, whose sources are compiled for where this memory is."""
        kernels = library(sources or choice.sources)
        attributes = self._stored(packed_attributes(choice, kernels.symbol, POINTER_BYTES))
        placed = b"".join(
            struct.pack("=QQ", view.base, self._stored(bytes(view.shape.contents)) if view.shape else 0)
            for view in views
        )
        views_address = self._stored(placed)
        blocks = [(address + _GUARD_BYTES, whole - 2 * _GUARD_BYTES) for address, whole in self._blocks]
        kernels.call(choice.symbol, attributes, views_address, flags, blocks)

    def _stored(self, content: bytes) -> int:
        """Address of a block that has these bytes."""
        address = self.allocate(len(content))
        ctypes.memmove(address, content, len(content))
        return address

    def release(self) -> None:
        """Forget all blocks; AssertionError if a guard was overwritten."""
        guard = bytes([POISON]) * _GUARD_BYTES
        intact = all(
            ctypes.string_at(address, _GUARD_BYTES) == guard
            and ctypes.string_at(address + whole - _GUARD_BYTES, _GUARD_BYTES) == guard
            for address, whole in self._blocks
        )
        self._blocks.clear()
        assert intact, "a kernel wrote outside its operands"


@dataclass(frozen=True)
class _Operand:
    """One operand of one call: the memory of its tile, and which elements of the whole tensor these are.

    ``extents`` and ``strides_bytes`` are those of the memory, and ``spots`` are the places there of the elements
    ``where`` of the tensor, in the same order.
    """

    view: View
    address: int
    size_bytes: int
    extents: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    spots: tuple[slice | Array, ...]
    where: tuple[slice, ...]

    def store(self, array: Array) -> None:
        memory = (ctypes.c_uint8 * max(self.size_bytes, 1)).from_address(self.address)
        np.ndarray(self.extents, array.dtype, memory, 0, self.strides_bytes)[self.spots] = array[self.where]

    def load(self, array: Array) -> None:
        memory = np.frombuffer((ctypes.c_uint8 * max(self.size_bytes, 1)).from_address(self.address), np.uint8).copy()
        array[self.where] = np.ndarray(self.extents, array.dtype, memory, 0, self.strides_bytes)[self.spots]
        strides_bytes = (*self.strides_bytes, 1)
        np.ndarray((*self.extents, array.itemsize), np.uint8, memory, 0, strides_bytes)[self.spots] = POISON
        assert (memory[: self.size_bytes] == POISON).all(), "a kernel wrote between the elements of its tile"


def run_kernel(
    choice: KernelChoice,
    graph: Graph,
    arrays: Mapping[str, Array],
    steps: Mapping[str, int] | None = None,
    *,
    in_place: bool = False,
    rings: Sequence[Ring] = (),
    sources: tuple[str, ...] = (),
    place: Callable[[], Memory] = Memory,
) -> list[Array]:
    """The outputs of a kernel.

    Args:
        arrays: elements of every tensor that the kernel reads and that is not a constant.
        steps: tile steps; dimensions that are not named are whole. Multiples and uncut dimensions
            of the choice are checked.
        in_place: tiles are parts of the whole tensors instead of buffers of their own.
        sources: more C files for the library, so that many kernels share one.
        place: where operands lie and the kernel runs.
    """
    taken = taken_steps(choice, steps or {})
    # Parts of a cut reduction follow each other, as tiles of the planner do.
    dimensions = sorted(choice.nest.dimensions, key=lambda dimension: dimension.iteration is Iteration.REDUCTION)
    extents = {dimension.name: dimension.extent for dimension in dimensions}
    contents = [content_of(item, graph, arrays, taken) for item in choice.reads]
    outputs = [
        np.zeros(graph.tensor(item.tensor).shape, graph.tensor(item.tensor).dtype.numpy) for item in choice.writes
    ]
    written = [np.zeros(output.shape, np.int32) for output in outputs]
    choice = choice.for_tiles(taken)
    cut = cut_reductions(choice, taken)
    partial = b""
    for box in boxes(extents, taken):
        memory = place()
        operands = [
            operand_of(item, array, graph, box, memory, in_place, _ring_of(rings, number))
            for number, (item, array) in enumerate(
                zip((*choice.reads, *choice.writes), contents + outputs, strict=True)
            )
        ]
        for operand, array in zip(operands, contents, strict=False):
            operand.store(array)
        views = [operand.view for operand in operands]
        scratch_bytes = choice.scratch_bytes(taken)
        if scratch_bytes:
            views.append(View(memory.allocate(scratch_bytes), None))
        flags = flags_of(box, extents, cut)
        if cut:
            views.append(View(_partial_results(choice, taken, memory, partial, flags), None))
        before = [ctypes.string_at(operand.address, operand.size_bytes) for operand in operands]
        memory.call(choice, sources, views, flags)
        kept = len(contents) if flags & LAST or moves_result(choice, cut) else len(operands)
        for operand, content in list(zip(operands, before, strict=True))[:kept]:
            assert ctypes.string_at(operand.address, operand.size_bytes) == content, "a kernel wrote to what it reads"
        for operand, output, count in zip(operands[kept:], outputs, written, strict=False):
            operand.load(output)
            count[operand.where] += 1
        if cut:
            partial = ctypes.string_at(views[-1].base, choice.partial_bytes(taken)) if choice.partial_bytes else b""
        memory.release()
    assert all((count == 1).all() for count in written), "an element was written by several tiles, or by none"
    return outputs


def taken_steps(choice: KernelChoice, steps: Mapping[str, int]) -> dict[str, int]:
    """The step of every dimension; AssertionError if the choice does not allow it."""
    extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
    taken = {name: min(steps.get(name, extent), extent) for name, extent in extents.items()}
    for name, step in taken.items():
        cut = step < extents[name]
        assert not (cut and name in choice.uncut), f"{name} must stay whole"
        assert not cut or step % choice.multiples.get(name, 1) == 0, f"{name} needs a multiple"
    assert choice.partial_bytes or not cut_reductions(choice, taken), "the reduction must stay whole"
    return taken


def cut_reductions(choice: KernelChoice, steps: Mapping[str, int]) -> tuple[str, ...]:
    """The reductions and sequences that these steps cut."""
    carried = (Iteration.REDUCTION, Iteration.SEQUENTIAL)
    return tuple(
        dimension.name
        for dimension in choice.nest.dimensions
        if dimension.iteration in carried and steps[dimension.name] < dimension.extent
    )


def moves_result(choice: KernelChoice, cut: Sequence[str]) -> bool:
    """Whether each tile along the dimensions that are cut has a part of the result of its own, as steps may have."""
    moving = {name for write in choice.writes for axis in write.axes for name, _ in axis.terms}
    return set(cut) <= moving


def flags_of(box: Mapping[str, Interval], extents: Mapping[str, int], cut: Sequence[str]) -> int:
    """FIRST and LAST of a tile, where the parts of a cut reduction follow each other."""
    first = all(box[name][0] == 0 for name in cut)
    last = all(box[name][1] == extents[name] for name in cut)
    return FIRST * first | LAST * last


def _partial_results(choice: KernelChoice, steps: Mapping[str, int], memory: Memory, content: bytes, flags: int) -> int:
    """Address of the partial results that the last call left; poison where a new tile begins."""
    assert choice.partial_bytes is not None
    address = memory.allocate(choice.partial_bytes(steps))
    if not flags & FIRST:
        ctypes.memmove(address, content, len(content))
    return address


def boxes(extents: Mapping[str, int], steps: Mapping[str, int]) -> list[dict[str, Interval]]:
    """The iteration box of every tile."""
    spans = [
        [(low, min(low + steps[name], extent)) for low in range(0, extent, steps[name])]
        for name, extent in extents.items()
    ]
    return [dict(zip(extents, bounds, strict=True)) for bounds in product(*spans)]


def packed_attributes(choice: KernelChoice, address_of: Callable[[str], int], pointer_bytes: int) -> bytes:
    """The C struct: every field is a word, an array of words, or the address of something beside the kernel."""
    packed = b""
    for _, value in choice.fields:
        if isinstance(value, str):
            packed += bytes(-len(packed) % pointer_bytes)
        packed += _words(value, address_of, pointer_bytes)
    return packed or b"\0\0\0\0"


def _words(value: object, address_of: Callable[[str], int], pointer_bytes: int) -> bytes:
    if isinstance(value, tuple):
        return b"".join(_words(item, address_of, pointer_bytes) for item in value)
    if isinstance(value, float):
        return struct.pack("=f", value)
    if value == "NULL":
        return bytes(pointer_bytes)
    if isinstance(value, str):
        return address_of(value.removeprefix("&")).to_bytes(pointer_bytes, "little")
    assert isinstance(value, int)
    return struct.pack("=I", value & 0xFFFFFFFF)


def content_of(
    item: TensorOperand | ConstantOperand, graph: Graph, arrays: Mapping[str, Array], steps: Mapping[str, int]
) -> Array:
    """The elements of an operand; those of a constant as they are packed for tiles of ``steps``."""
    if isinstance(item, ConstantOperand):
        return packed_array(item.data, steps)
    data = graph.tensor(item.tensor).data
    return arrays[item.tensor] if data is None else data


def _ring_of(rings: Sequence[Ring], number: int) -> Ring | None:
    return next((ring for ring in rings if ring.operand == number), None)


def operand_of(
    item: TensorOperand | ConstantOperand,
    array: Array,
    graph: Graph,
    box: Mapping[str, Interval],
    memory: Memory,
    in_place: bool,
    ring: Ring | None,
    at: int | None = None,
) -> _Operand:
    """The operand's tile of a box, in memory of its own, or at address ``at``."""
    constant = isinstance(item, ConstantOperand)
    bounds = [clipped(axis_range(axis, extent, {}), box) for axis, extent in zip(item.axes, array.shape, strict=True)]
    lowers = [lower for lower, _ in bounds]
    extents = [upper - lower for lower, upper in bounds]
    at_home = in_place and not constant
    stored = list(array.shape) if at_home else list(extents)
    ring_axis = -1 if ring is None or constant else item.view[ring.axis]
    if ring is not None and ring_axis >= 0:
        assert ring.rows >= extents[ring_axis], "the ring is smaller than the tile"
        stored[ring_axis] = ring.rows
    order = tuple(range(array.ndim)) if constant else graph.tensor(item.tensor).order
    strides = packed_strides_bytes(tuple(stored), order, array.itemsize)
    where = tuple(slice(lower, upper) for lower, upper in bounds)
    spots: list[slice | Array] = list(where) if at_home else [slice(0, extent) for extent in extents]
    if ring is not None and ring_axis >= 0:
        spots[ring_axis] = (np.arange(extents[ring_axis]) + lowers[ring_axis]) % ring.rows
    base = sum(
        low * stride for axis, (low, stride) in enumerate(zip(lowers, strides, strict=True)) if axis != ring_axis
    )
    size = math.prod(stored) * array.itemsize
    address = memory.allocate(size) if at is None else at
    shape = None if constant else ctypes.pointer(_shape(item, array, strides, bounds, ring))
    view = View(address + (base if at_home else 0), shape)
    return _Operand(view, address, size, tuple(stored), tuple(strides), tuple(spots), where)


def _shape(
    item: TensorOperand | ConstantOperand,
    array: Array,
    strides: Sequence[int],
    bounds: Sequence[Interval],
    ring: Ring | None,
) -> Shape:
    assert isinstance(item, TensorOperand)
    shape = Shape()
    for position, axis in enumerate(item.view):
        shape.extent[position] = 1
        if axis < 0:
            continue
        lower, upper = bounds[axis]
        shape.extent[position] = upper - lower
        shape.origin[position] = lower
        in_ring = ring is not None and ring.axis == position
        shape.stride[position] = strides[axis] if upper - lower != 1 or in_ring else 0
    if ring is not None:
        shape.ring_axis, shape.ring_rows = ring.axis, ring.rows
    return shape
