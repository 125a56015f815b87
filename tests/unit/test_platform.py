"""Platform files are read exactly, and every mistake in one is told with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.plan import Access, BufferKind
from tilewright.platform import (
    PoolOverride,
    find_platform,
    load_platform,
    parse_pool_override,
    platform_names,
    with_pool_overrides,
)

GOOD = """\
name = "board"

[target]
compile_options = ["-march=rv32imac", "-mabi=ilp32"]
kernels = ["scalar"]
port = "qemu_virt"
stack_bytes = 4096

[core]
count = 1
access_cycles = { l1 = 1 }

[io]
pool = "sram"

[[pool]]
name = "l1"
size_bytes = 65536
align_bytes = 16
granule_bytes = 1
cache_line_bytes = 0
access = "rw"
section = ".bss.tilewright.l1"
holds = ["tile", "scratch"]

[[pool]]
name = "sram"
size_bytes = 1000
base = 0x20000000
holds = ["input", "output", "intermediate", "state"]

[[pool]]
name = "flash"
size_bytes = "unlimited"
access = "ro"
holds = ["constant"]

[[link]]
from = "flash"
to = "l1"
bytes_per_cycle = 0.5

[[link]]
from = "sram"
to = "l1"
both_ways = true
bytes_per_cycle = 4
setup_cycles = 20
line_cycles = 4
dimensions = 2
max_bytes = 0
outstanding = 1
align_bytes = 1
round_up_bytes = 1
asynchronous = false
issuer = "core"

[simulator]
command = ["sim", "{elf}"]
counter = "instructions"

[linker]
regions = { ram = { base = 0x80000000, size_bytes = 0x8000000 } }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "board.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_good_file(tmp_path: Path) -> None:
    platform = load_platform(write(tmp_path, GOOD))
    assert [pool.name for pool in platform.pools] == ["l1", "sram", "flash"]
    assert platform.pool("sram").base == 0x20000000
    assert platform.pool("flash").size_bytes is None
    assert platform.pool("flash").access is Access.READ_ONLY
    assert platform.pool("l1").holds == (BufferKind.TILE, BufferKind.SCRATCH)
    assert [link.name for link in platform.links] == ["flash->l1", "sram->l1", "l1->sram"]
    assert platform.links[0].bytes_per_cycle == 0.5
    assert platform.access_cycles("l1") == 1
    assert platform.access_cycles("sram") is None
    assert platform.linker is not None
    assert platform.linker.code == platform.linker.data == "ram"


