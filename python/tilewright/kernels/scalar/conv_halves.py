"""Convolution of int16 tensors with int8 weights and sums of 64 bits (runtime/kernels/conv_halves.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, Int32x2
from tilewright.kernels.float_common import step_of
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import HEIGHT, ConstantOperand, Declaration, Kernel, KernelChoice, Packing, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar import conv_halves_block, depthwise_halves
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.int16_convolution import (
    HIGH,
    ONCE,
    REAL,
    TWICE,
    HalvesConv,
    convolution,
    mean_met_taps,
    transposed,
)
from tilewright.operators.nest import whole


@dataclass(frozen=True, slots=True)
class ConvHalves(CStruct):
    """Operands: x [n, c, h, w] of int16; weights int8 [c of y][h * w][c of x in a group]; for each channel four words:
    bias (low, high), multiplier, shift; y [n, c, h, w] of int16, or float32 where `finish` says so.
    """

    windows: PlaneWindows
    spread: Annotated[Int32x2, "steps of a window from one element of x to the next, zeros between them"]
    group_inputs: Int32
    group_outputs: Int32
    finish: Annotated[Int32, "TILEWRIGHT_HALVES_ONCE, one rounding half up, TWICE, as rule twice, or REAL"]
    minimum: Int32
    maximum: Int32


def convolutions(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels for Conv of int16 with constant int8 weights, without zero points."""
    conv = convolution(node, graph)
    return () if conv is None else (*depthwise_halves.choices(conv), *conv_halves_block.choices(conv), _wide(conv))


def transposed_convolutions(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels for ConvTransposeInteger of int16 with constant int8 weights, without zero points."""
    conv = transposed(node, graph)
    return () if conv is None else (*conv_halves_block.choices(conv), _wide(conv))


def _wide(conv: HalvesConv) -> KernelChoice:
    weights = conv.weights
    packed = Packing(weights.shape, np.dtype(np.int8), lambda _: np.ascontiguousarray(weights))
    x, y = conv.operands
    attributes = ConvHalves(
        conv.windows,
        conv.spread,
        weights.shape[2],
        weights.shape[0] // conv.groups,
        conv.finish,
        conv.minimum,
        conv.maximum,
    )
    return KernelChoice(
        kernel=_KERNEL,
        sources=("conv_halves.c",),
        nest=conv.nest,
        reads=(
            x,
            ConstantOperand("weights", packed, (conv.channel, whole(weights.shape[1]), whole(weights.shape[2]))),
            ConstantOperand("requantization", _rows(conv), (conv.channel, whole(4))),
        ),
        writes=(y,),
        attributes=attributes,
        uncut=frozenset({"ic", "kh", "kw"}),
    )


def _rows(conv: HalvesConv) -> Array:
    """int32 [channels, 4]: the bias in two words, multiplier and shift of each channel."""
    words = [
        np.array([start & 0xFFFFFFFF, start >> 32 & 0xFFFFFFFF, multiplier, shift & 0xFFFFFFFF], np.uint32)
        for start, (multiplier, shift) in zip(conv.bias.tolist(), conv.factors, strict=True)
    ]
    return np.stack(words).view(np.int32)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile, fitted to RV32IMAC. Rows of a window that meet no row of x are left at once."""
    given, nest = choice.given(ConvHalves), choice.nest
    size = (step_of(nest, {}, "oh"), step_of(nest, {}, "ow"))
    rows, columns = mean_met_taps(given.windows, given.spread, size)
    outputs = steps_product(nest, steps, "n", "oh", "ow") * steps_product(nest, steps, "group", "oc")
    taps = 9.0 * given.windows.kernel[1] + columns * (52.0 + 7.0 * given.group_inputs)
    return 150.0 + outputs * (150.0 + rows * taps)


_KERNEL = Kernel("tilewright_conv_halves", ConvHalves, _cycles, ring_axes=frozenset({HEIGHT}), likes=CONVOLUTION_ORDER)

DECLARATION = Declaration(
    operators={"Conv": convolutions, "ConvTransposeInteger": transposed_convolutions},
    kernels=(_KERNEL,),
    numbers={"HALVES_ONCE": ONCE, "HALVES_TWICE": TWICE, "HALVES_REAL": REAL, "HALVES_HIGH": HIGH},
)
