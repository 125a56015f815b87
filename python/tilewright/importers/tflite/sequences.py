"""Operators on sequences, and on entries that are found at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType
from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.tflite.context import LiteCall, axis_of, one_type

_INDICES = (DType.INT32, DType.INT64)


def dynamic_update_slice(call: LiteCall) -> None:
    """A tensor with a part replaced, at constant starts; any type."""
    if call.record(0).type != call.record(1).type:
        raise Unsupported(f"{call.record(1).type} into {call.record(0).type}")
    x, update = call.input(0), call.input(1)
    starts = call.constant(2, "the starts").reshape(-1).tolist()
    inside = all(0 < small <= extent for small, extent in zip(update.shape, x.shape, strict=False))
    if not len(starts) == len(update.shape) == len(x.shape) or not inside:
        raise Unsupported(f"{list(update.shape)} at {starts} of {list(x.shape)}")
    # Like the runtimes, a part that would reach beyond the end is moved back.
    limits = [extent - small for extent, small in zip(x.shape, update.shape, strict=True)]
    firsts = [min(max(int(start), 0), limit) for start, limit in zip(starts, limits, strict=True)]
    written = _replaced(call, x.name, update.name, firsts, 0)
    call.emit("Reshape", [written], x.shape)


def _replaced(call: LiteCall, name: str, update: str, firsts: list[int], axis: int) -> str:
    """A part of x, whole on the axes from ``axis`` on, with the update in its place."""
    tensor, small = call.build.tensor(name), call.build.tensor(update)
    if tensor.shape[axis:] == small.shape[axis:]:
        return update
    first, end = firsts[axis], firsts[axis] + small.shape[axis]
    middle = _cut(call, name, axis, first, end)
    parts = [_replaced(call, middle, update, firsts, axis + 1)]
    if first > 0:
        parts.insert(0, _cut(call, name, axis, 0, first))
    if end < tensor.shape[axis]:
        parts.append(_cut(call, name, axis, end, tensor.shape[axis]))
    if len(parts) == 1:
        return parts[0]
    return call.emit("Concat", parts, tensor.shape, {"axis": axis}, dtype=tensor.dtype, part=f"joined{axis}")


def _cut(call: LiteCall, name: str, axis: int, first: int, end: int) -> str:
    """Positions of an axis."""
    tensor = call.build.tensor(name)
    if (first, end) == (0, tensor.shape[axis]):
        return name
    shape = tuple(end - first if other == axis else extent for other, extent in enumerate(tensor.shape))
    starts = tuple(first if other == axis else 0 for other in range(len(shape)))
    given = {"starts": starts, "steps": (1,) * len(shape)}
    return call.emit("Slice", [name], shape, given, dtype=tensor.dtype, part=f"cut{axis}")


def reverse_sequence(call: LiteCall) -> None:
    """The first elements of each sequence in reverse, as many as its length says, constant or not; any type."""
    one_type(call, 0)
    x, lengths = call.input(0), call.input(1)
    rank = len(x.shape)
    time, batch = axis_of(call.integer("seq_dim"), rank), axis_of(call.integer("batch_dim"), rank)
    if time == batch or lengths.dtype not in _INDICES or lengths.shape != (x.shape[batch],):
        raise Unsupported(f"axes {time} and {batch}, lengths {lengths.dtype.value}{list(lengths.shape)}")
    entries, extent, kind = x.shape[batch], x.shape[time], lengths.dtype
    steps = call.literal(np.arange(extent, dtype=kind.numpy), "steps")
    one = call.literal(np.ones((), kind.numpy), "one")
    column = call.emit("Reshape", [lengths.name], (entries, 1), dtype=kind, part="lengths")
    inside = call.emit("Less", [steps, column], (entries, extent), dtype=DType.BOOL, part="inside")
    last = call.emit("SubInteger", [column, one], (entries, 1), dtype=kind, part="last")
    mirrored = call.emit("SubInteger", [last, steps], (entries, extent), dtype=kind, part="mirrored")
    index = call.emit("Where", [inside, mirrored, steps], (entries, extent), dtype=kind, part="index")
    perm = (batch, time, *(axis for axis in range(rank) if axis not in (batch, time)))
    back = tuple(perm.index(axis) for axis in range(rank))
    source = call.transposed(x.name, perm, "by_entry")
    shape = call.build.tensor(source).shape
    given = {"axis": 1, "batch_dims": 1}
    call.transposed(call.emit("Gather", [source, index], shape, given, dtype=x.dtype, part="reversed"), back, "")


def one_hot(call: LiteCall) -> None:
    """A constant depth; one value where the index is the position, another elsewhere. Any type."""
    indices, on, off = call.input(0), call.input(2), call.input(3)
    depth = int(call.constant(1, "the depth").reshape(-1)[0])
    rank = len(indices.shape)
    axis = axis_of(call.integer("axis"), rank + 1)
    if indices.dtype not in _INDICES or depth < 1 or on.elements != 1 or off.elements != 1:
        raise Unsupported(f"indices of {indices.dtype.value}, depth {depth}")
    spread = [depth if other == axis else 1 for other in range(rank + 1)]
    positions = call.literal(np.arange(depth, dtype=indices.dtype.numpy).reshape(spread), "positions")
    column = call.reshaped(indices.name, (*indices.shape[:axis], 1, *indices.shape[axis:]), "column")
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    hot = call.emit("Equal", [column, positions], shape, dtype=DType.BOOL, part="hot")
    call.emit("Where", [hot, on.name, off.name], shape, dtype=on.dtype)


def top_k(call: LiteCall) -> None:
    """The largest elements of the last axis, in order, and their positions; of equal ones the first. A constant k."""
    x = call.input(0)
    count = int(call.constant(1, "k").reshape(-1)[0])
    if not x.shape or not 1 <= count <= x.shape[-1]:
        raise Unsupported(f"k = {count} of {list(x.shape)}")
    shape = (*x.shape[:-1], count)
    given = {"axis": len(x.shape) - 1, "largest": 1}
    values, positions = call.emit_parts(
        "TopK", [x.name], [(shape, x.dtype, "values"), (shape, DType.INT64, "positions")], given
    )
    call.emit("Reshape", [values], shape)
    kind = DType(call.output(1).type)
    call.emit("Reshape" if kind is DType.INT64 else "Cast", [positions], shape, dtype=kind, output=1)


def broadcast_args(call: LiteCall) -> None:
    """The shape to which two shapes broadcast, which are known."""
    first, second = (tuple(call.constant(index, "a shape").reshape(-1).tolist()) for index in range(2))
    call.known(np.asarray(broadcast(first, second), call.output().type))


def range_(call: LiteCall) -> None:
    """Numbers at equal distances between constants."""
    first, end, step = (call.constant(index, "a bound").reshape(-1)[0] for index in range(3))
    if step == 0:
        raise Unsupported("numbers at distance 0", "convert the model again")
    call.known(np.arange(first, end, step).astype(call.output().type))


SEQUENCES: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
        "REVERSE_SEQUENCE": reverse_sequence,
        "ONE_HOT": one_hot,
        "TOPK_V2": top_k,
        "BROADCAST_ARGS": broadcast_args,
        "RANGE": range_,
    }
)
