"""Convolutions of int16 tensors with int8 weights, as their kernels see them.

A transposed convolution with strides s is a convolution over x with s - 1 zeros between its elements, whose taps
stand in the opposite order:

Before:  y[i * s + k - pad] += w[k] * x[i]
After:   y[o] = sum over k of w[K - 1 - k] * spread(x)[o + k - (K - 1 - pad)], spread(x)[i * s] = x[i]
"""

from __future__ import annotations

from functools import cache
from math import inf, prod
from typing import TypeVar

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Epilogue, Graph, Node, RequantizeShift, RequantizeTwice, Rescale
from tilewright.kernels.kernel import TensorOperand
from tilewright.kernels.scalar.conv_transpose_integer import ConvTransposeIntegerAttributes
from tilewright.kernels.scalar.geometry import PLANE, PlaneWindows, plane_view, plane_windows
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.conv import nest as conv_nest
from tilewright.operators.nest import AxisMap, Nest
from tilewright.operators.windows import conv_transpose_nest

ONCE, TWICE, REAL, HIGH = 0, 1, 2, 3
"""How a sum becomes an element of y: rounded half up once, in 64 bits; twice, in 32 bits; as a real number; once, as
the upper half of a product of 32 bits each."""

INT32_MAX = (1 << 31) - 1
_LARGEST = 1 << 15
"""The largest magnitude of an int16."""
_INT64_MAX = (1 << 63) - 1
_MULTIPLIER_BITS = 15
_HIGH_BITS = 32

Number = TypeVar("Number", int, float)
Factors = list[tuple[int, int]]
"""Multiplier and shift of each channel."""


@dataclass(frozen=True, slots=True)
class HalvesConv:
    """A convolution of int16 without zero points.

    Attributes:
        weights: int8 [channels of y, taps, channels of x in a group].
        windows, spread: windows over x with ``spread`` - 1 zeros between its rows, and between its columns.
        groups: into which channels are divided.
        bias: int64 [channels of y].
        finish, factors: ``ONCE``, ``TWICE`` or ``REAL``, and what it multiplies and shifts by.
        minimum, maximum: bounds of the elements of y.
        reach: the most that a sum can be, bias included: int64 [channels of y].
    """

    node: Node
    graph: Graph
    nest: Nest
    weights: Array
    windows: PlaneWindows
    spread: tuple[int, int]
    groups: int
    bias: Array
    finish: int
    factors: Factors
    minimum: int
    maximum: int
    reach: Array

    @property
    def channel(self) -> AxisMap:
        """Where a channel of y stands in the nest."""
        return self.nest.writes[0][1]

    @property
    def operands(self) -> tuple[TensorOperand, TensorOperand]:
        """x and y."""
        x, y = self.graph.tensor(self.node.inputs[0]), self.graph.tensor(self.node.outputs[0])
        view = plane_view(len(x.shape))
        return TensorOperand(x.name, self.nest.reads[0], view), TensorOperand(y.name, self.nest.writes[0], view)


def convolution(node: Node, graph: Graph) -> HalvesConv | None:
    """The convolution of a Conv of int16 with constant int8 weights; None for any other."""
    given = node.given(ConvAttributes)
    if not _takes(node, graph) or any((given.x_zero_point, *given.w_zero_point)):
        return None
    w = graph.tensor(node.inputs[1])
    assert w.data is not None
    weights = np.moveaxis(w.data, 1, -1).reshape(w.shape[0], -1, w.shape[1])
    largest = given.x_largest or _LARGEST
    return _finished(node, graph, conv_nest(node, graph), weights, plane_windows(given), (1, 1), given.group, largest)


def transposed(node: Node, graph: Graph) -> HalvesConv | None:
    """The convolution of a ConvTransposeInteger of int16 with constant int8 weights; None for any other."""
    given = node.given(ConvTransposeIntegerAttributes)
    if not _takes(node, graph) or any((given.x_zero_point, *given.w_zero_point)):
        return None
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
    return _finished(node, graph, conv_transpose_nest(node, graph), weights, windows, drawn.strides, given.group)


def high_factors(conv: HalvesConv) -> Factors | None:
    """Multipliers m of ``HIGH``, (sum * m + 2^31) >> 32, of a convolution that rounds once; None if there are none."""
    found = []
    for multiplier, shift in conv.factors:
        wide, rest = divmod(multiplier << _HIGH_BITS, 1 << shift)
        if rest or wide > INT32_MAX:
            return None
        found.append((wide, 0))
    return found


