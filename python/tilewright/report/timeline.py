"""When cores compute and links copy, predicted from the plan's program.

The program is walked through step by step: the core starts copies, waits for them and calls kernels, and each link
works through its copies one after the other. Copies take what the platform says of their link. Calls share the
rest of what the plan predicts for their layer, each by the points of the nest on which it works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import CopyStart, Layer, Link, Plan, kernel_steps
from tilewright.plan.copies import line_cycles
from tilewright.plan.stages import numbered_layers
from tilewright.report.step_runs import Awaited, Called, Copy, Event, run_count, step_runs
from tilewright.report.tiles import copies_and_kernels

MOST_RUNS = 50_000
"""Layers whose steps run more often are shown as a whole."""

MOST_BARS = 150
"""Bars of a kind in a row of a layer; where there are more, neighbours become one that is partly busy."""

CORE, CORES = "core", "cores"
_TURNS = 24

Span = tuple[float, float]


@dataclass(slots=True)
class _Clock:
    """The state of a walk: the core's time, when each link is free, when each copy under way is complete."""

    now: float = 0.0
    free: dict[str, float] = field(default_factory=dict)
    due: dict[Copy, float] = field(default_factory=dict)

    def later(self) -> _Clock:
        """The same moment, with the core's time counted from 0."""
        free = {link: max(time - self.now, 0.0) for link, time in self.free.items()}
        return _Clock(0.0, free, {copy: max(time - self.now, 0.0) for copy, time in self.due.items()})


@dataclass(frozen=True, slots=True)
class Walked:
    """A layer's spans by row and kind (``compute``, ``starts``, ``waits``, ``copies``), in cycles from its start."""

    end: float
    spans: dict[tuple[str, str], list[Span]]


def timeline(plan: Plan) -> dict[str, Any]:
    """The rows, and for each layer when it runs, its bars, and how much of its copies computing hides.

    A bar is [row, kind, begin, end, share of it that is busy]; times are predicted cycles from the start of the run.
    ``bars`` is None for a layer whose steps run more than ``MOST_RUNS`` times.
    """
    links = {link.name: link for link in plan.links}
    shared = any(kernel.split is not None for kernel in kernel_steps(plan.program))
    used = {step.link for step, _ in copies_and_kernels(plan.program) if isinstance(step, CopyStart)}
    rows = [CORE, *([CORES] if shared else []), *(link.name for link in plan.links if link.name in used)]
    clock, begin, layers = _Clock(), 0.0, []
    for item in numbered_layers(plan.program):
        stages = plan.layers[item.first : item.first + len(item.layer.stages)]
        predicted = float(sum(stage.predicted_cycles for stage in stages))
        entry: dict[str, Any] = {"first": item.first, "stages": len(stages), "begin": round(begin)}
        walked = None
        if run_count(item.layer.body) <= MOST_RUNS:
            walked, clock = _fitted(plan, item.layer, links, clock, predicted)
        layers.append({**entry, "end": round(begin + predicted), **_drawn(walked, begin, predicted, rows)})
        begin += predicted
    return {"rows": rows, "cores": plan.core.count, "cycles": round(begin), "layers": layers}


def _fitted(plan: Plan, layer: Layer, links: dict[str, Link], start: _Clock, predicted: float) -> tuple[Walked, _Clock]:
    """The walk in which the layer takes its predicted cycles, by the time of calls, which may become 0."""
    events = list(step_runs(plan, layer.body))
    weights = _weights(plan, layer, events)
    computing = predicted
    # A further cycle of computing makes the layer longer by at most a cycle, so the time comes down from above.
    for _ in range(_TURNS):
        walked, clock = _walk(events, links, start.later(), {name: computing * of for name, of in weights.items()})
        over = walked.end - predicted
        if over < 0.5 or not computing:
            break
        computing = max(computing - over, 0.0)
    return walked, clock


