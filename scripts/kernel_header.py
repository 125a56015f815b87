#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C header of all kernels from their declarations; --check only says whether it is out of date.

Before:  Kernel("tilewright_gather", Gather, ...) in python/tilewright/kernels/scalar/indexing.py
After:   struct tilewright_gather_attributes, an assertion of its size, and the prototype of
         tilewright_gather in runtime/include/tilewright/kernels/declarations.h
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator

from written_files import ROOT, exit_status

sys.path.insert(0, str(ROOT / "python"))

from tilewright.kernels.c_structs import PREFIX, CField, CStruct, size_bytes
from tilewright.kernels.element_types import ELEMENT_TYPES
from tilewright.kernels.kernel import DECLARATIONS as HEADER
from tilewright.kernels.kernel import MAX_RANK, Declaration
from tilewright.kernels.registry import all_declarations
from tilewright.tiling.core_split import SHAPE_BYTES, VIEW_POINTERS

TARGET = ROOT / "runtime" / "include" / HEADER
COLUMNS = 100
HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* Written by scripts/kernel_header.py from the declarations in python/tilewright/kernels: all kernels,
 * their attributes, what attributes may point to, and the numbers that C and Python share. */
#ifndef TILEWRIGHT_KERNELS_DECLARATIONS_H
#define TILEWRIGHT_KERNELS_DECLARATIONS_H

#include "tilewright/kernels/functions.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#define TILEWRIGHT_SIZE_ASSERT static_assert
#else
#define TILEWRIGHT_SIZE_ASSERT _Static_assert
#endif
"""
TAIL = """\
#undef TILEWRIGHT_SIZE_ASSERT
#ifdef __cplusplus
}
#endif

#endif
/* clang-format on */
"""


def header_text() -> str:
    """The whole header."""
    parts = [HEAD, _layout(), _element_types()]
    written: set[object] = set()
    for declared in (item for family in all_declarations().values() for item in family):
        parts += _numbers(declared)
        parts += _pointed(declared)
        kinds = dict.fromkeys(kernel.attributes for kernel in declared.kernels)
        for kind in (kind for kind in kinds if kind is not None):
            if kind not in written:
                parts.append(_struct(kind))
            symbols = dict.fromkeys(kernel.symbol for kernel in declared.kernels if kernel.attributes is kind)
            parts.append("".join(_prototype(symbol, kind) for symbol in symbols if symbol not in written))
            written |= {kind, *symbols}
    return "\n".join([*filter(None, parts), TAIL])


def _layout() -> str:
    """Assertions that Python counts shapes and views as C lays them out."""
    view = f"{VIEW_POINTERS} * sizeof(void *)"
    return (
        f'TILEWRIGHT_SIZE_ASSERT(TILEWRIGHT_MAX_RANK == {MAX_RANK}, "axes of a view");\n'
        f'TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_shape) == {SHAPE_BYTES}, "a shape");\n'
        f'TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_view) == {view}, "a view");\n'
    )


def _element_types() -> str:
    """The numbers that stand for element types in attributes."""
    return "".join(f"#define TILEWRIGHT_{dtype.name} {number}\n" for dtype, number in ELEMENT_TYPES.items())


def _numbers(declared: Declaration) -> Iterator[str]:
    if declared.numbers:
        yield "".join(f"#define TILEWRIGHT_{name} {value}\n" for name, value in declared.numbers.items())


def _pointed(declared: Declaration) -> Iterator[str]:
    for c_type, names in declared.pointed.items():
        external = "extern " if "struct" in c_type else ""
        listed = ", ".join(f"{PREFIX}{name}" for name in names)
        lines = textwrap.wrap(f"{external}{c_type} {listed};", COLUMNS, subsequent_indent="    ")
        yield "\n".join(lines) + "\n"


def _struct(kind: type[CStruct]) -> str:
    what = textwrap.wrap(" ".join((kind.__doc__ or "").split()), COLUMNS, initial_indent="/* ", subsequent_indent=" * ")
    fields = "\n".join(_field(item) for item in kind.c_fields())
    narrow, wide = (size_bytes(kind, pointer) for pointer in (4, 8))
    size = str(narrow) if narrow == wide else f"(sizeof(void *) == 4 ? {narrow} : {wide})"
    return (
        "\n".join(what) + f" */\nstruct {kind.struct()} {{\n{fields}\n}};\n"
        f"TILEWRIGHT_SIZE_ASSERT(sizeof(struct {kind.struct()}) == {size},\n"
        f'                       "{kind.struct()}");\n'
    )


def _field(item: CField) -> str:
    array = f"[{item.type.count}]" if item.type.count else ""
    space = "" if item.type.name.endswith("*") else " "
    note = f" /* {item.note} */" if item.note else ""
    return f"    {item.type.name}{space}{item.name}{array};{note}"


def _prototype(symbol: str, kind: type[CStruct]) -> str:
    return (
        f"void {symbol}(const struct {kind.struct()} *attributes,\n"
        f"    const struct tilewright_view *operands, uint32_t flags);\n"
    )


def main() -> int:
    """Write the header, or compare it."""
    return exit_status(__doc__ or "", lambda: {TARGET: header_text()})


if __name__ == "__main__":
    sys.exit(main())
