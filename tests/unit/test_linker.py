"""The shipped linker script: pools lie in their regions, whatever regions there are."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import build_arm, build_riscv, needs_arm, needs_riscv
from tilewright.base.errors import TilewrightError
from tilewright.codegen.linker import linker_script
from tilewright.platform import LinkerLayout, Platform, Region, load_platform
from tilewright.tools.simulate import simulate

PROGRAM = r"""
#include <stdint.h>

uint8_t l1[100] __attribute__((section(".bss.tilewright.l1")));
uint8_t sram[100] __attribute__((section(".bss.tilewright.sram")));
extern const uint8_t weights[100];
const uint8_t weights[100] __attribute__((section(".rodata.tilewright.kws.flash"))) = {1, 2, 3};
uint32_t initialised = 5;
uint32_t cleared;
volatile uint32_t two = 2;

int main(void)
{
    return l1[99] == 0 && sram[99] == 0 && weights[two] == 3 && initialised == 5 && cleared == 0 ? 0 : 1;
}
"""


def symbols(program: Path) -> dict[str, int]:
    listing = subprocess.run(["riscv64-unknown-elf-nm", program], capture_output=True, text=True, check=True).stdout
    return {name: int(value, 16) for value, name in re.findall(r"([0-9a-f]{8}) \w (\S+)", listing)}


def build(platform: Platform, folder: Path) -> Path:
    source = folder / "main.c"
    source.write_text(PROGRAM, encoding="utf-8")
    return build_riscv(platform, [source], folder / "main.elf")


@needs_riscv
def test_pools_lie_in_their_regions(tmp_path: Path) -> None:
    platform = load_platform("qemu-virt-rv32")
    program = build(platform, tmp_path)
    assert simulate(platform, program, timeout_s=60) == 0
    address = symbols(program)
    assert platform.linker is not None
    for name, symbol in (("flash", "weights"), ("sram", "sram"), ("l1", "l1")):
        region = next(region for region in platform.linker.regions if region.name == name)
        assert region.base <= address[symbol] < region.base + region.size_bytes
        assert address[f"tilewright_pool_{name}_start"] <= address[symbol]
        assert address[symbol] + 100 <= address[f"tilewright_pool_{name}_end"]
    assert address["_start"] == 0x80000000
    assert address["__stack"] % 16 == 0
    assert address["__heap_start"] == address["__heap_end"]


def strict(platform: Platform) -> Platform:
    """The platform, whose programs are linked as use_port links them: orphans are errors."""
    options = (*platform.target.compile_options, "-g", "-Wl,--orphan-handling=error")
    return replace(platform, target=replace(platform.target, compile_options=options))


@needs_riscv
def test_a_section_that_no_pool_has_is_a_link_error(tmp_path: Path) -> None:
    platform = strict(load_platform("qemu-virt-rv32"))
    build(platform, tmp_path)
    source = tmp_path / "main.c"
    source.write_text(PROGRAM.replace(".bss.tilewright.l1", ".dtcm"), encoding="utf-8")
    with pytest.raises(AssertionError, match=r"orphan section `\.dtcm'"):
        build_riscv(platform, [source], tmp_path / "main.elf")


@needs_arm
def test_no_section_of_an_arm_program_is_an_orphan(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text(PROGRAM, encoding="utf-8")
    build_arm(strict(load_platform("mps2-an385")), [source], tmp_path / "main.elf")


@needs_riscv
def test_everything_in_one_region(tmp_path: Path) -> None:
    layout = LinkerLayout((Region("ram", 0x80000000, 0x100000),), "ram", "ram")
    platform = replace(load_platform("qemu-virt-rv32"), linker=layout)
    program = build(platform, tmp_path)
    assert simulate(platform, program, timeout_s=60) == 0
    assert symbols(program)["__stack"] == 0x80100000


@needs_riscv
def test_region_that_is_too_small_is_a_link_error(tmp_path: Path) -> None:
    platform = load_platform("qemu-virt-rv32")
    assert platform.linker is not None
    regions = tuple(replace(r, size_bytes=64) if r.name == "l1" else r for r in platform.linker.regions)
    with pytest.raises(AssertionError, match="region `l1' overflowed"):
        build(replace(platform, linker=replace(platform.linker, regions=regions)), tmp_path)


def test_pool_with_an_address_is_left_out() -> None:
    platform = load_platform("qemu-virt-rv32")
    pools = tuple(replace(p, section=None, base=0x86000000) if p.name == "l1" else p for p in platform.pools)
    script = linker_script(replace(platform, pools=pools))
    assert "tilewright_pool_l1_start" not in script
    assert "tilewright_pool_sram_start" in script


def pinned(pool: str, base: int) -> Platform:
    platform = load_platform("qemu-virt-rv32")
    return replace(
        platform,
        pools=tuple(replace(p, section=None, base=base) if p.name == pool else p for p in platform.pools),
    )


@needs_riscv
@pytest.mark.parametrize("base", [0x80100000, 0x86080000])
def test_constants_of_a_pool_with_an_address_lie_there(tmp_path: Path, base: int) -> None:
    """In the region of code, and in another."""
    platform = pinned("flash", base)
    program = build(platform, tmp_path)
    assert simulate(platform, program, timeout_s=60) == 0
    assert symbols(program)["tilewright_pool_flash_start"] == base
    assert symbols(program)["weights"] == base


@pytest.mark.parametrize(
    ("pool", "base", "reason"),
    [
        ("flash", 0x1000, "0x1000, which is in no region"),
        ("l1", 0x84000100, "in region 'sram', which the linker fills"),
        ("l1", 0x80000000, "in region 'flash', which the linker fills"),
    ],
)
def test_addresses_that_the_linker_cannot_keep(pool: str, base: int, reason: str) -> None:
    with pytest.raises(TilewrightError, match=reason):
        linker_script(pinned(pool, base))


def test_platform_without_regions() -> None:
    with pytest.raises(TilewrightError, match="has no \\[linker\\] regions"):
        linker_script(load_platform("host"))


def with_unloaded(name: str) -> Platform:
    platform = load_platform("qemu-virt-rv32")
    assert platform.linker is not None
    regions = tuple(replace(region, loaded=region.name != name) for region in platform.linker.regions)
    return replace(platform, linker=replace(platform.linker, regions=regions))


@needs_riscv
def test_constants_that_no_loader_brings_are_in_no_segment(tmp_path: Path) -> None:
    platform = load_platform("pulp-open")
    source = tmp_path / "main.c"
    text = '__attribute__((section(".rodata.tilewright.kws.l3"))) const int far[9] = {7};\n'
    source.write_text(text + "int main(void) { return *(const volatile int *)far; }\n", encoding="utf-8")
    program = build_riscv(platform, [source], tmp_path / "main.elf")
    address = symbols(program)
    assert address["far"] == address["tilewright_pool_l3_start"] == 0x80000000
    assert address["tilewright_deferred_bytes"] == 40
    listing = subprocess.run(
        ["riscv64-unknown-elf-readelf", "-lSW", program], capture_output=True, text=True, check=True
    )
    assert re.search(r"\.rodata\.tilewright\.l3 +PROGBITS +80000000 [0-9a-f]+ 000028 00 +0 ", listing.stdout)
    assert "0x80000000" not in listing.stdout


def test_memory_that_start_up_clears_must_be_reached() -> None:
    with pytest.raises(TilewrightError, match="pool 'l1' lies in region 'l1', which no loader reaches"):
        linker_script(with_unloaded("l1"))
