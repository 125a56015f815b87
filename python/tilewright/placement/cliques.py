"""Cliques of the conflict graph: sets of units of which no two may share bytes.

Units of a clique lie side by side, so the sum of their sizes is a lower bound of their pool. On chordal graphs
(every graph of lifetimes without holes) the maximal cliques are found exactly by maximum
cardinality search (Tarjan and Yannakakis 1984); elsewhere a greedy cover of all edges is used.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush
from itertools import accumulate

from tilewright.placement.model import Model


def disjoint_neighbours(model: Model, units: Collection[int]) -> dict[int, set[int]]:
    """For each unit the units that share no byte with it in any placement of both in one pool."""
    inside = set(units)
    answer: dict[int, set[int]] = {u: set() for u in sorted(inside)}
    for u in answer:
        size = model.units[u].size
        for v, zones in model.zones[u].items():
            if v in inside and zones[0][0] <= -size and zones[0][1] >= model.units[v].size:
                answer[u].add(v)
    return answer


def cliques(model: Model, units: Collection[int]) -> list[tuple[int, ...]]:
    """Cliques of which every unit, and every pair of disjoint units, is in at least one."""
    graph = disjoint_neighbours(model, units)
    earlier = _search(graph)
    found: list[frozenset[int]] = []
    covered: set[tuple[int, int]] = set()
    for u, before in earlier.items():
        remaining = set(before)
        alone = not remaining
        while remaining or alone:
            alone = False
            clique = {u}
            for v in sorted(remaining, key=lambda v: (-model.units[v].size, v)):
                if clique <= graph[v] | {v}:
                    clique.add(v)
            for v in sorted(before - remaining, key=lambda v: (-model.units[v].size, v)):
                if clique <= graph[v] | {v}:
                    clique.add(v)
            remaining -= clique
            if any((min(u, v), max(u, v)) not in covered for v in clique if v != u) or len(clique) == 1:
                covered |= {(min(v, w), max(v, w)) for v in clique for w in clique if v != w}
                found.append(frozenset(clique))
    return _maximal(found)


def clique_bound(model: Model, units: Collection[int]) -> int:
    """A lower bound, in bytes, of a pool that holds all these units: the largest clique or the highest forced end."""
    best = 0
    for u in units:
        unit = model.units[u]
        best = max(best, unit.residue + unit.size if unit.fixed is None else unit.fixed + unit.size)
    if all(_conflicts_by_life(model, u) for u in units):
        return max(best, _bytes_at_once(model, units))
    for clique in cliques(model, units):
        best = max(best, sum(model.units[u].size for u in clique))
    return best


def _conflicts_by_life(model: Model, unit: int) -> bool:
    """Whether the unit's lifetime says all about its conflicts."""
    begin, end = model.zones.lives[unit]
    return begin < end and not model.zones.listed[unit]


def _bytes_at_once(model: Model, units: Collection[int]) -> int:
    """The most bytes of units that live at one tick: the largest clique where lifetimes say all."""
    lives, size = model.zones.lives, [model.units[u].size for u in units]
    begins = [(lives[u][0], 1, size[i]) for i, u in enumerate(units)]
    ends = [(lives[u][1], 0, -size[i]) for i, u in enumerate(units)]
    return max(accumulate(change for _, _, change in sorted(begins + ends)), default=0)


def _search(graph: dict[int, set[int]]) -> dict[int, set[int]]:
    """Maximum cardinality search: each unit with its neighbours that were visited before it."""
    weight = dict.fromkeys(graph, 0)
    queue = [(0, u) for u in sorted(graph)]
    earlier: dict[int, set[int]] = {}
    while queue:
        negative, u = heappop(queue)
        # A unit is queued again whenever its weight grows; only the newest entry counts.
        if u in earlier or -negative != weight[u]:
            continue
        earlier[u] = {v for v in graph[u] if v in earlier}
        for v in graph[u]:
            if v not in earlier:
                weight[v] += 1
                heappush(queue, (-weight[v], v))
    return earlier


def _maximal(found: list[frozenset[int]]) -> list[tuple[int, ...]]:
    by_member: dict[int, list[frozenset[int]]] = {}
    kept: list[tuple[int, ...]] = []
    for clique in sorted(set(found), key=lambda c: (-len(c), sorted(c))):
        if any(clique <= larger for larger in by_member.get(min(clique), [])):
            continue
        kept.append(tuple(sorted(clique)))
        for u in clique:
            by_member.setdefault(u, []).append(clique)
    return kept