MISTAKES = {
    "misspelt key": ("size_bytes = 1000", "size_byte = 1000", "size_byte", "did you mean 'size_bytes'?"),
    "misspelt table": ("[simulator]", "[simulater]", "simulater", "did you mean 'simulator'?"),
    "misspelt link key": ("setup_cycles = 20", "setup_cycle = 20", "setup_cycle", "did you mean 'setup_cycles'?"),
    "unknown linker key": ("base = 0x80000000, ", "bases = 0x80000000, ", "bases", "did you mean 'base'?"),
    "negative size": ("size_bytes = 65536", "size_bytes = -1", "at least 1", ""),
    "size as text": ("size_bytes = 65536", 'size_bytes = "big"', "whole number", ""),
    "boolean size": ("size_bytes = 65536", "size_bytes = true", "not true", ""),
    "alignment": ("align_bytes = 16", "align_bytes = 12", "power of two", ""),
    "alignment that no object has": ("align_bytes = 16", "align_bytes = 536870912", "at most 268435456", ""),
    "zero speed": ("bytes_per_cycle = 4", "bytes_per_cycle = 0", "above 0", ""),
    "infinite speed": ("bytes_per_cycle = 4", "bytes_per_cycle = inf", "finite", ""),
    "access": ('access = "ro"', 'access = "or"', "'or'", "known: rw, ro"),
    "kind of buffer": ('"tile", "scratch"', '"tile", "scrach"', "scrach", "did you mean 'scratch'?"),
    "writable in flash": ('holds = ["constant"]', 'holds = ["constant", "tile"]', "read-only", ""),
    "constant in RAM": (
        'holds = ["tile", "scratch"]',
        'holds = ["tile", "constant"]',
        "nothing fills",
        'another [[pool]] with access = "ro"',
    ),
    "section and base": ("base = 0x20000000", 'base = 0x20000000 # or\nsection = ".x"', "not both", ""),
    "base not aligned": ("base = 0x20000000", "base = 0x20000001", "not a multiple", ""),
    "pool with a name of C": (
        'name = "sram"',
        'name = "unix"',
        "cannot be called 'unix' in C",
        "for example 'unix_pool'",
    ),
    "duplicate pool": ('name = "sram"', 'name = "l1"', "defined twice", ""),
    "link to unknown pool": ('to = "l1"\nboth', 'to = "l2"\nboth', "no pool 'l2'", "known: l1, sram, flash"),
    "link to itself": ('to = "l1"\nboth', 'to = "sram"\nboth', "two different pools", ""),
    "link to flash": ('from = "sram"\nto = "l1"', 'from = "sram"\nto = "flash"', "read-only", ""),
    "unknown io pool": ('pool = "sram"', 'pool = "srm"', "no pool 'srm'", "did you mean 'sram'?"),
    "io in flash": ('pool = "sram"', 'pool = "flash"', "read-only", ""),
    "core addresses unknown pool": ("{ l1 = 1 }", "{ l2 = 1 }", "no pool 'l2'", "known: l1, sram, flash"),
    "core addresses only flash": ("{ l1 = 1 }", "{ flash = 1 }", "no pool that it can write", ""),
    "access costs nothing": ("{ l1 = 1 }", "{ l1 = 0 }", "at least 1", ""),
    "command without program": ('["sim", "{elf}"]', '["sim"]', "{elf}", ""),
    "counter": ('"instructions"', '"instruction"', "instruction", "did you mean 'instructions'?"),
    "region without size": (", size_bytes = 0x8000000", "", "'size_bytes' is missing", ""),
    "issuer": ('issuer = "core"', 'issuer = "cpu"', "cpu", "known: core, controller"),
    "asynchronous": ("asynchronous = false", "asynchronous = 0", "true or false", ""),
    "rounding into the kernels' pool": ("round_up_bytes = 1", "round_up_bytes = 4", "'sram->l1' may not round up", ""),
    "nothing to load": ("size_bytes = 0x8000000 }", "size_bytes = 0x8000000, loaded = false }", "a loader", ""),
    "direction": ("both_ways = true", "both_ways = 'yes'", "true or false", ""),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_told_with_its_line(mistake: str, tmp_path: Path) -> None:
    old, new, told, remedy = MISTAKES[mistake]
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(TilewrightError) as raised:
        load_platform(write(tmp_path, text))
    assert raised.value.status is ExitStatus.BAD_INPUT
    assert told in raised.value.what
    if remedy:
        assert remedy in raised.value.help
    assert _line(raised.value) == _first_difference(GOOD, text), str(raised.value)


def _line(error: TilewrightError) -> int:
    return int(error.at[0].split(".toml:")[1].split(":")[0])


def _first_difference(before: str, after: str) -> int:
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next(number for number, (old, new) in enumerate(pairs, 1) if old != new)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("size_bytes = 1000", "size_byte = 1000", 28), ("bytes_per_cycle = 4", "bytes_per_cycle = -4", 47)],
)
def test_line_is_exact(old: str, new: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError) as raised:
        load_platform(write(tmp_path, GOOD.replace(old, new, 1)))
    assert raised.value.at[0].startswith(f"{tmp_path / 'board.toml'}:{line}: ")


def test_two_links_of_one_direction(tmp_path: Path) -> None:
    text = GOOD.replace('from = "sram"\nto = "l1"\nboth_ways = true', 'from = "flash"\nto = "l1"')
    with pytest.raises(TilewrightError, match="two links from 'flash' to 'l1'") as raised:
        load_platform(write(tmp_path, text))
    assert _line(raised.value) == text[: text.rindex("[[link]]")].count("\n") + 1


def test_pool_out_of_reach(tmp_path: Path) -> None:
    text = GOOD.replace('from = "flash"', 'from = "sram"').replace("both_ways = true", "both_ways = false", 1)
    text = text.replace('from = "sram"\nto = "l1"\nboth', 'from = "l1"\nto = "sram"\nboth')
    with pytest.raises(TilewrightError, match="pool 'flash' is out of reach"):
        load_platform(write(tmp_path, text))


@pytest.mark.parametrize("missing", ["name", "[target]", "[core]", "[io]"])
def test_missing_part(missing: str, tmp_path: Path) -> None:
    blocks = [block for block in GOOD.split("\n\n") if not block.startswith(missing)]
    with pytest.raises(TilewrightError, match=f"'{missing.strip('[]')}' is missing"):
        load_platform(write(tmp_path, "\n\n".join(blocks)))


def test_overlapping_regions(tmp_path: Path) -> None:
    two = "ram = { base = 0x80000000, size_bytes = 0x100 }, rom = { base = 0x800000f0, size_bytes = 16 }"
    text = GOOD[: GOOD.index("regions")] + f"regions = {{ {two} }}\n"
    with pytest.raises(TilewrightError, match="regions 'ram' and 'rom' overlap"):
        load_platform(write(tmp_path, text))


