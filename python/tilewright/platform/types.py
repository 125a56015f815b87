"""What a platform file says, one dataclass for each of its tables; their fields are its keys.

``PlatformFile`` is the file as it is written, ``Platform`` what the other stages get of it.
"""

from __future__ import annotations

import re
from dataclasses import field
from enum import Enum

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import Form, setting
from tilewright.plan import Access, BufferKind, Core, Link, Pool
from tilewright.platform.costs import Costs, Energy
from tilewright.platform.target import IDENTIFIER, Target

SECTION = Form(re.compile(r"\.?[A-Za-z_][A-Za-z0-9_.$-]*"), "letters, digits, '.', '_', '$' and '-'")
_NAME = Form(re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"), "letters, digits, '.', '_' and '-'")
_VARIABLE = Form(re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), "letters, digits and '_'")
_LARGEST = 2**31
# The strictest alignment that GCC gives to an object is 2**28.
_ALIGNMENT = {"unit": "bytes", "minimum": 1, "maximum": 2**28, "power_of_two": True}
_CYCLES = {"unit": "cycles", "maximum": _LARGEST}


class Counter(Enum):
    """What ``tilewright_cycles`` counts in a simulator."""

    INSTRUCTIONS = "instructions"
    CYCLES = "cycles"
    NANOSECONDS = "nanoseconds"


@dataclass(frozen=True, slots=True)
class CoreStacks:
    """Stacks that lie in the memory of a pool, behind the plan's bytes."""

    pool: str = field(
        metadata=setting("the pool in whose memory the stacks lie, behind the plan's bytes", shown="pool")
    )
    size_bytes: int = field(
        metadata=setting(
            "size of each stack. A kernel may need a larger one: then the plan says how large (`core_stack_bytes`) and "
            "takes less of the pool, and the port makes the stacks larger. A size of the pool that POOLS gives is "
            "refused if it leaves no room for them",
            unit="bytes",
            minimum=64,
            maximum=_LARGEST,
        )
    )
    count: int = field(metadata=setting("how many stacks there are", minimum=1, maximum=1024))
    space_bytes: int = field(metadata=setting("bytes of the whole memory", unit="bytes", minimum=1, maximum=2**40))
    other_bytes: int = field(
        default=0,
        metadata=setting("bytes of that memory that the port keeps", unit="bytes", maximum=_LARGEST),
    )


@dataclass(frozen=True, slots=True)
class CoreTable:
    """The table ``[core]``: what runs kernels."""

    access_cycles: tuple[tuple[str, int], ...] = field(
        metadata=setting(
            "the pools that kernels address, and the cycles of one access; a pool that is not listed cannot be "
            "addressed. At least one of them can be written",
            unit="cycles",
            minimum=1,
            maximum=2**20,
            shown="pool = cycles",
        )
    )
    count: int = field(default=1, metadata=setting("cores that run kernels", minimum=1, maximum=1024))
    called_on: str = field(
        default="core",
        metadata=setting(
            "who calls the model: the core that runs the layers, or a controller, which hands each inference to that "
            "core (`tilewright_dispatch`)",
            choices=("core", "controller"),
        ),
    )
    pointer_bytes: int = field(
        default=8,
        metadata=setting(
            "the largest size of a pointer, of which kernels store some in scratch; generated code does not compile "
            "for a core with larger pointers",
            unit="bytes",
            choices=(4, 8),
        ),
    )
    simd_bytes: int = field(
        default=1,
        metadata=setting(
            "bytes on which one instruction of a kernel works. Of tiles that cost nearly the same, tiles of "
            "whole words are [preferred](../explanation/tiling.md#hints-of-the-hardware), as are tiles with "
            "work for every core",
            unit="bytes",
            minimum=1,
            power_of_two=True,
        ),
    )
    stacks: CoreStacks | None = field(
        default=None, metadata=setting("stacks of the cores in a pool's memory, where there are any")
    )


@dataclass(frozen=True, slots=True)
class IoTable:
    """The table ``[io]``."""

    pool: str = field(metadata=setting("where the caller's inputs and outputs lie; not a read-only pool", shown="pool"))


