"""Products of few 8-bit vectors with a constant matrix, two channels with each multiplication.

The C function is in runtime/kernels/fully_connected_packed.c.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.c_structs import PREFIX, BlockFinish, CStruct, CType, Int32
from tilewright.kernels.integer import BLOCK, is_wide, packed_rows, steps_product, stored_range
from tilewright.kernels.kernel import (
    ConstantOperand,
    CyclesOf,
    Declaration,
    KernelChoice,
    Packing,
    TileSteps,
)
from tilewright.kernels.requantization import LayerLimits
from tilewright.kernels.scalar.packed import INLINED, lengths_of_runs, vector_run_cycles
from tilewright.kernels.scalar.vector_product import OF_CONV, OF_MATMUL, VectorProduct, kernels_by_names
from tilewright.operators.nest import blocks, whole

SOURCES = ("fully_connected_packed.c", "integer_finish.c")

_CHANNELS = 2 * BLOCK
"""Channels of a block."""

_BLOCK_CYCLES = 215.0
"""Instructions for the start and the finish of a block."""


@dataclass(frozen=True, slots=True)
class FullyConnectedPacked(CStruct):
    """Products of 8-bit vectors with a constant matrix: y[row, n] = bias[n] + sum x[row, k] * w[n, k]. Operands:
    x [row, k]; weights uint8 [block][k][8], each with 128 added; constants [n][words of the rule]; lengths of runs
    of k, uint8 [block][run_bytes]; y [row, n]. No scratch.
    """

    run_bytes: Annotated[Int32, "lengths of runs of a block, with a zero behind them"]
    products: Annotated[str, CType("tilewright_packed_block *", is_pointer=True)]
    finish: Annotated[BlockFinish, "NULL: inside products"]
    row_words: Annotated[Int32, "words of a row of the rule"]
    limits: LayerLimits


def packed_vectors(product: VectorProduct) -> tuple[KernelChoice, ...]:
    """The kernel, where blocks of eight channels take no more weights than blocks of four."""
    weights, finish, sign = product.weights, product.finish, product.sign
    matrix = weights[0, :, 0]
    channels, taps = map(int, matrix.shape)
    if finish.any_values or is_wide(weights) or -channels % _CHANNELS >= BLOCK:
        return ()
    padded = np.zeros((-(-channels // _CHANNELS), _CHANNELS, taps), np.int64)
    padded.reshape(-1, taps)[:channels] = matrix
    runs = lengths_of_runs(padded, stored_range(product.dtype))
    most = max(map(len, runs)) + 1
    packed = Packing(
        (len(padded), taps, _CHANNELS), np.dtype(np.uint8), lambda _: (padded + 128).astype(np.uint8).swapaxes(1, 2)
    )
    lengths = np.array([(*block, *(0,) * (most - len(block))) for block in runs], np.uint8)
    constants = packed_rows(finish.rows, 1)
    block, (_, channel, reduction) = blocks(product.names[1], _CHANNELS), product.names
    inlined = finish.rule in INLINED
    return (
        KernelChoice(
            kernel=_KERNELS[product.names],
            called=f"tilewright_fully_connected_packed_{sign}_{finish.rule.value}",
            sources=SOURCES,
            nest=product.nest,
            reads=(
                product.x,
                ConstantOperand("weights", packed, (block, whole(taps), whole(_CHANNELS))),
                ConstantOperand(
                    "requantization",
                    constants,
                    (product.group, blocks(channel, BLOCK), whole(BLOCK), whole(constants.shape[3])),
                ),
                ConstantOperand("runs", lengths, (block, whole(most))),
            ),
            writes=(product.y,),
            attributes=FullyConnectedPacked(
                run_bytes=most,
                products=f"{PREFIX}packed_block_{sign}_{finish.rule.value if inlined else 'any'}",
                finish="NULL" if inlined else finish.block,
                row_words=finish.row_words,
                limits=finish.layer_limits,
            ),
            multiples={channel: _CHANNELS},
            uncut=frozenset({reduction}) if channels > _CHANNELS else frozenset({channel, reduction}),
        ),
    )


def _cycles(row: str, channel: str) -> CyclesOf:
    """Instructions of a call on a tile; the names are dimensions of the nest."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        lengths = next(read.data for read in choice.reads if isinstance(read, ConstantOperand) and read.role == "runs")
        assert isinstance(lengths, np.ndarray)
        runs = [vector_run_cycles(int(length)) for length in lengths.reshape(-1) if length]
        block_count = -(-steps_product(choice.nest, steps, channel) // _CHANNELS)
        each = _BLOCK_CYCLES + sum(runs) / len(lengths)
        return 150.0 + steps_product(choice.nest, steps, row) * block_count * each

    return cycles


_KERNELS = kernels_by_names(
    "tilewright_fully_connected_packed",
    FullyConnectedPacked,
    {names: _cycles(*names[:2]) for names in (OF_MATMUL, OF_CONV)},
)

DECLARATION = Declaration(
    kernels=tuple(_KERNELS.values()),
    pointed={
        "tilewright_packed_block": tuple(
            f"packed_block_{sign}_{rule}"
            for sign in ("signed", "unsigned")
            for rule in (*(rule.value for rule in INLINED), "any")
        )
    },
    gcc_options={"fully_connected_packed.c": ("-fno-ssa-phiopt", "-fno-tree-reassoc", "-fno-tree-scev-cprop")},
)
