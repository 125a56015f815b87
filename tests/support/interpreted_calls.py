"""Calls of single functions in the interpreter: libinterpreter.so by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from support.interpreted import interpreter

L1_BASE, L1_BYTES = 0x10000000, 0x40000
STACK_BYTES = 4096
_MOST_INSTRUCTIONS = 200_000_000


@cache
def _library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path.parent / "libinterpreter.so"))
    library.machine_open.restype = ctypes.c_void_p
    library.machine_open.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int]
    library.machine_memory.restype = ctypes.c_void_p
    library.machine_memory.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32]
    library.machine_symbol.restype = ctypes.c_uint32
    library.machine_symbol.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    words = ctypes.POINTER(ctypes.c_uint32)
    library.machine_call.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_uint32,
        words,
        ctypes.c_uint32,
        ctypes.c_uint64,
    ]
    return library


class Machine:
    """A machine with a program loaded and nothing of it executed.

    Its last STACK_BYTES of L1 are the stack of calls; what lies before is the caller's.
    """

    def __init__(self, elf: Path, interpreter_path: Path | None = None) -> None:
        self._library = _library(interpreter_path or interpreter())
        self._machine = self._library.machine_open(str(elf).encode(), L1_BYTES, 1000, 1)
        assert self._machine, f"{elf} is no program for pulp-open"

    def host_address(self, address: int, size_bytes: int) -> int:
        """Where this process finds bytes of the machine."""
        found = self._library.machine_memory(self._machine, address, size_bytes)
        assert found, f"{size_bytes} bytes at {address:#x} are in no memory"
        return int(found)

    def symbol(self, name: str) -> int:
        """Address of a symbol of the program; AssertionError where it has none."""
        address = int(self._library.machine_symbol(self._machine, name.encode()))
        assert address, f"the program has no {name}"
        return address

    def call(self, name: str, arguments: Sequence[int] = ()) -> int:
        """0 when the function has returned, else the status of what the interpreter refused."""
        words = (ctypes.c_uint32 * max(len(arguments), 1))(*arguments)
        stack_end = L1_BASE + L1_BYTES
        return int(
            self._library.machine_call(
                self._machine, self.symbol(name), stack_end, words, len(arguments), _MOST_INSTRUCTIONS
            )
        )
