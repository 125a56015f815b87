"""The comment above a layer's function: operators, kernels, the places of operands, and tiles."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.c_names import in_comment
from tilewright.codegen.buffers import Storage
from tilewright.plan import BufferKind, Kernel, LayerFacts, Loop, Operand, Stage


def layer_comment(
    storage: Storage,
    stages: Sequence[Stage],
    facts: Sequence[LayerFacts],
    kernels: Sequence[Kernel],
    loop: Loop | None,
) -> tuple[str, ...]:
    """Lines for each stage: one with operator and kernel, one for each operand and its place, one for the tiles."""
    named = {kernel.name: kernel for kernel in reversed(kernels)}
    pairs = zip(facts, stages, strict=True)
    return tuple(line for known, stage in pairs for line in _stage_comment(storage, known, named[stage.kernel], loop))


def _stage_comment(storage: Storage, facts: LayerFacts, kernel: Kernel, loop: Loop | None) -> tuple[str, ...]:
    label = f"{in_comment(facts.label)}: " if facts.label else ""
    lines = [f"{label}{facts.operator} '{in_comment(facts.name)}', {facts.macs:,} MACs, kernel {facts.kernel}"]
    for role, operands in (("reads", kernel.reads), ("writes", kernel.writes)):
        for operand in operands:
            lines.append(f"  {role} {_described(storage, operand)}")
    if loop is not None:
        indices = [index for index in loop.indices if index.name in kernel.runs.over]
        cuts = ", ".join(f"{index.name} {index.extent} in steps of {index.step}" for index in indices)
        lines.append(f"  {kernel.runs.count} tiles: {cuts}")
    return tuple(lines)


def _described(storage: Storage, operand: Operand) -> str:
    buffer = storage.buffers[operand.buffer]
    placement = storage.placements.get(buffer.name)
    where = "the caller's" if placement is None else f"{placement.pool} + {placement.offset_bytes}"
    if buffer.name in storage.parents:
        where = f"a view of {in_comment(storage.parents[buffer.name][0])}"
    extents = "".join(f"[{axis.extent}]" for axis in operand.rectangle)
    tile = f", tile {''.join(f'[{extent}]' for extent in buffer.shape)}" if buffer.kind is BufferKind.TILE else ""
    return f"{in_comment(buffer.tensor or buffer.name)} {buffer.dtype} {extents}{tile}: {where}"
