"""Buffers that one layer needs near the core: slots for tiles of its operands, and scratch."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tilewright.graph import packed_strides_bytes
from tilewright.plan import Buffer, BufferKind
from tilewright.schedule.constants import Names
from tilewright.tiling.footprint import tile_shape
from tilewright.tiling.operand import TILE_ALIGN_BYTES, TileOperand
from tilewright.tiling.problem import VIEWS_ALIGN_BYTES, TilingProblem
from tilewright.tiling.staging import staged_layout
from tilewright.tiling.tile_choice import TileChoice


def tile_buffer(name: str, operand: TileOperand, choice: TileChoice, copies: int) -> Buffer:
    """Slots for ``copies`` tiles of an operand near the core, packed in the operand's order of axes."""
    shape = _tile_shape(operand, choice)
    size = prod(shape) * operand.element_bytes
    slot = -(-size // operand.align_bytes) * operand.align_bytes
    return Buffer(
        name=name,
        kind=BufferKind.TILE,
        tensor=operand.tensor,
        dtype=operand.dtype,
        shape=shape,
        strides_bytes=packed_strides_bytes(shape, operand.order, operand.element_bytes),
        size_bytes=slot * copies,
        align_bytes=operand.align_bytes,
        pools=(operand.near,),
        copies=copies,
        slot_bytes=slot,
    )


def staged_buffer(name: str, operand: TileOperand, number: int, choice: TileChoice, copies: int) -> Buffer:
    """Slots for larger tiles at far link ``number``: only copies read them, so lines may have gaps between them."""
    strides, slot = staged_layout(operand, number, _tile_shape(operand, choice))
    plain = tile_buffer(name, operand, choice, copies)
    pools = (operand.between[number],)
    return replace(plain, pools=pools, strides_bytes=strides, size_bytes=copies * slot, slot_bytes=slot)


def _tile_shape(operand: TileOperand, choice: TileChoice) -> tuple[int, ...]:
    steps = {dimension: np.asarray(step, dtype=np.int64) for dimension, step in choice.steps.items()}
    return tuple(int(extent) for extent in tile_shape(operand, steps))


def words_buffer(problem: TilingProblem, names: Names) -> Buffer | None:
    """The scratch buffer for bytes at the ends of lines that are no whole words of a link; None if there are none."""
    size = problem.words_bytes
    if not size:
        return None
    return Buffer(
        name=names.take(f"{problem.node.name}.words"),
        kind=BufferKind.SCRATCH,
        tensor=None,
        dtype="uint8",
        shape=(size,),
        strides_bytes=(1,),
        size_bytes=size,
        align_bytes=max(problem.word_bytes, TILE_ALIGN_BYTES),
        pools=(problem.scratch_pool,),
        slot_bytes=size,
    )


def scratch_buffers(problem: TilingProblem, choice: TileChoice, pools: tuple[str, ...], names: Names) -> list[Buffer]:
    """The kernel's scratch buffers, one for each role; the last one has the views of cores that share a call."""
    return [
        Buffer(
            name=names.take(f"{problem.node.name}.{role}"),
            kind=BufferKind.SCRATCH,
            tensor=None,
            dtype="uint8",
            shape=(size,),
            strides_bytes=(1,),
            size_bytes=size,
            align_bytes=VIEWS_ALIGN_BYTES if role == "views" else TILE_ALIGN_BYTES,
            pools=pools,
            slot_bytes=size,
        )
        for role, size in problem.scratch_sizes(choice.steps).items()
    ]
