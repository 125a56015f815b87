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
class Simulator:
    """How to run a program; ``{elf}`` and ``{work_dir}`` in the commands are replaced.

    Attributes:
        command: its exit status is the firmware's.
        counter: what ``tilewright_cycles`` counts.
        prepare: run before it, empty if nothing has to be.
        install_dir: environment variable with the folder of an installation, whose bin/ has the
            programs and whose lib/ the libraries; None if they are on PATH.
    """

    command: tuple[str, ...]
    counter: Counter
    prepare: tuple[str, ...] = ()
    install_dir: str | None = None

    @property
    def programs(self) -> tuple[str, ...]:
        """What must be installed; a command that begins with a placeholder brings its program along."""
        first = dict.fromkeys(words[0] for words in (self.prepare, self.command) if words)
        return tuple(word for word in first if "{" not in word)


@dataclass(frozen=True, slots=True)
class Region:
    """Memory that the shipped linker script may fill: [base, base + size_bytes)."""

    name: str
    base: int
    size_bytes: int


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
