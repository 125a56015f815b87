"""What a validated platform file says. Numbers are bytes and cycles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tilewright.plan import Core, Link, Pool


class Counter(Enum):
    """What ``tilewright_cycles`` counts in a simulator."""

    INSTRUCTIONS = "instructions"
    CYCLES = "cycles"
    NANOSECONDS = "nanoseconds"


@dataclass(frozen=True, slots=True)
class Target:
    """How code is compiled for the platform.

    Attributes:
        compile_options: options that select instruction set and ABI.
        kernels: kernel families in order of preference.
        port: folder under runtime/ports, None if the user supplies the port (or no link is used).
        stack_bytes: the least stack that the platform guarantees.
    """

    compile_options: tuple[str, ...]
    kernels: tuple[str, ...]
    port: str | None
    stack_bytes: int


@dataclass(frozen=True, slots=True)
class CoreStacks:
    """Stacks that lie in the memory of a pool, behind the plan's bytes.

    Attributes:
        pool: whose memory it is.
        size_bytes: of each stack; the port makes them larger where kernels need it.
        count: how many there are.
        other_bytes: what the port keeps there besides.
        space_bytes: of the memory: the pool, the stacks and the rest.
    """

    pool: str
    size_bytes: int
    count: int
    other_bytes: int
    space_bytes: int


@dataclass(frozen=True, slots=True)
class Simulator:
    """How to run a program; ``{elf}`` and ``{work_dir}`` in the commands are replaced.

    Attributes:
        command: its exit status is the firmware's.
        counter: what ``tilewright_cycles`` counts.
        prepare: run before it, empty if nothing has to be.
        install_dir: environment variable with the folder of an installation, whose bin/ has the
            programs and whose lib/ the libraries; without it they are where PATH has the first program.
            None if they are on PATH like any other.
        python_modules: what the python3 that runs the programs must have.
    """

    command: tuple[str, ...]
    counter: Counter
    prepare: tuple[str, ...] = ()
    install_dir: str | None = None
    python_modules: tuple[str, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """What must be installed; a command that begins with a placeholder brings its program along."""
        first = dict.fromkeys(words[0] for words in (self.prepare, self.command) if words)
        return tuple(word for word in first if "{" not in word)


@dataclass(frozen=True, slots=True)
class Region:
    """Memory that the shipped linker script may fill: [base, base + size_bytes).

    ``loaded`` is False where no loader can write. Constants there are in sections of the program
    file that are not allocated, with their addresses; the port's start-up brings them there.
    """

    name: str
    base: int
    size_bytes: int
    loaded: bool = True


@dataclass(frozen=True, slots=True)
class LinkerLayout:
    """Regions, and which of them hold code with constants, and data with the stack.

    A pool lies in the region of its name if there is one, else with the code (read-only
    pools) or the data.
    """

    regions: tuple[Region, ...]
    code: str
    data: str


@dataclass(frozen=True, slots=True)
class KernelCost:
    """What one kernel costs here: cycles of a call = call_cycles + factor * what the kernel's own formula says."""

    call_cycles: float = 0.0
    factor: float = 1.0


_UNMEASURED = KernelCost()


@dataclass(frozen=True, slots=True)
class Costs:
    """What kernels and tile loops cost, as ``tilewright calibrate`` measured it.

    Attributes:
        layer_cycles: once for each layer.
        tile_cycles: for each tile of a layer, beside its copies and its kernel call.
        fork_cycles: for each kernel call that several cores share.
        kernels: (symbol without its first word, cost) pairs; ``default`` is for those that are not listed.
    """

    layer_cycles: float = 0.0
    tile_cycles: float = 0.0
    fork_cycles: float = 300.0
    kernels: tuple[tuple[str, KernelCost], ...] = ()

    def kernel(self, symbol: str) -> KernelCost:
        """The cost of a kernel by its C symbol."""
        if not self.kernels:
            return _UNMEASURED
        known = dict(self.kernels)
        return known.get(kernel_key(symbol), known.get("default", _UNMEASURED))


def kernel_key(symbol: str) -> str:
    """How a platform file names a kernel."""
    return symbol.removeprefix("tilewright_")


@dataclass(frozen=True, slots=True)
class Platform:
    """A validated platform file. Links are one-way and named ``<source>-><target>``."""

    name: str
    target: Target
    core: Core
    io_pool: str
    pools: tuple[Pool, ...]
    links: tuple[Link, ...]
    simulator: Simulator | None
    linker: LinkerLayout | None
    costs: Costs = Costs()
    core_stacks: CoreStacks | None = None

    def pool(self, name: str) -> Pool:
        """The pool of that name. Raises KeyError."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)

    def access_cycles(self, pool: str) -> int | None:
        """Cycles of a kernel's access to a pool, None if kernels cannot address it."""
        return dict(self.core.access_cycles).get(pool)

    def link_between(self, source: str, target: str) -> Link | None:
        """The link from one pool to another, if there is one."""
        return next((link for link in self.links if (link.source, link.target) == (source, target)), None)
