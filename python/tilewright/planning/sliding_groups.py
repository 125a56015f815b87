"""Windows that slide: all layers are one group, whose loop goes on behind its last iteration as one period before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.base.errors import not_supported
from tilewright.fusion.group import Group
from tilewright.fusion.intervals import BLOCK_ELEMENTS, Interval, Layers, group_from, groups_from, growing
from tilewright.graph import Graph, Slide
from tilewright.plan import LayerFacts
from tilewright.plan import Slide as PlanSlide
from tilewright.rewrites.frames import NOT_SLIDING

_ANY_SIZE = 1 << 60


def sliding(layers: Layers, slide: Slide) -> list[Interval]:
    """All layers as one group, in blocks of every size with which it can go on for ever.

    Raises not_supported, with the layer that forbids it, where there is none.
    """
    _require_rings(layers)
    found = list(dict.fromkeys(_groups(layers)))
    kept = [interval for interval in found if _goes_on(group_from(layers, interval), slide)]
    if not kept:
        _refuse(layers, found)
    return kept


def facts_of_a_run(layers: Sequence[LayerFacts], groups: Sequence[Group], graph: Graph) -> tuple[LayerFacts, ...]:
    """The facts of stages in one run: of the rows that its frames bring, where a window slides."""
    if graph.slide is None:
        return tuple(layers)
    (group,) = groups
    found = []
    for facts, stage in zip(layers, group.stages, strict=True):
        calls = graph.slide.rows // stage.every
        rows, extent = calls * stage.step, stage.stream.extent
        each = {name: getattr(facts, name) * rows // extent for name in ("macs", "operations", "predicted_cycles")}
        found.append(replace(facts, tiles=calls, work=None, **each))
    return tuple(found)


def slide_of(graph: Graph, position: str | None) -> PlanSlide | None:
    """The window that slides as the plan says it; ``position`` is the buffer of where it is."""
    slide = graph.slide
    if slide is None or position is None:
        return None
    return PlanSlide(slide.rows, slide.window, slide.period, position)


def shape_of_a_run(graph: Graph, name: str, axis: int | None) -> tuple[int, ...]:
    """The shape of an input or output in one run: of the rows that its frames bring, where a window slides."""
    shape, slide = graph.tensor(name).shape, graph.slide
    if slide is None or axis is None:
        return shape
    rows = slide.rows if name == graph.fed else slide.output_rows[graph.outputs.index(name)]
    return (*shape[:axis], rows, *shape[axis + 1 :])


def _groups(layers: Layers) -> Iterator[Interval]:
    count = len(layers.problems)
    for elements in BLOCK_ELEMENTS:
        yield from groups_from(layers, 0, (elements,) * count, _ANY_SIZE, count)


def _require_rings(layers: Layers) -> None:
    """Raise not_supported for a layer that cannot run by rows, or whose kernel finds none in a ring."""
    for problem, stream in zip(layers.problems, layers.streams, strict=True):
        rings = stream is not None and all(read.may_be_ring for read in stream.reads) and not stream.is_sink
        if not rings:
            what = f"{problem.node.operator} '{problem.node.name}' has no kernel that takes its frames one by one"
            raise not_supported(NOT_SLIDING, what, at=problem.node.name, help="leave SLIDE out")


def _goes_on(group: Group, slide: Slide) -> bool:
    """Whether a run of the group computes all rows that its frames allow, and a period leaves everything as it was."""
    frames = group.stages[0].stream.extent
    written = {stage.stream.written: stage for stage in group.stages}
    whole = all(
        slide.rows % stage.every == 0
        and (stage.stream.extent + stage.shift) % stage.step == 0
        and stage.first + stage.every * (stage.count - 1) < frames
        for stage in group.stages
    )
    turns = all(
        slide.period % written[name].every == 0
        and slide.period // written[name].every * written[name].step % ring.rows == 0
        and ring.rows < written[name].stream.extent
        for name, ring in group.rings.items()
    )
    return whole and turns


def _refuse(layers: Layers, found: list[Interval]) -> None:
    """Raise not_supported with the first layer that cannot join those before it."""
    if found:
        what = "the layers do not end all rows that the frames of a run allow within that run"
        raise not_supported(NOT_SLIDING, what, help="slide by another number of frames, or leave SLIDE out")
    ends = [grown.end for grown in growing(layers, 0, (1,) * len(layers.problems), len(layers.problems))]
    node = layers.problems[min(max(ends, default=1), len(layers.problems) - 1)].node
    what = f"{node.operator} '{node.name}' cannot work frame by frame behind the layers before it"
    raise not_supported(NOT_SLIDING, what, at=node.name, help="leave SLIDE out")
