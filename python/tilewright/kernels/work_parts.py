"""Parts of a kernel call's predicted cycles, for platforms on which the parts do not cost alike."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WorkParts:
    """Parts of what a kernel's formula says of a call, in cycles, which a platform may weigh each by itself.

    Cores that share an FPU, as an example, compute a position by itself faster than a quarter of a block of four.

    Attributes:
        lone: among ``cycles``, output positions that are computed one by one.
        loops: among ``cycles``, what inner loops take beside their products: to begin a run of taps, to store a result.
        ring: beside ``cycles``, what a ring of rows costs.
    """

    lone: float = 0.0
    loops: float = 0.0
    ring: float = 0.0
