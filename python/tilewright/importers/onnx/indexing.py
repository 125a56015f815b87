"""ONNX operators that select or place elements by indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import typed
from tilewright.operators.movement import repetitions

Translate = Callable[[Call], None]
_INDEX = frozenset({DType.INT32, DType.INT64})


def emit_gather(call: Call, x: str, indices: str, axis: int, *, batch_dims: int = 0, part: str = "") -> str:
    """Gather along one axis; the output takes the indices' axes behind the batch in its place.

    Constant indices that take each element several times in turn are a Repeat.
    """
    x_shape, index_shape = call.build.tensor(x).shape, call.build.tensor(indices).shape
    chosen = None if batch_dims else call.build.constants.get(indices)
    times = 0 if chosen is None else repetitions(chosen, x_shape[axis])
    if times > 1:
        return repeated(call, x, {axis: times}, part)
    shape = (*x_shape[:axis], *index_shape[batch_dims:], *x_shape[axis + 1 :])
    return call.emit("Gather", [x, indices], shape, {"axis": axis, "batch_dims": batch_dims}, part=part)


def repeated(call: Call, x: str, times: Mapping[int, int], part: str = "") -> str:
    """Each element several times in turn along some axes."""
    shape = call.build.tensor(x).shape
    counts = tuple(times.get(axis, 1) for axis in range(len(shape)))
    wide = tuple(extent * count for extent, count in zip(shape, counts, strict=True))
    return call.emit("Repeat", [x], wide, {"times": counts}, part=part)


def gather(call: Call) -> None:
    """Takes the elements at the indices along one axis."""
    x, indices = call.input(0), typed(call, 1, _INDEX)
    if not x.shape:
        raise Unsupported("a scalar input")
    _check_known(call, 1, x.shape[call.axis(int(call.attribute("axis", 0)), len(x.shape))])
    emit_gather(call, x.name, indices.name, call.axis(int(call.attribute("axis", 0)), len(x.shape)))


def _check_known(call: Call, index: int, extent: int) -> None:
    """Constant indices must be in range: they are a mistake of the model otherwise."""
    known = call.known(index)
    if known is not None and known.size and (known.min() < -extent or known.max() >= extent):
        raise Unsupported(f"an index outside of extent {extent}", "export the model again")


def gather_elements(call: Call) -> None:
    """Takes for each element of the indices the one of x at that index along ``axis``."""
    x, indices = call.input(0), typed(call, 1, _INDEX)
    axis = call.axis(int(call.attribute("axis", 0)), len(x.shape))
    _check_elements(x.shape, indices.shape, axis)
    _check_known(call, 1, x.shape[axis])
    call.emit("GatherElements", [x.name, indices.name], indices.shape, {"axis": axis})


def _check_elements(shape: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    fits = len(shape) == len(indices) and all(
        extent <= shape[position] for position, extent in enumerate(indices) if position != axis
    )
    if not fits:
        raise Unsupported(f"indices of shape {list(indices)} for {list(shape)}")


def gather_nd(call: Call) -> None:
    """Takes slices of x. Each index is a row of numbers, one number for each indexed axis of x."""
    x, indices = call.input(0), typed(call, 1, _INDEX)
    batch = int(call.attribute("batch_dims", 0))
    depth = indices.shape[-1] if indices.shape else 0
    batches_agree = batch < len(indices.shape) and x.shape[:batch] == indices.shape[:batch]
    if batch < 0 or batch + depth > len(x.shape) or not batches_agree or depth == 0:
        raise Unsupported(f"indices of shape {list(indices.shape)} for {list(x.shape)}")
    indexed, rest = x.shape[batch : batch + depth], x.shape[batch + depth :]
    rows = (prod(x.shape[:batch]), prod(indexed), prod(rest))
    chosen = (rows[0], prod(indices.shape[batch:-1]))
    flat = call.emit("Reshape", [x.name], rows, part="rows")
    index = _flat_index(call, 1, indexed, chosen)
    taken = emit_gather(call, flat, index, 1, batch_dims=1, part="taken")
    call.emit("Reshape", [taken], (*indices.shape[:-1], *rest))


def _flat_index(call: Call, position: int, indexed: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Indices into several axes as indices into one, in a tensor of the given shape."""
    indices, known = call.input(position), call.known(position)
    steps = np.array([prod(indexed[axis + 1 :]) for axis in range(len(indexed))], indices.dtype.numpy)
    extents = np.array(indexed, indices.dtype.numpy)
    base = f"{call.node.outputs[0]}/index"
    if known is not None:
        if known.size and ((known < -extents) | (known >= extents)).any():
            raise Unsupported(f"an index outside of {list(indexed)}", "export the model again")
        flat: Array = (np.mod(known, extents) * steps).sum(axis=-1).astype(np.int32)
        return call.literal(flat.reshape(shape), base)
    if len(indexed) == 1:
        return call.emit("Reshape", [indices.name], shape, dtype=indices.dtype, part="index")
    limits, factors = call.literal(extents, f"{base}/extents"), call.literal(steps, f"{base}/steps")
    # The remainder with the divisor's sign makes negative indices count from the end.
    positive = call.emit("Mod", [indices.name, limits], indices.shape, dtype=indices.dtype, part="positive")
    scaled = call.emit("MulInteger", [positive, factors], indices.shape, dtype=indices.dtype, part="scaled")
    attributes = {"axes": (len(indices.shape) - 1,), "keepdims": False}
    total = call.emit("ReduceSum", [scaled], indices.shape[:-1], attributes, dtype=indices.dtype, part="flat")
    return call.emit("Reshape", [total], shape, dtype=indices.dtype, part="index")


