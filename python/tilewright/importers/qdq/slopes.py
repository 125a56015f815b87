"""PRelu of an 8-bit tensor whose slopes lie between 0 and 1 is the larger of two rescaled tensors.

Before:  x int8 -> Dequantize -> PRelu(slopes) -> Quantize -> y int8
After:   y = Max(Requantize(x), Requantize(x * slopes))

The first Requantize is a change of scale, which vanishes or becomes a table. Rounding keeps the order of two numbers,
so that the larger stored integer is that of the larger number: x where it is positive, else the product.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph import Array, Node, Requantize
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, make_node
from tilewright.importers.qdq.match import EIGHT_BIT, Quantized, per_tensor, quantized, real_constant
from tilewright.operators.quantization import QuantizationAttributes, RequantizeAttributes


def fuse_slopes(editor: GraphEditor, quantize: Node) -> bool:
    """Replace Quantize of a PRelu of a dequantised tensor; False where the slopes or the types are others."""
    output, prelu = editor.tensors[quantize.outputs[0]], editor.producer(quantize.inputs[0])
    if prelu is None or prelu.operator != "PRelu" or editor.sole_reader(prelu.outputs[0]) is not quantize:
        return False
    x, slopes = quantized(editor, prelu.inputs[0]), real_constant(editor, prelu.inputs[1])
    if x is None or x.tensor.is_constant or slopes is None or not per_tensor(quantize) or output.dtype not in EIGHT_BIT:
        return False
    found = _along_one_axis(slopes, len(output.shape))
    if found is None or not (np.all(slopes >= 0.0) and np.all(slopes <= 1.0)):
        return False
    axis, values = found
    given = quantize.given(QuantizationAttributes)
    limits = np.iinfo(output.dtype.numpy)
    epilogue = Requantize(
        tuple(float(x.scale * value / given.scale[0]) for value in values),
        given.zero_point[0],
        int(limits.min),
        int(limits.max),
    )
    product = editor.variable(output, f"{output.name}/product")
    rescaled = _rescaled(editor, quantize, x, prelu.inputs[0])
    editor.remove(prelu)
    attributes = RequantizeAttributes(channel_axis=axis, x_zero_point=x.zero_point, largest=0)
    step = make_node("Requantize", [x.tensor.name], [product.name], attributes=attributes, sources=prelu.sources)
    editor.add(replace(step, epilogue=epilogue))
    editor.replace(
        quantize,
        replace(quantize, operator="Max", inputs=(rescaled, product.name), attributes=NO_ATTRIBUTES),
    )
    return True


def _along_one_axis(slopes: Array, rank: int) -> tuple[int, Array] | None:
    """The axis that slopes follow, and the slopes; None where they follow two."""
    axes = [rank - slopes.ndim + axis for axis in range(slopes.ndim) if slopes.shape[axis] > 1]
    return None if len(axes) > 1 else (axes[0] if axes else 0, slopes.reshape(-1))


def _rescaled(editor: GraphEditor, quantize: Node, x: Quantized, real: str) -> str:
    """x with scale and zero point of a Quantize."""
    given, output = quantize.given(QuantizationAttributes), editor.tensors[quantize.outputs[0]]
    is_same = (x.scale, x.zero_point) == (given.scale[0], given.zero_point[0]) and x.tensor.dtype is output.dtype
    if is_same:
        return x.tensor.name
    inner = editor.variable(output, f"{output.name}/rescaled")
    editor.add(make_node("Quantize", [real], [inner.name], attributes=given, sources=quantize.sources))
    return inner.name