def _weights(plan: Plan, layer: Layer, events: Sequence[Event]) -> dict[str, float]:
    """For each kernel step the share of the layer's computing that a point of its nest takes."""
    points: dict[str, int] = {}
    for event in events:
        if isinstance(event, Called):
            points[event.kernel] = points.get(event.kernel, 0) + event.points
    facts = {item.name: item for item in plan.layers}
    cycles = {stage.kernel: facts[stage.name].predicted_cycles for stage in layer.stages if stage.name in facts}
    whole = sum(max(cycles.get(name, 1), 1) for name in points)
    return {name: max(cycles.get(name, 1), 1) / whole / max(count, 1) for name, count in points.items()}


def _walk(
    events: Sequence[Event], links: dict[str, Link], clock: _Clock, point_cycles: dict[str, float]
) -> tuple[Walked, _Clock]:
    spans: dict[tuple[str, str], list[Span]] = {}

    def spend(row: str, kind: str, end: float) -> None:
        """The core is busy until then."""
        if end > clock.now:
            spans.setdefault((row, kind), []).append((clock.now, end))
            clock.now = end

    for event in events:
        if isinstance(event, Called):
            row = CORES if event.shared else CORE
            spend(row, "compute", clock.now + event.points * point_cycles[event.kernel])
        elif isinstance(event, Awaited):
            spend(CORE, "waits", clock.due.pop(event.copy, clock.now))
        else:
            link = links[event.link]
            spend(CORE, "starts", clock.now + event.commands * link.setup_cycles)
            begin = max(clock.now, clock.free.get(link.name, 0.0))
            besides = float(line_cycles(link, np.asarray(event.lines), np.asarray(event.size_bytes)))
            end = begin + besides + event.size_bytes / link.bytes_per_cycle
            spans.setdefault((link.name, "copies"), []).append((begin, end))
            clock.free[link.name] = clock.due[event.copy] = end
            if not link.asynchronous:
                spend(CORE, "waits", end)
    return Walked(clock.now, spans), clock


def _drawn(walked: Walked | None, begin: float, predicted: float, rows: Sequence[str]) -> dict[str, Any]:
    """The bars of a layer, and its cycles by kind; what lies behind the layer's end is the next layer's time too."""
    if walked is None:
        return {"bars": None}
    # Where copies alone take longer than was predicted, the layer is drawn in the time that was predicted.
    scale = predicted / walked.end if walked.end > predicted else 1.0
    bars = [
        [rows.index(row), kind, round(begin + low * scale), round(begin + high * scale), round(share, 3)]
        for (row, kind), spans in walked.spans.items()
        for low, high, share in _merged(spans)
    ]
    computing = _union([span for (_, kind), spans in walked.spans.items() if kind == "compute" for span in spans])
    copying = _union([span for (_, kind), spans in walked.spans.items() if kind == "copies" for span in spans])
    totals = dict.fromkeys(("compute", "starts", "waits"), 0.0)
    for (_, kind), spans in walked.spans.items():
        if kind in totals:
            totals[kind] += _length(spans)
    totals |= {"copies": _length(copying), "hidden": _shared(computing, copying)}
    return {"bars": bars, **{kind: round(cycles * scale) for kind, cycles in totals.items()}}


def _merged(spans: Sequence[Span]) -> list[tuple[float, float, float]]:
    """At most ``MOST_BARS`` bars with the share of each that is busy; spans are in order and do not overlap."""
    if len(spans) <= MOST_BARS:
        return [(low, high, 1.0) for low, high in spans]
    found = []
    for number in range(MOST_BARS):
        some = spans[len(spans) * number // MOST_BARS : len(spans) * (number + 1) // MOST_BARS]
        low, high = some[0][0], some[-1][1]
        found.append((low, high, _length(some) / max(high - low, 1e-9)))
    return found


def _length(spans: Sequence[Span]) -> float:
    return sum(high - low for low, high in spans)


def _union(spans: Sequence[Span]) -> list[Span]:
    """The same time in spans that do not overlap, in order."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found


def _shared(some: Sequence[Span], others: Sequence[Span]) -> float:
    """How long two unions have something at the same time."""
    total, at = 0.0, 0
    for low, high in some:
        while at < len(others) and others[at][1] <= low:
            at += 1
        number = at
        while number < len(others) and others[number][0] < high:
            total += min(high, others[number][1]) - max(low, others[number][0])
            number += 1
    return total