@dataclass(frozen=True, slots=True)
class PoolTable:
    """One table ``[[pool]]``; pools stand in order of preference."""

    name: str = field(metadata=setting("the pool's name in links, options and C", form=IDENTIFIER))
    size_bytes: int | None = field(
        metadata=setting(
            "the most bytes that a plan may use; the memory may be larger",
            unit="bytes",
            minimum=1,
            maximum=2**48,
            none="unlimited",
        )
    )
    holds: tuple[BufferKind, ...] = field(
        metadata=setting(
            "kinds of buffers that may lie in the pool: in a read-only pool `constant`, in others all but that. "
            "`intermediate` beside `tile`, where kernels address no other pool of it: tensors may "
            "[stay there](../explanation/tiling.md#tensors-that-stay-near-the-core)"
        )
    )
    align_bytes: int = field(default=16, metadata=setting("alignment of the pool's start", **_ALIGNMENT))
    granule_bytes: int = field(
        default=1,
        metadata=setting(
            "the pool's used bytes are rounded up to a multiple of it", unit="bytes", minimum=1, maximum=_LARGEST
        ),
    )
    cache_line_bytes: int = field(
        default=0,
        metadata=setting(
            "length of a cache line; buffers are padded to whole lines, which are cleaned and invalidated "
            "around copies. 0: the pool is not cached",
            unit="bytes",
            maximum=4096,
            power_of_two=True,
        ),
    )
    access: Access = field(
        default=Access.READ_WRITE,
        metadata=setting("whether the program may write to the pool"),
    )
    section: str | None = field(
        default=None,
        metadata=setting(
            "linker section of the pool's arrays",
            form=SECTION,
            default="`.bss.tilewright.<pool>`; `.rodata.tilewright.<prefix>.<pool>` for `ro`",
        ),
    )
    base: int | None = field(
        default=None,
        metadata=setting(
            "instead of `section`: the address where the pool begins, a multiple of `align_bytes`", maximum=2**64 - 1
        ),
    )


@dataclass(frozen=True, slots=True)
class LinkTable:
    """One table ``[[link]]``; both ways are two links of the plan."""

    source: str = field(metadata=setting("the pool that is read", key="from", shown="pool"))
    target: str = field(metadata=setting("the pool that is written; never a read-only one", key="to", shown="pool"))
    bytes_per_cycle: float = field(
        metadata=setting("bytes that the link moves in a cycle", unit="bytes", above_zero=True)
    )
    both_ways: bool = field(default=False, metadata=setting("a second link with the same numbers leads back"))
    setup_cycles: int = field(default=0, metadata=setting("cycles that each command takes besides", **_CYCLES))
    line_cycles: int = field(default=0, metadata=setting("cycles that each line of a copy takes besides", **_CYCLES))
    beat_bytes: int = field(
        default=1,
        metadata=setting(
            "bytes that the link moves at once, as the width of a bus: the last bytes of each line of a copy take as "
            "long as so many",
            unit="bytes",
            minimum=1,
            maximum=4096,
        ),
    )
    gapped_line_cycles: int = field(
        default=0,
        metadata=setting(
            "cycles that the core takes besides for each line of a copy whose lines have gaps in both pools, as the "
            "last, narrower tile of a layer has: where one command bridges the gaps of one pool alone, each line is a "
            "command",
            **_CYCLES,
        ),
    )
    byte_cycles: int = field(
        default=0,
        metadata=setting(
            "cycles that each byte takes besides in lines of which words cannot be copied, since their length is no "
            "multiple of four bytes: for links on which a core copies",
            **_CYCLES,
        ),
    )
    dimensions: int = field(
        default=2,
        metadata=setting(
            "dimensions of one command: with 1, each line of a copy is a command of its own. Copies have two "
            "at most, so 3 is the same as 2",
            minimum=1,
            maximum=3,
        ),
    )
    max_bytes: int = field(
        default=0,
        metadata=setting(
            "the most bytes of one command, a multiple of `align_bytes` and `round_up_bytes`; longer copies become "
            "several commands. 0: no limit",
            unit="bytes",
            maximum=2**32 - 1,
        ),
    )
    outstanding: int = field(
        default=1, metadata=setting("commands that may be under way at once", minimum=1, maximum=1024)
    )
    align_bytes: int = field(
        default=1,
        metadata=setting("what addresses, strides and lines are multiples of", **_ALIGNMENT),
    )
    round_up_bytes: int = field(
        default=1,
        metadata=setting(
            "the length of a moved line is rounded up to a multiple of it. Above 1, the link leads one way, to a pool "
            "that kernels do not address: tiles there get room behind their lines",
            unit="bytes",
            minimum=1,
            power_of_two=True,
        ),
    )
    asynchronous: bool = field(default=False, metadata=setting("copies go on while kernels run"))
    issuer: str = field(default="core", metadata=setting("who starts a command", choices=("core", "controller")))


