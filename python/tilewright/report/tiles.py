"""The tile and scratch buffers of each layer, pool by pool, read from the plan's program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilewright.plan import Buffer, BufferKind, CopyStart, Kernel, Layer, Loop, Plan, Step, Wait
from tilewright.plan.stages import steps_by_stage


def layer_tiles(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Stage to its tile and scratch buffers, pools in the plan's order; sizes are bytes.

    ``loads`` counts the copies into a buffer in one inference, ``stores`` the copies out of it. A buffer that
    several stages use (a ring between two stages, for example) is listed at the first of these stages.
    """
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    pools = {placement.buffer: placement.pool for placement in plan.placements}
    order = [pool.name for pool in plan.pools]
    found: dict[str, list[dict[str, Any]]] = {}
    for layer in (step for step in plan.program if isinstance(step, Layer)):
        loads: dict[str, int] = {}
        stores: dict[str, int] = {}
        for step, times in copies_and_kernels(layer.body):
            if isinstance(step, CopyStart):
                loads[step.destination.buffer] = loads.get(step.destination.buffer, 0) + times
                stores[step.source.buffer] = stores.get(step.source.buffer, 0) + times
        for stage, names in _near_buffers(layer, buffers).items():
            entries = [
                {
                    "pool": pools.get(name),
                    "buffer": name,
                    "tensor": buffers[name].tensor,
                    "kind": buffers[name].kind.value,
                    "shape": list(buffers[name].shape),
                    "slots": buffers[name].copies,
                    "size_bytes": buffers[name].size_bytes,
                    "loads": loads.get(name, 0),
                    "stores": stores.get(name, 0),
                }
                for name in names
            ]
            entries.sort(key=lambda entry: order.index(entry["pool"]) if entry["pool"] in order else len(order))
            found.setdefault(layer.stages[stage].name, []).extend(entries)
    return found


def _near_buffers(layer: Layer, buffers: Mapping[str, Buffer]) -> dict[int, list[str]]:
    """For each stage the tile and scratch buffers that no earlier stage of the layer uses."""
    found: dict[int, list[str]] = {stage: [] for stage in range(len(layer.stages))}
    seen: set[str] = set()
    for stage, step in sorted(steps_by_stage(layer), key=lambda item: item[0]):
        for name in () if isinstance(step, Wait) else _names(step):
            if name not in seen and buffers[name].kind in (BufferKind.TILE, BufferKind.SCRATCH):
                seen.add(name)
                found[stage].append(name)
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