def mean_met_taps(windows: PlaneWindows, spread: tuple[int, ...], outputs: tuple[int, int]) -> tuple[float, float]:
    """How many rows and columns of a window meet an element of x: means over ``outputs`` rows and columns of y.

    There is taken to be as much padding behind as in front.
    """
    axes = zip(outputs, windows.kernel, windows.strides, windows.dilations, windows.pads, spread, strict=True)
    rows, columns = (_mean_taps(*axis) for axis in axes)
    return rows, columns


def _takes(node: Node, graph: Graph) -> bool:
    x, w = (graph.tensor(name) for name in node.inputs[:2])
    y = graph.tensor(node.outputs[0])
    rule = (RequantizeShift, RequantizeTwice) if y.dtype is DType.INT16 else (Rescale,)
    halves = x.dtype is DType.INT16 and isinstance(node.epilogue, rule) and w.dtype is DType.INT8
    return halves and y.dtype in (DType.INT16, DType.FLOAT32) and w.data is not None and len(x.shape) - 2 <= PLANE


def _finished(
    node: Node,
    graph: Graph,
    nest: Nest,
    weights: Array,
    windows: PlaneWindows,
    spread: tuple[int, ...],
    groups: int,
    largest: int = _LARGEST,
) -> HalvesConv | None:
    """The convolution with bias and rule; None where bits do not suffice. No element of x exceeds ``largest``."""
    channels, epilogue = weights.shape[0], node.epilogue
    bias = np.zeros(channels, np.int64)
    if len(node.inputs) > 2 and node.inputs[2]:
        data = graph.tensor(node.inputs[2]).data
        if data is None:
            return None
        bias = data.astype(np.int64).reshape(-1)
    reach = np.abs(bias) + largest * np.abs(weights.astype(np.int64)).reshape(channels, -1).sum(axis=1)
    factors = _factors(epilogue, reach)
    if factors is None:
        return None
    finish, minimum, maximum = _finish(epilogue)
    return HalvesConv(
        node=node,
        graph=graph,
        nest=nest,
        weights=weights,
        windows=windows,
        spread=(spread[0], spread[1]),
        groups=groups,
        bias=bias,
        finish=finish,
        factors=factors,
        minimum=minimum,
        maximum=maximum,
        reach=reach,
    )


def _finish(epilogue: Epilogue | None) -> tuple[int, int, int]:
    """The number by which C knows the epilogue, and the bounds of the elements of y."""
    if isinstance(epilogue, RequantizeTwice):
        return TWICE, epilogue.minimum, epilogue.maximum
    if isinstance(epilogue, RequantizeShift):
        return ONCE, epilogue.minimum, epilogue.maximum
    return REAL, 0, 0


def _factors(epilogue: Epilogue | None, reach: Array) -> Factors | None:
    """Multiplier and shift of each channel; None if a sum of ``reach`` needs more bits than there are."""
    if isinstance(epilogue, RequantizeTwice):
        return _twice(epilogue, reach)
    if isinstance(epilogue, RequantizeShift):
        return _once(epilogue, reach)
    return _real(epilogue, reach) if isinstance(epilogue, Rescale) else None


def _real(epilogue: Rescale, reach: Array) -> Factors | None:
    """The bits of float32 multipliers."""
    if int(reach.max()) > INT32_MAX or (epilogue.minimum, epilogue.maximum) != (-inf, inf):
        return None
    bits = np.asarray(_each(epilogue.multiplier, reach.size), np.float32).view(np.uint32)
    return [(int(word), 0) for word in bits]


def _each(values: tuple[Number, ...], channels: int) -> tuple[Number, ...]:
    return values * channels if len(values) == 1 else values


def _twice(epilogue: RequantizeTwice, reach: Array) -> Factors | None:
    """Multipliers and shifts of sums of 32 bits; None if a sum, shifted left, needs more."""
    pairs = list(zip(_each(epilogue.multiplier, reach.size), _each(epilogue.shift, reach.size), strict=True))
    largest = [int(value) << max(shift, 0) for value, (_, shift) in zip(reach, pairs, strict=True)]
    return None if epilogue.zero_point or max(largest) > INT32_MAX else pairs


def _once(epilogue: RequantizeShift, reach: Array) -> Factors | None:
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
        if not 0 <= multiplier <= INT32_MAX or shift < 1 or largest * multiplier + (1 << shift) > _INT64_MAX:
            return None
        pairs.append((multiplier, shift))
    return pairs


@cache
def _mean_taps(outputs: int, taps: int, stride: int, dilation: int, pad: int, spread: int) -> float:
    last = (outputs - 1) * stride + (taps - 1) * dilation - 2 * pad
    places = np.arange(outputs)[:, None] * stride + np.arange(taps) * dilation - pad
    return float(np.count_nonzero((places >= 0) & (places <= last) & (places % spread == 0)) / outputs)
