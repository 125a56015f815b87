"""Constant buffers of a schedule, stored once by content, and names that are free."""

from __future__ import annotations

from dataclasses import field, replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, packed_strides_bytes
from tilewright.kernels.kernel import TileSteps
from tilewright.plan import Buffer, BufferKind
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.operand import TileOperand


@dataclass(frozen=True, slots=True)
class Names:
    """Names of buffers that are taken. A model may use any name, so buffers that the schedule adds give way."""

    taken: set[str]

    def take(self, name: str) -> str:
        """``name``, with a number behind it where a buffer has that name already; the result is taken from now on."""
        fresh, number = name, 2
        while fresh in self.taken:
            fresh, number = f"{name}.{number}", number + 1
        self.taken.add(fresh)
        return fresh


@dataclass(frozen=True, slots=True)
class Constants:
    """Constant buffers by content, so that equal arrays are stored once; ``data`` has those of the schedule by hash.

    With ``apart`` equal arrays of different names are stored as often, since other weights might differ there.
    So is one of the names in ``pinned``, which lies in its operand's home even where that is one of several pools.
    Arrays that were packed for a kernel stand apart from the graph's: C sees a packed array without a shape.
    """

    fresh: Names
    arrays: HashedArrays
    apart: bool = False
    pinned: frozenset[str] = frozenset()
    names: dict[tuple[str, str, tuple[int, ...], tuple[int, ...], bool], str] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    data: dict[str, Array] = field(default_factory=dict)

    def intern(self, name: str, operand: TileOperand, steps: TileSteps, pools: tuple[str, ...]) -> str:
        """The name of the constant buffer that holds the operand's array for tiles of these steps.

        A constant that is copied lives in the operand's home, any other in one of ``pools``. Where the link rounds
        lines up, or takes whole words, the bytes that it reads behind the last line belong to the buffer.
        """
        hashed = self.arrays.of(operand, steps)
        stored, digest = hashed.data, hashed.sha256
        strides = packed_strides_bytes(operand.extents, operand.order, operand.element_bytes)
        is_pinned = name in self.pinned
        known_by = f"{name} {digest}" if self.apart or is_pinned else digest
        key = (known_by, stored.dtype.name, operand.extents, strides, operand.tensor is None)
        if key in self.names:
            known = self.buffers[self.names[key]]
            align = max(known.align_bytes, operand.align_bytes)
            size = max(known.size_bytes, _room_bytes(operand))
            self.buffers[known.name] = replace(known, align_bytes=align, size_bytes=size)
        else:
            name = self.fresh.take(name)
            self.names[key] = name
            self.data[digest] = stored
            self.buffers[name] = Buffer(
                name=name,
                kind=BufferKind.CONSTANT,
                tensor=operand.tensor,
                dtype=stored.dtype.name,
                shape=operand.extents,
                strides_bytes=strides,
                size_bytes=_room_bytes(operand),
                align_bytes=operand.align_bytes,
                pools=(operand.home,) if is_pinned or operand.link is not None else pools,
                slot_bytes=operand.size_bytes,
                sha256=digest,
            )
        return self.names[key]


def _room_bytes(operand: TileOperand) -> int:
    """Bytes of an operand's constant buffer, with those that links read behind its last element."""
    excess = max((link.round_up_bytes for link in operand.far_links), default=0) - operand.element_bytes
    size = max(operand.size_bytes, 1) + max(excess, 0)
    links = operand.far_links if operand.link is None else (operand.link, *operand.far_links)
    word = max((link.align_bytes for link in links), default=1)
    return -(-size // word) * word
