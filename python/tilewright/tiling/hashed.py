"""Arrays of constants in memory order with their hashes: made once, however often a plan is tried again."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from tilewright.graph import Array
from tilewright.tiling.operand import TileOperand


@dataclass(frozen=True, slots=True)
class HashedArray:
    """An array whose last axis is the fastest in memory, and the SHA-256 of its bytes in hexadecimal."""

    data: Array
    sha256: str


@dataclass(frozen=True, slots=True)
class HashedArrays:
    """Hashed arrays of operands, by the operand's array and the order of its axes in memory."""

    _known: dict[tuple[int, tuple[int, ...]], tuple[Array, HashedArray]] = field(default_factory=dict)

    def of(self, operand: TileOperand) -> HashedArray:
        """The operand's constant."""
        data = operand.data
        assert data is not None
        key = (id(data), operand.order)
        if key not in self._known:
            stored = np.ascontiguousarray(data.transpose(operand.order))
            # The array itself is kept, so that no other one gets its id.
            self._known[key] = data, HashedArray(stored, sha256(stored.data).hexdigest())
        return self._known[key][1]
