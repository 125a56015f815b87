"""Input and results of the check of a linked program."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.call_graph import Calls
from tilewright.firmware.cluster_cores import CoreStack
from tilewright.plan import Plan

INSTRUCTIONS = "instructions"
"""The name of the budget that counts instructions; all others count bytes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that the program breaks: the symbol, its address if it has one, what the plan expects, what was found."""

    rule: str
    symbol: str
    address: int | None
    expected: str
    found: str

    def __str__(self) -> str:
        place = "" if self.address is None else f" at {self.address:#x}"
        return f"[{self.rule}] {self.symbol}{place}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True, slots=True)
class PlacedPool:
    """A pool of a model in the program: [address, address + size_bytes) belongs to the plan.

    ``symbol`` names the array; it is empty for a pool whose address the plan gives.
    """

    model: str
    pool: str
    symbol: str
    address: int
    size_bytes: int
    section: str


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """One model of the program, as the check found it.

    Attributes:
        plan: its plan.
        pools: where its pools lie.
        constants: how many constants the plan has; without a finding all of them have the plan's bytes.
        calls: what lies below its run.
        code: (address, bytes) of functions below its entries, outside of the port, and of data that they name.
        instructions: the most that a run takes; None if they were not asked for.
        cores: stacks of the cores that run the model, where another core calls it.
    """

    plan: Plan
    pools: tuple[PlacedPool, ...]
    constants: int
    calls: Calls
    code: frozenset[tuple[int, int]]
    instructions: int | None = None
    cores: tuple[CoreStack, ...] = ()


@dataclass(frozen=True, slots=True)
class Regions:
    """Memory of the chip: names, and the addresses [begin, end) of each."""

    spans: tuple[tuple[str, int, int], ...] = ()

    def of(self, name: str) -> tuple[int, int] | None:
        """The addresses of a region; None if there is none of this name."""
        return next(((begin, end) for region, begin, end in self.spans if region == name), None)


@dataclass(frozen=True, slots=True)
class Linked:
    """What the user says of the program beside the plan.

    Attributes:
        regions: memory of the chip; a pool lies in the region of its name.
        symbols: (pool, symbol) of the arrays that the application passes to the model.
        sections: (pool, output section) where the linker script names the section otherwise than the plan.
        budget: the most bytes of ``ram``, ``flash``, ``stack``, ``code`` or ``constants`` (``ChipMemory``), and
            ``instructions`` of a run.
        core_stack_bytes: the stack of each core that shares calls, where the plan asks for no larger one; 0: not known.
        allowed: functions that a model may call beside its own and ``code_rules.LIBRARY``.
    """

    regions: Regions = Regions()
    symbols: tuple[tuple[str, str], ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    allowed: frozenset[str] = frozenset()
    budget: tuple[tuple[str, int], ...] = ()
    core_stack_bytes: int = 0

    @property
    def most_instructions(self) -> int | None:
        """The instructions that a run may take; None where nobody limits them."""
        return dict(self.budget).get(INSTRUCTIONS)

    def symbol_of(self, model: str, pool: str) -> str | None:
        """The array of a model's pool: ``<model>.<pool>`` counts before ``<pool>``."""
        named = dict(self.symbols)
        return named.get(f"{model}.{pool}", named.get(pool))

    def section_of(self, model: str, pool: str) -> str | None:
        """The output section of a model's pool: ``<model>.<pool>`` counts before ``<pool>``."""
        named = dict(self.sections)
        return named.get(f"{model}.{pool}", named.get(pool))
