"""Rules of constants: the program has, byte for byte, the constants that the plan names by hash."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from math import prod

from tilewright.firmware.findings import Finding, PlacedPool
from tilewright.firmware.image import Image, Symbol
from tilewright.plan import Access, Buffer, Plan

ELEMENT_BITS = {"bool": 8}
"""Bits of the element types whose name does not say them."""


def content_bytes(buffer: Buffer) -> int:
    """Bytes of a constant's elements, of which the hash is taken; padding that links read behind them is left out."""
    digits = "".join(character for character in buffer.dtype if character.isdigit())
    return prod(buffer.shape) * (ELEMENT_BITS.get(buffer.dtype) or int(digits)) // 8


def wrong_constants(image: Image, plan: Plan, places: list[PlacedPool]) -> Iterator[Finding]:
    """A finding for each constant whose bytes in the program have another hash than the plan's."""
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    read_only = {pool.name for pool in plan.pools if pool.access is Access.READ_ONLY}
    bases = {place.pool: place for place in places if place.pool in read_only}
    for item in plan.placements:
        buffer = buffers[item.buffer]
        if buffer.sha256 is None or item.pool not in bases:
            continue
        place = bases[item.pool]
        content = _content(image, place, item.offset_bytes, content_bytes(buffer))
        found = "no bytes in the file" if content is None else f"sha256 {sha256(content).hexdigest()[:16]}"
        if content is None or sha256(content).hexdigest() != buffer.sha256:
            address = place.address + item.offset_bytes
            label = f"constant {buffer.name} of {plan.name}"
            yield Finding("constant", label, address, f"sha256 {buffer.sha256[:16]}", found)


def _content(image: Image, place: PlacedPool, offset: int, size_bytes: int) -> bytes | None:
    """Bytes of a pool's object, from the section of its symbol: it need not be in memory when the program is loaded."""
    symbol: Symbol = next(item for item in image.named(place.symbol) if item.address == place.address)
    at = symbol.address - symbol.section.address + offset
    content = symbol.section.content[at : at + size_bytes]
    return content if len(content) == size_bytes else None
