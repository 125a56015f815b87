"""The linker script for tests and examples, from a platform's regions."""

from __future__ import annotations

from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.pools import default_section
from tilewright.codegen.render import render
from tilewright.plan import Access, Pool
from tilewright.platform.types import LinkerLayout, Platform, Region

_CODE_FLAGS = 5

_DEBUG = """abbrev addr aranges cu_index frame funcnames gnu_pubnames gnu_pubtypes info line line_str loc loclists
macinfo macro names pubnames pubtypes ranges rnglists sfnames srcinfo str str_offsets sup tu_index typenames types
varnames weaknames"""
"""What follows ``.debug_`` in the names of DWARF's sections, of all its versions and of GNU's extensions."""

_UNLOADED = (
    *(f".debug_{name}" for name in _DEBUG.split()),
    *(
        ".tilewright.layout",
        ".comment",
        ".gnu.build.attributes",
        ".gnu.attributes",
        ".riscv.attributes",
        ".ARM.attributes",
    ),
)
"""Sections of no memory. All others that the script does not name are orphans, which the linker refuses."""


@dataclass(frozen=True, slots=True)
class _PoolSection:
    """The sections of one pool, and the region and program header into which the linker puts them.

    Attributes:
        name: the pool.
        patterns: names of the input sections.
        align_bytes: alignment of the pool's first byte.
        region: the memory region.
        segment: the program header; NONE for memory that start-up clears, and for deferred constants.
        address: the pool's base address as C writes it; empty if the linker chooses.
        deferred: whether no loader reaches the region, so that start-up code must bring the constants there.
    """

    name: str
    patterns: tuple[str, ...]
    align_bytes: int
    region: str
    segment: str
    address: str = ""
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class _Segment:
    name: str
    flags: int


@dataclass(frozen=True, slots=True)
class _Script:
    platform: str
    regions: tuple[Region, ...]
    segments: tuple[_Segment, ...]
    code: str
    data: str
    constant_pools: tuple[_PoolSection, ...]
    data_pools: tuple[_PoolSection, ...]
    word: str
    stack_bytes: int
    unloaded: tuple[str, ...] = _UNLOADED


def linker_script(platform: Platform) -> str:
    """A complete GNU ld script: code, constants, data, pools, and the rest of memory as stack.

    A pool's sections go into the region with the pool's name, else into that of code (constants) or data. Constants
    of a pool with a base address go to that address; a writable pool with a base address has no sections.

    Raises bad_input ``linker-regions`` if the platform names no regions, if constants have an address outside of all
    regions, if a writable pool has an address in the region of code or data, or if no loader reaches the region of a
    writable pool without an address.
    """
    if platform.linker is None:
        what = f"platform '{platform.name}' has no [linker] regions, so there is no script for it"
        raise bad_input("linker-regions", what, help="add [linker] regions, or link with a script of your own")
    return render("linker.ld.j2", script=_script(platform, platform.linker))


def _script(platform: Platform, layout: LinkerLayout) -> _Script:
    constants = tuple(_pool_section(pool, layout) for pool in platform.pools if pool.access is Access.READ_ONLY)
    writable = [pool for pool in platform.pools if pool.access is Access.READ_WRITE]
    data = tuple(_pool_section(pool, layout) for pool in writable if pool.base is None)
    for pool in writable:
        _check_pinned(pool, layout)
    extra = {section.segment: _CODE_FLAGS for section in constants if not section.deferred}
    is_64_bit = any(option.startswith("-mabi=lp64") for option in platform.target.compile_options)
    return _Script(
        platform=platform.name,
        regions=layout.regions,
        segments=tuple(_Segment(name, flags) for name, flags in extra.items() if name != "code"),
        code=layout.code,
        data=layout.data,
        constant_pools=constants,
        data_pools=data,
        word="QUAD" if is_64_bit else "LONG",
        stack_bytes=platform.target.stack_bytes,
    )


def _pool_section(pool: Pool, layout: LinkerLayout) -> _PoolSection:
    is_constant = pool.access is Access.READ_ONLY
    default = default_section(pool.name, "*" if is_constant else "")
    patterns = [default]
    if pool.section is not None and pool.section != default:
        patterns.append(pool.section)
    home, segment = (layout.code, "code") if is_constant else (layout.data, "NONE")
    named = any(region.name == pool.name for region in layout.regions)
    if named and pool.name != home:
        home = pool.name
        segment = f"pool_{pool.name}" if is_constant else segment
    address = ""
    if pool.base is not None:
        home = _region_at(pool, pool.base, layout).name
        segment = "code" if home == layout.code else f"pool_{pool.name}"
        address = f"0x{pool.base:x}"
    deferred = not next(region.loaded for region in layout.regions if region.name == home)
    if deferred and not is_constant:
        what = f"pool '{pool.name}' lies in region '{home}', which no loader reaches, so start-up cannot clear it"
        raise bad_input("linker-regions", what, help="give the pool a 'base', or another region")
    segment = "NONE" if deferred else segment
    # The script aligns every section to 8 bytes at least.
    return _PoolSection(pool.name, tuple(patterns), max(pool.align_bytes, 8), home, segment, address, deferred)


def _region_at(pool: Pool, base: int, layout: LinkerLayout) -> Region:
    for region in layout.regions:
        if region.base <= base < region.base + region.size_bytes:
            return region
    what = f"the constants of pool '{pool.name}' are at 0x{base:x}, which is in no region"
    raise bad_input("linker-regions", what, help="add a region there to [linker] regions")


def _check_pinned(pool: Pool, layout: LinkerLayout) -> None:
    """Raise bad_input if a writable pool with a base address overlaps the region of code or data."""
    if pool.base is None:
        return
    end = pool.base + (pool.size_bytes or 1)
    for region in layout.regions:
        meets = pool.base < region.base + region.size_bytes and region.base < end
        if meets and region.name in (layout.code, layout.data):
            what = f"pool '{pool.name}' at 0x{pool.base:x} lies in region '{region.name}', which the linker fills"
            raise bad_input("linker-regions", what, help="make the region smaller, or place the pool elsewhere")
