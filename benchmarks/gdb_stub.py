"""QEMU's GDB stub, spoken to without GDB: memory, registers, breakpoints, reset."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_CHUNK = 1024
_PATIENCE_S = 60.0


class Stub:
    """A stopped machine. Words are of 32 bits, the lowest byte first."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._heard = b""

    def command(self, text: str) -> str:
        """Send a packet and return the answer to it."""
        self._send(text)
        return self._answer()

    def read(self, address: int, size_bytes: int) -> bytes:
        """The content of so many bytes of memory."""
        starts = range(address, address + size_bytes, _CHUNK)
        sizes = (min(_CHUNK, address + size_bytes - start) for start in starts)
        return b"".join(
            bytes.fromhex(self.command(f"m{start:x},{size:x}")) for start, size in zip(starts, sizes, strict=True)
        )

    def write(self, address: int, content: bytes) -> None:
        """Change at most 1,024 bytes of memory."""
        assert self.command(f"M{address:x},{len(content):x}:{content.hex()}") == "OK"

    def register(self, number: int) -> int:
        """Register x0 to x31, and 32 for the program counter."""
        return int.from_bytes(bytes.fromhex(self.command(f"p{number:x}")), "little")

    def set_register(self, number: int, value: int) -> None:
        """Change a register."""
        assert self.command(f"P{number:x}={value.to_bytes(4, 'little').hex()}") == "OK"

    def break_at(self, address: int) -> None:
        """Stop whenever the instruction at an address is reached; the breakpoint outlives a reset."""
        assert self.command(f"Z0,{address:x},2") == "OK"

    def run(self, patience_s: float = _PATIENCE_S) -> bool:
        """Go on to the next breakpoint; False if none was reached in time: the machine is then stopped where it is."""
        # The breakpoint where the machine stands would stop it again.
        self.command("s")
        self._connection.settimeout(patience_s)
        try:
            self.command("c")
        except TimeoutError:
            self._connection.settimeout(_PATIENCE_S)
            self._connection.sendall(b"\x03")
            self._answer()
            return False
        self._connection.settimeout(_PATIENCE_S)
        return True

    def reset(self) -> None:
        """Put the machine back to its state at power-on, the program's bytes in memory included."""
        self._send("qRcmd," + b"system_reset".hex())
        while self._answer() != "OK":
            pass

    def _send(self, text: str) -> None:
        self._connection.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())

    def _answer(self) -> str:
        while True:
            begin, end = self._heard.find(b"$"), self._heard.find(b"#")
            if begin >= 0 and end > begin and len(self._heard) >= end + 3:
                text = self._heard[begin + 1 : end].decode()
                self._heard = self._heard[end + 3 :]
                self._connection.sendall(b"+")
                return text
            received = self._connection.recv(65536)
            if not received:
                raise ConnectionError("the simulator ended")
            self._heard += received


@contextlib.contextmanager
def machine(command: Sequence[str]) -> Iterator[Stub]:
    """Start a simulator by its command line, stopped before its first instruction; it ends with the context."""
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        path = Path(folder) / "gdb"
        words = [*command, "-S", "-gdb", f"unix:{path},server=on,wait=off", "-serial", "null", "-monitor", "none"]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        try:
            with _connected(path) as connection:
                stub = Stub(connection)
                # QEMU lets a client read single registers only after the client has asked which registers exist.
                stub.command("qXfer:features:read:target.xml:0,ffb")
                yield stub
        finally:
            process.kill()
            process.wait()


def _connected(path: Path) -> socket.socket:
    for _ in range(200):
        connection = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            connection.connect(str(path))
            connection.settimeout(_PATIENCE_S)
            return connection
        connection.close()
        time.sleep(0.05)
    raise ConnectionError("the simulator does not listen")
