"""From the tables of a platform file to a validated ``Platform``."""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.base.toml_file import Table, read_toml, suggestion
from tilewright.plan import Access, BufferKind, Core, Link, Pool
from tilewright.platform.types import (
    CoreStacks,
    Costs,
    Counter,
    KernelCost,
    LinkerLayout,
    Platform,
    Region,
    Simulator,
    Target,
)

_KIND = "platform"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_IDENTIFIER = re.compile(r"[a-z](_?[a-z0-9])*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SECTION = re.compile(r"\.?[A-Za-z_][A-Za-z0-9_.$-]*")
_ADDRESS_LIMIT = 2**64
_LARGEST_CACHE_LINE = 4096


def parse_platform(path: Path) -> Platform:
    """Read and validate one file. Raises bad_input with file, line and key."""
    root = read_toml(path, _KIND)
    root.only("name", "target", "core", "io", "pool", "link", "simulator", "linker", "cost")
    name = _matching(root, "name", _NAME, "letters, digits, '.', '_' and '-'")
    target = _target(root.table("target"))
    pools = _pools(root)
    core = _core(root.table("core"), pools)
    links = _links(root, pools)
    _check_rounding(root, core, links)
    _check_reachable(root, pools, core, links)
    return Platform(
        name=name,
        target=target,
        core=core,
        io_pool=_io_pool(root.table("io"), pools),
        pools=pools,
        links=links,
        simulator=_simulator(root.table("simulator")) if root.has("simulator") else None,
        linker=_linker(root.table("linker")) if root.has("linker") else None,
        costs=_costs(root.table("cost")) if root.has("cost") else Costs(),
        core_stacks=_core_stacks(root.table("core"), pools),
    )


def _target(table: Table) -> Target:
    table.only("compile_options", "kernels", "port", "stack_bytes")
    for family in table.strings("kernels"):
        if not _IDENTIFIER.fullmatch(family):
            raise table.error("value", f"'{family}' is not the name of a kernel family", "kernels")
    port = None
    if table.has("port"):
        port = _matching(table, "port", _IDENTIFIER, "lower-case letters, digits and single underscores")
    return Target(
        compile_options=table.strings("compile_options", (), empty=True),
        kernels=table.strings("kernels"),
        port=None if port == "none" else port,
        stack_bytes=table.integer("stack_bytes", 4096, minimum=256, maximum=2**31),
    )


def _core(table: Table, pools: tuple[Pool, ...]) -> Core:
    table.only("count", "access_cycles", "called_on", "simd_bytes", "pointer_bytes", "stacks")
    access = table.table("access_cycles")
    for name in access.values:
        _known_pool(access, name, name, pools)
    if not access.values:
        raise table.error("value", "the core must address at least one pool", "access_cycles")
    if not any(pool.name in access.values and pool.access is Access.READ_WRITE for pool in pools):
        raise table.error("value", "the core addresses no pool that it can write", "access_cycles")
    cycles = tuple((name, access.integer(name, minimum=1, maximum=2**20)) for name in access.values)
    count = table.integer("count", 1, minimum=1, maximum=1024)
    called_on = table.choice("called_on", ("core", "controller"), "core")
    simd_bytes = table.power_of_two("simd_bytes", 1)
    pointer_bytes = table.integer("pointer_bytes", 8, minimum=4, maximum=8)
    if pointer_bytes not in (4, 8):
        raise table.error("value", "pointers have 4 or 8 bytes", "pointer_bytes")
    return Core(count, cycles, called_on, simd_bytes, pointer_bytes)


def _core_stacks(core: Table, pools: tuple[Pool, ...]) -> CoreStacks | None:
    if not core.has("stacks"):
        return None
    table = core.table("stacks")
    table.only("pool", "size_bytes", "count", "other_bytes", "space_bytes")
    return CoreStacks(
        pool=_known_pool(table, "pool", table.string("pool"), pools).name,
        size_bytes=table.integer("size_bytes", minimum=64, maximum=2**31),
        count=table.integer("count", minimum=1, maximum=1024),
        other_bytes=table.integer("other_bytes", 0, maximum=2**31),
        space_bytes=table.integer("space_bytes", minimum=1, maximum=2**40),
    )


def _io_pool(table: Table, pools: tuple[Pool, ...]) -> str:
    table.only("pool")
    pool = _known_pool(table, "pool", table.string("pool"), pools)
    if pool.access is Access.READ_ONLY:
        raise table.error("value", f"pool '{pool.name}' is read-only; outputs cannot be there", "pool")
    return pool.name


def _pools(root: Table) -> tuple[Pool, ...]:
    pools: list[Pool] = []
    for table in root.tables("pool"):
        pool = _pool(table)
        if any(pool.name == other.name for other in pools):
            raise table.error("value", f"pool '{pool.name}' is defined twice", "name")
        pools.append(pool)
    if not pools:
        raise root.error("missing", "there is no [[pool]]")
    return tuple(pools)


def _pool(table: Table) -> Pool:
    table.only(
        "name", "size_bytes", "align_bytes", "granule_bytes", "cache_line_bytes", "access", "section", "base", "holds"
    )
    access = Access(table.choice("access", [member.value for member in Access], "rw"))
    align_bytes = table.power_of_two("align_bytes", 16)
    return Pool(
        name=_matching(table, "name", _IDENTIFIER, "lower-case letters, digits and single underscores"),
        size_bytes=_pool_size(table),
        align_bytes=align_bytes,
        granule_bytes=table.integer("granule_bytes", 1, minimum=1, maximum=2**31),
        cache_line_bytes=_cache_line(table),
        access=access,
        holds=_holds(table, access),
        section=_section(table),
        base=_base(table, align_bytes),
    )


def _pool_size(table: Table) -> int | None:
    if table.values.get("size_bytes") == "unlimited":
        return None
    return table.integer("size_bytes", minimum=1, maximum=2**48)


def _cache_line(table: Table) -> int:
    line_bytes = table.power_of_two("cache_line_bytes", 0, zero=True)
    if line_bytes > _LARGEST_CACHE_LINE:
        raise table.error("value", f"'cache_line_bytes' must be at most {_LARGEST_CACHE_LINE}", "cache_line_bytes")
    return line_bytes


def _holds(table: Table, access: Access) -> tuple[BufferKind, ...]:
    kinds = [member.value for member in BufferKind]
    names = table.strings("holds")
    for index, name in enumerate(names):
        if name not in kinds:
            remedy = suggestion(name, kinds)
            raise table.error("value", f"'{name}' is not a kind of buffer", "holds", index, help=remedy)
        if name in names[:index]:
            raise table.error("value", f"'{name}' is listed twice", "holds", index)
        if access is Access.READ_ONLY and name != BufferKind.CONSTANT.value:
            raise table.error("value", f"a read-only pool cannot hold '{name}'", "holds", index)
        if access is not Access.READ_ONLY and name == BufferKind.CONSTANT.value:
            what = "nothing fills a pool that can be written, so it cannot hold 'constant'"
            raise table.error("value", what, "holds", index, help='another [[pool]] with access = "ro"')
    return tuple(BufferKind(name) for name in names)


def _section(table: Table) -> str | None:
    if not table.has("section"):
        return None
    return _matching(table, "section", SECTION, "the name of a linker section")


def _base(table: Table, align_bytes: int) -> int | None:
    if not table.has("base"):
        return None
    if table.has("section"):
        raise table.error("value", "a pool has 'section' or 'base', not both", "base")
    base = table.integer("base", maximum=_ADDRESS_LIMIT - 1)
    if base % align_bytes:
        raise table.error("value", f"'base' 0x{base:x} is not a multiple of align_bytes = {align_bytes}", "base")
    return base


def _links(root: Table, pools: tuple[Pool, ...]) -> tuple[Link, ...]:
    links: list[Link] = []
    for table in root.tables("link"):
        for link in _link(table, pools):
            if any(link.name == other.name for other in links):
                raise table.error("value", f"there are two links from '{link.source}' to '{link.target}'")
            links.append(link)
    return tuple(links)


def _link(table: Table, pools: tuple[Pool, ...]) -> tuple[Link, ...]:
    """One link, or two if it works both ways."""
    table.only(
        "from", "to", "both_ways", "bytes_per_cycle", "setup_cycles", "line_cycles", "dimensions", "max_bytes",
        "outstanding", "align_bytes", "round_up_bytes", "asynchronous", "issuer",
    )  # fmt: skip
    source = _known_pool(table, "from", table.string("from"), pools)
    target = _known_pool(table, "to", table.string("to"), pools)
    if source == target:
        raise table.error("value", "a link joins two different pools", "to")
    ends = [(source, target)]
    if table.boolean("both_ways", False):
        ends.append((target, source))
    for _, end in ends:
        if end.access is Access.READ_ONLY:
            key = "to" if end == target else "both_ways"
            raise table.error("value", f"nothing can be copied to '{end.name}', which is read-only", key)
    return tuple(_one_way(table, start.name, end.name) for start, end in ends)


def _one_way(table: Table, source: str, target: str) -> Link:
    cycles = 2**31
    align_bytes, round_up_bytes = table.power_of_two("align_bytes", 1), table.power_of_two("round_up_bytes", 1)
    return Link(
        name=f"{source}->{target}",
        source=source,
        target=target,
        bytes_per_cycle=table.positive("bytes_per_cycle"),
        setup_cycles=table.integer("setup_cycles", 0, maximum=cycles),
        line_cycles=table.integer("line_cycles", 0, maximum=cycles),
        dimensions=table.integer("dimensions", 2, minimum=1, maximum=3),
        max_bytes=_max_bytes(table, max(align_bytes, round_up_bytes)),
        outstanding=table.integer("outstanding", 1, minimum=1, maximum=1024),
        align_bytes=align_bytes,
        round_up_bytes=round_up_bytes,
        asynchronous=table.boolean("asynchronous", False),
        issuer=table.choice("issuer", ("core", "controller"), "core"),
    )


def _max_bytes(table: Table, unit: int) -> int:
    """Of one command. What is cut there must go on at an address that the link takes."""
    most = table.integer("max_bytes", 0, maximum=2**32 - 1)
    if most % unit:
        raise table.error("value", f"'max_bytes' must be a multiple of {unit}, as addresses and lengths", "max_bytes")
    return most


def _check_rounding(root: Table, core: Core, links: tuple[Link, ...]) -> None:
    """Only tiles between a home and the kernels' pool have room behind their lines."""
    near = {name for name, _ in core.access_cycles}
    tables = {(table.string("from"), table.string("to")): table for table in root.tables("link")}
    for link in links:
        if link.round_up_bytes > 1 and ((link.source, link.target) not in tables or link.target in near):
            table = tables.get((link.source, link.target)) or tables[link.target, link.source]
            what = f"link '{link.name}' may not round up: only one to a pool that kernels do not address, and one way"
            raise table.error("value", what, "round_up_bytes")


def _check_reachable(root: Table, pools: tuple[Pool, ...], core: Core, links: tuple[Link, ...]) -> None:
    """A pool that neither kernels nor a link can reach is a mistake in the file."""
    reached = {name for name, _ in core.access_cycles}
    reached.update(end for link in links for end in (link.source, link.target))
    for table, pool in zip(root.tables("pool"), pools, strict=True):
        if pool.name not in reached:
            what = f"pool '{pool.name}' is out of reach: no link ends there and core.access_cycles does not list it"
            raise table.error("value", what)


def _costs(table: Table) -> Costs:
    table.only("layer_cycles", "tile_cycles", "fork_cycles", "kernels")
    plain = Costs()
    kernels = table.table("kernels", {})
    return Costs(
        layer_cycles=table.number("layer_cycles", plain.layer_cycles),
        tile_cycles=table.number("tile_cycles", plain.tile_cycles),
        fork_cycles=table.number("fork_cycles", plain.fork_cycles),
        kernels=tuple((name, _kernel_cost(kernels.table(name))) for name in kernels.values),
    )


def _kernel_cost(table: Table) -> KernelCost:
    table.only("call_cycles", "factor")
    return KernelCost(table.number("call_cycles", 0.0), table.positive("factor", 1.0))


def _simulator(table: Table) -> Simulator:
    table.only("command", "counter", "prepare", "install_dir", "python_modules")
    command, prepare = table.strings("command"), table.strings("prepare", (), empty=True)
    if not any("{elf}" in word for word in (*prepare, *command)):
        raise table.error("value", "'command' does not mention {elf}, the program to run", "command")
    install_dir = (
        _matching(table, "install_dir", _VARIABLE, "letters, digits and '_'") if table.has("install_dir") else None
    )
    counter = Counter(table.choice("counter", [member.value for member in Counter], "cycles"))
    modules = table.strings("python_modules", (), empty=True)
    for module in modules:
        if not _VARIABLE.fullmatch(module):
            raise table.error("value", f"'{module}' is not the name of a Python module", "python_modules")
    return Simulator(command, counter, prepare, install_dir, modules)


def _linker(table: Table) -> LinkerLayout:
    table.only("regions", "code", "data")
    regions: list[Region] = []
    regions_table = table.table("regions")
    for name in regions_table.values:
        region = _region(regions_table.table(name), name)
        for other in regions:
            if region.base < other.base + other.size_bytes and other.base < region.base + region.size_bytes:
                raise regions_table.error("value", f"regions '{other.name}' and '{name}' overlap", name)
        regions.append(region)
    if not regions:
        raise table.error("value", "at least one region is needed", "regions")
    names = [region.name for region in regions if region.loaded]
    if not names:
        raise regions_table.error("value", "a loader must reach at least one region")
    return LinkerLayout(tuple(regions), table.choice("code", names, names[0]), table.choice("data", names, names[0]))


def _region(table: Table, name: str) -> Region:
    table.only("base", "size_bytes", "loaded")
    if not _IDENTIFIER.fullmatch(name):
        raise table.error("value", f"'{name}' cannot be the name of a region: lower-case letters, digits, underscores")
    base = table.integer("base", maximum=_ADDRESS_LIMIT - 1)
    size_bytes = table.integer("size_bytes", minimum=1, maximum=2**48)
    if base + size_bytes > _ADDRESS_LIMIT:
        raise table.error("value", "the region ends beyond the address space", "size_bytes")
    return Region(name, base, size_bytes, table.boolean("loaded", True))


def _known_pool(table: Table, key: str, name: str, pools: tuple[Pool, ...]) -> Pool:
    for pool in pools:
        if pool.name == name:
            return pool
    raise table.error("value", f"there is no pool '{name}'", key, help=suggestion(name, (pool.name for pool in pools)))


def _matching(table: Table, key: str, pattern: re.Pattern[str], described: str) -> str:
    value = table.string(key)
    if not pattern.fullmatch(value):
        raise table.error("value", f"'{key}' is '{value}', but may have only {described}", key)
    return value
