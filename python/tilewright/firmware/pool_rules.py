"""Rules of pools: each has the address and the size that the plan says, and no other object lies in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilewright.firmware.findings import Finding, Linked, PlacedPool
from tilewright.firmware.image import Image, Symbol, SymbolKind
from tilewright.plan import Access, Plan, Pool

_COPIES = re.compile(r"(\.lto_priv)?\.\d+|\.lto_priv")
"""Suffixes that compilers append to the name of a local object."""


def used_pools(plan: Plan) -> tuple[tuple[Pool, int], ...]:
    """(Pool, bytes used) of the plan's pools that are in the program; a pool whose constants come in a file is not."""
    used = {use.pool: use.used_bytes for use in plan.pool_use}
    file = plan.external.pool if plan.external is not None else ""
    return tuple((pool, used[pool.name]) for pool in plan.pools if used.get(pool.name) and pool.name != file)


def placed_pools(image: Image, plan: Plan, linked: Linked) -> tuple[list[PlacedPool], list[Finding]]:
    """The address of each pool in use, and findings about single pools; ``overlaps`` compares pools with each other."""
    places: list[PlacedPool] = []
    findings: list[Finding] = []
    for pool, used_bytes in used_pools(plan):
        place = _place(image, plan, pool, used_bytes, linked)
        if isinstance(place, Finding):
            findings.append(place)
            continue
        places.append(place)
        findings += _wrong_place(place, plan, pool, used_bytes, linked, image)
    return places, findings


def _place(image: Image, plan: Plan, pool: Pool, used_bytes: int, linked: Linked) -> PlacedPool | Finding:
    is_constant = pool.access is Access.READ_ONLY
    if pool.base is not None and not is_constant:
        return PlacedPool(plan.name, pool.name, "", pool.base, used_bytes, "")
    name = f"{plan.name}_{pool.name}" if is_constant else f"{plan.name}_pool_{pool.name}"
    given = None if is_constant else linked.symbol_of(plan.name, pool.name)
    found = [item for item in _objects(image, given or name) if item.size_bytes]
    if len(found) == 1:
        symbol = found[0]
        return PlacedPool(plan.name, pool.name, symbol.name, symbol.address, symbol.size_bytes, symbol.section.name)
    wanted = f"one object '{given or name}' of {used_bytes:,} bytes"
    if not found and given is None and not is_constant and not plan.static_pools:
        wanted = f"the array that the application passes, named by --pool-symbol {pool.name}=<symbol>"
    amount = f"{len(found)} of that name" if found else "none of that name"
    return Finding("pool-symbol", f"pool {pool.name} of {plan.name}", None, wanted, amount)


def _objects(image: Image, name: str) -> list[Symbol]:
    """Objects of a name; if there are none, those of that name with a compiler's suffix."""
    objects = [item for item in image.symbols if item.kind is SymbolKind.OBJECT and item.name.startswith(name)]
    exact = [item for item in objects if item.name == name]
    return exact or [item for item in objects if _COPIES.fullmatch(item.name[len(name) :])]


def _wrong_place(
    place: PlacedPool, plan: Plan, pool: Pool, used_bytes: int, linked: Linked, image: Image
) -> Iterator[Finding]:
    name = place.symbol or f"pool {pool.name} of {plan.name}"
    # The compiler fills a struct of constants up to a multiple of its alignment.
    unit = pool.align_bytes if pool.access is Access.READ_ONLY else 1
    most = -(-used_bytes // unit) * unit
    if place.size_bytes < used_bytes or (_is_ours(plan, pool) and place.size_bytes > most):
        yield Finding("pool-size", name, place.address, f"{used_bytes:,} bytes", f"{place.size_bytes:,} bytes")
    if place.address % pool.align_bytes:
        rest = place.address % pool.align_bytes
        yield Finding(
            "pool-alignment", name, place.address, f"a multiple of {pool.align_bytes}", f"{rest} bytes beyond one"
        )
    if pool.base is not None and not pool.base <= place.address:
        yield Finding("pool-base", name, place.address, f"{pool.base:#x} or behind it", f"{place.address:#x}")
    region = linked.regions.of(pool.name)
    end = place.address + max(place.size_bytes, used_bytes)
    if region is not None and not (region[0] <= place.address and end <= region[1]):
        yield Finding(
            "pool-region",
            name,
            place.address,
            f"inside region {pool.name}, {region[0]:#x} to {region[1]:#x}",
            f"{place.address:#x} to {end:#x}",
        )
    yield from _wrong_section(place, plan, pool, linked, image)


def _is_ours(plan: Plan, pool: Pool) -> bool:
    """Whether generated code defines the pool's array, with exactly the plan's bytes."""
    return plan.static_pools or pool.access is Access.READ_ONLY


def _wrong_section(place: PlacedPool, plan: Plan, pool: Pool, linked: Linked, image: Image) -> Iterator[Finding]:
    """The output section is the one that was asked for; where the pool's region is known, the region decides.

    A linker script gives output sections names of its own: then the user says which one the pool should be in.
    """
    asked = linked.section_of(plan.name, pool.name)
    if asked is None:
        if not place.symbol or linked.regions.of(pool.name) is not None:
            return
        if pool.access is Access.READ_ONLY:
            section = next(item for item in image.sections if item.name == place.section)
            if section.is_writable:
                found = f"section {section.name}, which is writable"
                yield Finding("pool-section", place.symbol, place.address, "a read-only section", found)
            return
        asked = pool.section or f".bss.tilewright.{pool.name}"
    if place.section != asked:
        yield Finding("pool-section", place.symbol, place.address, f"section {asked}", f"section {place.section}")


def overlaps(image: Image, places: list[PlacedPool]) -> Iterator[Finding]:
    """A finding for each object that lies in a pool and is neither the pool nor a name for a place in it.

    Two models may share an array: the user then names the same symbol for both.
    """
    for number, place in enumerate(places):
        end = place.address + place.size_bytes
        name = place.symbol or f"pool {place.pool} of {place.model}"
        for other in places[:number]:
            meets = other.address < end and place.address < other.address + other.size_bytes
            if meets and not (other.symbol and other.symbol == place.symbol):
                yield _overlap(name, place, other.symbol or f"pool {other.pool} of {other.model}", other.address)
        intruders = _objects_between(image, place, end) if place.symbol else _sections_between(image, place, end)
        for label, address in intruders:
            yield _overlap(name, place, label, address)


def _overlap(name: str, place: PlacedPool, other: str, address: int) -> Finding:
    expected = f"nothing else in its {place.size_bytes:,} bytes"
    return Finding("pool-overlap", name, place.address, expected, f"{other} at {address:#x}")


def _objects_between(image: Image, place: PlacedPool, end: int) -> Iterator[tuple[str, int]]:
    for symbol in image.symbols:
        if symbol.kind is not SymbolKind.OBJECT or not symbol.size_bytes or not symbol.section.is_allocated:
            continue
        is_inside = place.address <= symbol.address and symbol.end <= end
        is_name = is_inside and symbol.name.startswith(f"{place.model}_")
        is_pool = symbol.address == place.address and symbol.end == end
        if symbol.address < end and place.address < symbol.end and not (is_name or is_pool):
            yield symbol.name, symbol.address


def _sections_between(image: Image, place: PlacedPool, end: int) -> Iterator[tuple[str, int]]:
    for section in image.sections:
        if section.is_allocated and section.size_bytes and section.address < end and place.address < section.end:
            yield f"section {section.name}", section.address
