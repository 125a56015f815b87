"""Resize and Upsample: by whole factors a Repeat; else axis by axis a Gather of nearest elements, or interpolation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.indexing import emit_gather, repeated
from tilewright.operators.interpolation import integer_tables
from tilewright.operators.movement import repetitions


@dataclass(frozen=True, slots=True)
class _Axis:
    """How one axis is resized.

    Attributes:
        roi: start and end for tf_crop_and_resize.
        rounding: how a position becomes the nearest element, where ``nearest_mode`` does not say it.
    """

    extent: int
    output: int
    scale: float
    roi: tuple[float, float]
    rounding: str = ""


def resize(call: Call) -> None:
    """Stretches or shrinks x along its axes. Sizes or scales are constant."""
    mode = str(call.attribute("mode", "nearest"))
    if mode not in ("nearest", "linear", "cubic"):
        raise Unsupported(f"mode '{mode}'")
    axes = _axes_of(call)
    if call.build.opset >= 11:
        _apply(call, axes, mode)
        return
    # Opset 10 has Upsample's coordinates; ONNX Runtime rounds up where an axis shrinks.
    older = {axis: replace(way, rounding="ceil" if way.scale < 1.0 else "floor") for axis, way in axes.items()}
    _apply(call, older, mode, "asymmetric")


def upsample(call: Call) -> None:
    """Resize with ``asymmetric`` coordinates, rounded down. It is the older name of Resize."""
    x = call.input(0)
    given = call.attribute("scales") is not None
    values = np.asarray(call.numbers("scales", ()) if given else call.constant(1, "the scales"), np.float64).reshape(-1)
    if len(values) != len(x.shape) or not np.isfinite(values).all() or (values < 1).any():
        raise Unsupported(
            f"scales {list(values)} of a tensor with {len(x.shape)} axes", "use Resize to make it smaller"
        )
    axes = {
        axis: _Axis(extent, int(np.floor(extent * values[axis])), float(values[axis]), (0.0, 1.0), "floor")
        for axis, extent in enumerate(x.shape)
    }
    _apply(call, axes, str(call.attribute("mode", "nearest")), "asymmetric")


def _apply(call: Call, axes: Mapping[int, _Axis], mode: str, coordinates: str = "") -> None:
    x = call.input(0)
    name, shape = x.name, x.shape
    coordinates = coordinates or str(call.attribute("coordinate_transformation_mode", "half_pixel"))
    for way in axes.values():
        call.build.require_room(8 * way.output)
    changed = [
        axis
        for axis, way in axes.items()
        if way.output != way.extent or coordinates == "tf_crop_and_resize" or way.scale != 1.0
    ]
    if mode == "linear" and x.dtype in (DType.INT8, DType.UINT8) and changed:
        _stored_linear(call, {axis: axes[axis] for axis in changed}, coordinates)
        return
    if mode != "nearest" and x.dtype is not DType.FLOAT32:
        raise Unsupported(f"mode '{mode}' of {x.dtype.value}", "insert a Cast")
    rounding = str(call.attribute("nearest_mode", "round_prefer_floor"))
    times = _repetitions({axis: axes[axis] for axis in changed}, coordinates, rounding) if mode == "nearest" else {}
    if times:
        repeated(call, x.name, times)
        return
    for axis in changed:
        way = axes[axis]
        if way.output < 1:
            raise Unsupported("the output has no elements")
        at = _positions(way, coordinates)
        part = "" if axis == changed[-1] else f"axis{axis}"
        shape = (*shape[:axis], way.output, *shape[axis + 1 :])
        outside = (at < 0) | (at > way.extent - 1) if coordinates == "tf_crop_and_resize" else np.zeros(at.shape, bool)
        if mode == "nearest" and not outside.any():
            chosen = _nearest(at, way, rounding)
            name = emit_gather(
                call, name, call.literal(chosen, f"{call.node.outputs[0]}/nearest{axis}"), axis, part=part
            )
            continue
        indices, weights = _table(call, at, way, mode)
        attributes = {
            "axis": axis,
            "indices": tuple(int(index) for index in np.where(outside[:, None], -1, indices).reshape(-1)),
            "weights": tuple(float(weight) for weight in np.where(outside[:, None], 0.0, weights).reshape(-1)),
            "outside": float(call.attribute("extrapolation_value", 0.0)),
        }
        if x.dtype is not DType.FLOAT32:
            raise Unsupported(f"extrapolation of {x.dtype.value}", "insert a Cast")
        name = call.emit("Interpolate", [name], shape, attributes, part=part)
    if not changed:
        call.emit("Reshape", [x.name], x.shape)


def _repetitions(axes: Mapping[int, _Axis], coordinates: str, rounding: str) -> dict[int, int]:
    """How often each element is taken along each axis, where that is the same for all elements of all axes."""
    times = {}
    for axis, way in axes.items():
        at = _positions(way, coordinates) if way.output > 0 else np.zeros(0)
        if coordinates != "tf_crop_and_resize":
            times[axis] = repetitions(_nearest(at, way, rounding), way.extent)
    return times if len(times) == len(axes) and all(count > 1 for count in times.values()) else {}


def _stored_linear(call: Call, axes: Mapping[int, _Axis], coordinates: str) -> None:
    """Linear interpolation of the stored integers, rounded towards 0, as ONNX Runtime computes it."""
    x, shape = call.input(0), list(call.input(0).shape)
    tables = {}
    for axis, way in axes.items():
        shape[axis] = way.output
        at = _positions(way, coordinates)
        if coordinates != "tf_crop_and_resize" and way.output > 0:
            tables[axis] = _table(call, at, way, "linear")
    found = integer_tables(x.shape, tables) if len(tables) == len(axes) else None
    if found is None:
        reason = f"mode 'linear' of {x.dtype.value}{list(x.shape)} to {shape}"
        raise Unsupported(reason, "two axes without a region or antialias are supported; else insert a Cast")
    call.emit("InterpolateInteger", [x.name], shape, found)


def _axes_of(call: Call) -> dict[int, _Axis]:
    x = call.input(0)
    rank = len(x.shape)
    older = call.build.opset < 11
    axes = call.axes("axes", 99, rank, range(rank))
    roi_index, scales_index, sizes_index = (99, 1, 99) if older else (1, 2, 3)
    roi = np.array([0.0] * len(axes) + [1.0] * len(axes))
    if call.has(roi_index) and call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        roi = call.constant(roi_index, "the region").astype(np.float64).reshape(-1)
    scales = call.constant(scales_index, "the scales").reshape(-1) if call.has(scales_index) else np.zeros(0)
    sized = call.has(sizes_index) and call.constant(sizes_index, "the sizes").size > 0
    outputs: list[int]
    if scales.size and sized:
        raise Unsupported("scales and sizes", "export the model again with one of them")
    if scales.size:
        if not np.isfinite(scales).all() or (scales <= 0).any():
            raise Unsupported(f"scales {scales.tolist()}", "export the model again")
        factors = [float(value) for value in scales]
        # ONNX's text multiplies by the width of the region as well; all its implementations leave that out.
        outputs = [int(np.floor(x.shape[axis] * factor)) for axis, factor in zip(axes, factors, strict=True)]
    elif sized:
        sizes = [int(size) for size in call.constant(sizes_index, "the sizes").reshape(-1)]
        factors, outputs = _factors(call, [x.shape[axis] for axis in axes], sizes)
    else:
        raise Unsupported("neither scales nor sizes", "export the model again")
    return {
        axis: _Axis(x.shape[axis], outputs[n], factors[n], (float(roi[n]), float(roi[n + len(axes)])))
        for n, axis in enumerate(axes)
    }


def _factors(call: Call, extents: list[int], sizes: list[int]) -> tuple[list[float], list[int]]:
    """Scales from sizes, as keep_aspect_ratio_policy says."""
    policy = str(call.attribute("keep_aspect_ratio_policy", "stretch"))
    factors = [size / extent for size, extent in zip(sizes, extents, strict=True)]
    if policy == "stretch":
        return factors, sizes
    factor = min(factors) if policy == "not_larger" else max(factors)
    return [factor] * len(sizes), [int(np.floor(factor * extent + 0.5)) for extent in extents]


def _positions(way: _Axis, coordinates: str) -> Array:
    """The place in the input that each output position stands for.

    ONNX's reference evaluator takes extent times scale, before rounding, for the length of the output; the
    specification and ONNX Runtime take the output's extent.
    """
    o = np.arange(way.output, dtype=np.float64)
    single = way.output == 1
    if coordinates == "asymmetric":
        return np.asarray(o / way.scale)
    if coordinates == "align_corners":
        return np.asarray(o * 0 if single else o * (way.extent - 1) / (way.output - 1))
    if coordinates == "pytorch_half_pixel":
        return np.asarray(o * 0 if single else (o + 0.5) / way.scale - 0.5)
    if coordinates == "half_pixel_symmetric":
        adjusted = way.output / (way.scale * way.extent)
        return np.asarray(way.extent / 2 * (1 - adjusted) + (o + 0.5) / way.scale - 0.5)
    if coordinates == "tf_half_pixel_for_nn":
        return np.asarray((o + 0.5) / way.scale)
    if coordinates == "tf_crop_and_resize":
        begin, end = way.roi
        if single:
            return np.asarray(o * 0 + 0.5 * (begin + end) * (way.extent - 1))
        return np.asarray(begin * (way.extent - 1) + o * (end - begin) * (way.extent - 1) / (way.output - 1))
    if coordinates == "half_pixel":
        return np.asarray((o + 0.5) / way.scale - 0.5)
    raise Unsupported(f"coordinate_transformation_mode '{coordinates}'")


def _nearest(at: Array, way: _Axis, rounding: str) -> Array:
    rules: Mapping[str, Callable[[Array], Array]] = {
        "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
    }
    rule = way.rounding or rounding
    if rule not in rules:
        raise Unsupported(f"nearest_mode '{rule}'")
    return np.clip(rules[rule](at), 0, way.extent - 1).astype(np.int32)


def _table(call: Call, at: Array, way: _Axis, mode: str) -> tuple[Array, Array]:
    """For each output the input positions that it reads, clamped to the edge, and their weights."""
    if mode == "nearest":
        chosen = _nearest(at, way, str(call.attribute("nearest_mode", "round_prefer_floor")))
        return chosen[:, None], np.ones((len(at), 1))
    stretch = min(way.scale, 1.0) if call.attribute("antialias", 0) else 1.0
    half = int(np.ceil((1 if mode == "linear" else 2) / stretch))
    base = np.floor(at)
    taps = base[:, None] + np.arange(-half + 1, half + 1)[None, :]
    distance = (taps - at[:, None]) * stretch
    weights = np.maximum(0.0, 1.0 - np.abs(distance)) if mode == "linear" else _cubic(call, distance)
    inside = (taps >= 0) & (taps <= way.extent - 1)
    if call.attribute("exclude_outside", 0):
        weights = np.where(inside, weights, 0.0)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(taps, 0, way.extent - 1).astype(np.int32), weights


def _cubic(call: Call, distance: Array) -> Array:
    """Keys' cubic convolution with coefficient a."""
    a = float(call.attribute("cubic_coeff_a", -0.75))
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


RESIZE: Mapping[str, Callable[[Call], None]] = MappingProxyType({"Resize": resize, "Upsample": upsample})
