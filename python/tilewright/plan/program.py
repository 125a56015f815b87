"""The plan: everything that was decided about a model, as data.

A ``Plan`` is frozen and serialisable. Generated C, headers, reports, simulation
and lock file are pure functions of it and of the constants that it names by hash.
Sizes, strides and offsets are bytes; lifetimes are half-open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Union

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan.facts import (
    LayerFacts,
    PoolUse,
    TilingProof,
    Tradeoff,
)
from tilewright.plan.iteration import UNKNOWN_STORES, Dimension, Stores
from tilewright.plan.memory import (
    Buffer,
    BufferKind,
    Core,
    ExternalWeights,
    Guards,
    InterfaceTensor,
    Link,
    Placement,
    Pool,
    Relation,
    Slide,
    StateTensor,
    callers_kinds,
)

PLAN_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Index:
    """A dimension that a loop cuts.

    Tile c covers elements [max(c*step - shift, 0), min(c*step - shift + step, extent)), 0 <= shift < step: the first
    tile is shorter by ``shift`` elements. So tiles of a stage can end where those of another stage need them to end.
    """

    name: str
    extent: int
    step: int
    shift: int = 0

    @property
    def count(self) -> int:
        """Number of tiles."""
        return -(-(self.extent + self.shift) // self.step)

    @property
    def tiles(self) -> tuple[tuple[int, int], ...]:
        """The elements [lower, upper) of each tile."""
        starts = range(-self.shift, self.extent, self.step)
        return tuple((max(start, 0), min(start + self.step, self.extent)) for start in starts)


@dataclass(frozen=True, slots=True)
class CoarseIndex:
    """Larger tiles of an index, for pools between home and core: each is ``tiles`` tiles of index ``of`` in a row.

    Larger tile c covers elements [c*tiles*step, min((c + 1)*tiles*step, extent)) of the index's dimension.
    Axis ranges and ``Runs.over`` name it like an index; where index ``of`` is enumerated, the larger tile is the
    one around its tile. ``tiles`` divides the index's number of tiles. ``of`` may be a coarse index that stands
    before this one in ``Loop.coarse``: tiles in a pool still farther from the core.
    """

    name: str
    of: str
    tiles: int


@dataclass(frozen=True, slots=True)
class Runs:
    """At which iterations of the enclosing loop a step runs, and on which of its blocks it works then.

    The step works on its block u at iteration ``first`` + ``every`` * u, for 0 <= u < ``count``; at other
    iterations it does nothing. ``over`` names the indices of the loop that the step enumerates: block u is the
    u-th combination of their tiles in lexicographic order, the last index fastest. A step that depends on the
    outer indices only enumerates these: in a loop over oc (2 tiles) and oh (3 tiles), weights of a tile of oc are
    loaded by Runs(0, 3, 2, ("oc",)), rows one iteration ahead by Runs(-1, 1, 6, ("oc", "oh")). Steps of one loop
    may enumerate different indices at different rates: a stage whose output has half the rows of its input works on
    every second iteration. Outside loops there is iteration 0 alone, at which a step works on its block 0.
    """

    first: int = 0
    every: int = 1
    count: int = 1
    over: tuple[str, ...] = ()

    @property
    def iterations(self) -> range:
        """The iterations at which the step runs, in order."""
        return range(self.first, self.first + self.every * self.count, self.every)


@dataclass(frozen=True, slots=True)
class AxisRange:
    """The elements [begin, end) of one tensor axis that a block touches: min and max of affine expressions.

    With [lower_i, upper_i) the bounds of index i in the block, and s_i its stride in ``terms``:
    begin = floor((sum s_i * lower_i + first_offset) / divisor),
    end = floor((sum s_i * (upper_i - 1) + last_offset) / divisor) + 1
    (for a negative s_i the two bounds change places), both clipped to [0, extent]. So a last tile that is
    smaller, and a window that reaches into padding, need no steps of their own.
    """

    terms: tuple[tuple[str, int], ...]
    first_offset: int
    last_offset: int
    divisor: int
    extent: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A rectangle of a buffer as a step sees it, in coordinates of the whole tensor.

    Where the rectangle lies in the buffer depends on the buffer. A home holds the tensor from its origin. A tile
    buffer holds in slot (u // period) % copies the rectangle of the step's block u, from the slot's first byte on
    (``period`` blocks in a row use the same content), or, where ``within`` is given, the larger rectangle
    ``within`` of which the operand is a part. On the axis of a ring (``Buffer.ring_axis``), element r lies at r
    modulo the buffer's extent, in homes and tile buffers alike, whoever wrote it.
    """

    buffer: str
    rectangle: tuple[AxisRange, ...]
    period: int = 1
    within: tuple[AxisRange, ...] = ()


