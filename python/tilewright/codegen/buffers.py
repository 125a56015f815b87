"""C names of a plan's buffers: layout macros, struct members, addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.c_names import constants_object, numbered, unique_identifiers
from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Access, Buffer, BufferKind, Placement, Plan, Pool, RelationKind

Array = npt.NDArray[Any]
"""Elements of a constant."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The place and the C name of each buffer.

    Attributes:
        plan: the plan whose buffers these are.
        buffers: buffers by name.
        placements: buffer to its pool and offset, for placed buffers.
        identifiers: buffer to its C identifier.
        macros: placed buffer to the start of its macros' names, for example KWS_L1_X of KWS_L1_X_OFFSET.
        parents: a view to (the buffer in which it lies, bytes from its start).
        members: buffer of an input or output that the caller owns to its member in the struct of inputs or outputs.
    """

    plan: Plan
    buffers: Mapping[str, Buffer]
    placements: Mapping[str, Placement]
    identifiers: Mapping[str, str]
    macros: Mapping[str, str]
    parents: Mapping[str, tuple[str, int]]
    members: Mapping[str, str]

    @property
    def prefix(self) -> str:
        """C prefix of the model."""
        return self.plan.name

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Writable pools in use that have no base address, in the platform's order.

        The caller provides the memory of these pools; with static pools, the generated code does.
        """
        return tuple(pool for pool in self._writable if pool.base is None)

    @property
    def pinned_pools(self) -> tuple[Pool, ...]:
        """Writable pools in use whose base address the platform or the user gives."""
        return tuple(pool for pool in self._writable if pool.base is not None)

    @property
    def _writable(self) -> tuple[Pool, ...]:
        used = {item.pool for item in self.placements.values()}
        return tuple(pool for pool in self.plan.pools if pool.access is Access.READ_WRITE and pool.name in used)

    @property
    def constant_pools(self) -> tuple[Pool, ...]:
        """Read-only pools in use; they hold constants, which the linker places. None where a file has the constants."""
        if self.plan.external is not None:
            return ()
        return self.read_only_pools

    @property
    def read_only_pools(self) -> tuple[Pool, ...]:
        """Read-only pools in use."""
        used = {item.pool for item in self.placements.values()}
        return tuple(pool for pool in self.plan.pools if pool.access is Access.READ_ONLY and pool.name in used)

    def root(self, name: str) -> str:
        """The buffer in which a view lies; the buffer itself if it is no view."""
        return self.root(self.parents[name][0]) if name in self.parents else name

    def fed_row_bytes(self, name: str) -> int:
        """Bytes of a row of the fed input, if the buffer is that input or a view of it, else 0."""
        root = self.root(name)
        axes = [item.fed_axis for item in self.plan.inputs if item.buffer == root and item.fed_axis is not None]
        return self.buffers[root].strides_bytes[axes[0]] if axes else 0

    def taken_row_bytes(self, name: str) -> int:
        """Bytes of a row of an output that the caller gets row by row, if the buffer is it or a view of it, else 0."""
        root = self.root(name)
        axes = [item.fed_axis for item in self.plan.outputs if item.buffer == root and item.fed_axis is not None]
        return self.buffers[root].strides_bytes[axes[0]] if axes else 0

    def address(self, name: str) -> str:
        """C expression, inside a layer's function, of a uint8_t pointer to the buffer's first byte."""
        if name in self.parents:
            parent, offset = self.parents[name]
            return self.address(parent) if not offset else f"{self.address(parent)} + {offset}"
        buffer = self.buffers[name]
        if name in self.members and self.fed_row_bytes(name) and self.plan.slide is None:
            return "tilewright_bytes(context->rows)"
        if name in self.members:
            side = "inputs" if buffer.kind is BufferKind.INPUT else "outputs"
            return f"tilewright_bytes(context->{side}->{self.members[name]})"
        pool = next(pool for pool in self.plan.pools if pool.name == self.placements[name].pool)
        if self.plan.external is not None and pool.name == self.plan.external.pool:
            return f"tilewright_bytes({self.prefix}_weights + TILEWRIGHT_WEIGHTS_HEADER + {self.macros[name]}_OFFSET)"
        if pool.access is Access.READ_ONLY:
            return f"tilewright_bytes({constants_object(self.prefix, pool.name)}.{self.identifiers[name]})"
        return self.pool_address(name, f"context->pools->{pool.name}")

    def pool_address(self, name: str, passed: str) -> str:
        """C expression of a placed buffer's address; ``passed`` is the base of a pool that the caller provides."""
        if name in self.parents:
            parent, offset = self.parents[name]
            address = self.pool_address(parent, passed)
            return f"{address} + {offset}" if offset else address
        pool = next(pool for pool in self.plan.pools if pool.name == self.placements[name].pool)
        base = f"{self.prefix}_pool_{pool.name}" if self.plan.static_pools else passed
        if pool.base is not None:
            base = f"{self.prefix}_POOL_{pool.name}_POINTER".upper()
        return f"{base} + {self.macros[name]}_OFFSET"

    def uses_context(self, name: str) -> bool:
        """Whether the buffer's address depends on pointers that the caller passes."""
        return "context->" in self.address(name)


def storage_of(plan: Plan) -> Storage:
    """The places and C names of all buffers of a plan."""
    placed = {placement.buffer: placement for placement in plan.placements}
    parents = {
        relation.first: (relation.second, relation.offset_bytes)
        for relation in plan.relations
        if relation.kind is RelationKind.AT_OFFSET
    }
    members = {item.buffer: item.identifier for item in (*plan.inputs, *plan.outputs) if item.buffer not in placed}
    identifiers = unique_identifiers(buffer.name for buffer in plan.buffers)
    # Buffer a_x of pool l1 and buffer x of pool l1_a would have the same macro.
    macros = {name: f"{plan.name}_{item.pool}_{identifiers[name]}".upper() for name, item in placed.items()}
    return Storage(
        plan=plan,
        buffers={buffer.name: buffer for buffer in plan.buffers},
        placements=placed,
        identifiers=identifiers,
        macros=numbered(macros),
        parents=parents,
        members=members,
    )


def elements(content: Array, dtype: str) -> Array:
    """The elements of a constant one behind the other, in memory order.

    Args:
        content: what the constant's hash stands for. Arrays of several types may have the same bytes, for example
            four zeros of int8 and one of float32; they have one hash.
        dtype: NumPy's name of the type that the elements have.
    """
    return np.ascontiguousarray(content).reshape(-1).view(dtype)
