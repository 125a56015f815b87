"""ONNX convolution and pooling beyond two spatial axes, transposed convolution, LpPool, indices of MaxPool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType
from tilewright.importers.onnx.context import Call, Unsupported
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
    spatial = len(x.shape) - 2
    kernel = call.geometry("kernel_shape", ())
    strides = call.geometry("strides", (1,) * spatial)
    pads = call.geometry("pads", (0,) * 2 * spatial)
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
    mode = call.attribute("auto_pad", "NOTSET") or "NOTSET"
    begins, outputs = [], []
    for axis in range(rank):
        reach = strides[axis] * (extents[axis] - 1) + (kernel[axis] - 1) * dilations[axis] + 1 + extra[axis]
        begin, end = pads[axis], pads[axis + rank]
        output = reach - begin - end
        if wanted:
            output = wanted[axis]
        elif mode in ("SAME_UPPER", "SAME_LOWER"):
            output = extents[axis] * strides[axis]
        if wanted or mode in ("SAME_UPPER", "SAME_LOWER"):
            total = max(reach - output, 0)
            begin = total // 2 if mode != "SAME_LOWER" else total - total // 2
        elif mode == "VALID":
            begin, output = 0, reach
        if output < 1:
            raise Unsupported("the output has no elements")
        begins.append(begin)
        outputs.append(output)
    return Windows(kernel, strides, dilations, (*begins, *(0,) * rank)), tuple(outputs)


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
