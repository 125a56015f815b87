"""Names for debuggers: a symbol for each buffer whose address generated code decides."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage
from tilewright.plan import BufferKind, Pool

_WORDS = {BufferKind.TILE: "tile", BufferKind.SCRATCH: "scratch"}
"""The word between prefix and identifier; buffers of all other kinds hold whole tensors and have ``tensor``."""


@dataclass(frozen=True, slots=True)
class SymbolText:
    """A TILEWRIGHT_SYMBOL of runtime/include/tilewright/symbol.h; ``base`` is a C object or an address."""

    name: str
    base: str
    offset_bytes: int
    size_bytes: int


def symbols(storage: Storage, pool: Pool, base: str) -> list[SymbolText]:
    """A symbol for each buffer of a pool that begins at ``base``, by address; views have their own symbols too."""
    places = [item for item in storage.placements.values() if item.pool == pool.name]
    places.sort(key=lambda item: (item.offset_bytes, item.buffer))
    return [
        SymbolText(
            name=symbol_name(storage, item.buffer),
            base=base,
            offset_bytes=item.offset_bytes,
            size_bytes=storage.buffers[item.buffer].size_bytes,
        )
        for item in places
    ]


def symbol_name(storage: Storage, buffer: str) -> str:
    """The symbol of a buffer: ``kws_tensor_x``, ``kws_tile_conv_x``, ``kws_scratch_conv``; unique in the model."""
    word = _WORDS.get(storage.buffers[buffer].kind, "tensor")
    return f"{storage.prefix}_{word}_{storage.identifiers[buffer]}"