def test_broken_toml_has_its_line(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError) as raised:
        load_platform(write(tmp_path, GOOD.replace("count = 1", "count = = 1")))
    assert raised.value.code == "platform-syntax"
    assert _line(raised.value) == 10


@pytest.mark.parametrize("content", [b"\xff\xfe", b""])
def test_no_platform_at_all(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    path.write_bytes(content)
    with pytest.raises(TilewrightError, match="platform-"):
        load_platform(path)


def test_missing_file_and_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="No such file"):
        load_platform(str(tmp_path / "absent.toml"))
    with pytest.raises(TilewrightError, match="did you mean 'qemu-virt-rv32'"):
        find_platform("qemu-virt-rv23")


def test_shipped_platforms() -> None:
    assert platform_names() == (
        "ch32v307",
        "cortex-m0",
        "cortex-m33",
        "cortex-m4",
        "cortex-m55",
        "cortex-m7",
        "esp32-c3",
        "esp32-c6",
        "gd32vf103",
        "host",
        "l3-chain",
        "mps2-an385",
        "mps2-an385-single",
        "nrf52840",
        "pulp-open",
        "qemu-virt-rv32",
        "qemu-virt-rv32-l3",
        "qemu-virt-rv32-single",
        "qemu-virt-rv32f",
        "qemu-virt-rv32f-single",
        "rp2040",
        "rp2350",
        "rv32-rvv",
        "siracusa",
        "stm32f407",
        "stm32h743",
        "stm32u585",
    )
    for name in platform_names():
        platform = load_platform(name)
        assert platform.name == name
        core_pools = [pool for pool, _ in platform.core.access_cycles]
        if name in ("qemu-virt-rv32-l3", "l3-chain"):
            assert core_pools == ["l1"]
            continue
        if name in ("pulp-open", "siracusa"):
            assert (core_pools, platform.core.count, platform.core.called_on) == (["l1"], 8, "controller")
            far = ["l3->l2", "l3_tensors->l2", "l2->l3_tensors"] if name == "pulp-open" else []
            assert [link.name for link in platform.links] == ["l2->l1", "l1->l2", "l2_constants->l1", *far]
            continue
        tiled = name in ("mps2-an385", "qemu-virt-rv32", "qemu-virt-rv32f")
        assert core_pools == (["l1"] if tiled else [pool.name for pool in platform.pools])
        assert core_pools[-2:] == ["sram", "flash"] or name == "stm32h743" or tiled
        assert [link.name for link in platform.links] == (["flash->l1", "sram->l1", "l1->sram"] if tiled else [])


def test_pool_overrides() -> None:
    platform = load_platform("qemu-virt-rv32")
    changed = with_pool_overrides(platform, ["l1=16000", "sram=0x1000@.my_ram", "flash=5@0x10000000"])
    assert changed.pool("l1").size_bytes == 16000
    assert changed.pool("l1").section == ".bss.tilewright.l1"
    assert (changed.pool("sram").size_bytes, changed.pool("sram").section) == (0x1000, ".my_ram")
    assert (changed.pool("flash").base, changed.pool("flash").section) == (0x10000000, None)
    assert [pool.name for pool in changed.pools] == [pool.name for pool in platform.pools]


def test_parse_pool_override() -> None:
    assert parse_pool_override("l1=16000@.x") == PoolOverride("l1", 16000, section=".x")
    assert parse_pool_override("l1=16000@0x10") == PoolOverride("l1", 16000, base=16)
    assert parse_pool_override("l1=16K@.x") == PoolOverride("l1", 16 * 1024, section=".x")
    assert parse_pool_override("l1=2M") == PoolOverride("l1", 2 * 1024 * 1024)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("l1", "is not <pool>=<bytes>"),
        ("l1=", "is not <pool>=<bytes>"),
        ("l1=16k", "is not <pool>=<bytes>"),
        ("l1=-4", "is not <pool>=<bytes>"),
        ("l1=0", "no bytes"),
        ("l1=16@1x", "neither a section nor an address"),
        ("l1=16@0x3", "not a multiple"),
        ("l2=16", "no pool 'l2'"),
    ],
)
def test_bad_pool_override(text: str, told: str) -> None:
    with pytest.raises(TilewrightError, match=told):
        with_pool_overrides(load_platform("qemu-virt-rv32"), [text])


def test_pool_overridden_twice() -> None:
    with pytest.raises(TilewrightError, match="given twice"):
        with_pool_overrides(load_platform("qemu-virt-rv32"), ["l1=16", "l1=32"])


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path, text = tmp_path / "chip.toml", find_platform("host").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    first = load_platform(path)
    assert load_platform(path) is first  # a process that plans many models reads few platforms
    path.write_text(text.replace('name = "host"', 'name = "other"'), encoding="utf-8")
    assert (first.name, load_platform(path).name) == ("host", "other")
