"""From a platform file to a validated ``Platform``: its tables are read, held against each other, and put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

from tilewright.base.errors import suggestion
from tilewright.base.reserved_names import is_reserved
from tilewright.base.settings import read
from tilewright.base.toml_file import Codes, Table, table_of, toml_text
from tilewright.plan import Access, BufferKind, Core, Link, Pool
from tilewright.platform.types import (
    CoreTable,
    LinkerLayout,
    LinkerTable,
    LinkTable,
    Platform,
    PlatformFile,
    PoolTable,
    Region,
    Simulator,
)

PLATFORM_CODES = Codes("platform-file", "platform-syntax", "platform-key", "platform-value", "platform-missing")

"""Codes of errors in platform files."""

_ENDS = ("name", "source", "target")
"""Fields in which the two links of a table with ``both_ways`` differ."""


def parse_platform(path: Path) -> Platform:
    """Read and validate one file. Raises bad_input with file, line and key."""
    return _parsed(toml_text(path, PLATFORM_CODES), path)


@lru_cache(maxsize=16)
def _parsed(text: str, path: Path) -> Platform:
    """The platform of a file's text; a process that plans many models reads few platforms."""
    root = table_of(text, path, PLATFORM_CODES)
    written = read(root, PlatformFile)
    _check_pools(root, written.pool)
    pools = {pool.name: pool for pool in written.pool}
    _check_core(root.table("core"), written.core, pools)
    _check_io(root.table("io"), written.io.pool, pools)
    _check_links(root, written.link, pools)
    _check_reachable(root, written)
    if written.simulator is not None:
        _check_simulator(root.table("simulator"), written.simulator)
    if written.energy is not None:
        _check_energy(root.table("energy"), written)
    return Platform(
        name=written.name,
        target=written.target,
        core=_core(written.core),
        io_pool=written.io.pool,
        pools=tuple(_pool(pool) for pool in written.pool),
        links=tuple(link for table in written.link for link in _one_way_links(table)),
        simulator=written.simulator,
        linker=_linker(root.table("linker"), written.linker) if written.linker is not None else None,
        costs=written.cost,
        core_stacks=written.core.stacks,
        energy=written.energy,
    )


def _core(core: CoreTable) -> Core:
    return Core(**{item.name: getattr(core, item.name) for item in fields(Core)})


def _pool(pool: PoolTable) -> Pool:
    return Pool(**{item.name: getattr(pool, item.name) for item in fields(Pool)})


def _one_way_links(link: LinkTable) -> Iterable[Link]:
    ends = [(link.source, link.target), (link.target, link.source)]
    numbers = {item.name: getattr(link, item.name) for item in fields(Link) if item.name not in _ENDS}
    for source, target in ends if link.both_ways else ends[:1]:
        yield Link(name=f"{source}->{target}", source=source, target=target, **numbers)


def _check_pools(root: Table, pools: tuple[PoolTable, ...]) -> None:
    names: set[str] = set()
    for table, pool in zip(root.tables("pool"), pools, strict=True):
        if pool.name in names:
            raise table.wrong(f"pool '{pool.name}' is defined twice", "name")
        if is_reserved(pool.name):
            what = f"a pool cannot be called '{pool.name}' in C: C, C++ or their headers have that name"
            raise table.wrong(what, "name", help=f"for example '{pool.name}_pool'")
        names.add(pool.name)
        _check_holds(table, pool)
        if pool.base is None:
            continue
        if pool.section is not None:
            raise table.wrong("a pool has 'section' or 'base', not both", "base")
        if pool.base % pool.align_bytes:
            what = f"'base' 0x{pool.base:x} is not a multiple of align_bytes = {pool.align_bytes}"
            raise table.wrong(what, "base")


def _check_holds(table: Table, pool: PoolTable) -> None:
    for index, kind in enumerate(pool.holds):
        if pool.access is Access.READ_ONLY and kind is not BufferKind.CONSTANT:
            raise table.wrong(f"a read-only pool cannot hold '{kind.value}'", "holds", index)
        if pool.access is not Access.READ_ONLY and kind is BufferKind.CONSTANT:
            what = "nothing fills a pool that can be written, so it cannot hold 'constant'"
            raise table.wrong(what, "holds", index, help='another [[pool]] with access = "ro"')


def _check_energy(table: Table, written: PlatformFile) -> None:
    links = [link.name for table in written.link for link in _one_way_links(table)]
    for name, _ in written.energy.byte_picojoules if written.energy else ():
        if name not in links:
            raise table.table("byte_picojoules").wrong(f"there is no link '{name}'", name, help=suggestion(name, links))


