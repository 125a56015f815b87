"""The kernel call of a layer, and how cores share it."""

from __future__ import annotations

from tilewright.operators.nest import axis_range
from tilewright.plan import Buffer, Kernel, Operand, Runs, Split, SplitAxis
from tilewright.tiling.choice import TileChoice
from tilewright.tiling.problem import TilingProblem


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
        attributes=problem.kernel.attributes,
        reduction=tuple(name for name in choice.order if name in problem.reductions),
        runs=runs,
        split=split,
    )


def _split(problem: TilingProblem, choice: TileChoice, scratch: list[Buffer]) -> Split | None:
    """How cores share a call of the kernel; None if one core runs it."""
    sharing = problem.sharing(choice.steps)
    if sharing is None:
        return None
    *kept, views = scratch
    uncut = {name: extent for name, extent in problem.extents.items() if name != sharing.dimension}
    axes = tuple(
        SplitAxis(position, number, axis_range(axis, extent, uncut))
        for position, operand in enumerate(problem.operands)
        for number, (axis, extent) in enumerate(zip(operand.axes, operand.extents, strict=True))
        if sharing.dimension in dict(axis.terms)
    )
    return Split(
        dimension=sharing.dimension,
        extent=problem.extents[sharing.dimension],
        chunk=sharing.chunk,
        cores=sharing.cores,
        axes=axes,
        scratch_bytes=tuple(buffer.size_bytes // sharing.cores for buffer in kept),
        views=views.name,
        views_bytes=views.size_bytes // sharing.cores,
    )
