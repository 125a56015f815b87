"""DFT and STFT of known sizes: products with a matrix of cosines and sines."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps
from tilewright.importers.onnx.context import Call

_MOST_ELEMENTS = 1 << 22
"""The most elements of the matrix, whose size is the square of the transform's length."""


def dft(call: Call, steps: Steps) -> None:
    """The discrete Fourier transform along an axis, as a product with a constant matrix."""
    x = call.real(0)
    rank = len(x.shape)
    if call.build.opset >= 20:
        axis = int(call.constant(2, "the axis").reshape(-1)[0]) if call.has(2) else -2
    else:
        axis = int(call.attribute("axis", 1))
    axis = call.axis(axis, rank)
    if rank < 2 or axis == rank - 1 or x.shape[-1] not in (1, 2):
        raise Unsupported(f"axis {axis} of {list(x.shape)}", "the last axis has one or two elements")
    inverse, onesided = bool(call.attribute("inverse", 0)), bool(call.attribute("onesided", 0))
    usual = 2 * (x.shape[axis] - 1) if onesided and inverse else x.shape[axis]
    length = int(call.constant(1, "the length").reshape(-1)[0]) if call.has(1) else usual
    if onesided and inverse and x.shape[-1] != 2:
        raise Unsupported("the inverse of half of the frequencies without imaginary parts", "give both parts")
    steps.finish(transform(steps, x.name, axis, length, inverse=inverse, onesided=onesided))


def transform(steps: Steps, name: str, axis: int, length: int, *, inverse: bool, onesided: bool) -> str:
    """The transform of a tensor whose last axis has real, or real and imaginary parts.

    One-sided, of real numbers: half of the frequencies stands for all of them, and the inverse is real.
    """
    shape = steps.tensor(name).shape
    others = [position for position in range(len(shape) - 1) if position != axis]
    rows = [shape[position] for position in others]
    parts, extent = shape[-1], shape[axis]
    halved, results = onesided and inverse, 1 if onesided and inverse else 2
    count = length // 2 + 1 if onesided and not inverse else length
    if length < 1 or parts * extent * results * count > _MOST_ELEMENTS:
        raise Unsupported(f"a transform of length {length}", "a shorter one")
    matrix = steps.constant(_of_half(extent, length) if halved else _matrix(parts, extent, length, count, inverse))
    moved = steps("Transpose", name, perm=[*others, len(shape) - 1, axis])
    flat = steps.reshape(moved, prod(rows), parts * extent)
    product = steps.reshape(steps("MatMul", flat, matrix), *rows, results, count)
    back = [*others, len(shape) - 1, axis]
    return steps("Transpose", product, perm=[back.index(position) for position in range(len(shape))])


def _of_half(extent: int, length: int) -> Array:
    """[2 * extent, length]: what real and imaginary part of each frequency of one half add to each real element.

    All frequencies but the first, and the middle one of an even length, stand for their mirror images too.
    """
    used = min(extent, length // 2 + 1)
    frequency = np.arange(used)
    angle = 2.0 * np.pi * (np.outer(frequency, np.arange(length)) % length) / length
    weight = np.where((frequency == 0) | (2 * frequency == length), 1.0, 2.0)[:, None] / length
    matrix = np.zeros((2, extent, length))
    matrix[0, :used], matrix[1, :used] = weight * np.cos(angle), -weight * np.sin(angle)
    flat: Array = matrix.reshape(2 * extent, length).astype(np.float32)
    return flat


def _matrix(parts: int, extent: int, length: int, count: int, inverse: bool) -> Array:
    """[parts * extent, 2 * count]: what each element adds to the real and imaginary part of each frequency."""
    used = min(extent, length)
    angle = 2.0 * np.pi * (np.outer(np.arange(used), np.arange(count)) % length) / length
    cosine, sine = np.cos(angle), np.sin(angle) * (1.0 if inverse else -1.0)
    matrix = np.zeros((parts, extent, 2, count))
    matrix[0, :used, 0], matrix[0, :used, 1] = cosine, sine
    if parts == 2:
        matrix[1, :used, 0], matrix[1, :used, 1] = -sine, cosine
    flat: Array = (matrix / (length if inverse else 1)).reshape(parts * extent, 2 * count).astype(np.float32)
    return flat


def stft(call: Call, steps: Steps) -> None:
    """The transform of frames of a signal, each multiplied by a window.

    A signal of two axes, which PyTorch's older exporter writes and ONNX Runtime takes, is one of real numbers.
    """
    x = call.real(0)
    if len(x.shape) == 2:
        x = steps.tensor(steps.reshape(x.name, *x.shape, 1))
    if len(x.shape) != 3 or x.shape[-1] not in (1, 2):
        raise Unsupported(f"a signal of shape {list(x.shape)}")
    step = int(call.constant(1, "the step of frames").reshape(-1)[0])
    if call.has(3):
        length = int(call.constant(3, "the length of frames").reshape(-1)[0])
    elif call.has(2):
        length = call.input(2).elements
    else:
        raise Unsupported("neither a window nor a length of frames", "export the model again")
    frames = (x.shape[1] - length) // step + 1 if step > 0 else 0
    if frames < 1 or length < 1:
        raise Unsupported(f"frames of {length} every {step} in {x.shape[1]} samples", "export the model again")
    call.build.require_room(8 * frames * length)
    places = np.arange(frames)[:, None] * step + np.arange(length)[None, :]
    cut = steps("Gather", x.name, steps.constant(places, np.int64), axis=1)
    if call.has(2):
        window = steps.cast(call.operand(2), DType.FLOAT32)
        cut = steps("Mul", cut, steps.reshape(window, length, 1))
    onesided = bool(call.attribute("onesided", 1))
    steps.finish(transform(steps, cut, 2, length, inverse=False, onesided=onesided))
