"""The last store of a layer is awaited by the next layer, so that the store travels beside that layer's first loads.

The first loads are those of constants that are loaded once: they depend on nothing that the layer before wrote, and
stand before the loop. All other buffers that the next layer has near the core live only behind the wait, so the two
layers together need no more room than one of them alone.

Before:  layer a: loop { ..., kernel, start y }, wait y    layer b: loop { start weights, start x, ... }
After:   layer a: loop { ..., kernel, start y }            layer b: start weights, wait y, loop { start x, ... }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Begin, Buffer, CopyStart, End, Runs, Step, Wait, kernel_steps, loop_in
from tilewright.schedule.tile_loops import BuiltLayer, ScheduledLayer


@dataclass(frozen=True, slots=True)
class _Store:
    """The last store of a layer: its buffers, its wait in the next layer, and the body without one."""

    tile: str
    home: str
    wait: Wait
    body: tuple[Step, ...]


def hand_over(
    layers: Sequence[ScheduledLayer],
    built: Sequence[BuiltLayer],
    constants: Set[str],
    ends: Mapping[int, Sequence[str]],
    in_groups: Set[int] = frozenset(),
) -> list[BuiltLayer]:
    """The layers as built, but each awaits the last store of the layer before it, where this takes no more room.

    ``constants`` are the names of buffers that no layer writes, ``ends`` gives for each layer the homes whose lives
    end with it: a store into such a home must be complete when the layer ends, so it stays where it is. So do the
    stores of layers whose numbers are ``in_groups``: a group awaits them block by block.
    """
    found = list(built)
    for number in range(1, len(built)):
        if {number - 1, number} & in_groups:
            continue
        store = _last_store(layers[number - 1], found[number - 1])
        if store is None or not layers[number].problem.moves or store.home in ends.get(number - 1, ()):
            continue
        early, rest = _parted(found[number].body, constants)
        loaded = {name for step in early for name in (step.destination.buffer, step.words) if name}
        if not _has_room(found[number - 1], found[number], {store.tile, *loaded}):
            continue
        begun_inside = tuple(buffer.name for buffer in found[number].buffers if buffer.name not in loaded)
        body = (*early, store.wait, End(store.tile), *map(Begin, begun_inside), *rest)
        found[number - 1] = replace(found[number - 1], body=store.body, hands_over=store.tile)
        found[number] = replace(found[number], body=body, begun_inside=frozenset(begun_inside))
    return found


def _last_store(layer: ScheduledLayer, built: BuiltLayer) -> _Store | None:
    """The last store of a layer that stores tiles of one tensor straight home over an asynchronous link, else None."""
    problem = layer.problem
    written = [number for number, operand in enumerate(problem.operands) if operand.write]
    link = problem.operands[written[0]].link
    if len(written) != 1 or link is None or not link.asynchronous or problem.operands[written[0]].far_links:
        return None
    loop = loop_in(built.body)
    body = built.body if loop is None else loop.body
    (kernel,) = kernel_steps(body)
    store = next(step for step in body if isinstance(step, CopyStart) and step.source.buffer == kernel.writes[0].buffer)
    tile, home = store.source.buffer, store.destination.buffer
    unawaited = tuple(step for step in body if not isinstance(step, Wait) or step.token != store.token)
    if loop is None:
        return _Store(tile, home, Wait(store.token), unawaited)
    last = store.runs.count - 1
    awaited = tuple(
        _without_last(step) if isinstance(step, Wait) and step.token == store.token else step for step in body
    )
    shorter = replace(loop, body=awaited if last else unawaited)
    rest = tuple(shorter if step is loop else step for step in built.body)
    return _Store(tile, home, Wait(store.token, number=last), rest)


def _without_last(wait: Wait) -> Wait:
    return replace(wait, runs=replace(wait.runs, count=wait.runs.count - 1))


def _parted(body: tuple[Step, ...], constants: Set[str]) -> tuple[list[CopyStart], tuple[Step, ...]]:
    """(Starts of loads of constants that are loaded once, all other steps of the body)."""
    loop = loop_in(body)
    inside = body if loop is None else loop.body
    (kernel,) = kernel_steps(inside)
    operands = {operand.buffer for operand in kernel.reads}
    early = [
        step
        for step in inside
        if isinstance(step, CopyStart)
        and step.source.buffer in constants
        and step.destination.buffer in operands
        and (step.runs.first, step.runs.count) == (0, 1)
    ]
    rest = tuple(step for step in inside if step not in early)
    starts = [replace(step, runs=Runs()) for step in early]
    if loop is None:
        return starts, rest
    return starts, tuple(replace(loop, body=rest) if step is loop else step for step in body)


def _has_room(before: BuiltLayer, after: BuiltLayer, names: Set[str]) -> bool:
    """Whether the named buffers, of both layers, take no more bytes of a pool than one of the layers does."""
    alone = [_bytes_by_pool(layer.buffers) for layer in (before, after)]
    together = _bytes_by_pool(buffer for buffer in (*before.buffers, *after.buffers) if buffer.name in names)
    return all(size <= max(each[pool] for each in alone) for pool, size in together.items())


def _bytes_by_pool(buffers: Iterable[Buffer]) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for buffer in buffers:
        sizes[buffer.pools[0]] += buffer.size_bytes
    return sizes
