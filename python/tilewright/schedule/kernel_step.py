"""The kernel call of a layer: its iteration space and maps, and how cores share it."""

from __future__ import annotations

from dataclasses import replace

from tilewright.operators.nest import axis_range
from tilewright.plan import AxisRange, Buffer, Dimension, Iteration, Kernel, Operand, Runs, Split, SplitAxis
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice


def kernel_step(
    problem: TilingProblem, choice: TileChoice, operands: list[Operand], scratch: list[Buffer], runs: Runs
) -> Kernel:
    """The call of a layer's kernel on ``operands`` (reads, then writes), for each block of ``runs``."""
    reads = len(problem.kernel.reads)
    split = _split(problem, choice, scratch)
    return Kernel(
        name=problem.node.name,
        symbol=problem.kernel.symbol,
        reads=tuple(operands[:reads]),
        writes=tuple(operands[reads:]),
        scratch=tuple(buffer.name for buffer in scratch if split is None or buffer.name != split.views),
        axes=tuple(operand.view for operand in problem.operands),
        attributes=problem.attributes(choice.steps),
        attributes_struct=problem.kernel.attributes_struct,
        reduction=tuple(name for name in choice.order if name in problem.reductions),
        runs=runs,
        split=split,
        dimensions=tuple(_dimension(problem, dimension) for dimension in problem.kernel.nest.dimensions),
        maps=tuple(_maps(operand) for operand in problem.operands),
        stores=problem.kernel.stores,
        scratch_bytes=_scratch_bytes(scratch, split),
    )


def _dimension(problem: TilingProblem, dimension: Dimension) -> Dimension:
    """The dimension as this kernel can cut it, in this plan."""
    in_order = dimension.iteration is Iteration.SEQUENTIAL and dimension.name not in problem.kernel.uncut
    if dimension.extent > 1 and dimension.name not in problem.cuttable and not in_order:
        return replace(dimension, iteration=Iteration.WHOLE)
    return replace(dimension, multiple=problem.kernel.multiples.get(dimension.name, 1))


def _maps(operand: TileOperand) -> tuple[AxisRange, ...]:
    return tuple(axis_range(axis, extent, {}) for axis, extent in zip(operand.axes, operand.extents, strict=True))


def _scratch_bytes(scratch: list[Buffer], split: Split | None) -> tuple[int, ...]:
    if split is not None:
        return split.scratch_bytes
    return tuple(buffer.size_bytes for buffer in scratch)


def _split(problem: TilingProblem, choice: TileChoice, scratch: list[Buffer]) -> Split | None:
    """How cores share a call of the kernel; None if one core runs it."""
    core_split = problem.core_split(choice.steps)
    if core_split is None:
        return None
    *kept, views = scratch
    uncut = {name: extent for name, extent in problem.extents.items() if name != core_split.dimension}
    axes = tuple(
        SplitAxis(position, number, axis_range(axis, extent, uncut))
        for position, operand in enumerate(problem.operands)
        for number, (axis, extent) in enumerate(zip(operand.axes, operand.extents, strict=True))
        if core_split.dimension in dict(axis.terms)
    )
    return Split(
        dimension=core_split.dimension,
        extent=problem.extents[core_split.dimension],
        chunk=core_split.chunk,
        cores=core_split.cores,
        axes=axes,
        scratch_bytes=tuple(buffer.size_bytes // core_split.cores for buffer in kept),
        views=views.name,
        views_bytes=views.size_bytes // core_split.cores,
    )
