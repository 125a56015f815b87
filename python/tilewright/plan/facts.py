"""What is known about stages and pools before a plan runs: for reports and calibration.

Names speak of layers, as reports do: to a user each operator is a layer, also where several run together.
"""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """A stage's copies over a link in one inference: commands, lines of all commands together, and bytes."""

    link: str
    commands: int
    lines: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LayerWork:
    """The work from which a stage's predicted cycles are computed, for calibration.

    ``calls`` counts calls of the kernel, ``split_calls`` those that several cores share. ``kernel_work`` is the sum of
    the kernel's own cost formula over all calls, before calibration; of a shared call the core that ends last counts.
    ``rows`` counts the rows of adjacent elements, one by one of which elementwise kernels walk over their operands, but
    the first row of each call.
    """

    calls: int
    split_calls: int
    kernel_work: int
    loads: tuple[LinkLoad, ...]
    rows: int = 0


@dataclass(frozen=True, slots=True)
class KernelOffer:
    """Another kernel that could run a stage, and why it does not.

    ``predicted_cycles`` are those of the kernel's best tiles, copies included; None if not even its smallest tiles
    fit. With ``calls_only`` they are those of one call for the whole operator, which no tiles undercut: this call takes
    nearly as long as the best tiles of a kernel tried before, or longer, so no tiles were looked for.
    """

    kernel: str
    predicted_cycles: int | None
    calls_only: bool = False


@dataclass(frozen=True, slots=True)
class LayerReasons:
    """Why a stage has its kernel and its tiles; for reports only.

    ``others`` are the kernels that were not taken. ``idle_lanes`` is the share of SIMD lanes that have no work because
    of the tiles (lanes that the uncut operator leaves idle too are not counted), ``idle_cores`` the share of
    the cores' time without work.
    ``hinted`` says that, of tiles of nearly the same cost, these were taken because they leave fewer idle.
    """

    others: tuple[KernelOffer, ...] = ()
    idle_lanes: float = 0.0
    idle_cores: float = 0.0
    hinted: bool = False


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """What is known about a stage before it runs; for reports only. A plan has them in the order of its stages.

    ``tile`` gives (dimension, step, extent), ``copies`` (operand, slots of its tile buffer), ``link_bytes`` (link,
    bytes moved in one inference), ``compulsory_link_bytes`` (link, the least bytes of any tiles). ``symbol`` is
    the C function of ``kernel`` where that has another name. ``label`` is the short name that people read: number, what
    the stage is, and what sets it apart. ``macs`` are what the stage computes; ``nominal_macs`` what its operator has
    in the model as written, None where these are as many, or where the model has no operator of that name.
    """

    name: str
    operator: str
    kernel: str
    macs: int
    operations: int
    tiles: int
    tile: tuple[tuple[str, int, int], ...]
    copies: tuple[tuple[str, int], ...]
    link_bytes: tuple[tuple[str, int], ...]
    compulsory_link_bytes: tuple[tuple[str, int], ...]
    predicted_cycles: int
    work: LayerWork | None = None
    reasons: LayerReasons | None = None
    symbol: str = ""
    label: str = ""
    nominal_macs: int | None = None


@dataclass(frozen=True, slots=True)
class PoolUse:
    """Bytes used in a pool, the proven lower bound, and whether the two meet."""

    pool: str
    used_bytes: int
    lower_bound_bytes: int
    optimal: bool


@dataclass(frozen=True, slots=True)
class TilingProof:
    """What the tiles of all layers cost in terms of the objective, and a bound that no choice undercuts.

    The bound holds among the tile shapes that the tiler enumerates.
    """

    objective: str
    cost: int
    bound: int


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """What another choice of groups of layers would cost: predicted bytes of homes, rings and scratch, and cycles.

    ``taken`` marks the plan's own choice.
    """

    bytes: int
    cycles: int
    taken: bool = False
