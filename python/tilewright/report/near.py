"""The intermediate tensors that stay near the core, from the plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.plan import BufferKind, Plan, RelationKind
from tilewright.plan.stages import stage_spans, stages_of
from tilewright.report.alive import Lifetime
from tilewright.report.touches import alive_steps


def near_data(plan: Plan, alive: Mapping[str, Lifetime]) -> list[dict[str, Any]]:
    """A row for each intermediate tensor with bytes of its own that the core addresses, though others travel.

    Empty where the core addresses all pools that hold such tensors.
    """
    reach = {name for name, _ in plan.core.access_cycles}
    holders = [pool.name for pool in plan.pools if BufferKind.INTERMEDIATE in pool.holds]
    if all(name in reach for name in holders):
        return []
    pools = {item.buffer: item.pool for item in plan.placements if item.pool in reach}
    views = {item.first for item in plan.relations if item.kind is RelationKind.AT_OFFSET}
    layers, spans = [stage.name for stage in stages_of(plan.program)], stage_spans(plan.program)
    rows = []
    for buffer in plan.buffers:
        if buffer.kind is not BufferKind.INTERMEDIATE or buffer.name not in pools or buffer.name in views:
            continue
        first, end = alive_steps(spans, alive[buffer.name])
        rows.append(
            {
                "name": buffer.name,
                "pool": pools[buffer.name],
                "size_bytes": buffer.size_bytes,
                "layers": layers[first:end],
            }
        )
    return rows
