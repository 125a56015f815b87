"""Operators that move elements: shapes, transpositions, concatenation, slices, padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall, axis_of, one_type, same_scale
from tilewright.importers.tflite.images import FIRST, LAST
from tilewright.importers.tflite.quantized_more import joined


def reshape(call: LiteCall) -> None:
    """The same elements under the shape that the file gives the output; any type."""
    one_type(call, 0)
    call.reshaped(call.input(0).name, call.output().shape, "")


def transpose(call: LiteCall) -> None:
    """Axes in the order of a constant permutation; any type."""
    rank = len(call.record(0).shape)
    listed = tuple(axis_of(int(axis), rank) for axis in call.constant(1, "the permutation").reshape(-1))
    if sorted(listed) != list(range(rank)):
        raise Unsupported(f"{list(listed)} is no permutation of {rank} axes")
    call.transposed(call.input(0).name, listed, "")


def concatenation(call: LiteCall) -> None:
    """Tensors of one type and one scale along an axis, without activation; scales of uint8 may differ."""
    _no_activation(call)
    count = len(call.node.inputs)
    one_type(call, *range(count))
    rank = len(call.output().shape)
    axis = axis_of(call.integer("axis"), rank)
    inputs = [call.input(index) for index in range(count)]
    others = {(*tensor.shape[:axis], *tensor.shape[axis + 1 :]) for tensor in inputs}
    if len(others) != 1 or any(len(tensor.shape) != rank for tensor in inputs):
        raise Unsupported("inputs whose shapes differ on other axes than that of concatenation")
    shape = list(inputs[0].shape)
    shape[axis] = sum(tensor.shape[axis] for tensor in inputs)
    call.emit("Concat", joined(call, [tensor.name for tensor in inputs]), shape, {"axis": axis})


def _no_activation(call: LiteCall) -> None:
    if call.text("activation") != "NONE":
        raise Unsupported(f"activation {call.text('activation')}", "convert the model again")


def pad(call: LiteCall) -> None:
    """Constant widths; the padding is the zero point, or the constant of PADV2."""
    one_type(call, 0)
    x, rank = call.record(0), len(call.record(0).shape)
    widths = call.constant(1, "the widths").reshape(-1).astype(np.int64)
    if widths.size != 2 * rank or widths.min(initial=0) < 0:
        raise Unsupported(f"widths {widths.tolist()} for {rank} axes")
    if x.is_quantized:
        same_scale(call, x)
    value = float(x.zero if x.is_quantized else 0)
    if call.has(2):
        value = float(call.constant(2, "the value").reshape(-1)[0])
    before, after = widths[::2], widths[1::2]
    name = call.input(0).name
    perm = FIRST if rank == 4 else tuple(range(rank))
    source = call.transposed(name, perm, "first") if rank == 4 else name
    begins, ends = (tuple(int(side[axis]) for axis in perm) for side in (before, after))
    inner = call.build.tensor(source).shape
    shape = [extent + a + b for extent, a, b in zip(inner, begins, ends, strict=True)]
    given = {"pads": (*begins, *ends), "value": value}
    padded = call.emit("Pad", [source], shape, given, part="padded" if rank == 4 else "")
    if rank == 4:
        call.transposed(padded, LAST, "")


@dataclass(frozen=True, slots=True)
class _Span:
    """The positions that STRIDED_SLICE takes of an axis: begin and end (None: the border) and step, or one position."""

    begin: int | None = None
    end: int | None = None
    step: int = 1
    is_dropped: bool = False


def strided_slice(call: LiteCall) -> None:
    """Constant bounds, with ellipsis and new axes; axes of one position may be dropped."""
    one_type(call, 0)
    x = call.record(0)
    starts, steps, extents, kept = [], [], [], []
    spans, added = _spans(call, len(x.shape))
    for axis, (span, extent) in enumerate(zip(spans, x.shape, strict=True)):
        start, count = _taken(span, axis, extent)
        starts.append(start)
        steps.append(span.step)
        extents.append(count)
        if axis in added:
            kept += [1] * added[axis]
        if not span.is_dropped:
            kept.append(count)
    kept += [1] * added.get(len(spans), 0)
    given = {"starts": tuple(starts), "steps": tuple(steps)}
    if kept == extents:
        call.emit("Slice", [call.input(0).name], extents, given)
        return
    part = call.emit("Slice", [call.input(0).name], extents, given, part="slice")
    call.reshaped(part, kept, "")


def _spans(call: LiteCall, rank: int) -> tuple[list[_Span], dict[int, int]]:
    """A span for each axis, and how many new axes stand before each."""
    begins, ends, steps = (
        [int(value) for value in call.constant(index, "the bounds").reshape(-1)] for index in (1, 2, 3)
    )
    masks = {name: call.integer(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}

    def marked(name: str, entry: int) -> bool:
        return bool(masks[name] >> entry & 1)

    count = len(begins)
    if not len(ends) == len(steps) == count or sum(marked("ellipsis", entry) for entry in range(count)) > 1:
        raise Unsupported(f"bounds {begins}, {ends} and steps {steps}")
    taken = sum(not marked("new_axis", entry) and not marked("ellipsis", entry) for entry in range(count))
    if taken > rank:
        raise Unsupported(f"bounds of {taken} axes for {rank}")
    spans: list[_Span] = []
    added: dict[int, int] = {}
    for entry in range(count):
        if marked("ellipsis", entry):
            spans += [_Span()] * (rank - taken)
        elif marked("new_axis", entry):
            added[len(spans)] = added.get(len(spans), 0) + 1
        else:
            begin = None if marked("begin", entry) else begins[entry]
            end = ends[entry] + (begins[entry] if call.integer("offset") else 0)
            last = None if marked("end", entry) else end
            spans.append(_Span(begin, last, steps[entry], marked("shrink_axis", entry)))
    return spans + [_Span()] * (rank - len(spans)), added


def _taken(span: _Span, axis: int, extent: int) -> tuple[int, int]:
    """First position and number of positions on an axis, as Python slices count them."""
    if span.step == 0:
        raise Unsupported(f"step 0 on axis {axis}")
    if span.is_dropped:
        return (span.begin or 0) % extent, 1
    positions = range(extent)[slice(span.begin, span.end, span.step)]
    if not positions:
        raise Unsupported(f"no position on axis {axis}")
    return positions[0], len(positions)


def split(call: LiteCall) -> None:
    """Equal parts along a constant axis."""
    count = len(call.node.outputs)
    x = call.record(1)
    axis = _axis(call.constant(0, "the axis"), len(x.shape))
    if count == 0 or x.shape[axis] % count:
        raise Unsupported(f"{x.shape[axis]} positions in {count} parts")
    _parts(call, 1, axis, [x.shape[axis] // count] * count)


def split_v(call: LiteCall) -> None:
    """Parts of constant extents along a constant axis."""
    x = call.record(0)
    axis = _axis(call.constant(2, "the axis"), len(x.shape))
    extents = [int(value) for value in call.constant(1, "the extents").reshape(-1)]
    if extents.count(-1) == 1:
        extents[extents.index(-1)] = x.shape[axis] - sum(extents) - 1
    if len(extents) != len(call.node.outputs) or min(extents) < 1 or sum(extents) != x.shape[axis]:
        raise Unsupported(f"parts of {extents} of {x.shape[axis]} positions")
    _parts(call, 0, axis, extents)


def _axis(array: Array, rank: int) -> int:
    return axis_of(int(array.reshape(-1)[0]) if array.size == 1 else rank, rank)


def _parts(call: LiteCall, index: int, axis: int, extents: list[int]) -> None:
    tensor = call.input(index)
    steps, first = (1,) * len(tensor.shape), 0
    for output, extent in enumerate(extents):
        starts = tuple(first if position == axis else 0 for position in range(len(tensor.shape)))
        shape = (*tensor.shape[:axis], extent, *tensor.shape[axis + 1 :])
        call.emit("Slice", [tensor.name], shape, {"starts": starts, "steps": steps}, output=output)
        first += extent


MOVEMENT: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        "RESHAPE": reshape,
        "SQUEEZE": reshape,
        "EXPAND_DIMS": reshape,
        "TRANSPOSE": transpose,
        "CONCATENATION": concatenation,
        "PAD": pad,
        "PADV2": pad,
        "STRIDED_SLICE": strided_slice,
        "SPLIT": split,
        "SPLIT_V": split_v,
    }
)
