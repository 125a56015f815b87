"""Pools and constants as the layout header and the weights print them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np

from tilewright.base.c_names import constants_object
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Array, Storage, elements
from tilewright.codegen.interface import C_TYPES
from tilewright.codegen.literals import float_literal
from tilewright.codegen.symbols import SymbolText, symbols
from tilewright.plan import Access, Pool

_PER_LINE = 16


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A placed buffer in the layout header."""

    identifier: str
    macro: str
    offset_bytes: int
    size_bytes: int
    align_bytes: int
    comment: str


@dataclass(frozen=True, slots=True)
class MemberText:
    """An array of constants, or the padding before one."""

    identifier: str
    c_type: str
    count: int
    comment: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PoolText:
    """A pool with its buffers by address.

    Attributes:
        object: the C object of its constants.
        base: its base address as C; empty if the pool has none.
    """

    name: str
    object: str
    used_bytes: int
    capacity: str
    lower_bound_bytes: int
    align_bytes: int
    size_macro: str
    section: str
    base: str
    buffers: tuple[PlacedText, ...]
    members: tuple[MemberText, ...] = ()
    symbols: tuple[SymbolText, ...] = ()


def default_section(pool: str, constants_of: str = "") -> str:
    """The section of a pool that names none; ``constants_of`` is the C prefix of the model that fills the pool."""
    return f".rodata.tilewright.{constants_of}.{pool}" if constants_of else f".bss.tilewright.{pool}"


def pool_text(
    storage: Storage, pool: Pool, lifetimes: Mapping[str, tuple[int, int]], constants: Mapping[str, Array] | None = None
) -> PoolText:
    """The texts of a pool; ``constants`` (sha256 to elements) adds the members of its struct of constants."""
    use = next(item for item in storage.plan.pool_use if item.pool == pool.name)
    names = [item.buffer for item in storage.placements.values() if item.pool == pool.name]
    names = [name for name in names if name not in storage.parents]
    names.sort(key=lambda name: (storage.placements[name].offset_bytes, name))
    prefix = storage.prefix
    read_only = constants is not None
    default = default_section(pool.name, prefix if read_only else "")
    size = f"sizeof(struct {prefix}_{pool.name}_constants)" if read_only else f"{prefix}_POOL_{pool.name}_SIZE".upper()
    return PoolText(
        name=pool.name,
        object=constants_object(prefix, pool.name),
        used_bytes=use.used_bytes,
        capacity="unlimited" if pool.size_bytes is None else str(pool.size_bytes),
        lower_bound_bytes=use.lower_bound_bytes,
        align_bytes=pool.align_bytes,
        size_macro=size,
        section=pool.section or default,
        base=_address_literal(pool.base) if pool.base is not None else "",
        buffers=tuple(_placed(storage, name, lifetimes) for name in names),
        members=tuple(_members(storage, names, constants)) if constants is not None else (),
        symbols=tuple(symbols(storage, pool, _object(storage, pool))) if _object(storage, pool) else (),
    )


def _object(storage: Storage, pool: Pool) -> str:
    """The C object or address at which a pool begins; empty if the caller decides where it lies."""
    if pool.access is Access.READ_ONLY:
        return constants_object(storage.prefix, pool.name)
    if pool.base is not None:
        return f"0x{pool.base:x}"
    return f"{storage.prefix}_pool_{pool.name}" if storage.plan.static_pools else ""


def _address_literal(base: int) -> str:
    return f"0x{base:x}{'u' if base < 1 << 32 else 'ull'}"


def _placed(storage: Storage, name: str, lifetimes: Mapping[str, tuple[int, int]]) -> PlacedText:
    buffer = storage.buffers[name]
    first, end = lifetimes[name]
    extents = "".join(f"[{extent}]" for extent in buffer.shape)
    slots = f", {buffer.copies} slots" if buffer.copies > 1 else ""
    return PlacedText(
        identifier=storage.identifiers[name],
        macro=storage.macros[name],
        offset_bytes=storage.placements[name].offset_bytes,
        size_bytes=buffer.size_bytes,
        align_bytes=buffer.align_bytes,
        comment=f"{buffer.size_bytes} bytes, [{first}, {end}), {buffer.kind.value} {buffer.dtype} {extents}{slots}",
    )


def _members(storage: Storage, names: list[str], constants: Mapping[str, Array]) -> list[MemberText]:
    members: list[MemberText] = []
    end, taken = 0, 0

    def pad(target: int) -> None:
        if target > end:
            members.append(MemberText(f"padding_{len(members)}", "uint8_t", target - end, "padding", ("0",)))

    for name in names:
        buffer = storage.buffers[name]
        offset = storage.placements[name].offset_bytes
        pad(offset)
        assert buffer.sha256 is not None
        data = elements(constants[buffer.sha256], buffer.dtype)
        extents = "".join(f"[{extent}]" for extent in buffer.shape)
        members.append(
            MemberText(
                identifier=storage.identifiers[name],
                c_type=C_TYPES[buffer.dtype],
                count=max(data.size, 1),
                comment=f"{storage.identifiers[name]} {buffer.dtype} {extents}, sha256 {buffer.sha256[:12]}",
                lines=tuple(array_lines(data)),
            )
        )
        end = offset + max(data.size, 1) * data.itemsize
        taken = offset + buffer.size_bytes
    # A link that rounds sizes up reads bytes behind the last array.
    pad(taken)
    return members


def array_lines(data: Array) -> list[str]:
    """Lines of initialisers in C, 16 elements to a line; an array without elements gives one 0."""
    if not data.size:
        return ["0"]
    texts = list(_literals(data))
    return [", ".join(texts[first : first + _PER_LINE]) + "," for first in range(0, len(texts), _PER_LINE)]


def _literals(data: Array) -> Iterable[str]:
    if data.dtype.kind == "f":
        return map(float_literal, data)
    numbers = data.astype(np.int64) if data.dtype.kind == "b" else data
    least, most = int(numbers.min()), int(numbers.max())
    if most - least < min(len(numbers), 1 << 16) and most < 1 << 63:
        # Weights are many, with few different values: the text of each value is made once.
        texts = np.array([_number(value) for value in range(least, most + 1)], dtype=object)
        return cast("list[str]", texts[numbers.astype(np.int64) - least].tolist())
    return map(_number, numbers.tolist())


def _number(value: int) -> str:
    if value == -(1 << 31):
        return "INT32_MIN"
    if value == -(1 << 63):
        return "INT64_MIN"
    return f"{value}U" if value >= 1 << 31 else str(value)
