"""Kernels in a process of their own, compiled with sanitizers, on memory that it shares with this process.

This process would take twice as long under the address sanitizer, which is for kernels only.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from support.objects import LINKER, sanitized, without_preloaded

ADDRESS = 0x2000_0000_0000
"""Where both processes map the shared memory: far from all that Linux maps by itself, and above the sanitizer's own."""

SIZE_BYTES = 1 << 26
_MAP_FIXED_NOREPLACE = 0x100000
_SYMBOL, _CALL, _NAME_BYTES = 1, 2, 256
_DRIVER = Path(__file__).with_name("kernel_calls.c")


@cache
def shared_memory() -> int:
    """The file descriptor of the shared memory, which is mapped at ADDRESS."""
    file = os.memfd_create("tilewright-kernels")
    os.truncate(file, SIZE_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    flags = mmap.MAP_SHARED | _MAP_FIXED_NOREPLACE
    found = libc.mmap(ADDRESS, SIZE_BYTES, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0)
    assert found == ADDRESS, os.strerror(ctypes.get_errno())
    return file


class KernelProcess:
    """A process that has some kernels; one that a sanitizer has ended is started again for the next call."""

    def __init__(self, sources: Sequence[Path], compile_words: Sequence[str]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="tilewright-kernels-"))
        self._program, self._messages = folder / "kernels", folder / "messages"
        self._running: list[subprocess.Popen[bytes]] = []
        self._symbols: dict[str, int] = {}
        weakref.finalize(self, _remove, self._running, folder)
        objects = sanitized([*sources, _DRIVER], compile_words)
        flags = ["-fsanitize=address,undefined", "-rdynamic"]
        command = ["gcc", *LINKER, *flags, *objects, "-lm", "-ldl", "-o", str(self._program)]
        subprocess.run(command, check=True, env=without_preloaded())

    def symbol(self, name: str) -> int:
        """The address of a symbol in the process; AssertionError where it has none."""
        self._start()
        if name not in self._symbols:
            self._symbols[name] = self._ask(struct.pack(f"=Q{_NAME_BYTES}s", _SYMBOL, name.encode()), name)
        assert self._symbols[name], f"no kernel has {name}"
        return self._symbols[name]

    def call(self, name: str, attributes: int, views: int, flags: int, blocks: Sequence[tuple[int, int]]) -> None:
        """Call a kernel, which may touch these blocks (address, bytes) of the shared memory and no others.

        Raises AssertionError with the words of a sanitizer.
        """
        request = struct.pack("=6Q", _CALL, self.symbol(name), attributes, views, flags, len(blocks))
        self._ask(request + b"".join(struct.pack("=2Q", *block) for block in blocks), name)

    def _ask(self, request: bytes, what: str) -> int:
        (running,) = self._running
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(request)
        running.stdin.flush()
        answer = running.stdout.read(8)
        if len(answer) == 8:
            return int.from_bytes(answer, "little")
        _end(self._running)
        message = self._messages.read_text(encoding="utf-8", errors="replace")
        raise AssertionError(f"{what}: {message[:4000]}")

    def _start(self) -> None:
        if self._running:
            return
        file = shared_memory()
        environment = {**without_preloaded(), "ASAN_OPTIONS": "detect_leaks=0"}
        command = [self._program, str(file), hex(ADDRESS), hex(SIZE_BYTES)]
        pipe = subprocess.PIPE
        with self._messages.open("wb") as messages:
            self._running.append(
                subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=messages, pass_fds=[file], env=environment)
            )
        self._symbols.clear()


def _end(running: list[subprocess.Popen[bytes]]) -> None:
    """End the process by closing its standard input, from which it reads requests."""
    while running:
        process = running.pop()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait()
        process.stdout.close()


def _remove(running: list[subprocess.Popen[bytes]], folder: Path) -> None:
    _end(running)
    shutil.rmtree(folder)
