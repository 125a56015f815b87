"""Depthwise convolution of 8-bit tensors (runtime/kernels/depthwise_integer.c)."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.integer import is_wide, steps_product, words
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, TileSteps
from tilewright.kernels.requantization import ROW_WORDS
from tilewright.kernels.spatial_integer import IntegerConv
from tilewright.operators.nest import along, whole

SOURCES = ("depthwise_integer.c", "integer_core.c", "integer_finish.c")


def depthwise(conv: IntegerConv) -> tuple[KernelChoice, ...]:
    """The kernel for one input and one output channel in each group, and weights of 8 bits."""
    groups, group_outputs, window, group_inputs = map(int, conv.weights.shape)
    if groups == 1 or group_outputs != 1 or group_inputs != 1 or is_wide(conv.weights):
        return ()
    x, y = conv.operands
    packed = np.ascontiguousarray(conv.weights.reshape(groups, window).astype(np.int8))
    weights = ConstantOperand("weights", packed, (along("group"), whole(window)))
    rows = ConstantOperand("requantization", conv.finish.rows, (along("group"), whole(ROW_WORDS)))
    return (
        KernelChoice(
            symbol=f"tilewright_depthwise_integer_{conv.finish.rule.value}",
            sources=SOURCES,
            nest=conv.nest,
            reads=(x, weights, rows),
            writes=(y,),
            attributes=(*conv.geometry, *conv.zero, *conv.finish.limits),
            cycles=lambda steps: _cycles(conv, steps),
            scratch_bytes=lambda steps: words(_window(conv, steps)) + 4 * steps_product(conv.nest, steps, "oh"),
            uncut=frozenset({"ic", "oc"}),
        ),
    )


def _window(conv: IntegerConv, steps: TileSteps) -> int:
    """Bytes of one channel's padded window."""
    size = 1
    for name, kernel, stride, dilation in zip(("oh", "ow"), conv.kernel, conv.strides, conv.dilations, strict=True):
        size *= (steps_product(conv.nest, steps, name) - 1) * stride + (kernel - 1) * dilation + 1
    return size


def _cycles(conv: IntegerConv, steps: TileSteps) -> float:
    """Instructions on a tile, as measured on RV32IMAC."""
    fast = conv.kernel == (3, 3) and conv.dilations == (1, 1)
    output = 38.0 if fast else 18.0 + 8.0 * conv.weights.shape[2]
    columns = steps_product(conv.nest, steps, "ow")
    channel = 3.0 * _window(conv, steps) + columns * (60.0 + output * steps_product(conv.nest, steps, "oh")) + 60.0
    return 200.0 + steps_product(conv.nest, steps, "n", "group") * channel
