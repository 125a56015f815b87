"""Arrays of constants in memory order with their hashes: computed once, however often planning tries again."""

from __future__ import annotations

from dataclasses import field
from hashlib import sha256

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.kernel import Packing, TileSteps, packed_array
from tilewright.tiling.operand import TileOperand


@dataclass(frozen=True, slots=True)
class HashedArray:
    """An array whose last axis is the fastest in memory, and the SHA-256 of its bytes in hexadecimal."""

    data: Array
    sha256: str


_Key = tuple[int, tuple[int, ...], tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class HashedArrays:
    """A cache of hashed arrays, by the operand's data, its axes' order in memory, and the tile steps of its packing."""

    _known: dict[_Key, tuple[Array | Packing, HashedArray]] = field(default_factory=dict)

    def of(self, operand: TileOperand, steps: TileSteps) -> HashedArray:
        """The operand's constant for tiles of these steps, packed when it is asked for the first time."""
        data = operand.data
        assert data is not None
        tile = tuple(sorted(steps.items())) if isinstance(data, Packing) and data.by_tile else ()
        key = (id(data), operand.order, tile)
        if key not in self._known:
            stored = np.ascontiguousarray(packed_array(data, steps).transpose(operand.order))
            # The entry holds the data too, so that no later object gets the same id().
            self._known[key] = data, HashedArray(stored, sha256(stored.data).hexdigest())
        return self._known[key][1]
