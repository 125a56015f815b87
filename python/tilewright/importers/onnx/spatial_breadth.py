"""ONNX convolution and pooling beyond two spatial axes, transposed convolution, LpPool, indices of MaxPool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import typed
from tilewright.importers.onnx.spatial import over, spatial_input, whole_extent, windows_of_call
from tilewright.operators.spatial import Windows
from tilewright.operators.windows import ConvTransposeAttributes, LpPoolAttributes, MaxPoolIndicesAttributes

Translate = Callable[[Call], None]
_FLOAT = frozenset({DType.FLOAT32})


def lp_pool(call: Call) -> None:
    """The root of degree p of the sum of powers of p, in each window."""
    x = typed(call, 0, _FLOAT)
    spatial_input(call)
    windows, outputs = windows_of_call(call, x.shape[2:], call.geometry("kernel_shape", ()))
    given = over(windows, LpPoolAttributes, p=float(call.attribute("p", 2)))
    call.emit("LpPool", [x.name], (*x.shape[:2], *outputs), given)


def global_lp_pool(call: Call) -> None:
    """The root of degree p of the sum of powers of p, of each channel."""
    x = typed(call, 0, _FLOAT)
    windows, outputs = whole_extent(spatial_input(call).shape[2:])
    given = over(windows, LpPoolAttributes, p=float(call.attribute("p", 2)))
    call.emit("LpPool", [x.name], (*x.shape[:2], *outputs), given)


def max_pool(call: Call, plain: Translate) -> None:
    """The largest element of each window, and its index if the second output is used."""
    if len(call.node.outputs) < 2 or not call.node.outputs[1]:
        plain(call)
        return
    x = typed(call, 0, frozenset({DType.FLOAT32, DType.INT8, DType.UINT8}))
    extents = spatial_input(call).shape[2:]
    windows, outputs = windows_of_call(call, extents, call.geometry("kernel_shape", ()))
    rows_first = not call.attribute("storage_order", 0)
    steps = [prod(extents[a + 1 :]) if rows_first else prod(extents[:a]) for a in range(len(extents))]
    shape = (*x.shape[:2], *outputs)
    given = over(windows, MaxPoolIndicesAttributes, steps=tuple(steps))
    call.emit_all("MaxPoolIndices", [x.name], [(shape, x.dtype), (shape, DType.INT64)], given)


def max_unpool(call: Call) -> None:
    """Writes each element at its index, and zeros elsewhere."""
    x, indices = typed(call, 0, _FLOAT), typed(call, 1, frozenset({DType.INT64}))
    spatial = len(spatial_input(call).shape) - 2
    kernel = call.geometry("kernel_shape", ())
    strides = call.geometry("strides", (1,) * spatial)
    pads = call.geometry("pads", (0,) * 2 * spatial)
    if len(kernel) != spatial or min(*kernel, *strides) < 1 or min(pads) < 0:
        raise Unsupported("kernel_shape, strides or pads do not fit the spatial axes")
    inferred = (
        *x.shape[:2],
        *((x.shape[2 + a] - 1) * strides[a] + kernel[a] - pads[a] - pads[a + spatial] for a in range(spatial)),
    )
    shape = inferred
    if call.has(2):
        shape = tuple(int(extent) for extent in call.constant(2, "the output shape").reshape(-1))
    if any(extent < least for extent, least in zip(shape, inferred, strict=True)):
        raise Unsupported(f"output shape {list(shape)}, less than {list(inferred)}")
    total = prod(inferred)
    _check_indices(call, total)
    call.build.require_room(4 * total)
    zeros = call.literal(np.zeros(total, np.float32), f"{call.node.outputs[0]}/zeros")
    flat = call.emit("Reshape", [x.name], (x.elements,), part="elements")
    index = call.emit("Reshape", [indices.name], (x.elements,), dtype=DType.INT64, part="indices")
    attributes = {"axis": 0, "reduction": "none"}
    placed = call.emit("ScatterElements", [zeros, index, flat], (total,), attributes, part="placed")
    if shape == inferred:
        call.emit("Reshape", [placed], shape)
        return
    image = call.emit("Reshape", [placed], inferred, part="image")
    ends = tuple(extent - least for extent, least in zip(shape, inferred, strict=True))
    call.emit("Pad", [image], shape, {"pads": (*(0,) * len(shape), *ends), "value": 0.0})


def _check_indices(call: Call, total: int) -> None:
    """Constant indices must lie in the output; others are clamped by the kernel."""
    known = call.known(1)
    if known is not None and known.size and (known.min() < 0 or known.max() >= total):
        raise Unsupported(f"an index outside of an output of {total} elements", "export the model again")


def conv_transpose(call: Call) -> None:
    """Transposed convolution, with ``output_shape``, ``output_padding`` and ``auto_pad``."""
    x, w = typed(call, 0, _FLOAT), typed(call, 1, _FLOAT)
    spatial_input(call)
    group = int(call.attribute("group", 1))
    fits = len(w.shape) == len(x.shape) and w.shape[0] == x.shape[1]
    if not fits or group < 1 or x.shape[1] % group:
        raise Unsupported(f"weights {list(w.shape)} with {group} groups do not fit input {list(x.shape)}")
    windows, outputs = _transposed_geometry(call, x.shape[2:], w.shape[2:])
    channels = w.shape[1] * group
    inputs = [x.name, w.name]
    if call.has(2):
        inputs.append(typed(call, 2, _FLOAT).name)
        if call.input(2).shape != (channels,):
            raise Unsupported(f"bias of shape {list(call.input(2).shape)} for {channels} channels")
    given = over(windows, ConvTransposeAttributes, group=group)
    call.emit("ConvTranspose", inputs, (x.shape[0], channels, *outputs), given)


def _transposed_geometry(
    call: Call, extents: tuple[int, ...], kernel: tuple[int, ...]
) -> tuple[Windows, tuple[int, ...]]:
    rank = len(extents)
    strides = call.geometry("strides", (1,) * rank)
    dilations = call.geometry("dilations", (1,) * rank)
    pads = call.geometry("pads", (0,) * 2 * rank)
    extra = call.geometry("output_padding", (0,) * rank)
    wanted = call.geometry("output_shape", ())[-rank:]
    if wanted and len(wanted) != rank:
        raise Unsupported(f"an output shape of {len(wanted)} extents for {rank} axes")
    if min(*strides, *dilations) < 1 or min(*pads, *extra) < 0:
        raise Unsupported("strides and dilations must be positive, pads and output_padding not negative")
    begins, outputs = [], []
    for axis in range(rank):
        if extra[axis] >= max(strides[axis], dilations[axis]):
            limit = f"stride {strides[axis]} and dilation {dilations[axis]}"
            raise Unsupported(f"output_padding {extra[axis]}, which must be less than the larger of {limit}")
        reach = strides[axis] * (extents[axis] - 1) + (kernel[axis] - 1) * dilations[axis] + 1 + extra[axis]
        begin, output = _transposed_padding(
            call, reach, extents[axis] * strides[axis], (pads[axis], pads[axis + rank]), wanted[axis : axis + 1]
        )
        if output < 1:
            raise Unsupported("the output has no elements")
        if output - reach >= strides[axis]:
            raise Unsupported(f"output_shape {output}, but the windows reach {reach} with stride {strides[axis]}")
        begins.append(begin)
        outputs.append(output)
    return Windows(kernel, strides, dilations, (*begins, *(0,) * rank)), tuple(outputs)


def _transposed_padding(
    call: Call, reach: int, same: int, pads: tuple[int, int], wanted: tuple[int, ...]
) -> tuple[int, int]:
    """Padding before the axis and extent of the output, as ONNX's description of ConvTranspose defines them.

    Args:
        reach: positions that the windows write.
        same: the output extent of SAME_UPPER and SAME_LOWER, as far as the windows reach.
        wanted: the extent that output_shape gives, or nothing.
    """
    mode = call.attribute("auto_pad", "NOTSET") or "NOTSET"
    if wanted or mode in ("SAME_UPPER", "SAME_LOWER"):
        output = wanted[0] if wanted else min(same, reach)
        total = max(reach - output, 0)
        # Of an odd sum only SAME_UPPER puts the smaller half first.
        return (total // 2 if mode == "SAME_UPPER" else total - total // 2), output
    if mode == "VALID":
        return 0, reach
    if mode != "NOTSET":
        raise Unsupported(f"auto_pad '{mode}'")
    return pads[0], reach - pads[0] - pads[1]


def window_operators(earlier: Mapping[str, Translate]) -> Mapping[str, Translate]:
    """Translators by ONNX operator; ``earlier`` has those for the cases that were there before."""
    return MappingProxyType(
        {
            "LpPool": lp_pool,
            "GlobalLpPool": global_lp_pool,
            "MaxPool": lambda call: max_pool(call, earlier["MaxPool"]),
            "MaxUnpool": max_unpool,
            "ConvTranspose": conv_transpose,
        }
    )
