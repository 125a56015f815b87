"""The steps of a group: one loop in which each stage makes its blocks, with rings for the rows between stages.

Before:  conv a -> pool b, rings of 3 rows of a; a works at every iteration, b at every second
After:   begin a;  loop: kernel conv at 0 ... 11;  kernel pool at 1, 3, ... 11;  end a
A ring of rows that nothing needs at the next iteration, and the scratch of a kernel, live inside the loop's body.
Rows that travel to the first stage, or from the last one, and constants are tiles of their stage: its copies and waits
stand around its kernel as if the layer were alone, at the iterations of the stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.group import Group
from tilewright.fusion.timing import Ring, Timed
from tilewright.plan import (
    AxisRange,
    Begin,
    Buffer,
    BufferKind,
    CopyStart,
    End,
    Index,
    Kernel,
    Loop,
    Operand,
    Runs,
    Split,
    Step,
    Wait,
    kernel_steps,
)
from tilewright.schedule.tile_loops import BuiltLayer


@dataclass(frozen=True, slots=True)
class BuiltGroup:
    """The body of a group's layer, and the marks around it.

    Attributes:
        body: the loop.
        buffers: tiles, and scratch of the kernels.
        around: names of the rings, of tiles, and of scratch with sums or kept rows, that live as long as the loop.
        accesses: bytes accessed by buffer.
    """

    body: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    around: tuple[str, ...]
    accesses: Mapping[str, int]


def build_group(group: Group, layers: Sequence[BuiltLayer]) -> BuiltGroup:
    """The loop of a group from its layers, each built for its block as if it were alone."""
    kernels = [kernel_steps(layer.body)[0] for layer in layers]
    begins, ends = _inner_marks(group.rings, kernels)
    indices: list[Index] = []
    body: list[Step] = []
    for number, (timed, layer) in enumerate(zip(group.stages, layers, strict=True)):
        index = replace(timed.blocks, name=f"{timed.stream.dimension}_{number}")
        indices += [index] if index.count > 1 else []
        inner = [buffer.name for buffer in layer.buffers if not _stays(buffer, timed)]
        body += [Begin(name) for name in (*begins.get(number, ()), *inner)]
        body += [_in_group(step, timed, index) for step in _timed_steps(layer)]
        body += [End(name) for name in (*reversed(inner), *ends.get(number, ()))]
    rings = [name for name, ring in group.rings.items() if not ring.passing]
    pairs = zip(group.stages, layers, strict=True)
    staying = [buffer.name for timed, layer in pairs for buffer in layer.buffers if _stays(buffer, timed)]
    accesses: Counter[str] = Counter()
    for layer in layers:
        accesses.update(layer.accesses)
    return BuiltGroup(
        body=(Loop(tuple(indices), tuple(body)),),
        buffers=tuple(buffer for layer in layers for buffer in layer.buffers),
        around=(*rings, *staying),
        accesses=accesses,
    )


def group_name(names: Sequence[str]) -> str:
    """The name of the program's layer that runs layers of these names as a group."""
    return f"{names[0]} to {names[-1]}"


def ring_buffer(buffer: Buffer, ring: Ring) -> Buffer:
    """The buffer of a tensor that holds some of its rows at a time."""
    if ring.rows >= buffer.shape[ring.axis]:
        return buffer
    shape = (*buffer.shape[: ring.axis], ring.rows, *buffer.shape[ring.axis + 1 :])
    size = ring.rows * buffer.strides_bytes[ring.axis]
    return replace(buffer, shape=shape, size_bytes=size, slot_bytes=size, ring_axis=ring.axis)


def _inner_marks(
    rings: Mapping[str, Ring], kernels: Sequence[Kernel]
) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """By number of a stage, the rings that begin before it and those that end behind it, at every iteration."""
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for name, ring in rings.items():
        if ring.passing:
            users = [number for number, kernel in enumerate(kernels) if name in _buffers(kernel)]
            begins.setdefault(users[0], []).append(name)
            ends.setdefault(users[-1], []).append(name)
    return begins, ends


def _buffers(kernel: Kernel) -> set[str]:
    return {operand.buffer for operand in (*kernel.reads, *kernel.writes)}


def _stays(buffer: Buffer, timed: Timed) -> bool:
    """Whether a stage's buffer keeps its content from block to block: a tile, sums of a sink, kept rows of an input."""
    return timed.stream.has_memory or buffer.kind is BufferKind.TILE


def _timed_steps(layer: BuiltLayer) -> list[CopyStart | Wait | Kernel]:
    """The copies, waits and the kernel of a layer of one loop, or of a straight line."""
    steps = [inner for step in layer.body for inner in (step.body if isinstance(step, Loop) else (step,))]
    return [step for step in steps if isinstance(step, (CopyStart, Wait, Kernel))]


def _in_group(step: CopyStart | Wait | Kernel, timed: Timed, index: Index) -> Step:
    """A step of a stage at the stage's times; the dimension of rows has the name of the stage's own index."""
    own = step.runs
    if index.count == 1:
        return replace(step, runs=Runs(timed.first))
    names = {timed.stream.dimension: index.name}
    over = tuple(names.get(name, name) for name in own.over)
    runs = Runs(timed.first + timed.every * own.first, timed.every * own.every, own.count, over)
    if isinstance(step, Wait):
        return replace(step, runs=runs)
    if isinstance(step, CopyStart):
        source, destination = (_renamed_operand(operand, names) for operand in (step.source, step.destination))
        kept = names.get(step.kept, step.kept)
        return replace(step, source=source, destination=destination, runs=runs, kept=kept)
    return replace(_renamed_kernel(step, names), runs=runs)


def _renamed_kernel(kernel: Kernel, names: Mapping[str, str]) -> Kernel:
    count = len(kernel.reads)
    operands = tuple(_renamed_operand(operand, names) for operand in (*kernel.reads, *kernel.writes))
    return replace(
        kernel,
        reads=operands[:count],
        writes=operands[count:],
        dimensions=tuple(replace(item, name=names.get(item.name, item.name)) for item in kernel.dimensions),
        maps=tuple(_renamed(axes, names) for axes in kernel.maps),
        reduction=tuple(names.get(name, name) for name in kernel.reduction),
        stores=replace(kernel.stores, walk=tuple(names.get(name, name) for name in kernel.stores.walk)),
        split=None if kernel.split is None else _renamed_split(kernel.split, names),
    )


def _renamed_split(split: Split, names: Mapping[str, str]) -> Split:
    axes = (replace(axis, range=_renamed((axis.range,), names)[0]) for axis in split.axes)
    return replace(split, dimension=names.get(split.dimension, split.dimension), axes=tuple(axes))


def _renamed_operand(operand: Operand, names: Mapping[str, str]) -> Operand:
    return replace(operand, rectangle=_renamed(operand.rectangle, names))


def _renamed(axes: Iterable[AxisRange], names: Mapping[str, str]) -> tuple[AxisRange, ...]:
    return tuple(
        replace(axis, terms=tuple((names.get(name, name), stride) for name, stride in axis.terms)) for axis in axes
    )
