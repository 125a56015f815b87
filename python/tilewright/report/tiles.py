"""What each layer keeps near the core, read from the program: tiles and scratch, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.plan import Buffer, BufferKind, CopyStart, Kernel, Layer, Loop, Plan, Step


def layer_tiles(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Layer to its tile and scratch buffers, pools in the plan's order; sizes are bytes.

    ``loads`` counts the copies into a tile in one inference, ``stores`` those out of it to a home.
    """
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    pools = {placement.buffer: placement.pool for placement in plan.placements}
    order = [pool.name for pool in plan.pools]
    found: dict[str, list[dict[str, Any]]] = {}
    for layer in (step for step in plan.program if isinstance(step, Layer)):
        loads: dict[str, int] = {}
        stores: dict[str, int] = {}
        used: dict[str, Buffer] = {}
        for step, times in copies_and_kernels(layer.body):
            for name in _names(step):
                if buffers[name].kind in (BufferKind.TILE, BufferKind.SCRATCH):
                    used[name] = buffers[name]
            if isinstance(step, CopyStart):
                loads[step.destination.buffer] = loads.get(step.destination.buffer, 0) + times
                stores[step.source.buffer] = stores.get(step.source.buffer, 0) + times
        entries = [
            {
                "pool": pools.get(name),
                "buffer": name,
                "tensor": buffer.tensor,
                "kind": buffer.kind.value,
                "shape": list(buffer.shape),
                "slots": buffer.copies,
                "size_bytes": buffer.size_bytes,
                "loads": loads.get(name, 0),
                "stores": stores.get(name, 0),
            }
            for name, buffer in used.items()
        ]
        entries.sort(key=lambda entry: order.index(entry["pool"]) if entry["pool"] in order else len(order))
        found.setdefault(layer.name, []).extend(entries)
    return found


def copies_and_kernels(body: tuple[Step, ...], entries: int = 1) -> Iterator[tuple[CopyStart | Kernel, int]]:
    """Each copy and kernel step with the number of times that it runs."""
    for step in body:
        if isinstance(step, (CopyStart, Kernel)):
            yield step, entries * step.runs.count
        elif isinstance(step, Layer):
            yield from copies_and_kernels(step.body, entries)
        elif isinstance(step, Loop):
            yield from copies_and_kernels(step.body, entries * step.runs.count)


def _names(step: CopyStart | Kernel) -> tuple[str, ...]:
    if isinstance(step, CopyStart):
        return step.source.buffer, step.destination.buffer
    return (*(operand.buffer for operand in (*step.reads, *step.writes)), *step.scratch)
