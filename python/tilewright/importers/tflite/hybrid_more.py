"""Transposed convolutions and batched products of float32 activations with int8 weights, as in ``hybrid``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.graph import DType
from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.tflite.context import LiteCall, per_tensor
from tilewright.importers.tflite.hybrid import quantized_rows


def hybrid_image(call: LiteCall, weights: Sequence[float]) -> tuple[str, np.ndarray]:
    """An image that was rounded to 255 levels of its range, float32; and the weights of a transposed convolution.

    LiteRT adds up real products there, so that no integer sum exists.
    """
    x, w = call.record(0), call.constant(1, "the weights")
    channels = w.shape[0]
    if len(weights) not in (1, channels):
        raise Unsupported(f"{len(weights)} scales for {channels} channels", "convert the model again")
    flat = call.reshaped(call.input(0).name, (x.shape[0], prod(x.shape[1:])), "rows")
    stored, scale = quantized_rows(call, flat, asymmetric=True)
    shape = call.build.tensor(stored).shape
    real = call.emit("Cast", [stored], shape, dtype=DType.FLOAT32, part="real")
    image = call.reshaped(call.emit("Mul", [real, scale], shape, part="rounded"), x.shape, "image")
    units = np.asarray(weights, np.float32).reshape(-1, 1, 1, 1)
    return image, w.astype(np.float32) * units


def hybrid_matmul(call: LiteCall, shape: tuple[int, ...], turned: tuple[bool, bool]) -> None:
    """Products of matrices; each row of the first operand has its scale."""
    a, b, w = call.input(0), call.input(1), call.record(1)
    per_tensor(w)
    if w.zero or call.integer("asymmetric"):
        raise Unsupported("weights with a zero point, or asymmetric rows", "quantise the whole model to int8")
    if sum(extent > 1 for extent in shape[:-2]) > 1:
        # LiteRT takes the scales of other rows there.
        raise Unsupported(f"several batch axes, {list(shape)}", "reshape them to one")
    name = a.name
    if turned[0]:
        rank = len(a.shape)
        name = call.transposed(name, (*range(rank - 2), rank - 1, rank - 2), "turned")
    rows = call.build.tensor(name).shape
    flat = call.reshaped(name, (prod(rows[:-1]), rows[-1]), "rows")
    stored, scale = quantized_rows(call, flat, asymmetric=False)
    stored = call.reshaped(stored, rows, "stored")
    given = {"transpose_b": turned[1], "a_zero_point": 0, "b_zero_point": (0,)}
    sums = call.emit("MatMul", [stored, b.name], shape, given, dtype=DType.INT32, part="sums")
    real = call.emit("Cast", [sums], shape, dtype=DType.FLOAT32, part="real")
    unit = call.literal(np.asarray([w.unit], np.float32), "weight_scale")
    count = call.build.tensor(scale).shape
    factors = call.emit("Mul", [scale, unit], count, part="factors")
    column = call.reshaped(factors, (*rows[:-1], 1), "column")
    assert broadcast((*rows[:-1], 1), shape) == shape
    call.emit("Mul", [real, column], shape)
