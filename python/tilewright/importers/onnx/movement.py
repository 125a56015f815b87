"""ONNX operators that move or rename elements: views, Transpose, Slice, Concat, Split, Pad."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call

Shape = tuple[int, ...]


def reshape(call: Call) -> None:
    """Gives x another shape. An extent 0 is that of x, unless ``allowzero`` is set; -1 is computed."""
    x = call.input(0)
    wanted = [int(extent) for extent in call.constant(1, "the shape").reshape(-1)]
    if not call.attribute("allowzero", 0):
        if any(extent == 0 and axis >= len(x.shape) for axis, extent in enumerate(wanted)):
            raise Unsupported(f"shape {wanted} copies an extent that {list(x.shape)} does not have")
        wanted = [x.shape[axis] if extent == 0 else extent for axis, extent in enumerate(wanted)]
    if wanted.count(-1) > 1 or any(extent < -1 for extent in wanted):
        raise Unsupported(f"shape {wanted}")
    if -1 in wanted:
        known = prod(extent for extent in wanted if extent != -1)
        if known == 0 or prod(x.shape) % known:
            raise Unsupported(f"{list(x.shape)} cannot take shape {wanted}")
        wanted[wanted.index(-1)] = prod(x.shape) // known
    _view(call, tuple(wanted))


def flatten(call: Call) -> None:
    """Makes a matrix of x: the axes before ``axis`` are its rows, the others its columns."""
    shape = call.input(0).shape
    axis = int(call.attribute("axis", 1))
    axis += len(shape) if axis < 0 else 0
    if not 0 <= axis <= len(shape):
        raise Unsupported(f"axis {axis} of a tensor with {len(shape)} axes")
    _view(call, (prod(shape[:axis]), prod(shape[axis:])))


def squeeze(call: Call) -> None:
    """Removes the given axes, or all axes of extent 1."""
    shape = call.input(0).shape
    unit = [axis for axis, extent in enumerate(shape) if extent == 1]
    axes = call.axes("axes", 1, len(shape), unit)
    if any(shape[axis] != 1 for axis in axes):
        raise Unsupported(f"axes {list(axes)} of {list(shape)} do not all have extent 1")
    _view(call, tuple(extent for axis, extent in enumerate(shape) if axis not in axes))


def unsqueeze(call: Call) -> None:
    """Adds axes of extent 1. The axes are numbered as in the output."""
    shape = call.input(0).shape
    count = len(call.constant(1, "axes").reshape(-1)) if call.has(1) else len(call.integers("axes", ()))
    axes = set(call.axes("axes", 1, len(shape) + count))
    rest = iter(shape)
    _view(call, tuple(1 if axis in axes else next(rest) for axis in range(len(shape) + count)))


def identity(call: Call) -> None:
    """Copies x."""
    _view(call, call.input(0).shape)


def dropout(call: Call) -> None:
    """Dropout at inference, or in training mode with a ratio of 0."""
    training = call.has(2) and bool(call.constant(2, "training_mode"))
    if training and (not call.has(1) or float(call.constant(1, "the ratio").reshape(-1)[0]) != 0.0):
        raise Unsupported("training mode", "export for inference")
    _view(call, call.input(0).shape)


def optional_has_element(call: Call) -> None:
    """Whether there is an input; known at compile time."""
    call.build.constants[call.node.outputs[0]] = np.asarray(call.has(0))


def cast(call: Call) -> None:
    """Only a cast to the type that the tensor has."""
    x = call.input(0)
    float32 = 1
    if call.attribute("to") != float32 or x.dtype.value != "float32":
        raise Unsupported("a change of type at run time", "export without Cast")
    _view(call, x.shape)


def _view(call: Call, shape: Shape) -> None:
    x = call.input(0)
    if prod(shape) != prod(x.shape):
        raise Unsupported(f"{list(x.shape)} cannot take shape {list(shape)}")
    call.emit("Reshape", [x.name], shape)


def transpose(call: Call) -> None:
    """Permutes the axes. Without ``perm`` it reverses their order."""
    x = call.input(0)
    rank = len(x.shape)
    perm = tuple(call.axis(axis, rank) for axis in call.integers("perm", reversed(range(rank))))
    if sorted(perm) != list(range(rank)):
        raise Unsupported(f"perm {list(perm)} of a tensor with {rank} axes")
    call.emit("Transpose", [x.name], [x.shape[axis] for axis in perm], {"perm": perm})


def slice_(call: Call) -> None:
    """Slice, from attributes (as before opset 10) or inputs; starts and ends clamped, steps may be negative."""
    x = call.input(0)
    rank = len(x.shape)
    if call.attribute("starts") is not None:
        starts, ends = call.integers("starts", ()), call.integers("ends", ())
        axes, steps = call.axes("axes", 99, rank, range(len(starts))), (1,) * len(starts)
    else:
        starts, ends = _integers(call, 1, "starts"), _integers(call, 2, "ends")
        axes = call.axes("axes", 3, rank, range(len(starts)))
        steps = _integers(call, 4, "steps") if call.has(4) else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise Unsupported("starts, ends, axes and steps do not match")
    firsts, strides, shape = [0] * rank, [1] * rank, list(x.shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        positions = range(x.shape[axis])[start:end:step]
        # A single element has no next one, however far the step would go.
        firsts[axis], strides[axis] = positions.start, step if len(positions) > 1 else 1
        shape[axis] = len(positions)
    call.emit("Slice", [x.name], shape, {"starts": tuple(firsts), "steps": tuple(strides)})


def _integers(call: Call, index: int, what: str) -> Shape:
    return tuple(int(value) for value in call.constant(index, what).reshape(-1))


def split(call: Call) -> None:
    """Split as one Slice for each output."""
    x = call.input(0)
    rank = len(x.shape)
    axis = call.axis(int(call.attribute("axis", 0)), rank)
    outputs = len(call.node.outputs)
    if call.has(1):
        parts = _integers(call, 1, "split")
    elif call.attribute("split") is not None:
        parts = call.integers("split", ())
    else:
        if outputs > x.shape[axis]:
            raise Unsupported(f"{outputs} parts of extent {x.shape[axis]}", "export the model again")
        part = -(-x.shape[axis] // outputs)
        parts = tuple(min(part, x.shape[axis] - number * part) for number in range(outputs))
    if len(parts) != outputs or sum(parts) != x.shape[axis] or min(parts) < 0:
        raise Unsupported(f"parts {list(parts)} of extent {x.shape[axis]} for {outputs} outputs")
    first = 0
    for number, part in enumerate(parts):
        if call.node.outputs[number]:
            starts = tuple(first if position == axis else 0 for position in range(rank))
            shape = tuple(part if position == axis else extent for position, extent in enumerate(x.shape))
            call.emit("Slice", [x.name], shape, {"starts": starts, "steps": (1,) * rank}, output=number)
        first += part


def concat(call: Call) -> None:
    """Concat of tensors of one type. Empty ones, as caches are at the first step, add nothing."""
    indices = [index for index in range(len(call.node.inputs)) if not _is_empty(call, index)]
    if not indices:
        raise Unsupported("all inputs are empty", "remove empty tensors")
    parts = [call.input(index) for index in indices]
    rank = len(parts[0].shape)
    axis = call.axis(int(call.attribute("axis", 1)), rank)
    if len({(part.shape[:axis], part.shape[axis + 1 :]) for part in parts}) > 1:
        raise Unsupported("the inputs' shapes differ outside the axis")
    if len({part.dtype for part in parts}) > 1 and not call.build.integers_in_floats:
        raise Unsupported("the inputs' types differ")
    if len(parts) == 1:
        call.emit("Reshape", [parts[0].name], parts[0].shape)
        return
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    call.emit("Concat", [part.name for part in parts], shape, {"axis": axis})


def _is_empty(call: Call, index: int) -> bool:
    known = call.known(index)
    return known is not None and known.size == 0


def pad(call: Call) -> None:
    """Constant padding, from attributes (as before opset 11) or inputs; negative pads crop."""
    x = call.input(0)
    rank = len(x.shape)
    mode = call.attribute("mode", "constant")
    if mode != "constant":
        raise Unsupported(f"mode '{mode}'", "constant mode is supported")
    if call.attribute("pads") is not None:
        pads, value = call.integers("pads", ()), float(call.attribute("value", 0.0))
    else:
        pads = _integers(call, 1, "pads")
        value = call.constant(2, "the value").reshape(-1)[0].item() if call.has(2) else 0
    axes = call.axes("axes", 3, rank, range(rank)) if call.build.opset >= 18 else tuple(range(rank))
    if len(pads) != 2 * len(axes):
        raise Unsupported(f"{len(pads)} pads for {len(axes)} axes")
    begins, ends = [0] * rank, [0] * rank
    for number, axis in enumerate(axes):
        begins[axis], ends[axis] = pads[number], pads[number + len(axes)]
    _padded(call, begins, ends, value)


def require_rest(shape: Shape, begins: list[int], ends: list[int]) -> None:
    """Unsupported if negative pads leave nothing of an axis."""
    for axis, (extent, begin, end) in enumerate(zip(shape, begins, ends, strict=True)):
        if extent + min(begin, 0) + min(end, 0) < 1:
            raise Unsupported(f"pads {begin} and {end} of axis {axis} take all of its {extent} elements")


def _padded(call: Call, begins: list[int], ends: list[int], value: float) -> None:
    x = call.input(0)
    require_rest(x.shape, begins, ends)
    source, shape = x.name, x.shape
    grow = [max(amount, 0) for amount in (*begins, *ends)]
    if min(*begins, *ends) < 0:
        starts = tuple(max(-amount, 0) for amount in begins)
        shape = tuple(n - start - max(-end, 0) for n, start, end in zip(shape, starts, ends, strict=True))
        part = "crop" if any(grow) else ""
        attributes = {"starts": starts, "steps": (1,) * len(shape)}
        source = call.emit("Slice", [source], shape, attributes, part=part)
        if not any(grow):
            return
    if not any(grow):
        _view(call, shape)
        return
    rank = len(shape)
    shape = tuple(shape[axis] + grow[axis] + grow[axis + rank] for axis in range(rank))
    stored = value if x.dtype.numpy.kind == "f" else int(np.asarray(value))
    call.emit("Pad", [source], shape, {"pads": tuple(grow), "value": stored})


MOVEMENT: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {
        "Reshape": reshape,
        "Flatten": flatten,
        "Squeeze": squeeze,
        "Unsqueeze": unsqueeze,
        "Identity": identity,
        "Dropout": dropout,
        "OptionalHasElement": optional_has_element,
        "OptionalGetElement": identity,
        "Cast": cast,
        "Transpose": transpose,
        "Slice": slice_,
        "Split": split,
        "Concat": concat,
        "Pad": pad,
    }
)
