"""What is known about layers and pools before a plan runs: for reports and calibration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """What a layer moves over a link: commands, lines of all of them, and bytes."""

    link: str
    commands: int
    lines: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LayerWork:
    """What a layer's predicted cycles are made of, for calibration.

    ``calls`` of the kernel, ``shared_calls`` of them by several cores, ``kernel_work`` by the
    kernel's own formula, uncalibrated, of the core that is done last.
    """

    calls: int
    shared_calls: int
    kernel_work: int
    loads: tuple[LinkLoad, ...]


@dataclass(frozen=True, slots=True)
class KernelOffer:
    """A kernel that could run a layer, too, and why it does not.

    ``predicted_cycles`` are those of its best tiles; with ``calls_only`` of its calls alone, which take
    nearly as long or longer already; None: not even its smallest tiles fit.
    """

    kernel: str
    predicted_cycles: int | None
    calls_only: bool = False


@dataclass(frozen=True, slots=True)
class LayerReasons:
    """Why a layer has its kernel and its tiles; for reports only.

    ``others`` are the kernels that were not taken. ``idle_lanes`` and ``idle_cores`` are the shares of
    SIMD lanes and cores without work: of lanes beyond what the whole operator leaves idle. ``hinted``
    says that tiles were taken for that, instead of others of nearly the same cost.
    """

    others: tuple[KernelOffer, ...] = ()
    idle_lanes: float = 0.0
    idle_cores: float = 0.0
    hinted: bool = False


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """What is known about a layer before it runs; for reports only.

    ``tile`` gives (dimension, step, extent); ``link_bytes`` and ``compulsory_link_bytes``
    (link, bytes). ``symbol`` is the C function of ``kernel`` where that has another name.
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
