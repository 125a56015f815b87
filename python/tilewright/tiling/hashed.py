"""Arrays of constants in memory order with their hashes: made once, however often a plan is tried again."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

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
    """Hashed arrays of operands, by the operand's data, the order of its axes in memory, and what it is packed for."""

    _known: dict[_Key, tuple[Array | Packing, HashedArray]] = field(default_factory=dict)

    def of(self, operand: TileOperand, steps: TileSteps) -> HashedArray:
        """The operand's constant for tiles of these steps, packed when it is asked for the first time."""
        data = operand.data
        assert data is not None
        tile = tuple(sorted(steps.items())) if isinstance(data, Packing) and data.by_tile else ()
        key = (id(data), operand.order, tile)
        if key not in self._known:
            stored = np.ascontiguousarray(packed_array(data, steps).transpose(operand.order))
            # The data itself is kept, so that nothing else gets its id.
            self._known[key] = data, HashedArray(stored, sha256(stored.data).hexdigest())
        return self._known[key][1]
