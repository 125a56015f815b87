"""Depthwise convolution of 8-bit tensors (runtime/kernels/depthwise_integer.c)."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.integer import is_wide, steps_product, words
from tilewright.kernels.kernel import HEIGHT, ConstantOperand, KernelChoice, TileSteps
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.operators.nest import along, whole

SOURCES = ("depthwise_integer.c", "integer_core.c", "integer_finish.c")

_SMALL_PLANE = 128
"""Outputs of one channel up to which C keeps all their sums (TILEWRIGHT_DEPTHWISE_PLANE)."""


def depthwise(conv: IntegerConv) -> tuple[KernelChoice, ...]:
    """The kernel for one input and one output channel in each group, and weights of 8 bits."""
    groups, group_outputs, window, group_inputs = map(int, conv.weights.shape)
    if groups == 1 or group_outputs != 1 or group_inputs != 1 or is_wide(conv.weights):
        return ()
    x, y = conv.operands
    packed = np.ascontiguousarray(conv.weights.reshape(groups, window).astype(np.int8))
    weights = ConstantOperand("weights", packed, (along("group"), whole(window)))
    rows = ConstantOperand("requantization", conv.finish.rows, (along("group"), whole(conv.finish.row_words)))
    return (
        KernelChoice(
            symbol=f"tilewright_depthwise_{_variant(conv)}_{conv.finish.rule.value}",
            sources=SOURCES,
            nest=conv.nest,
            reads=(x, weights, rows),
            writes=(y,),
            attributes=(*conv.geometry, *conv.zero, *conv.finish.fields),
            cycles=lambda steps: _cycles(conv, steps),
            scratch_bytes=lambda steps: words(_window(conv, steps)) + 4 * _sums(conv, steps),
            uncut=frozenset({"ic", "oc"}),
            ring_axes=frozenset({HEIGHT}),
        ),
    )


def _variant(conv: IntegerConv) -> str:
    """The symbol's middle: which loop multiplies."""
    if conv.windows.kernel != (3, 3) or conv.windows.dilations != (1, 1):
        return "any"
    return "slide" if conv.windows.strides[0] == 1 else "stride"


def _window(conv: IntegerConv, steps: TileSteps) -> int:
    """Bytes of one channel's padded window."""
    windows = conv.windows
    size = 1
    for name, kernel, stride, dilation in zip(
        ("oh", "ow"), windows.kernel, windows.strides, windows.dilations, strict=True
    ):
        size *= (steps_product(conv.nest, steps, name) - 1) * stride + (kernel - 1) * dilation + 1
    return size


def _sums(conv: IntegerConv, steps: TileSteps) -> int:
    """Sums that are kept for a tile of these steps or a smaller one: a small plane, or a column."""
    rows = steps_product(conv.nest, steps, "oh")
    return max(rows, min(_SMALL_PLANE, rows * steps_product(conv.nest, steps, "ow")))


def _cycles(conv: IntegerConv, steps: TileSteps) -> float:
    """Instructions on a tile, as measured on RV32IMAC."""
    output = {"slide": 34.0, "stride": 41.0, "any": 18.0 + 8.0 * conv.weights.shape[2]}[_variant(conv)]
    rows, columns = steps_product(conv.nest, steps, "oh"), steps_product(conv.nest, steps, "ow")
    calls = 1 if rows * columns <= _SMALL_PLANE else columns
    channel = 4.5 * _window(conv, steps) + calls * 130.0 + columns * (20.0 + output * rows) + 100.0
    total: float = 200.0 + steps_product(conv.nest, steps, "n", "group") * channel
    return total