def scatter_elements(call: Call) -> None:
    """Writes updates over a copy of x, at their indices along one axis. Scatter is its older name."""
    x, indices, updates = call.input(0), typed(call, 1, _INDEX), call.input(2)
    axis = call.axis(int(call.attribute("axis", 0)), len(x.shape))
    _check_elements(x.shape, indices.shape, axis)
    _check_known(call, 1, x.shape[axis])
    if indices.shape != updates.shape or x.dtype is not updates.dtype:
        raise Unsupported("indices and updates do not match")
    emit_scatter(call, (x.name, indices.name, updates.name), axis)


def emit_scatter(call: Call, inputs: tuple[str, str, str], axis: int, part: str = "") -> str:
    """ScatterElements with the node's reduction."""
    x = call.build.tensor(inputs[0])
    reduction = str(call.attribute("reduction", "none"))
    if reduction not in ("none", "add", "mul", "min", "max") or (reduction != "none" and x.dtype is DType.BOOL):
        raise Unsupported(f"reduction '{reduction}' of {x.dtype.value}")
    return call.emit("ScatterElements", inputs, x.shape, {"axis": axis, "reduction": reduction}, part=part)


def scatter_nd(call: Call) -> None:
    """Writes updates over slices of a copy of x. Each index is a row of numbers, one for each indexed axis."""
    x, indices, updates = call.input(0), typed(call, 1, _INDEX), call.input(2)
    depth = indices.shape[-1] if indices.shape else 0
    indexed, rest = x.shape[:depth], x.shape[depth:]
    if not 0 < depth <= len(x.shape) or updates.shape != (*indices.shape[:-1], *rest) or x.dtype is not updates.dtype:
        raise Unsupported(f"indices {list(indices.shape)} and updates {list(updates.shape)} for {list(x.shape)}")
    count, width = prod(indices.shape[:-1]), prod(rest)
    flat = call.emit("Reshape", [x.name], (prod(indexed), width), part="rows")
    index = _flat_index(call, 1, indexed, (count, 1))
    rows = call.emit("Reshape", [updates.name], (count, width), dtype=updates.dtype, part="updates")
    result = emit_scatter(call, (flat, index, rows), 0, part="scattered")
    call.emit("Reshape", [result], x.shape)


def tensor_scatter(call: Call) -> None:
    """Writes updates over a cache, from a position on that each entry of the batch has. With ``mode`` "circular",
    what reaches the end of the cache goes on at its beginning.
    """
    cache, update = call.input(0), call.input(1)
    rank = len(cache.shape)
    axis = call.axis(int(call.attribute("axis", -2)), rank)
    if len(update.shape) != rank:
        raise Unsupported(f"updates of shape {list(update.shape)} for a cache of shape {list(cache.shape)}")
    length, extent = update.shape[axis], cache.shape[axis]
    if length > extent:
        raise Unsupported(f"updates of {length} positions for a cache of {extent}", "export the model again")
    steps = np.arange(length, dtype=np.int64)
    shape = tuple(cache.shape[0] if p == 0 else length if p == axis else 1 for p in range(rank))
    base = f"{call.node.outputs[0]}/positions"
    index = call.literal(steps.reshape([length if p == axis else 1 for p in range(rank)]), base)
    if call.has(2):
        begin = typed(call, 2, frozenset({DType.INT64}))
        column = call.emit(
            "Reshape", [begin.name], (cache.shape[0], *(1,) * (rank - 1)), dtype=DType.INT64, part="begin"
        )
        index = call.emit("AddInteger", [column, index], shape, dtype=DType.INT64, part="position")
    if call.attribute("mode", "linear") == "circular":
        limit = call.literal(np.array(extent, np.int64), f"{base}/extent")
        index = call.emit("Mod", [index, limit], call.build.tensor(index).shape, dtype=DType.INT64, part="around")
    emit_scatter(call, (cache.name, index, update.name), axis)


