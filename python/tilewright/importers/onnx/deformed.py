"""DeformConv and RoiAlign: elements between those of X, at places that are computed at run time."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.grid_sample import Sampler, weighed

_MOST_LENGTH = 2**24
"""The longest region; beyond it float32 has no more every integer."""
_MOST_SAMPLES = 1 << 16
"""The most samples of a region on one axis; tensors hold all of them."""


def deform_conv(call: Call, steps: Steps) -> None:
    """A convolution whose elements are taken beside their usual places, by offsets from the model."""
    x, weights, offset = call.real(0), call.real(1), call.real(2)
    if len(x.shape) != 4 or len(weights.shape) != 4 or len(offset.shape) != 4:
        raise Unsupported(f"a deformable convolution of {list(x.shape)}", "two axes of places are supported")
    batch, channels = x.shape[:2]
    groups, parts = int(call.attribute("offset_group", 1)), int(call.attribute("group", 1))
    taps, places = prod(weights.shape[2:]), offset.shape[2:]
    usual = _usual_places(call, weights.shape[2:], places, x.shape[2:])
    if offset.shape[1] != groups * taps * 2 or channels % groups or channels != parts * weights.shape[1]:
        raise Unsupported(f"offsets of shape {list(offset.shape)} for {list(x.shape)}", "export the model again")
    flat = steps.reshape(offset.name, batch * groups, taps, 2, prod(places))
    sampler = Sampler(steps, "zeros", False)
    around = []
    for axis, extent in enumerate(x.shape[2:]):
        moved = steps("Gather", flat, steps.constant([axis], np.int64), axis=2)
        moved = steps("Add", steps.reshape(moved, batch * groups, taps * prod(places)), steps.constant(usual[axis]))
        around.append(sampler.around(moved, extent, "linear"))
    elements = steps.reshape(x.name, batch * groups, channels // groups, prod(x.shape[2:]))
    taken = weighed(call, steps, elements, around, x.shape[2:])
    if call.has(4):
        taken = steps("Mul", taken, steps.reshape(call.real(4).name, batch * groups, 1, taps * prod(places)))
    columns = steps.reshape(taken, batch, parts, weights.shape[1] * taps, prod(places))
    outputs = weights.shape[0]
    matrices = steps.reshape(weights.name, parts, outputs // parts, weights.shape[1] * taps)
    result = steps.reshape(steps("MatMul", matrices, columns), batch, outputs, *places)
    if call.has(3):
        result = steps("Add", result, steps.reshape(call.real(3).name, outputs, 1, 1))
    steps.finish(result)


def _usual_places(
    call: Call, kernel: tuple[int, ...], places: tuple[int, ...], extents: tuple[int, ...]
) -> list[Array]:
    """For each axis, where each tap of the kernel stands for each output, [taps * outputs], row by row."""
    strides, dilations = call.geometry("strides", (1, 1)), call.geometry("dilations", (1, 1))
    pads = call.geometry("pads", (0, 0, 0, 0))
    grids: list[Array] = []
    for axis in range(2):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        wanted = (extents[axis] + pads[axis] + pads[2 + axis] - reach) // max(strides[axis], 1) + 1
        if strides[axis] < 1 or dilations[axis] < 1 or wanted != places[axis]:
            raise Unsupported(f"offsets for {places[axis]} places where there are {wanted}", "export the model again")
        outputs = np.arange(places[axis]) * strides[axis] - pads[axis]
        grids.append(np.arange(kernel[axis])[:, None] * dilations[axis] + outputs[None, :])
    down = np.broadcast_to(grids[0][:, None, :, None], (*kernel, *places)).reshape(-1)
    across = np.broadcast_to(grids[1][None, :, None, :], (*kernel, *places)).reshape(-1)
    return [down.astype(np.float32), across.astype(np.float32)]


def roi_align(call: Call, steps: Steps) -> None:
    """Pools of the elements between those of X in regions, each divided into rows and columns of bins."""
    x, rois, batches = call.real(0), call.real(1), call.input(2)
    mode = str(call.attribute("mode", "avg"))
    usual = "half_pixel" if call.build.opset >= 16 else "output_half_pixel"
    half = str(call.attribute("coordinate_transformation_mode", usual)) == "half_pixel"
    if mode not in ("avg", "max") or len(x.shape) != 4 or rois.shape != (rois.shape[0], 4):
        raise Unsupported(f"mode '{mode}' for {list(x.shape)} and regions {list(rois.shape)}", "export the model again")
    regions, (batch, channels, *extents) = rois.shape[0], x.shape
    bins = tuple(int(call.attribute(f"output_{word}", 1)) for word in ("height", "width"))
    if min(bins) < 1:
        raise Unsupported(f"bins {list(bins)}", "export the model again")
    counts = [_counts(call, axis, bins[axis], regions, half=half) for axis in range(2)]
    samples = [int(max(of_regions.max(), 1)) for of_regions in counts]
    if max(number * most for number, most in zip(bins, samples, strict=True)) > _MOST_SAMPLES:
        raise Unsupported(f"bins {list(bins)} of {max(samples)} samples on an axis", "export the model again")
    scaled = steps("Mul", rois.name, steps.constant(float(call.attribute("spatial_scale", 1.0))))
    scaled = steps("Sub", scaled, steps.constant(0.5)) if half else scaled
    rows, columns = (
        _samples(steps, scaled, axis, bins[axis], counts[axis], extents[axis], half=half) for axis in range(2)
    )
    if mode == "avg":
        rows, columns = (_shared(steps, rows, counts[0], bins[0]), _shared(steps, columns, counts[1], bins[1]))
    # Regions of all entries read one image that has the entries below each other.
    first = steps.reshape(steps.cast(batches.name, DType.INT32), regions, 1)
    first = steps("Mul", first, steps.constant(extents[0], np.int32))
    rows = [(steps("Add", index, first), weight) for index, weight in rows]
    image = steps.reshape(steps("Transpose", x.name, perm=[0, 2, 3, 1]), batch * prod(extents), channels)
    total = ""
    for index_down, weight_down in rows:
        for index_across, weight_across in columns:
            below = steps("Mul", index_down, steps.constant(extents[1], np.int32))
            index = steps("Add", _spread(steps, below, -1), _spread(steps, index_across, -2))
            weight = steps("Mul", _spread(steps, weight_down, -1), _spread(steps, weight_across, -2))
            taken = steps("Gather", image, index, axis=0)
            term = steps("Mul", taken, steps.reshape(weight, *steps.tensor(weight).shape, 1))
            joined = "Add" if mode == "avg" else "Max"
            total = steps(joined, total, term) if total else term
    shaped = steps.reshape(total, regions, bins[0], samples[0], bins[1], samples[1], channels)
    pooled = steps("ReduceMean" if mode == "avg" else "ReduceMax", shaped, axes=[2, 4], keepdims=0)
    steps.finish(steps("Transpose", pooled, perm=[0, 3, 1, 2]))


def _spread(steps: Steps, name: str, axis: int) -> str:
    """[regions, n] with an axis more, to be broadcast along it."""
    regions, count = steps.tensor(name).shape
    return steps.reshape(name, *((regions, count, 1) if axis == -1 else (regions, 1, count)))


def _counts(call: Call, axis: int, bins: int, regions: int, *, half: bool) -> Array:
    """int64 [regions]: how many samples a bin has on one axis; without a ``sampling_ratio`` that follows the region."""
    samples = int(call.attribute("sampling_ratio", 0))
    if samples > 0:
        return np.full(regions, samples, np.int64)
    rois = call.known(1)
    if rois is None or samples < 0:
        reason = f"sampling_ratio {samples}: the number of samples follows regions that are computed"
        raise Unsupported(reason, "export with sampling_ratio 2, or freeze the regions")
    ends = rois.astype(np.float32)[:, [1 - axis, 3 - axis]] * np.float32(call.attribute("spatial_scale", 1.0))
    lengths = ends[:, 1] - ends[:, 0]
    lengths = lengths if half else np.maximum(lengths, np.float32(1))
    if not (np.abs(lengths) < _MOST_LENGTH).all():
        raise Unsupported(f"regions of length {lengths.tolist()}", "export the model again")
    counts: Array = np.maximum(np.ceil(lengths / np.float32(bins)), 0).astype(np.int64)
    return counts


def _shared(steps: Steps, taps: list[tuple[str, str]], counts: Array, bins: int) -> list[tuple[str, str]]:
    """Taps whose weights count the samples that a region has alone, so that the mean over all is theirs."""
    most = int(max(counts.max(), 1))
    if (counts == most).all():
        return taps
    present = np.arange(most)[None, :] < counts[:, None]
    factors = np.tile(np.where(present, most / np.maximum(counts, 1)[:, None], 0.0), (1, bins))
    return [(index, steps("Mul", weight, steps.constant(factors))) for index, weight in taps]


def _samples(
    steps: Steps, rois: str, axis: int, bins: int, counts: Array, extent: int, *, half: bool
) -> list[tuple[str, str]]:
    """Index and weight of both neighbours of each sample on one axis, [regions, bins * the most samples].

    A region of fewer samples has its first one again; one without samples has weights of 0.
    """
    first, last = (steps("Gather", rois, steps.constant([side + 1 - axis], np.int64), axis=1) for side in (0, 2))
    length = steps("Sub", last, first)
    # Without half pixels a region has at least one element.
    length = length if half else steps("Max", length, steps.constant(1.0))
    number = np.arange(max(counts.max(), 1))
    number = np.where(number < counts[:, None], number, 0)
    within = (number + 0.5) / np.maximum(counts, 1)[:, None]
    share = (np.arange(bins)[:, None] + within[:, None, :]).reshape(len(counts), -1) / bins
    place = steps("Add", first, steps("Mul", length, steps.constant(share)))
    inside = steps(
        "And",
        steps("GreaterOrEqual", place, steps.constant(-1.0)),
        steps("LessOrEqual", place, steps.constant(float(extent))),
    )
    valid = steps.cast(inside, DType.FLOAT32)
    if not counts.all():
        valid = steps("Mul", valid, steps.constant(counts[:, None] > 0))
    end = steps.constant(float(extent - 1))
    place = steps("Min", steps("Max", place, steps.constant(0.0)), end)
    low = steps("Floor", place)
    high = steps("Min", steps("Add", low, steps.constant(1.0)), end)
    far = steps("Sub", place, low)
    near = steps("Sub", steps.constant(1.0), far)
    return [
        (steps.cast(low, DType.INT32), steps("Mul", near, valid)),
        (steps.cast(high, DType.INT32), steps("Mul", far, valid)),
    ]
