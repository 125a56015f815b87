"""Rules on rectangles: each operand's is what its map makes of the box on which the call works."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.check.calls import Calls, touched
from tilewright.check.expand import Site, operands_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import AxisRange, BufferKind, Kernel, Operand


def check_maps(facts: Facts, every: Iterable[Site], calls: Iterable[Calls], log: Log) -> None:
    """Each rectangle that a call writes is the map of the call's box; each that it reads contains that map.

    Rectangles are clipped where the tensor ends, nowhere else.
    """
    lengths: dict[str, tuple[int, ...]] = {}
    for site in every:
        reads, writes = operands_of(site.step)
        for operand in (*reads, *writes):
            _check_borders(facts, operand.buffer, operand.rectangle, lengths, site, log)
        if isinstance(site.step, Kernel):
            for operand, maps in zip((*reads, *writes), site.step.maps, strict=True):
                _check_borders(facts, operand.buffer, maps, lengths, site, log)
    for item in calls:
        _check_calls(item, log)


def _check_borders(
    facts: Facts,
    name: str,
    axes: tuple[AxisRange, ...],
    lengths: dict[str, tuple[int, ...]],
    site: Site,
    log: Log,
) -> None:
    """Every rectangle of a home is clipped to the tensor's extents, which are those of the buffer.

    On the axis of a ring the buffer is shorter than the tensor: there all steps must name one extent.
    """
    buffer = facts.buffers[name]
    if buffer.kind is BufferKind.TILE:
        return
    extents = tuple(axis.extent for axis in axes)
    wanted = buffer.shape
    if buffer.ring_axis is not None:
        first = lengths.setdefault(name, extents)
        wanted = tuple(first[axis] if axis == buffer.ring_axis else extent for axis, extent in enumerate(wanted))
    if extents != wanted:
        log.report(Rule.MAP, f"{name} is clipped to {extents}, the tensor is {wanted}", site.place)


def _check_calls(calls: Calls, log: Log) -> None:
    kernel = calls.kernel
    if not calls.count:
        return
    whole = {item.name: item.extent for item in kernel.dimensions if item.name not in calls.site.names}
    operands = (*kernel.reads, *kernel.writes)
    for number, (operand, maps) in enumerate(zip(operands, kernel.maps, strict=True)):
        for axis, (given, mapped) in enumerate(zip(operand.rectangle, maps, strict=True)):
            if plain(given) != plain(folded(mapped, whole)):
                _check_axis(calls, operand, axis, mapped, number >= len(kernel.reads), log)


def _check_axis(calls: Calls, operand: Operand, axis: int, mapped: AxisRange, is_write: bool, log: Log) -> None:
    """Compare the rectangle of one axis with its map in every call."""
    given = operand.rectangle[axis]
    begin, end = touched(given, {name: calls.index(name) for name, _ in given.terms})
    first, behind = touched(mapped, calls.box())
    wrong = (begin != first) | (end != behind) if is_write else ((begin > first) | (end < behind)) & (first < behind)
    if not wrong.any():
        return
    tile = int(wrong.argmax())
    values = [int(item[tile % item.size]) for item in (begin, end, first, behind)]
    verb = "writes" if is_write else "reads"
    message = (
        f"{verb} [{values[0]}, {values[1]}) on axis {axis} of {operand.buffer}, "
        f"its part of the nest needs [{values[2]}, {values[3]})"
    )
    log.report(Rule.MAP, message, calls.site.place, tile)


def folded(axis: AxisRange, whole: Mapping[str, int]) -> AxisRange:
    """The axis range with the dimensions of ``whole``, which no index cuts, folded into its two offsets."""
    first, last = axis.first_offset, axis.last_offset
    for name, stride in axis.terms:
        if name in whole:
            reach = stride * (whole[name] - 1)
            first, last = first + min(reach, 0), last + max(reach, 0)
    terms = tuple(item for item in axis.terms if item[0] not in whole)
    return AxisRange(terms, first, last, axis.divisor, axis.extent)


def plain(axis: AxisRange) -> tuple[object, ...]:
    """A value that is equal for two axis ranges only if they are equal in every tile."""
    terms = sorted(item for item in axis.terms if item[1])
    return terms, axis.first_offset, axis.last_offset, axis.divisor, axis.extent
