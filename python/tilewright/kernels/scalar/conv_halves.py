"""Convolution of int16 tensors with int8 weights (runtime/kernels/conv_halves.c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.graph import Array, DType, Graph, Node, RequantizeShift
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import (
    HEIGHT,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar.geometry import PlaneWindows, is_plane, plane_view, plane_windows
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.conv import nest as nest_of
from tilewright.operators.nest import along, whole


@dataclass(frozen=True, slots=True)
class ConvHalves(CStruct):
    """y = (sum * multiplier / 2^shift, rounded half up), sums in 64 bits. Operands: x and y [n, c, h, w] of int16;
    weights int8 [c of y][h * w][c of x]; for each channel four words: bias (low, high), multiplier, shift.
    """

    windows: PlaneWindows
    minimum: Int32
    maximum: Int32


_INT64_MAX = (1 << 63) - 1
_MULTIPLIER_BITS = 15


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Conv of int16 with constant int8 weights, in one group, without zero points."""
    x, w = (graph.tensor(name) for name in node.inputs[:2])
    y, epilogue = graph.tensor(node.outputs[0]), node.epilogue
    halves = x.dtype is DType.INT16 and y.dtype is DType.INT16 and w.dtype is DType.INT8
    if not halves or w.data is None or not isinstance(epilogue, RequantizeShift):
        return ()
    given = node.given(ConvAttributes)
    rows = _rows(node, graph, epilogue, w.data.astype(np.int64))
    if rows is None or given.group != 1 or not is_plane(given) or any((given.x_zero_point, *given.w_zero_point)):
        return ()
    nest, view = nest_of(node, graph), plane_view(len(x.shape))
    packed = np.ascontiguousarray(np.moveaxis(w.data, 1, -1)).reshape(w.shape[0], -1, w.shape[1])
    channel = along("oc") if w.shape[0] > 1 else whole(1)
    axes = (channel, whole(packed.shape[1]), whole(packed.shape[2]))
    return (
        KernelChoice(
            kernel=_KERNEL,
            sources=("conv_halves.c",),
            nest=nest,
            reads=(
                TensorOperand(x.name, nest.reads[0], view),
                ConstantOperand("weights", packed, axes),
                ConstantOperand("requantization", rows, (channel, whole(4))),
            ),
            writes=(TensorOperand(y.name, nest.writes[0], view),),
            attributes=ConvHalves(plane_windows(given), epilogue.minimum, epilogue.maximum),
        ),
    )


def _rows(node: Node, graph: Graph, epilogue: RequantizeShift, weights: Array) -> Array | None:
    """int32[channels, 4]: bias, multiplier and shift of each channel; None if 64 bits do not suffice.

    Channels share a shift in the epilogue; here a multiplier loses its factors of two.
    """
    channels = weights.shape[0]
    bias = np.zeros(channels, np.int64)
    if len(node.inputs) > 2 and node.inputs[2]:
        data = graph.tensor(node.inputs[2]).data
        if data is None:
            return None
        bias = data.astype(np.int64).reshape(-1)
    if any(epilogue.addend):
        return None
    multipliers = epilogue.multiplier * channels if len(epilogue.multiplier) == 1 else epilogue.multiplier
    reach = np.abs(bias) + 32768 * np.abs(weights).reshape(channels, -1).sum(axis=1)
    rows = []
    for start, largest, factor in zip(bias.tolist(), reach.tolist(), multipliers, strict=True):
        multiplier, shift = factor, epilogue.shift
        while multiplier >> _MULTIPLIER_BITS and multiplier % 2 == 0:
            multiplier, shift = multiplier // 2, shift - 1
        if not 0 <= multiplier < 1 << 31 or shift < 1 or largest * multiplier + (1 << shift) > _INT64_MAX:
            return None
        rows.append(np.array([start & 0xFFFFFFFF, start >> 32 & 0xFFFFFFFF, multiplier, shift], np.uint32))
    return np.stack(rows).view(np.int32)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile; estimated, not measured."""
    pixels = steps_product(choice.nest, steps, "n", "oh", "ow")
    taps = steps_product(choice.nest, steps, "kh", "kw")
    inputs = steps_product(choice.nest, steps, "ic")
    return 150.0 + pixels * steps_product(choice.nest, steps, "oc") * (60.0 + taps * (25.0 + 11.0 * inputs))


_KERNEL = Kernel("tilewright_conv_halves", ConvHalves, _cycles, ring_axes=frozenset({HEIGHT}), likes=CONVOLUTION_ORDER)

DECLARATION = Declaration(operators={"Conv": choices}, kernels=(_KERNEL,))
