"""Transposed convolution of 8-bit tensors: the operator, and its kernel (runtime/kernels/conv_transpose_integer.c)."""

from __future__ import annotations

from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, LineRule
from tilewright.kernels.integer import EIGHT_BIT, constant_bias, is_wide, magnitude, steps_product, weights_type
from tilewright.kernels.kernel import (
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, finish_of
from tilewright.kernels.scalar.compact import compact
from tilewright.kernels.scalar.geometry import SPATIAL_AXES, VolumeWindows, volume_view, volume_windows
from tilewright.operators.epilogue import along_axis, finish
from tilewright.operators.exact import exact_operands, offset_removed
from tilewright.operators.nest import whole
from tilewright.operators.operator import Arrays, Multipliers, Operator, operand, optional_operand
from tilewright.operators.windows import ConvTransposeAttributes, conv_transpose_nest, transposed_sums

_POSITION_CYCLES = 120.0
_TAP_CYCLES = 70.0
_CHANNEL_CYCLES = 14.0
_MAC_CYCLES = 8.0
_OUTPUT_CYCLES = 60.0


@dataclass(frozen=True, slots=True)
class ConvTransposeIntegerAttributes(ConvTransposeAttributes):
    """Windows over the output, groups, and the stored integers of x and w that stand for 0 (w: one or per channel)."""

    x_zero_point: int = 0
    w_zero_point: tuple[int, ...] = (0,)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """acc = b + sum (w - w_zero_point) * (x - x_zero_point) over the elements of x whose windows meet an output."""
    given = node.given(ConvTransposeIntegerAttributes)
    shape = graph.tensor(node.outputs[0]).shape
    raw = operand(arrays, 1)
    x = offset_removed(operand(arrays, 0), given.x_zero_point)
    w = offset_removed(raw, along_axis(given.w_zero_point, np.int64, raw.ndim, 1))
    x, w = exact_operands(x, w, w.shape[0] * prod(w.shape[2:]))
    accumulator = transposed_sums(x, w, shape, given).astype(np.int64)
    bias = optional_operand(arrays, 2)
    if bias is not None:
        accumulator = accumulator + bias.reshape(-1, *(1,) * given.rank)
    return finish(node, graph, accumulator)


OPERATORS = (
    Operator(
        "ConvTransposeInteger",
        conv_transpose_nest,
        reference,
        ConvTransposeIntegerAttributes,
        multipliers=Multipliers.EACH,
    ),
)


@dataclass(frozen=True, slots=True)
class ConvTransposeInteger(CStruct):
    """Transposed convolution of 8-bit tensors. Operands: x [n, c, -, d, h, w]; weights [c][tap][input], int8 or, if
    wide, int16; constants [c][words of the rule]; y [n, c, -, d, h, w]; scratch: 4 bytes for each channel of y.
    """

    rule: LineRule
    windows: VolumeWindows
    group_inputs: Int32
    group_outputs: Int32
    zero_point: Annotated[Int32, "of x"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    wide: Int32
    limits: LayerLimits


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for 8-bit x and constant weights and bias."""
    given = node.given(ConvTransposeIntegerAttributes)
    x, w, y = (graph.tensor(name) for name in (*node.inputs[:2], node.outputs[0]))
    bias = constant_bias(node, graph, y.shape[1])
    if x.dtype not in EIGHT_BIT or w.data is None or w.dtype not in EIGHT_BIT or bias is None:
        return ()
    weights = _weights(w.data, given)
    largest = np.abs(bias) + np.abs(weights).sum(axis=(1, 2)) * magnitude(x.dtype, given.x_zero_point)
    found = finish_of(node.epilogue, y.dtype, bias, largest, any_values=graph.any_weights)
    if found is None:
        return ()
    done = compact(found, largest)
    nest = conv_transpose_nest(node, graph)
    channels, wide = nest.writes[0][1], is_wide(weights)
    packed = Packing(weights.shape, weights_type(weights), lambda _: weights.astype(weights_type(weights)))
    view = volume_view(len(x.shape))
    attributes = ConvTransposeInteger(
        done.line_rule,
        volume_windows(given),
        group_inputs=weights.shape[2],
        group_outputs=w.shape[1],
        zero_point=given.x_zero_point,
        is_unsigned=int(x.dtype is DType.UINT8),
        wide=int(wide),
        limits=done.layer_limits,
    )
    return (
        KernelChoice(
            kernel=_CONV_TRANSPOSE,
            sources=("conv_transpose_integer.c", "integer_core.c", "integer_finish.c"),
            nest=nest,
            reads=(
                TensorOperand(x.name, nest.reads[0], view),
                ConstantOperand("weights", packed, (channels, *map(whole, packed.shape[1:]))),
                ConstantOperand("requantization", done.rows, (channels, whole(done.row_words))),
            ),
            writes=(TensorOperand(y.name, nest.writes[0], view),),
            attributes=attributes,
            uncut=frozenset({"ic", "kd", "kh", "kw"}),
        ),
    )


def _weights(data: Array, given: ConvTransposeIntegerAttributes) -> Array:
    """int64[channels of y, taps, channels of x in a group], zero point removed, from [C, M/group, k...]."""
    zero_point = along_axis(given.w_zero_point, np.int64, data.ndim, 1)
    inputs, outputs = data.shape[0] // given.group, data.shape[1]
    taps = (data.astype(np.int64) - zero_point).reshape(given.group, inputs, outputs, -1)
    return np.moveaxis(taps, 1, -1).reshape(given.group * outputs, -1, inputs)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile. On average one of every product(strides) taps of an output meets an x."""
    nest, windows = choice.nest, choice.given(ConvTransposeInteger).windows
    positions = steps_product(nest, steps, "n", "group", "od", "oh", "ow")
    channels = steps_product(nest, steps, "oc")
    met = max(1.0, prod(windows.kernel) / prod(windows.strides))
    tap = _TAP_CYCLES + channels * (_CHANNEL_CYCLES + _MAC_CYCLES * nest.dimension("ic").extent)
    return 300.0 + positions * (_POSITION_CYCLES + met * tap + channels * _OUTPUT_CYCLES)


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    return {"sums": 4 * steps_product(choice.nest, steps, "group", "oc")}


_CONV_TRANSPOSE = Kernel(
    "tilewright_conv_transpose_integer",
    ConvTransposeInteger,
    _cycles,
    ring_axes=SPATIAL_AXES,
    scratch=_scratch,
    likes=CONVOLUTION_ORDER,
)

DECLARATION = Declaration(
    operators={"ConvTransposeInteger": choices},
    kernels=(_CONV_TRANSPOSE,),
)
