"""Ranges, packing, views and costs for the declarations of integer kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.graph import Array, DType, Graph, Node, Tensor
from tilewright.kernels.c_structs import CStruct
from tilewright.kernels.kernel import (
    MAX_RANK,
    ConstantOperand,
    CyclesOf,
    Kernel,
    KernelChoice,
    Packing,
    TensorOperand,
    TileSteps,
)
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.nest import AxisMap, Nest, along, blocks, whole

BLOCK = 4
"""Channels, and pixels, that the 4x4 core of a kernel computes together."""

EIGHT_BIT = frozenset({DType.INT8, DType.UINT8})


def stored_range(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest integer of an element type."""
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


def as_signed(zero_point: int, dtype: DType) -> int:
    """The zero point for elements as int8: kernels subtract 128 from uint8 elements."""
    return zero_point - 128 if dtype is DType.UINT8 else zero_point


def magnitude(dtype: DType, zero_point: int) -> int:
    """The largest |x - zero_point| of any x of the element type."""
    low, high = stored_range(dtype)
    return max(abs(low - zero_point), abs(high - zero_point))


def largest_sums(weights: Array, bias: Array, dtype: DType, zero_point: int) -> Array:
    """The largest |bias + sum w * (x - zero_point)| over all x, int64[channels].

    Args:
        weights: int64[channels, taps], zero point removed.
    """
    low, high = (limit - zero_point for limit in stored_range(dtype))
    positive = np.maximum(weights, 0).sum(axis=1)
    negative = np.minimum(weights, 0).sum(axis=1)
    top = np.abs(bias + positive * high + negative * low)
    bottom = np.abs(bias + positive * low + negative * high)
    partial = np.abs(bias) + 256 * np.abs(weights).sum(axis=1)
    # A partial sum in C may exceed the result; no kernel takes sums beyond 32 bits.
    largest: Array = np.where(partial > (1 << 31) - 1, partial, np.maximum(top, bottom))
    return largest


def columns_of(b: Tensor, given: MatMulAttributes) -> Array:
    """The constant second operand of MatMul, zero point removed, as int64[n, k]; its axes but the last two are 1."""
    assert b.data is not None
    matrix = b.data.reshape(b.shape[-2:]).astype(np.int64)
    columns: Array = (matrix if given.transpose_b else matrix.T) - np.reshape(given.b_zero_point, (-1, 1))
    return columns


def is_wide(weights: Array) -> bool:
    """Whether weights without their zero point need more than 8 bits."""
    return weights.size > 0 and bool(weights.min() < -128 or weights.max() > 127)


def weights_type(weights: Array) -> np.dtype[Any]:
    """The element type in C of weights without their zero point: int8, or int16 where int8 does not suffice."""
    return np.dtype(np.int16 if is_wide(weights) else np.int8)


