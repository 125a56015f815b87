"""The reader of link maps that benchmarks use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from link_map import allocators, code_bytes

MAP = """Archive member included to satisfy reference by file (symbol)

libkws.a(net.c.obj)           main.c.obj (net_run)

Discarded input sections

 .text.unused   0x00000000       0x64 libkws.a(conv.c.obj)

Linker script and memory map

 .text.run      0x80000000       0x10 libkws.a(net.c.obj)
 .text.tilewright_conv_integer_high
                0x80000010      0x100 libkws.a(conv.c.obj)
 *fill*         0x80000110        0x2
 .text.empty    0x80000110        0x0 libkws.a(conv.c.obj)
 .text.main     0x80000112       0x20 main.c.obj
 .text          0x80000132       0x40 /usr/lib/libgcc.a(adddf3.o)
 .rodata.w      0x80000172      0x400 libkws.a(weights.c.obj)
 .text          0x80000572        0x8 libkws_other.a(net.c.obj)
"""


def test_code_is_what_the_archive_has_in_the_program() -> None:
    assert code_bytes(MAP, "libkws.a") == 0x110
    assert code_bytes(MAP, "libkws_other.a") == 8
    assert code_bytes(MAP, "libabsent.a") == 0


@pytest.mark.parametrize("name", ["malloc", "_malloc_r", "calloc", "_sbrk", "realloc"])
def test_an_allocator_is_found_wherever_it_stands(name: str) -> None:
    assert allocators(MAP) == []
    assert allocators(f"{MAP} .text.{name}   0x80000600  0x10 /usr/lib/libc.a(alloc.o)\n")
    assert allocators(f"/usr/lib/libc.a(x.o)   net.c.obj ({name})\n{MAP}")


def test_names_that_only_contain_one_do_not_count() -> None:
    assert allocators(f"{MAP} .text.no_malloc_here 0x80000600 0x10 libkws.a(net.c.obj)\n") == []


def test_another_file_is_refused() -> None:
    with pytest.raises(ValueError, match="no map"):
        code_bytes("text", "libkws.a")
