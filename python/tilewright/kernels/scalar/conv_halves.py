"""Convolution and transposed convolution of int16 tensors with int8 weights (runtime/kernels/conv_halves.c).

A transposed convolution with strides s is a convolution over x with s - 1 zeros between its elements, whose taps
stand in the opposite order:

Before:  y[i * s + k - pad] += w[k] * x[i]
After:   y[o] = sum over k of w[K - 1 - k] * spread(x)[o + k - (K - 1 - pad)], spread(x)[i * s] = x[i]
"""

from __future__ import annotations

from functools import cache
from math import inf, prod
from typing import Annotated, TypeVar

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Epilogue, Graph, Node, RequantizeShift, RequantizeTwice, Rescale
from tilewright.kernels.c_structs import CStruct, Int32, Int32x2
from tilewright.kernels.float_common import step_of
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import (
    HEIGHT,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar.conv_transpose_integer import ConvTransposeIntegerAttributes
from tilewright.kernels.scalar.geometry import PLANE, PlaneWindows, plane_view, plane_windows
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.conv import nest as conv_nest
from tilewright.operators.nest import Nest, whole
from tilewright.operators.windows import conv_transpose_nest


@dataclass(frozen=True, slots=True)
class ConvHalves(CStruct):
    """Operands: x [n, c, h, w] of int16; weights int8 [c of y][h * w][c of x in a group]; for each channel four words:
    bias (low, high), multiplier, shift; y [n, c, h, w] of int16, or float32 where `finish` says so.
    """

    windows: PlaneWindows
    spread: Annotated[Int32x2, "steps of a window from one element of x to the next, zeros between them"]
    group_inputs: Int32
    group_outputs: Int32
    finish: Annotated[Int32, "TILEWRIGHT_HALVES_...: one rounding half up, two as rule twice, or real numbers"]
    minimum: Int32
    maximum: Int32


Number = TypeVar("Number", int, float)

_ONCE, _TWICE, _REAL = 0, 1, 2
_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1
_MULTIPLIER_BITS = 15


def convolutions(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Conv of int16 with constant int8 weights, without zero points."""
    given = node.given(ConvAttributes)
    if not _takes(node, graph) or any((given.x_zero_point, *given.w_zero_point)):
        return ()
    w = graph.tensor(node.inputs[1])
    assert w.data is not None
    weights = np.moveaxis(w.data, 1, -1).reshape(w.shape[0], -1, w.shape[1])
    return _choices(node, graph, conv_nest(node, graph), weights, plane_windows(given), (1, 1), given.group)


def transposed(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for ConvTransposeInteger of int16 with constant int8 weights, without zero points."""
    given = node.given(ConvTransposeIntegerAttributes)
    if not _takes(node, graph) or any((given.x_zero_point, *given.w_zero_point)):
        return ()
    w = graph.tensor(node.inputs[1])
    assert w.data is not None
    spatial = tuple(range(2, w.data.ndim))
    flipped = np.flip(w.data, spatial).reshape(given.group, -1, w.shape[1], prod(w.shape[2:]))
    weights = np.moveaxis(flipped, 1, -1).reshape(given.group * w.shape[1], -1, w.shape[0] // given.group)
    drawn = plane_windows(given)
    pads = [
        (taps - 1) * dilation - pad
        for taps, dilation, pad in zip(drawn.kernel, drawn.dilations, drawn.pads, strict=True)
    ]
    windows = PlaneWindows(drawn.kernel, (1, 1), drawn.dilations, (pads[0], pads[1]))
    nest = conv_transpose_nest(node, graph)
    return _choices(node, graph, nest, weights, windows, drawn.strides, given.group)


def _takes(node: Node, graph: Graph) -> bool:
    x, w = (graph.tensor(name) for name in node.inputs[:2])
    y = graph.tensor(node.outputs[0])
    rule = (RequantizeShift, RequantizeTwice) if y.dtype is DType.INT16 else (Rescale,)
    halves = x.dtype is DType.INT16 and isinstance(node.epilogue, rule) and w.dtype is DType.INT8
    return halves and y.dtype in (DType.INT16, DType.FLOAT32) and w.data is not None and len(x.shape) - 2 <= PLANE


def _choices(
    node: Node,
    graph: Graph,
    nest: Nest,
    weights: Array,
    windows: PlaneWindows,
    spread: tuple[int, ...],
    groups: int,
) -> tuple[KernelChoice, ...]:
    """The kernel on ``weights`` [channels of y, taps, channels of x in a group]; none where bits do not suffice."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    rows = _rows(node, graph, weights.astype(np.int64))
    if rows is None:
        return ()
    view, channel = plane_view(len(x.shape)), nest.writes[0][1]
    attributes = ConvHalves(
        windows,
        spread,
        weights.shape[2],
        weights.shape[0] // groups,
        *_finish(node.epilogue),
    )
    packed = Packing(weights.shape, np.dtype(np.int8), lambda _: np.ascontiguousarray(weights))
    return (
        KernelChoice(
            kernel=_KERNEL,
            sources=("conv_halves.c",),
            nest=nest,
            reads=(
                TensorOperand(x.name, nest.reads[0], view),
                ConstantOperand("weights", packed, (channel, whole(weights.shape[1]), whole(weights.shape[2]))),
                ConstantOperand("requantization", rows, (channel, whole(4))),
            ),
            writes=(TensorOperand(y.name, nest.writes[0], view),),
            attributes=attributes,
            uncut=frozenset({"ic", "kh", "kw"}),
        ),
    )


def _rows(node: Node, graph: Graph, weights: Array) -> Array | None:
    """int32[channels, 4]: bias, multiplier and shift of each channel; None if sums or products do not fit."""
    channels, epilogue = weights.shape[0], node.epilogue
    bias = np.zeros(channels, np.int64)
    if len(node.inputs) > 2 and node.inputs[2]:
        data = graph.tensor(node.inputs[2]).data
        if data is None:
            return None
        bias = data.astype(np.int64).reshape(-1)
    reach = np.abs(bias) + 32768 * np.abs(weights).reshape(channels, -1).sum(axis=1)
    factors = _factors(epilogue, reach)
    if factors is None:
        return None
    words = [
        np.array([start & 0xFFFFFFFF, start >> 32 & 0xFFFFFFFF, multiplier, shift & 0xFFFFFFFF], np.uint32)
        for start, (multiplier, shift) in zip(bias.tolist(), factors, strict=True)
    ]
    return np.stack(words).view(np.int32)


def _finish(epilogue: Epilogue | None) -> tuple[int, int, int]:
    """The number by which C knows the epilogue, and the bounds of the elements of y."""
    if isinstance(epilogue, RequantizeTwice):
        return _TWICE, epilogue.minimum, epilogue.maximum
    if isinstance(epilogue, RequantizeShift):
        return _ONCE, epilogue.minimum, epilogue.maximum
    return _REAL, 0, 0


def _factors(epilogue: Epilogue | None, reach: Array) -> list[tuple[int, int]] | None:
    """Multiplier and shift of each channel; None if a sum of ``reach`` needs more bits than there are."""
    if isinstance(epilogue, RequantizeTwice):
        return _twice(epilogue, reach)
    if isinstance(epilogue, RequantizeShift):
        return _once(epilogue, reach)
    return _real(epilogue, reach) if isinstance(epilogue, Rescale) else None


def _real(epilogue: Rescale, reach: Array) -> list[tuple[int, int]] | None:
    """The bits of float32 multipliers."""
    if int(reach.max()) > _INT32_MAX or (epilogue.minimum, epilogue.maximum) != (-inf, inf):
        return None
    bits = np.asarray(_each(epilogue.multiplier, reach.size), np.float32).view(np.uint32)
    return [(int(word), 0) for word in bits]


def _each(values: tuple[Number, ...], channels: int) -> tuple[Number, ...]:
    return values * channels if len(values) == 1 else values


def _twice(epilogue: RequantizeTwice, reach: Array) -> list[tuple[int, int]] | None:
    """Multipliers and shifts of sums of 32 bits; None if a sum, shifted left, needs more."""
    pairs = list(zip(_each(epilogue.multiplier, reach.size), _each(epilogue.shift, reach.size), strict=True))
    largest = [int(value) << max(shift, 0) for value, (_, shift) in zip(reach, pairs, strict=True)]
    return None if epilogue.zero_point or max(largest) > _INT32_MAX else pairs


def _once(epilogue: RequantizeShift, reach: Array) -> list[tuple[int, int]] | None:
    """Multipliers and shifts of sums of 64 bits.

    Channels share a shift in the epilogue; here a multiplier loses its factors of two.
    """
    if any(epilogue.addend):
        return None
    pairs = []
    for largest, factor in zip(reach.tolist(), _each(epilogue.multiplier, reach.size), strict=True):
        multiplier, shift = factor, epilogue.shift
        while multiplier >> _MULTIPLIER_BITS and multiplier % 2 == 0:
            multiplier, shift = multiplier // 2, shift - 1
        if not 0 <= multiplier <= _INT32_MAX or shift < 1 or largest * multiplier + (1 << shift) > _INT64_MAX:
            return None
        pairs.append((multiplier, shift))
    return pairs


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile, fitted to RV32IMAC. Rows of a window that meet no row of x are left at once."""
    given, nest = choice.given(ConvHalves), choice.nest
    rows, columns = (_met_taps(given, axis, step_of(nest, {}, name)) for axis, name in enumerate(("oh", "ow")))
    outputs = steps_product(nest, steps, "n", "oh", "ow") * steps_product(nest, steps, "group", "oc")
    taps = 9.0 * given.windows.kernel[1] + columns * (52.0 + 7.0 * given.group_inputs)
    return 150.0 + outputs * (150.0 + rows * taps)


def _met_taps(given: ConvHalves, axis: int, outputs: int) -> float:
    """How many taps of a window meet an element of x: the mean over an axis.

    There is taken to be as much padding behind as in front.
    """
    windows = given.windows
    taps, stride, pad = windows.kernel[axis], windows.strides[axis], windows.pads[axis]
    return _mean_taps(outputs, taps, stride, windows.dilations[axis], pad, given.spread[axis])


@cache
def _mean_taps(outputs: int, taps: int, stride: int, dilation: int, pad: int, spread: int) -> float:
    last = (outputs - 1) * stride + (taps - 1) * dilation - 2 * pad
    places = np.arange(outputs)[:, None] * stride + np.arange(taps) * dilation - pad
    return float(np.count_nonzero((places >= 0) & (places <= last) & (places % spread == 0)) / outputs)


_KERNEL = Kernel("tilewright_conv_halves", ConvHalves, _cycles, ring_axes=frozenset({HEIGHT}), likes=CONVOLUTION_ORDER)

DECLARATION = Declaration(
    operators={"Conv": convolutions, "ConvTransposeInteger": transposed},
    kernels=(_KERNEL,),
    numbers={"HALVES_ONCE": _ONCE, "HALVES_TWICE": _TWICE, "HALVES_REAL": _REAL},
)