def packed_weights(weights: Array) -> Array:
    """int8 or int16[groups, blocks, window, inputs, 4] from int64[groups, channels, window, inputs].

    Zeros stand behind the last channel.
    """
    groups, channels, window, inputs = weights.shape
    shape = (groups, -(-channels // BLOCK) * BLOCK, window, inputs)
    padded = np.zeros(shape, weights_type(weights))
    padded[:, :channels] = weights
    return np.ascontiguousarray(np.moveaxis(padded.reshape(groups, -1, BLOCK, window, inputs), 2, -1))


def alternating(weights: Array) -> Array:
    """int8[channels, elements of a window]: elements of four channels alternate, those of the last ones do not."""
    channels = weights.shape[0]
    rows = weights.reshape(channels, -1).astype(np.int8)
    whole_blocks = channels - channels % BLOCK
    blocks_of_four = rows[:whole_blocks].reshape(channels // BLOCK, BLOCK, rows.shape[1]).transpose(0, 2, 1)
    return np.concatenate([blocks_of_four.reshape(whole_blocks, rows.shape[1]), rows[whole_blocks:]])


def packed_rows(rows: Array, groups: int) -> Packing:
    """int32[groups, blocks, 4, words] from int32[groups * channels, words]; zeros behind the last channel."""
    words_each, channels = int(rows.shape[1]), int(rows.shape[0]) // groups
    shape = (groups, -(-channels // BLOCK), BLOCK, words_each)

    def pack(_: TileSteps) -> Array:
        padded = np.zeros((groups, shape[1] * BLOCK, words_each), np.int32)
        padded[:, :channels] = rows.reshape(groups, channels, words_each)
        return padded.reshape(shape)

    return Packing(shape, np.dtype(np.int32), pack)


def packed_operands(
    weights: Array, rows: Array, group: AxisMap, channel: str, reduction: str
) -> tuple[ConstantOperand, ConstantOperand]:
    """Weights and per-channel constants of the 4x4 core.

    Args:
        weights: int64[groups, channels, window, inputs].
        rows: int32[groups * channels, words], a row of constants for each channel.
        group: map of the axis of groups.
        channel, reduction: dimensions that blocks of channels, and inputs, follow.
    """
    groups, channels, window, inputs = map(int, weights.shape)
    shape = (groups, -(-channels // BLOCK), window, inputs, BLOCK)
    packing = Packing(shape, weights_type(weights), lambda _: packed_weights(weights))
    constants = packed_rows(rows, groups)
    block = blocks(channel, BLOCK)
    return (
        ConstantOperand("weights", packing, (group, block, whole(window), along(reduction), whole(BLOCK))),
        ConstantOperand("requantization", constants, (group, block, whole(BLOCK), whole(constants.shape[3]))),
    )


def block_sums_bytes(pixels: int, channels: int, lanes: int) -> int:
    """Bytes of the int32 partial results of pixels in blocks of ``lanes`` by channels in blocks of four."""
    return 4 * -(-pixels // lanes) * lanes * -(-channels // BLOCK) * BLOCK


def flat_view(rank: int) -> tuple[int, ...]:
    """The view of TILEWRIGHT_MAX_RANK axes of a tensor, aligned at the last axis as broadcasting is."""
    return (-1,) * (MAX_RANK - rank) + tuple(range(rank))


def flat_operand(name: str, axes: tuple[AxisMap, ...], graph: Graph) -> TensorOperand:
    """An operand of an elementwise kernel."""
    return TensorOperand(name, axes, flat_view(len(graph.tensor(name).shape)))


def flat_choice(
    node: Node,
    graph: Graph,
    *,
    kernel: Kernel,
    sources: tuple[str, ...],
    nest: Nest,
    attributes: CStruct,
    constants: tuple[ConstantOperand, ...] = (),
    uncut: frozenset[str] = frozenset(),
    called: str = "",
) -> KernelChoice:
    """The kernel on views of six axes: of the node's inputs, ``constants``, and the node's only output."""
    inputs = [(name, axes) for name, axes in zip(node.inputs, nest.reads, strict=True) if name]
    return KernelChoice(
        kernel=kernel,
        sources=sources,
        nest=nest,
        reads=(*(flat_operand(name, axes, graph) for name, axes in inputs), *constants),
        writes=(flat_operand(node.outputs[0], nest.writes[0], graph),),
        attributes=attributes,
        uncut=uncut,
        called=called,
    )


def constant_bias(node: Node, graph: Graph, channels: int) -> Array | None:
    """The bias as int64[channels], zeros without one; None if it is not a constant."""
    if len(node.inputs) < 3 or not node.inputs[2]:
        return np.zeros(channels, np.int64)
    data = graph.tensor(node.inputs[2]).data
    return None if data is None else data.astype(np.int64).reshape(-1)


def steps_product(nest: Nest, steps: TileSteps, *names: str) -> int:
    """Product of the steps of the named dimensions; dimensions that the nest lacks count as 1."""
    product = 1
    for dimension in nest.dimensions:
        if dimension.name in names:
            product *= min(steps.get(dimension.name, dimension.extent), dimension.extent)
    return product


def per_element(each: float, call: float = 400.0) -> CyclesOf:
    """``cycles`` of kernels that spend ``each`` instructions on every point of a tile, and ``call`` on a tile."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        names = (dimension.name for dimension in choice.nest.dimensions)
        return call + each * steps_product(choice.nest, steps, *names)

    return cycles


def words(count_bytes: int) -> int:
    """Bytes rounded up to whole words."""
    return -(-count_bytes // 4) * 4
