"""ONNX convolution and pooling: ``auto_pad`` and ``ceil_mode`` become pads and an output shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from tilewright.graph import Tensor
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.spatial import Windows

_SPATIAL_RANKS = (1, 2, 3)

WindowsOf = TypeVar("WindowsOf", bound=Windows)


def windows_of_call(call: Call, extents: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[Windows, tuple[int, ...]]:
    """Geometry of a node over ``extents``, and output extents as ONNX defines them."""
    rank = len(extents)
    strides = call.geometry("strides", (1,) * rank)
    dilations = call.geometry("dilations", (1,) * rank)
    pads = call.geometry("pads", (0,) * 2 * rank)
    if not len(kernel) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise Unsupported("kernel_shape, strides, dilations or pads do not match the spatial axes")
    if min(*strides, *dilations, *kernel) < 1 or min(pads) < 0:
        raise Unsupported("strides, dilations and kernel must be positive, pads not negative")
    begins, ends, outputs = [], [], []
    for axis, reach in enumerate(Windows(kernel, strides, dilations, pads).reach):
        begin, end = _pads(call, extents[axis], reach, strides[axis], (pads[axis], pads[axis + rank]))
        outputs.append(_output(call, extents[axis] + begin + end - reach, strides[axis], extents[axis] + begin))
        begins.append(begin)
        ends.append(end)
    return Windows(kernel, strides, dilations, (*begins, *ends)), tuple(outputs)


def whole_extent(extents: tuple[int, ...]) -> tuple[Windows, tuple[int, ...]]:
    """One window over all positions, and its output extents."""
    ones = (1,) * len(extents)
    return Windows(extents, ones, ones, (0,) * 2 * len(extents)), ones


def over(windows: Windows, kind: type[WindowsOf], **more: Any) -> WindowsOf:
    """Attributes of a type that adds fields to the geometry of windows."""
    return kind(windows.kernel, windows.strides, windows.dilations, windows.pads, **more)


def _pads(call: Call, extent: int, reach: int, stride: int, explicit: tuple[int, int]) -> tuple[int, int]:
    mode = call.attribute("auto_pad", "NOTSET") or "NOTSET"
    if mode == "NOTSET":
        return explicit
    if mode == "VALID":
        return 0, 0
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad '{mode}'")
    total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
    small, large = total // 2, total - total // 2
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def _output(call: Call, span: int, stride: int, padded_begin: int) -> int:
    """Number of windows. With ceil_mode a last partial window counts unless it starts in the end padding."""
    windows = span // stride + 1
    if call.attribute("ceil_mode", 0):
        windows = -(-span // stride) + 1
        windows -= int((windows - 1) * stride >= padded_begin)
    if windows < 1:
        raise Unsupported("the window is larger than the padded input")
    return windows


def spatial_input(call: Call) -> Tensor:
    """The first input, which has one to three spatial axes; Unsupported for other ranks."""
    x = call.input(0)
    if len(x.shape) - 2 not in _SPATIAL_RANKS:
        raise Unsupported(f"input with {len(x.shape)} axes", "1 to 3 spatial axes are supported")
    return x


def conv(call: Call) -> None:
    """Convolution. The weights are constant, or dequantised from constants."""
    x, w = call.real(0), call.real(1)
    spatial_input(call)
    kernel = call.geometry("kernel_shape", w.shape[2:])
    group = int(call.attribute("group", 1))
    if kernel != w.shape[2:] or w.shape[1] * group != x.shape[1] or w.shape[0] % group:
        raise Unsupported(f"weights {list(w.shape)} with {group} groups do not fit input {list(x.shape)}")
    windows, outputs = windows_of_call(call, x.shape[2:], kernel)
    inputs = [x.name, w.name]
    if call.has(2):
        bias = call.real(2)
        if bias.shape != (w.shape[0],):
            raise Unsupported(f"bias of shape {list(bias.shape)} for {w.shape[0]} channels")
        inputs.append(bias.name)
    call.emit("Conv", inputs, (x.shape[0], w.shape[0], *outputs), over(windows, ConvAttributes, group=group))


def _pool(call: Call, operator: str, kind: type[Windows], **more: Any) -> None:
    x = spatial_input(call)
    if len(call.node.outputs) > 1 and call.node.outputs[1]:
        raise Unsupported("the indices of the largest elements", "do not use the second output")
    windows, outputs = windows_of_call(call, x.shape[2:], call.geometry("kernel_shape", ()))
    call.emit(operator, [x.name], (*x.shape[:2], *outputs), over(windows, kind, **more))


def max_pool(call: Call) -> None:
    """MaxPool; storage order concerns the indices only, which are not supported."""
    _pool(call, "MaxPool", Windows)


def average_pool(call: Call) -> None:
    """The mean of each window."""
    call.real(0)
    counts = bool(call.attribute("count_include_pad", 0))
    _pool(call, "AveragePool", AveragePoolAttributes, count_include_pad=counts)


def _global_pool(call: Call, operator: str, kind: type[Windows]) -> None:
    x = spatial_input(call)
    windows, outputs = whole_extent(x.shape[2:])
    call.emit(operator, [x.name], (*x.shape[:2], *outputs), over(windows, kind))


def global_average_pool(call: Call) -> None:
    """The mean of each channel."""
    call.real(0)
    _global_pool(call, "AveragePool", AveragePoolAttributes)


def global_max_pool(call: Call) -> None:
    """The largest element of each channel."""
    _global_pool(call, "MaxPool", Windows)


SPATIAL: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {
        "Conv": conv,
        "MaxPool": max_pool,
        "AveragePool": average_pool,
        "GlobalAveragePool": global_average_pool,
        "GlobalMaxPool": global_max_pool,
    }
)
