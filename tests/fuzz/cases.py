"""One spoilt model and how it is compiled, by number; always the same ones."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fuzz.bases import bases
from fuzz.mutations import spoilt

_PLATFORMS = ("host", "qemu-virt-rv32f", "qemu-virt-rv32")
_FLAGS = ("--static-pools", "--io-in-pools", "--quantized-io")


@dataclass(frozen=True)
class FuzzCase:
    """A model's bytes, what was spoilt, and the words behind ``tilewright generate``.

    Attributes:
        platform: the text of a platform file; empty where the words name a platform.
    """

    number: int
    what: str
    content: bytes
    words: tuple[str, ...]
    platform: bytes = b""

    @property
    def spoilt(self) -> tuple[str, bytes]:
        """Suffix and content of the spoilt file: the model, or the platform file if the case has one."""
        return (".toml", self.platform) if self.platform else (".onnx", self.content)


def fuzz_case(number: int) -> FuzzCase:
    """The case of that number."""
    chance = random.Random(number)
    what, content = spoilt(chance.choice(bases()), chance)
    words = ["--platform", chance.choice(_PLATFORMS)]
    words += [flag for flag in _FLAGS if chance.random() < 0.2]
    if chance.random() < 0.1:
        words += ["--dim", f"batch={chance.choice(('1', '2', '0', '-1', '4294967296'))}"]
    return FuzzCase(number, what, content, tuple(words))
