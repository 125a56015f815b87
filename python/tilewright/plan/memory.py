"""What a plan says of memory: pools, links and cores, buffers and where they lie, the interface.

Sizes, strides and offsets are bytes.
"""

from __future__ import annotations

from enum import Enum

from tilewright.base.lazy_dataclass import dataclass


class Access(Enum):
    """What the program may do to a pool."""

    READ_WRITE = "rw"
    READ_ONLY = "ro"


class BufferKind(Enum):
    """Why a buffer exists."""

    INPUT = "input"
    OUTPUT = "output"
    INTERMEDIATE = "intermediate"
    CONSTANT = "constant"
    SCRATCH = "scratch"
    TILE = "tile"
    STATE = "state"


INTERFACE = (BufferKind.INPUT, BufferKind.OUTPUT)
"""Kinds of buffers of a model's interface: the caller's, unless they lie in pools."""


def callers_kinds(*, io_in_pools: bool = False, outputs_in_pools: bool = False) -> tuple[BufferKind, ...]:
    """Kinds of buffers that the caller owns and the plan does not place."""
    if io_in_pools:
        return ()
    return (BufferKind.INPUT,) if outputs_in_pools else INTERFACE


class RelationKind(Enum):
    """How two buffers that are alive together may share addresses."""

    AT_OFFSET = "at_offset"
    TRAILS = "trails"


@dataclass(frozen=True, slots=True)
class Pool:
    """A named allowance of memory that the plan may use.

    ``size_bytes`` is the allowance, None when unlimited. ``linked`` pools hold constants
    that the linker places; ``section`` or ``base`` say where.
    """

    name: str
    size_bytes: int | None
    align_bytes: int
    granule_bytes: int
    cache_line_bytes: int
    access: Access
    holds: tuple[BufferKind, ...]
    section: str | None = None
    base: int | None = None

    @property
    def usable_bytes(self) -> int | None:
        """The whole granules of the allowance; None when unlimited."""
        return None if self.size_bytes is None else self.size_bytes // self.granule_bytes * self.granule_bytes


@dataclass(frozen=True, slots=True)
class Link:
    """A one-way path for bytes between two pools; both ways are two links.

    The last bytes of each line of a copy take as long as ``beat_bytes``. ``gapped_line_cycles`` are those of the core
    for each line of a copy whose lines have gaps in both pools, ``byte_cycles`` those for each byte of lines of which
    words cannot be copied.
    """

    name: str
    source: str
    target: str
    bytes_per_cycle: float
    setup_cycles: int
    line_cycles: int
    dimensions: int
    max_bytes: int
    outstanding: int
    align_bytes: int
    round_up_bytes: int
    asynchronous: bool
    issuer: str
    beat_bytes: int = 1
    gapped_line_cycles: int = 0
    byte_cycles: int = 0


@dataclass(frozen=True, slots=True)
class Core:
    """What runs kernels: ``access_cycles`` lists the pools that it addresses directly.

    ``called_on`` is who calls the model: the core that runs kernels (``core``), or another one
    (``controller``) that has one of the cores walk the program. ``simd_bytes`` are what one
    instruction of a kernel works on, ``pointer_bytes`` what a pointer in scratch takes at most.
    """

    count: int
    access_cycles: tuple[tuple[str, int], ...]
    called_on: str = "core"
    simd_bytes: int = 1
    pointer_bytes: int = 8


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes with a size, an alignment and pool candidates in order of preference.

    A buffer is an array of ``shape`` elements with ``strides_bytes``; a tile buffer has
    ``copies`` slots of that shape, ``slot_bytes`` apart. ``tensor`` names the graph tensor
    that it holds, whole or tile by tile. ``sha256`` names the content of a constant.
    ``accessed_bytes`` is an estimate of what kernels read and write in it over a run.
    A buffer of one slot, of any kind, may be a ring on ``ring_axis``: element r of the tensor's axis lies at r modulo
    the buffer's extent there. So the buffer holds the last ``shape[ring_axis]`` rows that were written.
    """

    name: str
    kind: BufferKind
    tensor: str | None
    dtype: str
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    size_bytes: int
    align_bytes: int
    pools: tuple[str, ...]
    copies: int = 1
    slot_bytes: int = 0
    sha256: str | None = None
    accessed_bytes: int = 0
    ring_axis: int | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """``AT_OFFSET``: ``first`` begins ``offset_bytes`` behind the start of ``second`` (a view).
    Its first element is that of ``second`` at ``starts``, one coordinate for each axis.

    ``TRAILS``: ``first`` may overlap ``second`` as long as it begins at least
    ``offset_bytes`` below it. Buffers alive together without a relation are disjoint.
    """

    kind: RelationKind
    first: str
    second: str
    offset_bytes: int
    starts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a buffer lives."""

    buffer: str
    pool: str
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class Quantization:
    """Meaning of stored integers: real = scale * (stored - zero_point), per axis or per tensor."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None


@dataclass(frozen=True, slots=True)
class StateTensor:
    """What the model remembers: the run finds it in buffer ``found`` and leaves it in buffer ``left``, which lie at one
    address. ``input`` and ``output`` are the model's names of the two.

    Before the first run every element is ``fill``, or, where ``sha256`` names one, that content.
    """

    input: str
    output: str
    found: str
    left: str
    fill: int = 0
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Slide:
    """A window over the fed input that slides: a run takes ``rows`` iterations of the only loop, and goes on where the
    run before ended. Behind the last iteration follows the one ``period`` before.

    ``window`` are the rows of the input in the model. Buffer ``position`` has the iteration that comes next.
    """

    rows: int
    window: int
    period: int
    position: str


@dataclass(frozen=True, slots=True)
class Guards:
    """Room for canaries in ``pools``: ``below_bytes`` before a buffer and ``behind_bytes`` behind it.

    While the buffer lives, nothing else lies there. Each pool has the same room at its two ends.

    ``record`` names the buffer in which a run notes the canary that it found spoilt.
    """

    below_bytes: int
    behind_bytes: int
    record: str
    pools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExternalWeights:
    """A file with the constants of one pool, and with the numbers in attributes of kernels, in the program's order.

    For comparison: with the constants in the program, ``inside_cycles`` would be predicted for an inference, and
    ``inside_bytes`` of the pool would be used.
    """

    pool: str
    inside_cycles: int
    inside_bytes: int


@dataclass(frozen=True, slots=True)
class InterfaceTensor:
    """A tensor of the model's interface; ``buffer`` belongs to the caller unless it is placed.

    Of an input that may have one value only, ``required`` has the elements, row by row; else it is empty. Where
    ``fed_axis`` is an axis, the caller gives the positions on that axis one by one, each as a row: everything at one
    position, in the order of the other axes. Where a window slides, ``shape`` is that of the rows of one run, which
    the caller gives, or gets from an output, together; the buffer has the rows of all iterations.
    """

    name: str
    identifier: str
    buffer: str
    dtype: str
    shape: tuple[int, ...]
    quantization: Quantization | None = None
    required: tuple[int, ...] = ()
    fed_axis: int | None = None
