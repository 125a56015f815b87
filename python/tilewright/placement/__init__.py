"""Placement: buffers with conflicts and pool candidates get a pool and an offset."""

from __future__ import annotations

from tilewright.placement.place import place
from tilewright.placement.problem import Diagnosis, DoesNotFit, Item, PoolLimit, Result, Trail

__all__ = ["Diagnosis", "DoesNotFit", "Item", "PoolLimit", "Result", "Trail", "place"]
