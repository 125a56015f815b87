"""Weights and biases of float32 kernels that compute four output channels at a time."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array
from tilewright.kernels.float_common import step_of
from tilewright.kernels.kernel import Packing, TileSteps
from tilewright.operators.nest import Nest

BLOCK = 4
"""Output channels that are packed side by side."""


def block_count(nest: Nest, steps: TileSteps, channels: str) -> int:
    """Blocks of a tile's output channels, which the dimension ``channels`` counts; the last one may be filled up."""
    return -(-step_of(nest, steps, channels) // BLOCK)


def packed_weights(weights: Array) -> Packing:
    """float32 [groups, blocks, window, C/group, 4] from [groups, M/group, window, C/group].

    A block is four output channels; zeros stand behind the last channel of a group.
    """
    groups, outputs, window, inputs = weights.shape
    count = -(-outputs // BLOCK)

    def pack(_: TileSteps) -> Array:
        padded = np.zeros((groups, count * BLOCK, window, inputs), np.float32)
        padded[:, :outputs] = weights
        return np.moveaxis(padded.reshape(groups, count, BLOCK, window, inputs), 2, -1)

    return Packing((groups, count, window, inputs, BLOCK), np.dtype(np.float32), pack)


def packed_bias(bias: Array, groups: int) -> Packing:
    """float32 [groups, blocks, 4] from [M], zeros behind the last channel of a group."""
    outputs = bias.size // groups
    shape = (groups, -(-outputs // BLOCK), BLOCK)

    def pack(_: TileSteps) -> Array:
        biases = np.zeros((groups, shape[1] * BLOCK), np.float32)
        biases[:, :outputs] = bias.reshape(groups, outputs)
        return biases.reshape(shape)

    return Packing(shape, np.dtype(np.float32), pack)
