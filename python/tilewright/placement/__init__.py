"""Placement: buffers with conflicts and pool candidates get a pool and an offset."""

from __future__ import annotations

from tilewright.placement.items import Diagnosis, DoesNotFit, Item, PoolLimit, Result, Trail
from tilewright.placement.place import place

__all__ = ["Diagnosis", "DoesNotFit", "Item", "PoolLimit", "Result", "Trail", "place"]