def _check_core(table: Table, core: CoreTable, pools: dict[str, PoolTable]) -> None:
    access = table.table("access_cycles")
    for name, _ in core.access_cycles:
        _check_known(access, name, name, pools)
    if not core.access_cycles:
        raise table.wrong("the core must address at least one pool", "access_cycles")
    if all(pools[name].access is Access.READ_ONLY for name, _ in core.access_cycles):
        raise table.wrong("the core addresses no pool that it can write", "access_cycles")
    if core.stacks is not None:
        _check_known(table.table("stacks"), "pool", core.stacks.pool, pools)


def _check_io(table: Table, name: str, pools: dict[str, PoolTable]) -> None:
    _check_known(table, "pool", name, pools)
    if pools[name].access is Access.READ_ONLY:
        raise table.wrong(f"pool '{name}' is read-only; outputs cannot be there", "pool")


def _check_known(table: Table, key: str, name: str, pools: dict[str, PoolTable]) -> None:
    if name not in pools:
        raise table.wrong(f"there is no pool '{name}'", key, help=suggestion(name, pools))


def _check_links(root: Table, links: tuple[LinkTable, ...], pools: dict[str, PoolTable]) -> None:
    seen: set[str] = set()
    for table, link in zip(root.tables("link"), links, strict=True):
        _check_ends(table, link, pools)
        unit = max(link.align_bytes, link.round_up_bytes)
        if link.max_bytes % unit:
            # A copy that is cut after 'max_bytes' goes on at that offset, which must suit the link.
            what = f"'max_bytes' must be a multiple of {unit}, as addresses and lengths"
            raise table.wrong(what, "max_bytes")
        for one_way in _one_way_links(link):
            if one_way.name in seen:
                raise table.wrong(f"there are two links from '{one_way.source}' to '{one_way.target}'")
            seen.add(one_way.name)


def _check_ends(table: Table, link: LinkTable, pools: dict[str, PoolTable]) -> None:
    _check_known(table, "from", link.source, pools)
    _check_known(table, "to", link.target, pools)
    if link.source == link.target:
        raise table.wrong("a link joins two different pools", "to")
    for one_way in _one_way_links(link):
        if pools[one_way.target].access is Access.READ_ONLY:
            key = "to" if one_way.target == link.target else "both_ways"
            raise table.wrong(f"nothing can be copied to '{one_way.target}', which is read-only", key)


def _check_reachable(root: Table, written: PlatformFile) -> None:
    """Refuse a pool that neither kernels nor a link can reach, and a link that rounds up where nothing has room for it.

    Room behind their lines have only tiles in pools between a home and the kernels' pool.
    """
    near = {name for name, _ in written.core.access_cycles}
    for table, link in zip(root.tables("link"), written.link, strict=True):
        if link.round_up_bytes > 1 and (link.both_ways or link.target in near):
            name = f"{link.source}->{link.target}" if link.target in near else f"{link.target}->{link.source}"
            what = f"link '{name}' may not round up: only one to a pool that kernels do not address, and one way"
            raise table.wrong(what, "round_up_bytes")
        if link.round_up_bytes > 1 and written.io.pool == link.source:
            what = f"a link from '{written.io.pool}' may not round up: it would read beyond the caller's arrays there"
            raise table.wrong(what, "round_up_bytes")
    reached = near | {end for link in written.link for end in (link.source, link.target)}
    for table, pool in zip(root.tables("pool"), written.pool, strict=True):
        if pool.name not in reached:
            what = f"pool '{pool.name}' is out of reach: no link ends there and core.access_cycles does not list it"
            raise table.wrong(what)


def _check_simulator(table: Table, simulator: Simulator) -> None:
    if not any("{elf}" in word for word in (*simulator.prepare, *simulator.command)):
        raise table.wrong("'command' does not mention {elf}, the program to run", "command")


def _linker(table: Table, linker: LinkerTable) -> LinkerLayout:
    _check_regions(table, linker.regions)
    names = [region.name for region in linker.regions if region.loaded]
    if not names:
        raise table.wrong("a loader must reach at least one region", "regions")
    for key, name in (("code", linker.code), ("data", linker.data)):
        if name is not None:
            table.choice(key, names)
    return LinkerLayout(linker.regions, linker.code or names[0], linker.data or names[0])


def _check_regions(table: Table, regions: tuple[Region, ...]) -> None:
    if not regions:
        raise table.wrong("at least one region is needed", "regions")
    for number, region in enumerate(regions):
        end = region.base + region.size_bytes
        if end > 2**64:
            raise table.wrong("the region ends beyond the address space", "regions", region.name, "size_bytes")
        for other in regions[:number]:
            if region.base < other.base + other.size_bytes and other.base < end:
                raise table.wrong(f"regions '{other.name}' and '{region.name}' overlap", "regions", region.name)
