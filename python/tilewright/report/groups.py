"""The groups of a plan for reports: in which blocks each layer works, at which iterations, and the rings between."""

from __future__ import annotations

from typing import Any

from tilewright.plan import Buffer, Index, Kernel, Layer, Loop, Plan, kernel_steps, loop_in
from tilewright.plan.stages import numbered_layers

NO_RING = {"ring": "", "ring_rows": 0, "ring_bytes": 0}


def group_data(plan: Plan) -> list[dict[str, Any]]:
    """Each group of layers with its stages, in the order in which they run.

    A stage has the rows of a block, all rows, the iteration of its first block and from which to which next one, and
    the ring of rows that it writes.
    """
    return [
        {
            "iterations": len(loop.iterations),
            "stages": [
                _stage(plan, item.first + number, kernel, loop, _index(kernel, loop))
                for number, kernel in enumerate(kernel_steps(item.layer.body))
            ],
        }
        for item in numbered_layers(plan.program)
        for loop in (_loop(item.layer),)
        if loop is not None
    ]


def _loop(layer: Layer) -> Loop | None:
    """The loop of a group; None for a layer of one stage, and for a group without blocks."""
    return loop_in(layer.body) if len(layer.stages) > 1 else None


def _index(kernel: Kernel, loop: Loop) -> Index | None:
    return next((index for index in loop.indices if index.name in kernel.runs.over), None)


def _stage(plan: Plan, number: int, kernel: Kernel, loop: Loop, index: Index | None) -> dict[str, Any]:
    return {
        "layer": plan.layers[number].name,
        "rows": index.step if index is not None else 0,
        "all_rows": index.extent if index is not None else 0,
        "first": kernel.runs.first - loop.iterations.start,
        "every": kernel.runs.every,
        "blocks": kernel.runs.count,
        **_ring(plan, kernel),
    }


def _ring(plan: Plan, kernel: Kernel) -> dict[str, Any]:
    """The ring of rows that a kernel writes: its tensor, rows and bytes."""
    written = {operand.buffer for operand in kernel.writes}
    rings = (buffer for buffer in plan.buffers if buffer.name in written and buffer.ring_axis is not None)
    ring: Buffer | None = next(rings, None)
    if ring is None or ring.ring_axis is None:
        return NO_RING
    return {"ring": ring.name, "ring_rows": ring.shape[ring.ring_axis], "ring_bytes": ring.size_bytes}
