"""Operators that pick, repeat and reorder elements by rules known at compile time, or by indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Literal

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported, broadcast, dtype_named
from tilewright.importers.tflite.context import LiteCall, axis_of, one_type
from tilewright.importers.tflite.images import nearest_positions
from tilewright.operators.movement import repetitions


def pack(call: LiteCall) -> None:
    """Tensors of one shape beside each other on a new axis; any type."""
    count = len(call.node.inputs)
    one_type(call, *range(count))
    inputs = [call.input(index) for index in range(count)]
    shape = inputs[0].shape
    axis = axis_of(call.integer("axis"), len(shape) + 1)
    if any(tensor.shape != shape for tensor in inputs):
        raise Unsupported("inputs of different shapes", "convert the model again")
    column = (*shape[:axis], 1, *shape[axis:])
    parts = [call.reshaped(tensor.name, column, f"part{number}") for number, tensor in enumerate(inputs)]
    call.emit("Concat", parts, (*shape[:axis], count, *shape[axis:]), {"axis": axis})


def unpack(call: LiteCall) -> None:
    """Each position of an axis as a tensor without that axis; any type."""
    x = call.input(0)
    axis = axis_of(call.integer("axis"), len(x.shape))
    if x.shape[axis] != len(call.node.outputs):
        raise Unsupported(f"{x.shape[axis]} positions in {len(call.node.outputs)} outputs", "convert the model again")
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    for output in range(x.shape[axis]):
        starts = tuple(output if position == axis else 0 for position in range(len(x.shape)))
        given = {"starts": starts, "steps": (1,) * len(x.shape)}
        row = call.emit("Slice", [x.name], (*x.shape[:axis], 1, *x.shape[axis + 1 :]), given, part=f"row{output}")
        call.emit("Reshape", [row], rest, output=output)


def slice_(call: LiteCall) -> None:
    """Constant begins and sizes; a size of -1 reaches the end. Any type."""
    one_type(call, 0)
    x = call.input(0)
    begins = _numbers(call, 1, "the begins")
    sizes = [
        extent - begin if size == -1 else size
        for begin, size, extent in zip(begins, _numbers(call, 2, "the sizes"), x.shape, strict=False)
    ]
    if not len(begins) == len(sizes) == len(x.shape) or min(sizes, default=1) < 1:
        raise Unsupported(f"begins {begins} and sizes {sizes} of {list(x.shape)}")
    if any(begin < 0 or begin + size > extent for begin, size, extent in zip(begins, sizes, x.shape, strict=True)):
        raise Unsupported(f"begins {begins} and sizes {sizes} of {list(x.shape)}")
    call.emit("Slice", [x.name], sizes, {"starts": tuple(begins), "steps": (1,) * len(begins)})


def _numbers(call: LiteCall, index: int, what: str) -> list[int]:
    return [int(value) for value in call.constant(index, what).reshape(-1)]


def gather(call: LiteCall) -> None:
    """Positions of an axis by indices of int32 or int64, constant or not; any type of elements."""
    x, indices = call.input(0), call.input(1)
    axis = axis_of(call.integer("axis"), len(x.shape))
    shared = call.integer("batch_dims") % max(len(indices.shape), 1) if call.integer("batch_dims") else 0
    if indices.dtype not in (DType.INT32, DType.INT64) or shared > axis:
        raise Unsupported(f"indices of {indices.dtype.value}, batch_dims {call.integer('batch_dims')}")
    shape = (*x.shape[:axis], *indices.shape[shared:], *x.shape[axis + 1 :])
    call.emit("Gather", [x.name, indices.name], shape, {"axis": axis, "batch_dims": shared}, dtype=x.dtype)


def embedding_lookup(call: LiteCall) -> None:
    """Rows of a table by indices of int32; any type of elements, with one scale."""
    indices, table = call.input(0), call.input(1)
    if indices.dtype is not DType.INT32 or call.record(1).type != call.output().type:
        raise Unsupported(f"{call.record(1).type} to {call.output().type} by {indices.dtype.value}")
    shape = (*indices.shape, *table.shape[1:])
    call.emit("Gather", [table.name, indices.name], shape, {"axis": 0, "batch_dims": 0}, dtype=table.dtype)


def gather_nd(call: LiteCall) -> None:
    """Elements, or parts, by the indices of their first axes, of int32 or int64."""
    x, indices = call.input(0), call.input(1)
    if not indices.shape or indices.dtype not in (DType.INT32, DType.INT64):
        raise Unsupported(f"indices {indices.dtype.value}{list(indices.shape)}")
    depth = indices.shape[-1]
    if not 0 < depth <= len(x.shape):
        raise Unsupported(f"{depth} indices for {len(x.shape)} axes")
    steps = [prod(x.shape[axis + 1 : depth]) for axis in range(depth)]
    factors = call.literal(np.asarray(steps, indices.dtype.numpy), "steps")
    parts = call.emit("MulInteger", [indices.name, factors], indices.shape, part="offsets")
    given = {"axes": (len(indices.shape) - 1,), "keepdims": False}
    flat = call.emit("ReduceSum", [parts], indices.shape[:-1], given, part="positions")
    rows = call.reshaped(x.name, (prod(x.shape[:depth]), *x.shape[depth:]), "rows")
    shape = (*indices.shape[:-1], *x.shape[depth:])
    call.emit("Gather", [rows, flat], shape, {"axis": 0, "batch_dims": 0}, dtype=x.dtype)


def picked(call: LiteCall, name: str, axis: int, positions: Sequence[int] | Array, part: str) -> str:
    """Constant positions of an axis."""
    x = call.build.tensor(name)
    listed = np.asarray(positions, np.int32)
    if part and np.array_equal(listed, np.arange(x.shape[axis])):
        return name
    indices = call.literal(listed, f"positions{axis}")
    shape = (*x.shape[:axis], listed.size, *x.shape[axis + 1 :])
    return call.emit("Gather", [name, indices], shape, {"axis": axis, "batch_dims": 0}, dtype=x.dtype, part=part)


def _picked_all(call: LiteCall, positions: Mapping[int, Sequence[int] | Array]) -> None:
    """Constant positions of several axes of the first input."""
    name, extents = call.input(0).name, call.input(0).shape
    times = [repetitions(np.asarray(positions.get(axis, np.arange(one))), one) for axis, one in enumerate(extents)]
    if all(times) and max(times) > 1:
        wide = tuple(extent * count for extent, count in zip(extents, times, strict=True))
        call.emit("Repeat", [name], wide, {"times": tuple(times)})
        return
    for axis, listed in positions.items():
        name = picked(call, name, axis, listed, f"axis{axis}")
    call.emit("Reshape", [name], call.build.tensor(name).shape)


def mirror_pad(call: LiteCall) -> None:
    """Constant widths; the padding mirrors the elements, with or without those at the border. Any type."""
    one_type(call, 0)
    shape, reflects = call.input(0).shape, call.text("mode") == "REFLECT"
    widths = call.constant(1, "the widths").reshape(-1, 2).tolist()
    least = 1 if reflects else 0
    fits = len(widths) == len(shape) and all(
        0 <= width <= extent - least for pair, extent in zip(widths, shape, strict=True) for width in pair
    )
    if not fits:
        raise Unsupported(f"widths {widths} of {list(shape)}")
    mode: Literal["reflect", "symmetric"] = "reflect" if reflects else "symmetric"
    pairs = [(int(before), int(behind)) for before, behind in widths]
    _picked_all(call, {axis: np.pad(np.arange(shape[axis]), pair, mode) for axis, pair in enumerate(pairs)})


def reverse(call: LiteCall) -> None:
    """Constant axes; any type."""
    shape = call.input(0).shape
    axes = {axis_of(axis, len(shape)) for axis in _numbers(call, 1, "the axes")}
    _picked_all(call, {axis: np.arange(shape[axis])[::-1] for axis in sorted(axes)})


def resize_nearest(call: LiteCall) -> None:
    """A constant size; any type."""
    one_type(call, 0)
    shape = call.input(0).shape
    sizes = _numbers(call, 1, "the size")
    if len(shape) != 4 or len(sizes) != 2 or min(sizes) < 1:
        raise Unsupported(f"size {sizes} of {list(shape)}")
    aligned, centred = bool(call.integer("align_corners")), bool(call.integer("half_pixel_centers"))
    _picked_all(
        call,
        {
            axis: nearest_positions(shape[axis], size, aligned=aligned, centred=centred)
            for axis, size in zip((1, 2), sizes, strict=True)
        },
    )


def tile(call: LiteCall) -> None:
    """Constant repetitions; any type."""
    shape = call.input(0).shape
    counts = _numbers(call, 1, "the repetitions")
    if len(counts) != len(shape) or min(counts, default=1) < 1:
        raise Unsupported(f"repetitions {counts} of {list(shape)}")
    _picked_all(call, {axis: np.tile(np.arange(shape[axis]), count) for axis, count in enumerate(counts)})


def _permuted(call: LiteCall, name: str, split: Sequence[int], perm: Sequence[int], part: str) -> str:
    blocks = call.reshaped(name, split, f"{part}blocks")
    return call.transposed(blocks, tuple(perm), f"{part}moved")


def _block(call: LiteCall) -> tuple[int, int, int, int, int]:
    shape, block = call.input(0).shape, call.integer("block_size")
    if len(shape) != 4 or block < 1:
        raise Unsupported(f"block size {block} of {list(shape)}")
    return (shape[0], shape[1], shape[2], shape[3], block)


def space_to_depth(call: LiteCall) -> None:
    """Blocks of positions become channels; any type."""
    n, h, w, c, block = _block(call)
    if h % block or w % block:
        raise Unsupported(f"block size {block} of {[n, h, w, c]}")
    split = (n, h // block, block, w // block, block, c)
    moved = _permuted(call, call.input(0).name, split, (0, 1, 3, 2, 4, 5), "")
    call.emit("Reshape", [moved], (n, h // block, w // block, block * block * c))


def depth_to_space(call: LiteCall) -> None:
    """Channels become blocks of positions; any type."""
    n, h, w, c, block = _block(call)
    if c % (block * block):
        raise Unsupported(f"block size {block} of {[n, h, w, c]}")
    split = (n, h, w, block, block, c // (block * block))
    moved = _permuted(call, call.input(0).name, split, (0, 1, 3, 2, 4, 5), "")
    call.emit("Reshape", [moved], (n, h * block, w * block, c // (block * block)))


def space_to_batch(call: LiteCall) -> None:
    """Constant blocks and padding, which is the zero point, as LiteRT has it; any type."""
    x, record = call.input(0), call.record(0)
    blocks = _numbers(call, 1, "the blocks")
    pads = call.constant(2, "the padding").reshape(-1, 2).tolist()
    count = len(blocks)
    if len(pads) != count or not 0 < count < len(x.shape) or min(blocks) < 1 or min(min(pads)) < 0:
        raise Unsupported(f"blocks {blocks}, padding {pads} of {list(x.shape)}")
    begins = (0, *(pair[0] for pair in pads), *(0,) * (len(x.shape) - count - 1))
    ends = (0, *(pair[1] for pair in pads), *(0,) * (len(x.shape) - count - 1))
    shape = tuple(extent + a + b for extent, a, b in zip(x.shape, begins, ends, strict=True))
    if any(shape[1 + number] % block for number, block in enumerate(blocks)):
        raise Unsupported(f"blocks {blocks} of {list(shape)}")
    name = x.name
    if any((*begins, *ends)):
        given = {"pads": (*begins, *ends), "value": float(record.zero if record.is_quantized else 0)}
        name = call.emit("Pad", [name], shape, given, part="padded")
    split = [shape[0]]
    for number, block in enumerate(blocks):
        split += [shape[1 + number] // block, block]
    rest = shape[1 + count :]
    inner = [2 * number + 1 for number in range(count)]
    perm = (*(axis + 1 for axis in inner), 0, *inner, *range(2 * count + 1, 2 * count + 1 + len(rest)))
    moved = _permuted(call, name, (*split, *rest), perm, "")
    outer = [shape[1 + number] // block for number, block in enumerate(blocks)]
    call.emit("Reshape", [moved], (prod(blocks) * shape[0], *outer, *rest))


def batch_to_space(call: LiteCall) -> None:
    """Constant blocks and crops; any type."""
    x = call.input(0)
    blocks, count = _numbers(call, 1, "the blocks"), len(_numbers(call, 1, "the blocks"))
    crops = call.constant(2, "the crops").reshape(-1, 2).tolist()
    if len(crops) != count or not 0 < count < len(x.shape) or min(blocks) < 1 or x.shape[0] % prod(blocks):
        raise Unsupported(f"blocks {blocks}, crops {crops} of {list(x.shape)}")
    batch, rest = x.shape[0] // prod(blocks), x.shape[1 + count :]
    split = (*blocks, batch, *x.shape[1:])
    perm = [count]
    for number in range(count):
        perm += [count + 1 + number, number]
    perm += range(2 * count + 1, len(split))
    moved = _permuted(call, x.name, split, perm, "")
    shape = (batch, *(x.shape[1 + number] * block for number, block in enumerate(blocks)), *rest)
    begins = (0, *(pair[0] for pair in crops), *(0,) * len(rest))
    kept = (batch, *(shape[1 + number] - sum(pair) for number, pair in enumerate(crops)), *rest)
    if min(kept) < 1 or min(min(crops)) < 0:
        raise Unsupported(f"crops {crops} of {list(shape)}")
    whole = call.emit("Reshape", [moved], shape, part="whole") if kept != shape else moved
    if kept == shape:
        call.emit("Reshape", [moved], shape)
        return
    call.emit("Slice", [whole], kept, {"starts": begins, "steps": (1,) * len(kept)})


def broadcast_to(call: LiteCall) -> None:
    """A constant shape; any type."""
    shape = tuple(_numbers(call, 1, "the shape"))
    if broadcast(call.input(0).shape, shape) != shape:
        raise Unsupported(f"{list(call.input(0).shape)} does not broadcast to {list(shape)}")
    call.emit("Expand", [call.input(0).name], shape)


def fill(call: LiteCall) -> None:
    """A constant shape; any type."""
    call.emit("Expand", [call.input(1).name], tuple(_numbers(call, 0, "the shape")))


def shape_of(call: LiteCall) -> None:
    """The shape, which is known."""
    call.known(np.asarray(call.record(0).shape, call.output().type))


def rank_of(call: LiteCall) -> None:
    """The number of axes, which is known."""
    call.known(np.asarray(len(call.record(0).shape), call.output().type))


def zeros_like(call: LiteCall) -> None:
    """Zeros in the shape of the input."""
    call.known(np.zeros(call.record(0).shape, dtype_named(call.output().type).numpy))


def select(call: LiteCall) -> None:
    """Elements by a condition; all operands broadcast. Any type."""
    one_type(call, 1, 2)
    condition, a, b = (call.input(index) for index in range(3))
    name = condition.name
    if call.node.operator == "SELECT" and len(condition.shape) == 1 < len(a.shape):
        name = call.reshaped(name, (*condition.shape, *(1,) * (len(a.shape) - 1)), "condition")
    shape = broadcast(broadcast(call.build.tensor(name).shape, a.shape), b.shape)
    call.emit("Where", [name, a.name, b.name], shape, dtype=a.dtype)


REARRANGING: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        "PACK": pack,
        "UNPACK": unpack,
        "SLICE": slice_,
        "GATHER": gather,
        "GATHER_ND": gather_nd,
        "EMBEDDING_LOOKUP": embedding_lookup,
        "MIRROR_PAD": mirror_pad,
        "REVERSE_V2": reverse,
        "RESIZE_NEAREST_NEIGHBOR": resize_nearest,
        "TILE": tile,
        "SPACE_TO_DEPTH": space_to_depth,
        "DEPTH_TO_SPACE": depth_to_space,
        "SPACE_TO_BATCH_ND": space_to_batch,
        "BATCH_TO_SPACE_ND": batch_to_space,
        "BROADCAST_TO": broadcast_to,
        "FILL": fill,
        "SHAPE": shape_of,
        "RANK": rank_of,
        "ZEROS_LIKE": zeros_like,
        "SELECT": select,
        "SELECT_V2": select,
    }
)