def one_hot(call: Call) -> None:
    """OneHot: the on value where the index equals the position; indices out of range give only off values."""
    indices, values = call.input(0), call.input(2)
    depth = int(call.constant(1, "the depth").reshape(-1)[0])
    rank = len(indices.shape)
    axis = call.axis(int(call.attribute("axis", -1)), rank + 1)
    call.build.require_room(8 * depth)
    positions = np.arange(depth, dtype=np.int64).reshape([depth if p == axis else 1 for p in range(rank + 1)])
    base = call.node.outputs[0]
    narrow = indices.name
    if indices.dtype is not DType.INT64:
        narrow = call.emit("Cast", [narrow], indices.shape, dtype=DType.INT64, part="index")
    spread = (*indices.shape[:axis], 1, *indices.shape[axis:])
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    column = call.emit("Reshape", [narrow], spread, dtype=DType.INT64, part="column")
    matches = []
    for word, offset in (("front", 0), ("back", depth)):
        expected = call.literal(positions - offset, f"{base}/{word}")
        matches.append(call.emit("Equal", [column, expected], shape, dtype=DType.BOOL, part=f"is_{word}"))
    hot = call.emit("Or", matches, shape, dtype=DType.BOOL, part="hot")
    off, on = (
        call.emit("Slice", [values.name], (1,), {"starts": (p,), "steps": (1,)}, dtype=values.dtype, part=f"value{p}")
        for p in (0, 1)
    )
    call.emit("Where", [hot, on, off], shape, dtype=values.dtype)


def trilu(call: Call) -> None:
    """Keeps the upper or lower triangle of each matrix; other elements become 0."""
    x = call.input(0)
    if len(x.shape) < 2:
        raise Unsupported(f"input of shape {list(x.shape)}")
    rows, columns = x.shape[-2:]
    base = call.node.outputs[0]
    call.build.require_room(rows * columns)
    distance = np.arange(columns, dtype=np.int64)[None, :] - np.arange(rows, dtype=np.int64)[:, None]
    upper = bool(call.attribute("upper", 1))
    known = call.known(1) if call.has(1) else np.zeros((), np.int64)
    if known is not None:
        diagonal = int(known.reshape(-1)[0])
        mask = call.literal(distance >= diagonal if upper else distance <= diagonal, f"{base}/mask")
    else:
        k = call.emit("Reshape", [typed(call, 1, _INDEX).name], (), dtype=DType.INT64, part="k")
        grid = call.literal(distance, f"{base}/distance")
        pair = [k, grid] if upper else [grid, k]
        mask = call.emit("LessOrEqual", pair, (rows, columns), dtype=DType.BOOL, part="mask")
    zero = call.literal(np.zeros((), x.dtype.numpy), f"{base}/zero")
    call.emit("Where", [mask, x.name, zero], x.shape, dtype=x.dtype)


def reverse_sequence(call: Call) -> None:
    """Reverses the first elements of each sequence, as many as its length says."""
    x, lengths = call.input(0), typed(call, 1, frozenset({DType.INT64}))
    time, batch = int(call.attribute("time_axis", 0)), int(call.attribute("batch_axis", 1))
    if {time, batch} != {0, 1} or len(x.shape) < 2:
        raise Unsupported(f"time_axis {time}, batch_axis {batch}")
    extent, entries = x.shape[time], x.shape[batch]
    call.build.require_room(8 * extent)
    if lengths.shape != (entries,):
        raise Unsupported(f"lengths of shape {list(lengths.shape)} for {entries} sequences")
    base = call.node.outputs[0]
    steps = call.literal(np.arange(extent, dtype=np.int64), f"{base}/steps")
    one = call.literal(np.ones((), np.int64), f"{base}/one")
    shape = (entries, extent)
    column = call.emit("Reshape", [lengths.name], (entries, 1), dtype=DType.INT64, part="lengths")
    inside = call.emit("Less", [steps, column], shape, dtype=DType.BOOL, part="inside")
    last = call.emit("SubInteger", [column, one], (entries, 1), dtype=DType.INT64, part="last")
    mirrored = call.emit("SubInteger", [last, steps], shape, dtype=DType.INT64, part="mirrored")
    index = call.emit("Where", [inside, mirrored, steps], shape, dtype=DType.INT64, part="index")
    perm = (1, 0, *range(2, len(x.shape)))
    swapped = tuple(x.shape[axis] for axis in perm)
    source = x.name if batch == 0 else call.emit("Transpose", [x.name], swapped, {"perm": perm}, part="by_entry")
    result = emit_gather(call, source, index, 1, batch_dims=1, part="" if batch == 0 else "reversed")
    if batch != 0:
        call.emit("Transpose", [result], x.shape, {"perm": perm})


INDEXING: Mapping[str, Translate] = MappingProxyType(
    {
        "Gather": gather,
        "GatherElements": gather_elements,
        "GatherND": gather_nd,
        "ScatterElements": scatter_elements,
        "Scatter": scatter_elements,
        "ScatterND": scatter_nd,
        "TensorScatter": tensor_scatter,
        "OneHot": one_hot,
        "Trilu": trilu,
        "ReverseSequence": reverse_sequence,
    }
)