@dataclass(frozen=True, slots=True)
class CopyStart:
    """Start to copy a rectangle over a link. The copy for block u is copy number u of ``token``; ``Wait`` names it so.

    Where ``kept`` names an index, the destination is a ring that has a part of the rectangle already: of the ring's
    axis only the elements are copied that lie behind the rectangle of the index's tile before, and all of them in
    the index's first tile. Source and destination name the whole rectangle.

    ``words`` names a scratch buffer where the link takes whole words only (``Link.align_bytes``) and some line begins
    or ends within one: the core moves such bytes through the buffer before the program goes on.
    """

    link: str
    token: str
    source: Operand
    destination: Operand
    runs: Runs = Runs()
    kept: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """For block u, wait until copy number ``number`` + u of ``token`` is complete.

    The copy may have been started in another loop, or by a layer before.
    """

    token: str
    runs: Runs = Runs()
    number: int = 0


@dataclass(frozen=True, slots=True)
class SplitAxis:
    """An axis of a kernel's operand (reads, then writes) that follows a split dimension alone."""

    operand: int
    axis: int
    range: AxisRange


@dataclass(frozen=True, slots=True)
class Split:
    """How cores share a kernel call along one dimension, of which the tile covers [lower, upper).

    These are the bounds of the index of that name in the kernel's block, else [0, ``extent``). Core c works on
    [lower + c * chunk, min(lower + (c + 1) * chunk, upper)), with ``axes`` cut down to it, and on
    bytes [c * size, (c + 1) * size) of each of the kernel's scratch buffers, whose sizes for one
    core are ``scratch_bytes``. The core's views of the operands are in bytes [c * views_bytes,
    (c + 1) * views_bytes) of scratch buffer ``views``.
    """

    dimension: str
    extent: int
    chunk: int
    cores: int
    axes: tuple[SplitAxis, ...]
    scratch_bytes: tuple[int, ...]
    views: str
    views_bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """Run a kernel on a block.

    The C symbol gets ``reads``, then ``writes``, then ``scratch``, in this order. ``axes`` gives for each read and
    write the buffer's axis behind each axis of the kernel's view, or -1 for none. ``attributes`` are the fields
    of ``struct <attributes_struct>``, by default ``struct <symbol>_attributes``. ``reduction`` names the indices
    over which partial results are accumulated. With ``split`` several cores run the call, and the program goes on
    when all have ended.

    ``dimensions`` are the operator's iteration space. A block works on the box of its indices of those names; a
    dimension without an index is whole in it. ``maps`` give for each operand (reads, then writes) the part of each
    tensor axis that a box touches, in terms of dimensions instead of indices. ``stores`` says over which of its
    reads the kernel may write. ``scratch_bytes`` are what one core needs of each scratch buffer.
    """

    name: str
    symbol: str
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    scratch: tuple[str, ...]
    axes: tuple[tuple[int, ...], ...]
    attributes: tuple[tuple[str, AttributeValue], ...]
    reduction: tuple[str, ...] = ()
    runs: Runs = Runs()
    split: Split | None = None
    dimensions: tuple[Dimension, ...] = ()
    maps: tuple[tuple[AxisRange, ...], ...] = ()
    stores: Stores = UNKNOWN_STORES
    scratch_bytes: tuple[int, ...] = ()
    attributes_struct: str = ""

    @property
    def struct(self) -> str:
        """The C struct of the attributes, without the word."""
        return self.attributes_struct or f"{self.symbol}_attributes"


@dataclass(frozen=True, slots=True)
class Begin:
    """The buffer is alive from here."""

    buffer: str


@dataclass(frozen=True, slots=True)
class End:
    """The buffer is dead from here."""

    buffer: str


