"""Strips of columns that the user gives for layers.

Before:  strips = {"conv_1..conv_8" = 4}
After:   the layers from conv_1 to conv_8 run four times, each time for a part of the columns of conv_8's result
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.base.errors import TilewrightError, bad_input, suggestion
from tilewright.graph import Graph
from tilewright.options import CompileOptions, Groups
from tilewright.rewrites.columns import Regions
from tilewright.rewrites.strips import Strips

STRIPS_OVERRIDE = "strips-override"
"""The code of errors about strips that the user gives."""


def require_strips(options: CompileOptions, *, possible: bool) -> None:
    """Raise bad_input where strips are given, and layers cannot form groups at all."""
    if options.groups is Groups.OFF:
        what = "GROUPS off and the option 'strips' contradict each other"
        raise bad_input("bad-option", what, help="leave one of them out")
    if not possible:
        what = "option 'strips' is given, but on this platform layers copy tiles or share cores"
        raise bad_input(STRIPS_OVERRIDE, what, help="leave it out; option 'tiles' says how such layers are cut")


def given_strips(graph: Graph, options: CompileOptions) -> tuple[Strips, ...]:
    """The option ``strips``, for a graph as it is stored.

    Raises bad_input ``strips-override`` for a name that no layer has, and for layers that cannot be in strips.
    """
    names = {source: node.name for node in reversed(graph.nodes) for source in (*node.sources, node.name)}
    return tuple(_strips(graph, key, count, names) for key, count in options.strips)


def _strips(graph: Graph, key: str, count: int, names: dict[str, str]) -> Strips:
    ends = next(((first, last) for first, last in _pairs(key) if first in names and last in names), None)
    if ends is None:
        unknown = next((name for name in key.split("..") if name not in names), key)
        what = f"option 'strips' says '{key}'; layers are given as <first>..<last>, and '{unknown}' is none"
        raise bad_input(STRIPS_OVERRIDE, what, at=f"strips.{key}", help=suggestion(unknown, names))
    strips = Strips(names[ends[0]], names[ends[1]], count)
    if graph.fed and _is_fed(graph, strips):
        raise not_in_strips([strips], f"each strip reads input '{graph.fed}' again, and FEED gives its rows once")
    if Regions(graph).named(strips.first, strips.last) is None:
        why = "other layers need what is between them, or some layer cannot compute some columns alone"
        raise not_in_strips([strips], why)
    return strips


def _pairs(key: str) -> Iterator[tuple[str, str]]:
    """All ways to read a key as two names."""
    parts = key.split("..")
    for cut in range(1, len(parts)):
        yield "..".join(parts[:cut]), "..".join(parts[cut:])


def _is_fed(graph: Graph, strips: Strips) -> bool:
    """Whether the layers from the first to the last one read rows of the fed input."""
    names = [node.name for node in graph.nodes]
    inside = graph.nodes[names.index(strips.first) : names.index(strips.last) + 1]
    rows = {name for node in graph.nodes if node.operator == "Feed" for name in node.outputs}
    return any(name in rows or name == graph.fed for node in inside for name in node.inputs)


def not_in_strips(strips: Sequence[Strips], why: str) -> TilewrightError:
    """The error for layers that cannot be in strips."""
    named = "; ".join(f"'{item.first}' to '{item.last}'" for item in strips)
    what = f"the layers {named} cannot run in strips of columns: {why}"
    remedy = "layers from an image, or the inputs, to an image of rows and columns, the rest of the network reading it"
    return bad_input(STRIPS_OVERRIDE, what, at="strips", help=f"{remedy} alone; or leave 'strips' out")
