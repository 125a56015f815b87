"""The steps of a group: one loop in which each stage makes its blocks, with rings for the rows between stages.

Before:  conv a -> pool b, rings of 3 rows of a; a works at every iteration, b at every second
After:   begin a;  loop: kernel conv at 0 ... 11;  kernel pool at 1, 3, ... 11;  end a
A ring of rows that nothing needs at the next iteration, and the scratch of a kernel, live inside the loop's body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.fusion.group import Group
from tilewright.fusion.timing import Ring, Timed
from tilewright.plan import AxisRange, Begin, Buffer, End, Index, Kernel, Loop, Operand, Runs, Step, kernel_steps
from tilewright.schedule.tile_loops import BuiltLayer


@dataclass(frozen=True, slots=True)
class BuiltGroup:
    """The body of a group's layer, and the marks around it.

    Attributes:
        body: the loop.
        buffers: scratch of the kernels.
        around: names of the rings, and of the sums of sinks, that live as long as the loop.
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
    for number, (timed, layer, kernel) in enumerate(zip(group.stages, layers, kernels, strict=True)):
        index = replace(timed.blocks, name=f"{timed.stream.dimension}_{number}")
        indices += [index] if index.count > 1 else []
        scratch = [] if timed.stream.is_sink else [buffer.name for buffer in layer.buffers]
        body += [Begin(name) for name in (*begins.get(number, ()), *scratch)]
        body.append(_in_group(kernel, timed, index))
        body += [End(name) for name in (*reversed(scratch), *ends.get(number, ()))]
    rings = [name for name, ring in group.rings.items() if not ring.passing]
    sinks = [layer for timed, layer in zip(group.stages, layers, strict=True) if timed.stream.is_sink]
    accesses: Counter[str] = Counter()
    for layer in layers:
        accesses.update(layer.accesses)
    return BuiltGroup(
        body=(Loop(tuple(indices), tuple(body)),),
        buffers=tuple(buffer for layer in layers for buffer in layer.buffers),
        around=(*rings, *(buffer.name for layer in sinks for buffer in layer.buffers)),
        accesses=accesses,
    )


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


def _in_group(kernel: Kernel, timed: Timed, index: Index) -> Kernel:
    """The kernel step at its stage's times; the dimension of rows has the name of the stage's own index."""
    if index.count == 1:
        return replace(kernel, runs=Runs(timed.first))
    renamed = {timed.stream.dimension: index.name}
    count = len(kernel.reads)
    operands = tuple(_renamed_operand(operand, renamed) for operand in (*kernel.reads, *kernel.writes))
    return replace(
        kernel,
        reads=operands[:count],
        writes=operands[count:],
        dimensions=tuple(replace(item, name=renamed.get(item.name, item.name)) for item in kernel.dimensions),
        maps=tuple(_renamed(axes, renamed) for axes in kernel.maps),
        reduction=tuple(renamed.get(name, name) for name in kernel.reduction),
        stores=replace(kernel.stores, walk=tuple(renamed.get(name, name) for name in kernel.stores.walk)),
        runs=Runs(timed.first, timed.every, timed.count, (index.name,)),
    )


def _renamed_operand(operand: Operand, names: Mapping[str, str]) -> Operand:
    return replace(operand, rectangle=_renamed(operand.rectangle, names))


def _renamed(axes: Iterable[AxisRange], names: Mapping[str, str]) -> tuple[AxisRange, ...]:
    return tuple(
        replace(axis, terms=tuple((names.get(name, name), stride) for name, stride in axis.terms)) for axis in axes
    )