@dataclass(frozen=True, slots=True)
class Simulator:
    """How to run a program; ``{elf}`` and ``{work_dir}`` in the commands are replaced."""

    command: tuple[str, ...] = field(
        metadata=setting(
            "the words of the command line. `{elf}` is replaced by the path of the program, `{work_dir}` by "
            "that of a temporary folder, in which the command runs and which holds the program alone, as "
            "`program.elf`. The command ends with the exit status of the firmware",
        )
    )
    counter: Counter = field(default=Counter.CYCLES, metadata=setting("what `tilewright_cycles` counts there"))
    prepare: tuple[str, ...] = field(
        default=(),
        metadata=setting("the words of a command line that runs first"),
    )
    install_dir: str | None = field(
        default=None,
        metadata=setting(
            "name of an environment variable that holds a folder: programs are found in its `bin`, libraries "
            "in its `lib`. If it is not set, libraries are found beside the folder of PATH that has the "
            "programs",
            form=_VARIABLE,
        ),
    )
    python_modules: tuple[str, ...] = field(
        default=(),
        metadata=setting("the simulator runs with the first python3 on PATH that has these modules", form=_VARIABLE),
    )

    @property
    def programs(self) -> tuple[str, ...]:
        """What must be installed; a command that begins with a placeholder brings its program along."""
        first = dict.fromkeys(words[0] for words in (self.prepare, self.command) if words)
        return tuple(word for word in first if "{" not in word)


@dataclass(frozen=True, slots=True)
class Region:
    """Memory that the shipped linker script may fill: [base, base + size_bytes)."""

    name: str = field(metadata=setting("the region's name", form=IDENTIFIER, is_name=True))
    base: int = field(metadata=setting("the address of its first byte", maximum=2**64 - 1))
    size_bytes: int = field(metadata=setting("its size", unit="bytes", minimum=1, maximum=2**48))
    loaded: bool = field(
        default=True,
        metadata=setting(
            "whether the loader writes to it. If not, its constants are in sections of the program file that are not "
            "allocated, and the port's start-up code copies them there"
        ),
    )


@dataclass(frozen=True, slots=True)
class LinkerTable:
    """The table ``[linker]``; only for the script that is shipped for tests and examples."""

    regions: tuple[Region, ...] = field(metadata=setting("memories; they do not overlap", shown="region"))
    code: str | None = field(
        default=None,
        metadata=setting(
            "the region of code, constants, and the source of initialised data", shown="region", default="the first"
        ),
    )
    data: str | None = field(
        default=None,
        metadata=setting("the region of data; the stack takes what is left of it", shown="region", default="the first"),
    )


@dataclass(frozen=True, slots=True)
class PlatformFile:
    """A platform file as it is written."""

    name: str = field(metadata=setting("the platform's name", form=_NAME))
    target: Target = field(metadata=setting("how code is compiled"))
    core: CoreTable = field(metadata=setting("what runs kernels"))
    io: IoTable = field(metadata=setting("where the caller's buffers are"))
    pool: tuple[PoolTable, ...] = field(metadata=setting("memories, in order of preference"))
    link: tuple[LinkTable, ...] = field(
        default=(),
        metadata=setting(
            "ways between pools, named `<from>-><to>`; numbered in the order of the file, the way back behind the way "
            "there"
        ),
    )
    simulator: Simulator | None = field(default=None, metadata=setting("how to run a program"))
    cost: Costs = field(
        default_factory=Costs,
        metadata=setting(
            "what the prediction is made of beside the links, as `tilewright calibrate` writes it", default="no cost"
        ),
    )
    energy: Energy | None = field(default=None, metadata=setting("what `tilewright explore` counts as energy"))
    linker: LinkerTable | None = field(
        default=None, metadata=setting("only for the script that is shipped for tests and examples")
    )


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
    costs: Costs = field(default_factory=Costs)
    core_stacks: CoreStacks | None = None
    energy: Energy | None = None

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