@dataclass(frozen=True, slots=True)
class Loop:
    """Iterations of a body: from the first to the last at which one of its steps runs.

    Each step decides by its ``Runs`` what it does at an iteration; a prologue is the iterations at which only
    copies of later blocks run, an epilogue those at which the last ones are awaited. ``Begin`` and ``End`` have no
    ``Runs`` and stand at every iteration. ``indices`` are those that steps enumerate, ``coarse`` larger tiles of
    them. A loop within a loop has ``runs`` of its own there; the indices of its block are visible inside.
    """

    indices: tuple[Index, ...]
    body: tuple[Step, ...]
    coarse: tuple[CoarseIndex, ...] = ()
    runs: Runs = Runs()

    @property
    def iterations(self) -> range:
        """All iterations, from the first at which a step runs to the last; empty without such a step."""
        found = [step.runs.iterations for step in steps_in(self.body) if not isinstance(step, (Begin, End))]
        begins, ends = [runs[0] for runs in found if runs], [runs[-1] for runs in found if runs]
        return range(min(begins), max(ends) + 1) if begins else range(0)


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator of a layer: its name, the operator, and the name of the ``Kernel`` steps that compute it."""

    name: str
    operator: str
    kernel: str


@dataclass(frozen=True, slots=True)
class Layer:
    """The steps of one or several stages that run together: one C function.

    Facts, records of a profile, hooks and comparisons with references are for each stage; stages are counted
    through the program, in the order of its layers.
    """

    name: str
    stages: tuple[Stage, ...]
    body: tuple[Step, ...]


def steps_in(body: Sequence[Step]) -> Iterator[Plain | Loop]:
    """The steps of a body, those of layers in it in their place; loops are not entered."""
    for step in body:
        if isinstance(step, Layer):
            yield from steps_in(step.body)
        else:
            yield step


def loop_in(body: Sequence[Step]) -> Loop | None:
    """The loop of a layer's body; None for a straight line."""
    return next((step for step in body if isinstance(step, Loop)), None)


def kernel_steps(body: Sequence[Step]) -> tuple[Kernel, ...]:
    """All kernel steps of a program, in order."""
    found: list[Kernel] = []
    for step in body:
        if isinstance(step, Kernel):
            found.append(step)
        elif isinstance(step, (Layer, Loop)):
            found += kernel_steps(step.body)
    return tuple(found)


AttributeValue = Union[int, float, str, tuple[int, ...], tuple[float, ...]]
Plain = Union[CopyStart, Wait, Kernel, Begin, End]
Step = Union[Loop, Layer, Plain]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything decided about one model.

    ``layers`` has the facts of each stage, in the order of the program. ``profile`` names the buffer where the
    program keeps what it measures of each stage, if it measures. ``check_constants`` asks for a function that reads
    the constants again and compares them with the plan's. ``guards`` say where a run keeps and checks canaries, if it
    does; ``external`` says that a file has the constants; ``protected`` that layers may touch the model's memory
    alone. ``core_stack_bytes`` are what each core needs of a stack, where that is more than the platform's cores have,
    else 0. ``front`` has choices of groups of layers from the fastest to the one of the fewest bytes. ``nominal_macs``
    are the multiply-accumulates of the model as written, None where its layers compute as many. ``slide`` says that
    a run is some iterations of the program's loop alone.
    """

    name: str
    model: str
    model_sha256: str
    platform: str
    port: str | None
    tool_version: str
    pools: tuple[Pool, ...]
    links: tuple[Link, ...]
    core: Core
    io_pool: str
    stack_bytes: int
    inputs: tuple[InterfaceTensor, ...]
    outputs: tuple[InterfaceTensor, ...]
    buffers: tuple[Buffer, ...]
    relations: tuple[Relation, ...]
    placements: tuple[Placement, ...]
    program: tuple[Step, ...]
    layers: tuple[LayerFacts, ...]
    pool_use: tuple[PoolUse, ...]
    kernel_sources: tuple[str, ...]
    kernel_headers: tuple[str, ...] = ()
    static_pools: bool = False
    io_in_pools: bool = False
    outputs_in_pools: bool = False
    tiling: TilingProof | None = None
    profile: str | None = None
    core_stack_bytes: int = 0
    states: tuple[StateTensor, ...] = ()
    check_constants: bool = False
    guards: Guards | None = None
    external: ExternalWeights | None = None
    front: tuple[Tradeoff, ...] = ()
    protected: bool = False
    nominal_macs: int | None = None
    slide: Slide | None = None

    @property
    def callers_inputs(self) -> tuple[InterfaceTensor, ...]:
        """The inputs that lie with the caller: all, or none where the plan places them."""
        return self.inputs if BufferKind.INPUT in self._callers_kinds else ()

    @property
    def callers_outputs(self) -> tuple[InterfaceTensor, ...]:
        """The outputs that lie with the caller: all, or none where the plan places them."""
        return self.outputs if BufferKind.OUTPUT in self._callers_kinds else ()

    @property
    def callers_tensors(self) -> tuple[InterfaceTensor, ...]:
        """The inputs and outputs that lie with the caller."""
        return (*self.callers_inputs, *self.callers_outputs)

    @property
    def _callers_kinds(self) -> tuple[BufferKind, ...]:
        return callers_kinds(io_in_pools=self.io_in_pools, outputs_in_pools=self.outputs_in_pools)
