"""One spoilt platform file and the sound model that is compiled for it, by number; always the same ones."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache

from tilewright.base import resources

from fuzz.bases import NETWORKS
from fuzz.cases import FuzzCase
from fuzz.values import HUGE, NAMES

Lines = list[str]
Edit = Callable[[Lines, random.Random], None]
_KEY = re.compile(r"^\s*([A-Za-z0-9_-]+)\s*=\s*(.+)$")
_HEADER = re.compile(r"^\s*\[")
_WRONG = (
    '""', '"a b"', '"l1"', '"flash"', '"nothing"', "true", "false", "0", "-1", "1.5", "nan", "inf", "-inf", "1e400",
    "0x10", "0xffffffffffffffffff", "[]", "[1, 2]", '["l1"]', '["", ""]', '["l1", "l1"]', "{}", "{ l1 = 1 }",
    '{ l1 = "1" }', "1979-05-27", '"""a\nb"""', "[[[[]]]]",
)  # fmt: skip
_FLAGS = ("--static-pools", "--io-in-pools", "--profile")


def platform_case(number: int) -> FuzzCase:
    """The case of that number."""
    chance = random.Random(number)
    name = chance.choice(sorted(_platforms()))
    what, content = spoilt(_platforms()[name], chance)
    words = [flag for flag in _FLAGS if chance.random() < 0.15]
    return FuzzCase(number, f"{name}: {what}", chance.choice(_models()), tuple(words), content)


@lru_cache(maxsize=1)
def _platforms() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(resources.platforms().glob("*.toml"))}


@lru_cache(maxsize=1)
def _models() -> tuple[bytes, ...]:
    """The smallest networks, so that most of the time goes to the platform."""
    return tuple(sorted((path.read_bytes() for path in NETWORKS.glob("*/network.onnx")), key=len)[:4])


def spoilt(content: bytes, chance: random.Random) -> tuple[str, bytes]:
    """The file spoilt in one to three ways, and the names of the ways."""
    if chance.random() < 0.05:
        return "cut off", content[: chance.randrange(len(content))]
    if chance.random() < 0.05:
        changed = bytearray(content)
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        return "byte flipped", bytes(changed)
    lines = content.decode("utf-8").splitlines()
    done = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        edit = chance.choice(EDITS)
        edit(lines, chance)
        done.append(edit.__name__)
    return ", ".join(done), ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def _keys(lines: Lines) -> list[int]:
    return [number for number, line in enumerate(lines) if _KEY.match(line)]


def _headers(lines: Lines) -> list[int]:
    return [number for number, line in enumerate(lines) if _HEADER.match(line)]


def value_of_another_kind(lines: Lines, chance: random.Random) -> None:
    at = chance.choice(_keys(lines))
    lines[at] = f"{lines[at].partition('=')[0]}= {chance.choice(_WRONG)}"


def number_at_a_limit(lines: Lines, chance: random.Random) -> None:
    numbers = [at for at in _keys(lines) if re.search(r"\d", lines[at].partition("=")[2])]
    at = chance.choice(numbers)
    name, _, value = lines[at].partition("=")
    lines[at] = f"{name}={re.sub(r'[0-9]+', lambda found: str(chance.choice((*HUGE, 2, 3, 24))), value, count=1)}"


def small_pool(lines: Lines, chance: random.Random) -> None:
    sizes = [at for at in _keys(lines) if "size_bytes" in lines[at]]
    at = chance.choice(sizes)
    lines[at] = f"size_bytes = {chance.choice((0, 1, 7, 64, 300, 1000, 4096))}"


def key_lost(lines: Lines, chance: random.Random) -> None:
    del lines[chance.choice(_keys(lines))]


def key_twice(lines: Lines, chance: random.Random) -> None:
    at = chance.choice(_keys(lines))
    lines.insert(at, lines[at])


def key_elsewhere(lines: Lines, chance: random.Random) -> None:
    line = lines.pop(chance.choice(_keys(lines)))
    lines.insert(chance.randrange(len(lines) + 1), line)


def unknown_key(lines: Lines, chance: random.Random) -> None:
    name = chance.choice(("colour", "sizebytes", "a.b.c", ".".join("a" * 200), '"quoted key"', "names", "l1"))
    lines.insert(chance.randrange(len(lines) + 1), f"{name} = {chance.choice(_WRONG)}")


def table_lost(lines: Lines, chance: random.Random) -> None:
    """A table loses its header, so that its keys belong to the table before."""
    del lines[chance.choice(_headers(lines))]


def table_gone(lines: Lines, chance: random.Random) -> None:
    """A table is removed, its header and all of its keys."""
    headers = [*_headers(lines), len(lines)]
    at = chance.randrange(len(headers) - 1)
    del lines[headers[at] : headers[at + 1]]


def table_twice(lines: Lines, chance: random.Random) -> None:
    headers = [*_headers(lines), len(lines)]
    at = chance.randrange(len(headers) - 1)
    lines[headers[at] : headers[at]] = lines[headers[at] : headers[at + 1]]


def list_for_table(lines: Lines, chance: random.Random) -> None:
    """[pool] for [[pool]], or the other way round."""
    at = chance.choice(_headers(lines))
    header = lines[at].strip()
    lines[at] = header[1:-1] if header.startswith("[[") else f"[{header}]"


def another_name(lines: Lines, chance: random.Random) -> None:
    """A text, a pool's name mostly, is another text in one place only."""
    texts = [at for at in _keys(lines) if '"' in lines[at]]
    at = chance.choice(texts)
    quoted = "".join(f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else "?" for letter in chance.choice(NAMES)[:80])
    name = chance.choice((quoted, "l1", "sram", "flash", "../x", "tile", "host", "scalar", "-march=rv32imac"))
    lines[at] = re.sub(r'"[^"]*"', lambda found: f'"{name}"', lines[at], count=1)


def nested(lines: Lines, chance: random.Random) -> None:
    at = chance.choice(_keys(lines))
    depth = chance.choice((3, 50, 5000))
    lines[at] = f"{lines[at].partition('=')[0]}= {'[' * depth}{']' * depth}"


EDITS: tuple[Edit, ...] = (
    value_of_another_kind,
    value_of_another_kind,
    value_of_another_kind,
    number_at_a_limit,
    number_at_a_limit,
    number_at_a_limit,
    small_pool,
    key_lost,
    key_lost,
    key_twice,
    key_elsewhere,
    unknown_key,
    table_lost,
    table_gone,
    table_twice,
    list_for_table,
    another_name,
    another_name,
    nested,
)
