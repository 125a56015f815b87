"""The plan's names looked up once, for all rules."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Buffer, BufferKind, Link, Placement, Plan, Pool, Relation, RelationKind

ELEMENT_BYTES: Mapping[str, int] = {
    "float32": 4,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "bool": 1,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """Lookups by name. ``root`` maps a view to the buffer whose bytes it shares, others to themselves.

    ``shift_bytes`` is a buffer's place in its root. ``callers`` are the buffers that the
    caller owns, views of them included; they have no placement. ``trails`` has the trails relations by the roots of
    their two buffers. ``found`` are the buffers of states before the run, ``left`` those behind it.
    """

    plan: Plan
    buffers: Mapping[str, Buffer]
    pools: Mapping[str, Pool]
    links: Mapping[str, Link]
    placements: Mapping[str, Placement]
    root: Mapping[str, str]
    shift_bytes: Mapping[str, int]
    callers: frozenset[str]
    trails: Mapping[frozenset[str], tuple[Relation, ...]]
    found: frozenset[str]
    left: frozenset[str]

    def pool_of(self, buffer: str) -> str:
        """The pool in which a buffer lives; the caller's buffers live in the I/O pool."""
        return self.plan.io_pool if buffer in self.callers else self.placements[buffer].pool

    def root_kind(self, buffer: str) -> BufferKind:
        """Why the bytes of a buffer exist."""
        return self.buffers[self.root[buffer]].kind

    def is_found(self, buffer: str) -> bool:
        """Whether the buffer holds a state as the run finds it."""
        return self.root[buffer] in self.found

    def is_left(self, buffer: str) -> bool:
        """Whether the buffer holds a state as the run leaves it."""
        return self.root[buffer] in self.left

    def element_bytes(self, buffer: str) -> int:
        """Bytes of one element."""
        return ELEMENT_BYTES[self.buffers[buffer].dtype]

    def span(self, buffer: str) -> tuple[int, int]:
        """The bytes [begin, end) that a placed buffer takes in its pool."""
        begin = self.placements[buffer].offset_bytes
        return begin, begin + self.buffers[buffer].size_bytes


def gather(plan: Plan) -> Facts:
    """Look everything up. Relations must name known buffers and have no cycle."""
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    parents = {
        relation.first: (relation.second, relation.offset_bytes)
        for relation in plan.relations
        if relation.kind is RelationKind.AT_OFFSET
    }
    root: dict[str, str] = {}
    shift: dict[str, int] = {}
    for name in buffers:
        at, total = name, 0
        for _ in buffers:
            if at not in parents:
                break
            at, more = parents[at]
            total += more
        root[name], shift[name] = at, total
    interface = {tensor.buffer for tensor in plan.callers_tensors}
    callers = frozenset(name for name in buffers if root[name] in interface)
    trails: dict[frozenset[str], tuple[Relation, ...]] = {}
    for item in plan.relations:
        if item.kind is RelationKind.TRAILS:
            pair = frozenset((root[item.first], root[item.second]))
            trails[pair] = (*trails.get(pair, ()), item)
    return Facts(
        plan=plan,
        buffers=buffers,
        pools={pool.name: pool for pool in plan.pools},
        links={link.name: link for link in plan.links},
        placements={placement.buffer: placement for placement in plan.placements},
        root=root,
        shift_bytes=shift,
        callers=callers,
        trails=trails,
        found=frozenset(state.found for state in plan.states),
        left=frozenset(state.left for state in plan.states),
    )
