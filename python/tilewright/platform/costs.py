"""The tables ``[cost]`` and ``[energy]`` of a platform file: what kernels, tile loops and bytes cost."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import setting


@dataclass(frozen=True, slots=True)
class KernelCost:
    """What one kernel costs here: cycles of a call = call_cycles + factor * what the kernel's own formula says.

    An element of a result takes ``element_cycles`` more, on a core that lacks an instruction of which formulas count
    one for each element: that for the high word of a product, on a Cortex-M0. A point of the kernel's loop nest takes
    ``point_cycles`` more, where library functions compute floats: about 60 on a Cortex-M3.
    Where parts of the formula have weights (``kernels.kernel.WorkParts``), it says so many times more or less of them.
    The first call of a layer takes ``first_cycles`` more, and so does each call in a group: the code of other stages
    has driven that of the kernel out of a small instruction cache.
    """

    call_cycles: float = field(default=0.0, metadata=setting("once for each call", unit="cycles"))
    factor: float = field(
        default=1.0, metadata=setting("what the kernel's own formula says is multiplied by it", above_zero=True)
    )
    first_cycles: float = field(
        default=0.0,
        metadata=setting(
            "for the first call of a layer, and each call in a group, which load the kernel's code", unit="cycles"
        ),
    )
    element_cycles: float = field(
        default=0.0, metadata=setting("for each element of a result, beside the formula", unit="cycles")
    )
    point_cycles: float = field(
        default=0.0,
        metadata=setting(
            "for each point of the loop nest, beside the formula: a product of a convolution, an element of Add",
            unit="cycles",
        ),
    )
    lone_weight: float = field(
        default=1.0,
        metadata=setting("how many times what the formula says output positions that are computed one by one take"),
    )
    loops_weight: float = field(
        default=1.0,
        metadata=setting(
            "how many times what the formula says the inner loops of float convolutions take beside their products"
        ),
    )

    @property
    def weighs_parts(self) -> bool:
        """Whether parts of the formula have weights of their own."""
        return self.lone_weight != 1.0 or self.loops_weight != 1.0

    def weighed(self, lone: float, loops: float) -> float:
        """What weights add to the formula's cycles, of which ``lone`` and ``loops`` are parts."""
        return (self.lone_weight - 1.0) * lone + (self.loops_weight - 1.0) * loops


_UNMEASURED = KernelCost()


@dataclass(frozen=True, slots=True)
class Energy:
    """What `tilewright explore` counts as energy of an inference, in picojoules."""

    cycle_picojoules: float = field(default=0.0, metadata=setting("for each predicted cycle", unit="picojoules"))
    byte_picojoules: tuple[tuple[str, float], ...] = field(
        default=(),
        metadata=setting("for each byte that a link moves", unit="picojoules", shown='"<from>-><to>" = picojoules'),
    )


@dataclass(frozen=True)
class Costs:
    """What kernels and tile loops cost, as ``tilewright calibrate`` measured it."""

    layer_cycles: float = field(default=0.0, metadata=setting("once for each layer", unit="cycles"))
    tile_cycles: float = field(
        default=0.0,
        metadata=setting("for each tile of a layer, beside its copies and its kernel call", unit="cycles"),
    )
    fork_cycles: float = field(
        default=300.0, metadata=setting("for each kernel call that several cores share", unit="cycles")
    )
    row_cycles: float = field(
        default=0.0,
        metadata=setting(
            "for each row of adjacent elements but the first, of a call of an elementwise kernel", unit="cycles"
        ),
    )
    kernels: tuple[tuple[str, KernelCost], ...] = field(
        default=(),
        metadata=setting(
            "kernel: its symbol without `tilewright_`, or `default` for those that are not listed", shown="kernel"
        ),
    )

    def kernel(self, symbol: str) -> KernelCost:
        """The cost of a kernel by its C symbol."""
        known = self._by_key
        return known.get(kernel_key(symbol), known.get("default", _UNMEASURED))

    @cached_property
    def _by_key(self) -> dict[str, KernelCost]:
        return dict(self.kernels)


def kernel_key(symbol: str) -> str:
    """How a platform file names a kernel."""
    return symbol.removeprefix("tilewright_")
