"""Groupings of a network with some of its layers in strips of columns, for fewer bytes than groups alone need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.planning.allowed_kernels import with_allowed
from tilewright.planning.decide import Decider, best_tiles
from tilewright.planning.given_groups import gives_groups
from tilewright.planning.grouping import Grouping, groupings_of
from tilewright.planning.prepare import Prepared, prepare_in_strips
from tilewright.planning.promising_strips import promising
from tilewright.rewrites.strips import Strips


def may_be_in_strips(decider: Decider) -> bool:
    """Whether strips may be chosen: the user gives no groups or homes by the names that layers and tensors have."""
    return not gives_groups(decider.options) and not decider.options.homes


def in_strips(groupings: Sequence[Grouping], decider: Decider) -> list[Grouping]:
    """Groupings in the strips that promise the fewest bytes; they are found once for pools of all sizes."""
    if not may_be_in_strips(decider):
        return []
    plain = [grouping for grouping in groupings if not grouping.keeping]
    least = min(plain, key=lambda grouping: min(cover.size_bytes for cover in grouping.covers))
    base = least.decider.prepared
    known = next((found for prepared, found in decider.stripped if prepared is base), None)
    if known is None:
        known = tuple(found for strips in promising(least) for found in _in_strips(base, strips, decider))
        decider.stripped.append((base, known))
    return [replace(item, decider=replace(item.decider, platform=decider.platform)) for item in known]


def _in_strips(base: Prepared, strips: Sequence[Strips], decider: Decider) -> list[Grouping]:
    prepared = prepare_in_strips(base, strips, decider.platform, decider.options)
    if prepared is None:
        return []
    other = replace(decider, prepared=with_allowed(prepared, decider.allowed), known={}, shared={})
    return groupings_of(best_tiles(other), other)
