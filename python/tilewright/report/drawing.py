"""Where the nodes of a graph are drawn: a node's row is the longest way from a source, columns keep chains straight.

Before:  edges 0 -> 1 -> 2 -> 3 and 0 -> 3
After:   all four in column 0, rows 0 to 3; the edge 0 -> 3 goes down column 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.base.lazy_dataclass import dataclass

Point = tuple[int, int]
"""(column, row)."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The point of each node, and for each edge the points of its line, both ends included."""

    nodes: tuple[Point, ...]
    edges: tuple[tuple[Point, ...], ...]


def draw(count: int, edges: Sequence[tuple[int, int]]) -> Drawing:
    """Place nodes 0 ... ``count`` - 1; the source of every edge has a smaller number than its target.

    An edge that crosses rows between its ends takes the free column nearest to its source.
    """
    sources: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        sources[target].append(source)
    rows: list[int] = []
    for node in range(count):
        rows.append(max((rows[source] + 1 for source in sources[node]), default=0))
    columns = [0] * count
    taken: set[Point] = set()
    for node in sorted(range(count), key=lambda item: (rows[item], item)):
        wish = min((columns[source] for source in sources[node]), default=0)
        columns[node] = _free_column(wish, (rows[node],), taken)
        taken.add((columns[node], rows[node]))
    points = tuple(zip(columns, rows, strict=True))
    return Drawing(points, tuple(_way(points[source], points[target], taken) for source, target in edges))


def _way(start: Point, end: Point, taken: set[Point]) -> tuple[Point, ...]:
    between = range(start[1] + 1, end[1])
    if not between:
        return start, end
    column = _free_column(start[0], between, taken)
    taken.update((column, row) for row in between)
    return start, (column, between[0]), (column, between[-1]), end


def _free_column(wish: int, rows: Iterable[int], taken: set[Point]) -> int:
    """The column nearest to ``wish`` in which all rows are free; of two equally near, the right column."""
    rows = tuple(rows)
    distance = 0
    while True:
        for column in (wish + distance, wish - distance):
            if all((column, row) not in taken for row in rows):
                return column
        distance += 1
