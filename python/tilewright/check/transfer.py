"""Rules on one copy: equal rectangles, and what the link asks of addresses and lengths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.check.expand import Event
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.check.shadow import Region, Seen, Shadow, text
from tilewright.check.words import check_touched_words
from tilewright.plan import CopyStart, Link


def check_transfer(
    facts: Facts, shadow: Shadow, step: CopyStart, ends: tuple[Seen, Seen], event: Event, log: Log
) -> None:
    """Both ends have one shape and the same place in one tensor, and suit the link."""
    source, destination = ends
    place, block = event.site.place, event.block
    if source.rectangle != destination.rectangle:
        shapes = [tuple(end - begin for begin, end in seen.rectangle) for seen in ends]
        if shapes[0] != shapes[1]:
            log.report(Rule.COPY_SHAPE, f"copies {shapes[0]} elements to {shapes[1]}", place, block)
            return
        what = facts.buffers[source.buffer].tensor or source.buffer
        message = f"copies {text(source.rectangle)} of {what} to the place of {text(destination.rectangle)}"
        log.report(Rule.COPY_ORIGIN, message, place, block)
    link = facts.links[step.link]
    if step.words:
        check_touched_words(facts, shadow, step, ends, event, log)
        return
    for seen in ends:
        if seen.bytes is not None:
            _check_alignment(facts, link, seen.buffer, seen.bytes, event, log)
    if source.bytes is not None and destination.bytes is not None:
        _check_line(link, source.bytes, destination.bytes, event, log)
        _check_rounding(facts, shadow, link, ends, event, log)


def _check_alignment(facts: Facts, link: Link, name: str, part: Region, event: Event, log: Log) -> None:
    need = link.align_bytes
    if need == 1:
        return
    if name in facts.callers:
        known = facts.buffers[facts.root[name]].align_bytes
    else:
        known = facts.pools[facts.placements[name].pool].align_bytes
    if known % need or part.base % need or any(stride % need for _, stride in part.dims[1:]):
        strides = [stride for _, stride in part.dims[1:]]
        message = f"link {link.name} needs multiples of {need}: {name} at byte {part.base}, strides {strides}"
        log.report(Rule.LINK_ALIGNMENT, message, event.site.place, event.block)


def _check_line(link: Link, source: Region, destination: Region, event: Event, log: Log) -> None:
    run = min(source.run_bytes, destination.run_bytes)
    if run % link.align_bytes:
        message = f"link {link.name} needs multiples of {link.align_bytes}: lines of {run} bytes"
        log.report(Rule.LINK_ALIGNMENT, message, event.site.place, event.block)


def _check_rounding(facts: Facts, shadow: Shadow, link: Link, ends: tuple[Seen, Seen], event: Event, log: Log) -> None:
    """A link that rounds lines up may touch bytes behind each line, if these lie inside the buffers.

    Bytes that the link writes behind a line must lie in the destination's own slot and before the next line. A slot
    that several copies fill has no such bytes: other elements may lie there.
    """
    source, destination = ends
    assert source.bytes is not None
    assert destination.bytes is not None
    run = min(source.bytes.run_bytes, destination.bytes.run_bytes)
    excess = -run % link.round_up_bytes
    if not excess:
        return
    length = run + excess
    starts = _line_starts(destination.bytes, run)
    apart = bool((starts[1:] - starts[:-1] >= length).all())
    slot_end = destination.base + facts.buffers[destination.buffer].slot_bytes
    is_whole = destination.slot >= 0 and destination.held == destination.rectangle
    has_room = is_whole and int(starts[-1]) + length <= slot_end
    # Nothing uses the bytes read behind a line, so they may belong to the tensor of which the source is a view.
    root = facts.root[source.buffer]
    source_end = shadow.homes[root][1] + facts.buffers[root].size_bytes
    if not (apart and has_room and int(_line_starts(source.bytes, run)[-1]) + length <= source_end):
        message = f"link {link.name} rounds lines of {run} bytes up by {excess}, which leaves the operands' bytes"
        log.report(Rule.LINK_ROUND_UP, message, event.site.place, event.block)


def _line_starts(part: Region, run_bytes: int) -> npt.NDArray[np.int64]:
    """Where the lines of a copy begin, in order; a longer run counts as lines behind each other."""
    starts = part.base + np.arange(0, part.run_bytes, run_bytes, dtype=np.int64)
    for extent, stride in part.dims[1:]:
        starts = (starts[:, None] + np.arange(extent, dtype=np.int64)[None, :] * stride).reshape(-1)
    return np.sort(starts)
