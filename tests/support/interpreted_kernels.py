"""Kernels of family xpulpv2 in the interpreter of pulp-open: a memory of the harness of kernels."""

from __future__ import annotations

import atexit
import ctypes
import shutil
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from kernel_harness import RUNTIME, Memory, Shape, View, packed_attributes
from tilewright.kernels.kernel import KernelChoice

from support.firmware import build_riscv
from support.gvsoc import PLATFORM
from support.interpreted_calls import Machine

XPULPV2 = "_xpulpv2_"
"""What the names of choices of the family have."""

HEAP, HEAP_BYTES = 0x1C090000, 0x100000
"""In L2, behind the kernels' code."""

FILES = (
    "add_xpulpv2.c",
    "conv_xpulpv2.c",
    "depthwise_xpulpv2.c",
    "fully_connected_integer.c",
    "integer_core.c",
    "integer_finish.c",
    "integer_line.c",
    "matmul_xpulpv2.c",
    "max_pool_xpulpv2.c",
    "vector_xpulpv2.c",
    "walk.c",
    "xpulpv2_block.c",
    "xpulpv2_core.c",
    "xpulpv2_taps_planar.c",
    "xpulpv2_marked.c",
    "xpulpv2_plane.c",
    "xpulpv2_spread.c",
    "xpulpv2_taps.c",
    "xpulpv2_taps_copied.c",
    "xpulpv2_vector.c",
)


@cache
def kernels_program() -> Path:
    """Every kernel of family xpulpv2 with the port of pulp-open."""
    folder = Path(tempfile.mkdtemp(prefix="tilewright-interpreted-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "main.c").write_text("int main(void)\n{\n    return 0;\n}\n", encoding="utf-8")
    sources = [folder / "main.c", *(RUNTIME / "kernels" / name for name in FILES)]
    # Nothing calls the kernels, which the linker would leave out.
    options = (*PLATFORM.target.compile_options, "-Wl,--no-gc-sections")
    platform = replace(PLATFORM, target=replace(PLATFORM.target, compile_options=options))
    return build_riscv(platform, sources, folder / "kernels.elf")


@cache
def kernels_machine() -> Machine:
    """A machine that keeps that program from call to call."""
    return Machine(kernels_program())


class InterpretedMemory(Memory):
    """Blocks in the machine's L2; their addresses are those on this machine until a kernel is called."""

    pointer_bytes = 4

    def __init__(self, machine: Machine | None = None) -> None:
        super().__init__()
        self._machine = machine or kernels_machine()
        self._base = self._machine.host_address(HEAP, HEAP_BYTES)

    def take(self, size_bytes: int) -> int:
        """Address of the next bytes of the heap."""
        address = self._base + self._used
        self._used += -(-size_bytes // 16) * 16
        assert self._used <= HEAP_BYTES, "the operands exceed the heap of the interpreter"
        return address

    def call(self, choice: KernelChoice, sources: tuple[str, ...], views: Sequence[View], flags: int) -> None:
        """Call a kernel with addresses of the machine in place of this process's.

        Raises AssertionError if the interpreter refuses what the kernel does.
        """
        packed = b"".join(
            struct.pack("<II", self._inside(view.base), self._moved(bytes(view.shape.contents)) if view.shape else 0)
            for view in views
        )
        attributes = packed_attributes(choice, self._machine.symbol, self.pointer_bytes)
        arguments = [self._moved(attributes), self._moved(packed), flags]
        status = self._machine.call(choice.symbol, arguments)
        assert status == 0, f"{choice.symbol} ended with status {status}"

    def _inside(self, address: int) -> int:
        """The machine's address of a place in the heap."""
        assert 0 <= address - self._base <= self._used
        return HEAP + address - self._base

    def _moved(self, content: bytes) -> int:
        """The machine's address of bytes that are put there; a shape's words are the same on both sides."""
        address = self.take(len(content))
        ctypes.memmove(address, content, len(content))
        return self._inside(address)


assert ctypes.sizeof(Shape) % 4 == 0
