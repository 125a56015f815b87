"""ONNX operators that rearrange elements by rules known at compile time: tiles, blocks, padding of all modes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import ELEMENT_TYPES
from tilewright.importers.onnx.indexing import emit_gather
from tilewright.importers.onnx.movement import require_rest

Translate = Callable[[Call], None]


def tile(call: Call) -> None:
    """Repeats x along each axis."""
    x = call.input(0)
    repeats = [int(count) for count in call.constant(1, "the repeats").reshape(-1)]
    if len(repeats) != len(x.shape) or min(repeats, default=1) < 1:
        raise Unsupported(f"repeats {repeats} of {list(x.shape)}")
    if prod(repeats) == 1:
        call.emit("Reshape", [x.name], x.shape)
        return
    name, shape = x.name, x.shape
    pending = [axis for axis, count in enumerate(repeats) if count > 1]
    for number, axis in enumerate(pending):
        spread = (*shape[:axis], 1, *shape[axis:])
        wide = (*shape[:axis], repeats[axis], *shape[axis:])
        shape = (*shape[:axis], repeats[axis] * shape[axis], *shape[axis + 1 :])
        # Rows before and behind the axis are merged, so that one more axis always fits.
        before, behind = prod(spread[:axis]), prod(spread[axis + 2 :])
        rows = call.emit("Reshape", [name], (before, 1, spread[axis + 1], behind), part=f"rows{axis}")
        wide_rows = (before, repeats[axis], wide[axis + 1], behind)
        copies = call.emit("Expand", [rows], wide_rows, part=f"copies{axis}")
        name = call.emit("Reshape", [copies], shape, part="" if number == len(pending) - 1 else f"tiled{axis}")


def depth_to_space(call: Call) -> None:
    """Turns blocks of channels into blocks of positions."""
    n, c, h, w, block = _blocks(call)
    if c % (block * block):
        raise Unsupported(f"{c} channels with blocksize {block}")
    depth = c // (block * block)
    columns_first = call.attribute("mode", "DCR") == "CRD"
    split = (n, depth, block, block, h, w) if columns_first else (n, block, block, depth, h, w)
    perm = (0, 1, 4, 2, 5, 3) if columns_first else (0, 3, 4, 1, 5, 2)
    _permuted(call, split, perm, (n, depth, h * block, w * block))


def space_to_depth(call: Call) -> None:
    """Turns blocks of positions into channels, behind those of x with ``mode`` "CRD", else before them."""
    n, c, h, w, block = _blocks(call)
    if h % block or w % block:
        raise Unsupported(f"{h} by {w} with blocksize {block}")
    split = (n, c, h // block, block, w // block, block)
    perm = (0, 1, 3, 5, 2, 4) if call.attribute("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    _permuted(call, split, perm, (n, c * block * block, h // block, w // block))


def _blocks(call: Call) -> tuple[int, int, int, int, int]:
    shape = call.input(0).shape
    block = int(call.attribute("blocksize", 0))
    if len(shape) != 4 or block < 1:
        raise Unsupported(f"blocksize {block} of {list(shape)}")
    return (shape[0], shape[1], shape[2], shape[3], block)


def _permuted(call: Call, split: tuple[int, ...], perm: tuple[int, ...], shape: tuple[int, ...]) -> None:
    blocks = call.emit("Reshape", [call.input(0).name], split, part="blocks")
    moved = call.emit("Transpose", [blocks], [split[axis] for axis in perm], {"perm": perm}, part="moved")
    call.emit("Reshape", [moved], shape)


def eye_like(call: Call) -> None:
    """Ones on a diagonal, else zeros. Of the input only shape and type count."""
    x = call.input(0)
    if len(x.shape) != 2:
        raise Unsupported(f"input of shape {list(x.shape)}")
    to = int(call.attribute("dtype", 0))
    if to and to not in ELEMENT_TYPES:
        raise Unsupported(f"ONNX element type {to}")
    dtype = np.dtype(ELEMENT_TYPES[to]) if to else x.dtype.numpy
    call.build.take_bytes(x.elements * dtype.itemsize)
    call.build.constants[call.node.outputs[0]] = np.eye(*x.shape, k=int(call.attribute("k", 0)), dtype=dtype)


def pad(call: Call, constant_pad: Translate) -> None:
    """Adds elements around x: a value, or with ``reflect``, ``edge`` and ``wrap`` elements of x."""
    mode = call.attribute("mode", "constant")
    at_run_time = call.has(2) and call.known(2) is None
    if mode == "constant" and not at_run_time:
        constant_pad(call)
        return
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise Unsupported(f"mode '{mode}'")
    x = call.input(0)
    begins, ends = _pads(call)
    require_rest(x.shape, begins, ends)
    name, last = x.name, "" if mode != "constant" else "edges"
    padded = [axis for axis in range(len(x.shape)) if begins[axis] or ends[axis]]
    for axis in padded:
        call.build.require_room(8 * (x.shape[axis] + max(begins[axis], 0) + max(ends[axis], 0)))
        indices = _sources("edge" if mode == "constant" else mode, x.shape[axis], begins[axis], ends[axis])
        literal = call.literal(indices.astype(np.int32), f"{call.node.outputs[0]}/axis{axis}")
        name = emit_gather(call, name, literal, axis, part=last if axis == padded[-1] else f"axis{axis}")
    if not padded:
        name = call.emit("Reshape", [name], x.shape, part=last)
    if mode == "constant":
        _outside(call, name, begins)


def _outside(call: Call, padded: str, begins: list[int]) -> None:
    """A value known at run time wherever the input was not."""
    x, shape = call.input(0), call.build.tensor(padded).shape
    value = call.input(2)
    inside: Array = np.ones((), np.bool_)
    for axis, extent in enumerate(shape):
        at = np.arange(extent).reshape([-1 if other == axis else 1 for other in range(len(shape))])
        inside = inside & (at >= begins[axis]) & (at < begins[axis] + x.shape[axis])
    mask = call.literal(np.broadcast_to(inside, shape).copy(), f"{call.node.outputs[0]}/inside")
    scalar = call.emit("Reshape", [value.name], (), dtype=value.dtype, part="value")
    call.emit("Where", [mask, padded, scalar], shape, dtype=x.dtype)


def _pads(call: Call) -> tuple[list[int], list[int]]:
    rank = len(call.input(0).shape)
    if call.attribute("pads") is not None:
        pads = list(call.integers("pads", ()))
    else:
        pads = [int(amount) for amount in call.constant(1, "the pads").reshape(-1)]
    axes = call.axes("axes", 3, rank, range(rank)) if call.build.opset >= 18 else tuple(range(rank))
    if len(pads) != 2 * len(axes):
        raise Unsupported(f"{len(pads)} pads for {len(axes)} axes")
    begins, ends = [0] * rank, [0] * rank
    for number, axis in enumerate(axes):
        begins[axis], ends[axis] = pads[number], pads[number + len(axes)]
    return begins, ends


def _sources(mode: str, extent: int, begin: int, end: int) -> Array:
    """The input position that each output position of an axis shows.

    Negative pads crop first; the other side then reflects or repeats what is left, as in ONNX Runtime.
    """
    first, rest = max(-begin, 0), extent + min(begin, 0) + min(end, 0)
    begin, end = max(begin, 0), max(end, 0)
    positions = np.arange(-begin, rest + end)
    if mode == "edge":
        return first + np.clip(positions, 0, rest - 1)
    if mode == "wrap":
        return first + np.mod(positions, rest)
    if max(begin, end) >= rest:
        raise Unsupported(
            f"pads {begin} and {end} reflect {rest} elements", "pad by less than there are, or use 'wrap'"
        )
    return first + np.where(
        positions < 0, -positions, np.where(positions < rest, positions, 2 * (rest - 1) - positions)
    )


def dropout(call: Call, plain: Translate) -> None:
    """Copies x, as Dropout does at inference. The mask is true everywhere."""
    outputs = call.node.outputs
    if len(outputs) > 1 and outputs[1]:
        call.build.take_bytes(call.input(0).elements)
        call.build.constants[outputs[1]] = np.ones(call.input(0).shape, np.bool_)
    plain(call)


def concat(call: Call, plain: Translate) -> None:
    """Joins tensors along one axis. Tensors without elements add nothing."""
    full = tuple(name for name in call.node.inputs if not _is_empty(call, name))
    if not full or len(full) == len(call.node.inputs):
        plain(call)
        return
    plain(replace(call, node=replace(call.node, inputs=full)))


def _is_empty(call: Call, name: str) -> bool:
    known = call.build.constants.get(name)
    return known is not None and known.size == 0


def compress(call: Call) -> None:
    """Keeps the slices for which the condition is true. The condition is constant."""
    x = call.input(0)
    condition = call.constant(1, "the condition").reshape(-1)
    name, axis, extent = x.name, 0, x.elements
    if call.attribute("axis") is None:
        name = call.emit("Reshape", [name], (extent,), part="flat")
    else:
        axis = call.axis(int(call.attribute("axis", 0)), len(x.shape))
        extent = x.shape[axis]
    if condition.size > extent:
        raise Unsupported(f"a condition of {condition.size} elements for extent {extent}", "export the model again")
    chosen = np.flatnonzero(condition).astype(np.int32)
    emit_gather(call, name, call.literal(chosen, f"{call.node.outputs[0]}/chosen"), axis)


def rearrange(earlier: Mapping[str, Translate]) -> Mapping[str, Translate]:
    """Translators by ONNX operator; ``earlier`` has those for the cases that were there before."""
    return MappingProxyType(
        {
            "Tile": tile,
            "DepthToSpace": depth_to_space,
            "SpaceToDepth": space_to_depth,
            "EyeLike": eye_like,
            "Pad": lambda call: pad(call, earlier["Pad"]),
            "Dropout": lambda call: dropout(call, earlier["Dropout"]),
            "Compress": compress,
            "Concat": lambda call: concat(call, earlier["Concat"]),
        }
    )
