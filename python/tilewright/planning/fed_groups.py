"""Inputs that are fed row by row: which options and platforms allow it, and which groups of layers take the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.base.errors import TilewrightError, bad_input, not_supported
from tilewright.fusion.intervals import Interval, Layers, group_from
from tilewright.graph import Graph
from tilewright.options import CompileOptions, Groups, Weights
from tilewright.platform import Platform
from tilewright.rewrites.feed_nodes import NOT_FED, refused


def require_feedable(options: CompileOptions, platform: Platform) -> None:
    """Raise bad_input for options that contradict FEED, not_supported for a platform whose core copies tiles."""
    if not options.feed and not options.slide:
        return
    word = "FEED" if options.feed else "SLIDE"
    contradicting = {
        "SLIDE": (bool(options.feed and options.slide), "each run of a window that slides is given its own frames"),
        "STATE": (bool(options.slide and options.state), "a window that slides is what the model remembers"),
        "IO_IN_POOLS": (options.io_in_pools, "a fed input has rows alone in pools, and no address"),
        "OUTPUTS_IN_POOLS": (
            bool(options.slide and options.outputs_in_pools),
            "a window that slides gives rows of outputs, where the caller says",
        ),
        "PROFILE": (options.profile, "a record is of one run of a layer, and a fed layer runs in parts"),
        "GUARDS": (options.guards, "guards are compared before each layer, and a fed layer runs in parts"),
        "WEIGHTS external": (options.weights is Weights.EXTERNAL, "weights would change between the rows of a run"),
        "GROUPS off": (options.groups is Groups.OFF, "rows are read by a group of layers"),
    }
    for name, (given, why) in contradicting.items():
        if given:
            raise bad_input(
                "bad-option", f"{word} and {name} contradict each other: {why}", help="leave one of them out"
            )
    addressed = {pool for pool, _ in platform.core.access_cycles}
    if platform.core.count > 1 or platform.io_pool not in addressed:
        raise not_supported(
            NOT_FED,
            f"platform '{platform.name}' cannot be fed: its layers copy tiles, or several cores share them",
            help="a platform with one core that addresses the pool of inputs, qemu-virt-rv32-single for example",
        )


def fed_layer(graph: Graph, layers: Layers) -> int | None:
    """Number of the layer that reads the rows of a fed input; None without one."""
    if not graph.fed:
        return None
    return next(number for number, problem in enumerate(layers.problems) if problem.node.operator == "Feed")


def feeding(found: Iterable[Interval], layers: Layers, graph: Graph) -> list[Interval]:
    """The intervals with which an input can be fed: its layer begins a group, which has all that read the rows.

    Raises not_supported, with the layer that forbids it, where there are none.
    """
    found = list(found)
    number = layers.fed
    if number is None:
        return found
    rows = layers.problems[number].node.outputs[0]
    _require_rings(rows, layers, graph)
    kept = [
        interval
        for interval in found
        if not interval.first <= number < interval.end
        or (interval.first == number and interval.elements and _holds_some(interval, layers))
    ]
    if not any(interval.first == number for interval in kept):
        raise _not_by_rows(found, layers, number, graph)
    return kept


def _holds_some(interval: Interval, layers: Layers) -> bool:
    """Whether only the group reads the rows that its first layer reads, and never all rows at a time."""
    taking = layers.streams[interval.first]
    if taking is None or not layers.alive.is_inside(taking.written, interval.first, interval.end):
        return False
    ring = group_from(layers, interval).rings.get(taking.written)
    return ring is not None and ring.rows < taking.extent


def _require_rings(rows: str, layers: Layers, graph: Graph) -> None:
    """Raise not_supported for a layer whose kernel cannot read rows from a ring, only from a whole tensor."""
    for problem, stream in zip(layers.problems, layers.streams, strict=True):
        if stream is not None and any(read.tensor == rows and not read.may_be_ring for read in stream.reads):
            why = f"the kernel of {problem.node.operator} '{problem.node.name}' needs all of it in one piece"
            raise refused(graph.fed, why)


def _not_by_rows(found: Sequence[Interval], layers: Layers, number: int, graph: Graph) -> TilewrightError:
    """The error that names the first layer that cannot join the fed one."""
    end = max((interval.end for interval in found if interval.first == number), default=number + 1)
    node = layers.problems[min(end, len(layers.problems) - 1)].node
    why = f"{node.operator} '{node.name}' needs all of its rows, or needs them again, so that they are not read once"
    return refused(graph.fed, why, "leave FEED out; GROUPS may still save memory")
