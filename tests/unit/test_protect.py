"""Protected layers: each access of a spoilt kernel outside of the model's memory ends the run, and is named."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.firmware import ARM_GCC, needs_arm, needs_riscv
from support.linked import EXAMPLE, link_model
from tilewright.base.errors import TilewrightError
from tilewright.base.resources import runtime_dir
from tilewright.firmware.check_image import check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image
from tilewright.options import CompileOptions, Weights
from tilewright.pipeline import Artifacts, compile_model
from tilewright.planning.protection import with_whole_regions
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

PLATFORMS = Path(__file__).parents[2] / "platforms"
PLATFORM = "qemu-virt-rv32-single"
SPOIL = """
struct spoilt_access { const char *what; uint8_t *at; int32_t from_stack; int writes; };
extern const struct spoilt_access accesses[];
static void spoil(const struct m_context *context, uint32_t layer)
{
    /* The application says by the input, which layers may read, what is to be spoilt where. */
    const volatile uint32_t *told = (const volatile void *)context->inputs->image;
    if (told[0] != layer) {
        return;
    }
    volatile uint8_t here;
    const struct spoilt_access *access = &accesses[told[1]];
    volatile uint8_t *at = access->at != NULL ? access->at : (volatile uint8_t *)&here + access->from_stack;
    if (access->writes) {
        *at = 0x10;
    } else {
        here = *at;
    }
}
"""
OTHERS = '    {"constants of others that are read", (uint8_t *)others + sizeof others / 2, 0, 0},'
DEVICES = {"qemu_virt": "0x10000000", "mps2_an385": "TILEWRIGHT_MPS2_UART"}
HEADERS = {"qemu_virt": "qemu_virt.h", "mps2_an385": "mps2_an385.h"}
MAIN = """
#include <stdio.h>
#include <string.h>
#include "m_layout.h"
#include "{header}"
#include <tilewright/port.h>
#include <tilewright/protect.h>

struct spoilt_access {{ const char *what; uint8_t *at; int32_t from_stack; int writes; }};
extern const struct spoilt_access accesses[];
/* Each of them lies in one region of any MPU, with room beside it. */
static _Alignas(256) uint8_t input[M_INPUT_IMAGE_SIZE + 32], room[256], own[32];
__attribute__((section(".rodata.tilewright.others.flash"))) const uint8_t others[1 << 18] = {{1}};
#define OUTPUT (room + 64)
#define AFTER(start, size) ((start) + ((size) + {granule}u - 1u) / {granule}u * {granule}u)
const struct spoilt_access accesses[] = {{
    {{"below the pool", m_pool_sram - 1, 0, 1}},
    {{"behind the pool", m_pool_sram + M_POOL_SRAM_SIZE, 0, 1}},
    {{"below the output", OUTPUT - 1, 0, 1}},
    {{"behind the output", AFTER(OUTPUT, M_OUTPUT_SCORES_SIZE), 0, 1}},
    {{"below the input", input - 1, 0, 1}},
    {{"the input", input, 0, 1}},
    {{"the input's end", input + M_INPUT_IMAGE_SIZE - 1, 0, 1}},
    {{"behind the input", input + M_INPUT_IMAGE_SIZE, 0, 1}},
    {{"a variable", own, 0, 1}},
    {{"a variable that is read", own, 0, 0}},
    {{"a constant", (uint8_t *)&m_flash, 0, 1}},
    {{"code", (uint8_t *)&m_run, 0, 1}},
    {{"a device", (uint8_t *){device}, 0, 1}},
    {{"a device that is read", (uint8_t *){device}, 0, 0}},
{others}
    {{"nothing", (uint8_t *)4, 0, 1}},
    {{"below the stack", NULL, -(int32_t)M_STACK_BYTES - 64, 1}},
    {{"the caller's stack", NULL, 800, 1}},
}};
#define ACCESSES (sizeof accesses / sizeof accesses[0])
static struct tilewright_violation told;

void tilewright_violated(const struct tilewright_violation *violation)
{{
    told = *violation;
}}

static int run(uint32_t layer, uint32_t number)
{{
    const uint32_t words[] = {{layer, number}};
    memcpy(input, words, sizeof words);
    const struct m_inputs inputs = {{(const void *)input}};
    const struct m_outputs outputs = {{(void *)OUTPUT}};
    return (int)m_run(&inputs, &outputs);
}}

int main(void)
{{
    volatile uint8_t deep[2048] = {{0}};
    unsigned caught = 0;
    for (unsigned i = 8; i < M_INPUT_IMAGE_SIZE; ++i) {{
        input[i] = (uint8_t)(i * 37u);
    }}
    printf("unspoilt %d\\n", run(UINT32_MAX, deep[0]));
    printf("scores");
    for (unsigned i = 0; i < M_OUTPUT_SCORES_SIZE; ++i) {{
        printf(" %d", (int8_t)OUTPUT[i]);
    }}
    const uint32_t start = tilewright_cycles();
    (void)run(UINT32_MAX, 0);
    printf("\\ninstructions %u\\n", (unsigned)(tilewright_cycles() - start));
{spoilt}
    return 0;
}}
"""
SPOILT = """
    for (uint32_t layer = 0; layer < 5; ++layer) {
        for (uint32_t number = 0; number < ACCESSES; ++number) {
            const struct spoilt_access *access = &accesses[number];
            memset(&told, 0, sizeof told);
            const int status = run(layer, number);
            const int is_place = access->at == NULL || told.address == (uintptr_t)access->at;
            const int is_kind = told.access == (access->writes ? TILEWRIGHT_ACCESS_WRITE : TILEWRIGHT_ACCESS_READ);
            if (status == M_VIOLATED && is_place && is_kind && told.layer != NULL) {
                caught += 1;
            } else {
                printf("missed %d %s %x\\n", status, access->what, (unsigned)told.address);
            }
            if (number == 0) {
                printf("in %s\\n", told.layer);
            }
        }
    }
    printf("caught %u of %u\\n", caught, 5 * (unsigned)ACCESSES);
"""


@cache
def protected(protect: bool = True, guards: bool = False, platform: str = PLATFORM) -> Artifacts:
    options = CompileOptions(EXAMPLE, platform, "m", static_pools=True, quantized_io=True)
    return compile_model(replace(options, protect=protect, guards=guards))


def spoilt_program(folder: Path, artifacts: Artifacts, edit: tuple[str, str] = ("spoil(", "spoil(")) -> Path:
    """A program whose layers access, one run after the other, each of the places; ``edit`` replaces text in the C."""
    source = artifacts.files["m.c"].decode()
    parts = re.split(r"(?=^static enum m_status m_layer_)", source, flags=re.MULTILINE)
    calls = [
        re.sub(r"(\n    return M_OK;\n\}\n)", rf"\n    spoil(context, {number}u);\1", part, count=1)
        for number, part in enumerate(parts[1:])
    ]
    spoilt = (parts[0] + SPOIL + "".join(calls)).replace(*edit)
    assert spoilt.count("spoil(context, ") == len(artifacts.plan.layers)
    files = {**artifacts.files, "m.c": spoilt.encode()}
    return link_model(folder, replace(artifacts, files=files), main_text(artifacts, SPOILT))


def main_text(artifacts: Artifacts, spoilt: str = "    (void)caught;") -> str:
    """The application, for the port of the model's platform."""
    target = load_platform(artifacts.plan.platform).target
    assert target.port is not None
    return MAIN.format(
        spoilt=spoilt,
        granule=target.protected_granule_bytes,
        device=DEVICES[target.port],
        header=HEADERS[target.port],
        others="" if target.protected_parts else OTHERS,
    )


def printed(program: Path, platform: str = PLATFORM) -> list[str]:
    lines: list[str] = []
    assert simulate(load_platform(platform), program, 120, (), lines.append) == 0
    return lines


def all_caught(platform: str) -> str:
    """The last line of a program whose accesses were all caught; fewer are tried with regions of powers of two."""
    count = 85 if load_platform(platform).target.protected_parts else 90
    return f"caught {count} of {count}"


@needs_riscv
@needs_arm
@pytest.mark.parametrize(
    "platform",
    [
        PLATFORM,
        "mps2-an385-single",
        "cortex-m33",
        pytest.param("qemu-virt-rv32f-single", marks=pytest.mark.long),
        pytest.param("cortex-m55", marks=pytest.mark.long),
    ],
)
def test_each_access_outside_ends_the_run(tmp_path: Path, platform: str) -> None:
    lines = printed(spoilt_program(tmp_path, protected(platform=platform)), platform)
    assert lines[0] == "unspoilt 0"
    assert [line for line in lines if line.startswith("missed")] == []
    assert lines[3] == "in 00 conv 3x3 16ch"
    assert lines[7] == "in 04 mat_mul 32 to 10"
    assert lines[-1] == all_caught(platform)


@needs_riscv
def test_a_region_that_is_too_large_is_seen(tmp_path: Path) -> None:
    larger = ("(uintptr_t)(m_pool_sram), M_POOL_SRAM_SIZE", "(uintptr_t)(m_pool_sram), M_POOL_SRAM_SIZE + 4u")
    lines = printed(spoilt_program(tmp_path, protected(), larger))
    assert {line for line in lines if line.startswith("missed")} == {"missed 0 behind the pool 0"}
    assert lines[-1] == "caught 85 of 90"


@needs_riscv
@needs_arm
@pytest.mark.parametrize(("platform", "share", "stack"), [(PLATFORM, 1.01, 600), ("mps2-an385-single", 1.03, 1400)])
def test_protection_changes_no_bit_and_costs_little(tmp_path: Path, platform: str, share: float, stack: int) -> None:
    """The stack is proved through the mode in which layers run."""
    found, depths = [], []
    for name, artifacts in (
        ("plain", protected(protect=False, platform=platform)),
        ("protected", protected(platform=platform)),
    ):
        (tmp_path / name).mkdir()
        program = link_model(tmp_path / name, artifacts, main_text(artifacts))
        found.append(printed(program, platform))
        verdict = check_image(read_image(program), [artifacts.plan], Linked())
        assert verdict.findings == ()
        depths.append(verdict.models[0].calls.stack_bytes)
    plain, kept = found
    assert plain[:2] == kept[:2]
    instructions = [int(lines[2].split()[1]) for lines in found]
    assert instructions[0] < instructions[1] < share * instructions[0], instructions
    assert depths[0] + 200 < depths[1] < depths[0] + stack, depths


@needs_arm
def test_functions_next_to_the_vectors_are_followed(tmp_path: Path) -> None:
    """Addresses of functions next to the vectors are numbers below 256, and still lead the check to their functions."""
    artifacts = protected(platform="mps2-an385-single")
    text = """
#include "m.h"
int main(void)
{
    static _Alignas(256) uint8_t in[256], out[256];
    const struct m_inputs inputs = {(const void *)in};
    const struct m_outputs outputs = {(void *)out};
    return (int)m_run(&inputs, &outputs);
}
"""
    image = read_image(link_model(tmp_path, artifacts, text))
    assert image.named("m_protected")[0].address < 256
    assert check_image(image, [artifacts.plan], Linked()).findings == ()


@needs_riscv
@needs_arm
@pytest.mark.parametrize("platform", [PLATFORM, "cortex-m4"])
def test_guards_within_protection_and_profiles(tmp_path: Path, platform: str) -> None:
    options = CompileOptions(EXAMPLE, platform, "m", static_pools=True, quantized_io=True, guards=True, protect=True)
    lines = printed(spoilt_program(tmp_path, compile_model(replace(options, profile=True))), platform)
    assert lines[0] == "unspoilt 0"
    assert lines[-1] == all_caught(platform)


@pytest.mark.parametrize(
    ("used_bytes", "region"), [(64, (32, 256, 64)), (1856, (256, 2048, 2048)), (256, (32, 256, 256))]
)
def test_a_pool_is_one_region_of_parts(used_bytes: int, region: tuple[int, int, int]) -> None:
    plan, platform = protected(platform="mps2-an385-single").plan, load_platform("mps2-an385-single")
    uses = tuple(replace(use, used_bytes=used_bytes, lower_bound_bytes=0) for use in plan.pool_use)
    bare = tuple(replace(pool, granule_bytes=32, align_bytes=32) for pool in plan.pools)
    whole = with_whole_regions(replace(plan, pools=bare, pool_use=uses), platform)
    pool, use = whole.pools[0], whole.pool_use[0]
    assert (pool.granule_bytes, pool.align_bytes, use.used_bytes) == region
    tight = tuple(replace(pool, size_bytes=used_bytes) for pool in bare)
    if use.used_bytes > used_bytes:
        with pytest.raises(TilewrightError, match="PROTECT: pool 'sram' needs 2,048 bytes in parts of 256"):
            with_whole_regions(replace(plan, pools=tight, pool_use=uses), platform)


def functions_that_enter(folder: Path, edit: tuple[str, str] = ("inline", "inline")) -> list[str]:
    """The functions of Cortex-M's port that call the way into layers, unless inlined; ``edit`` replaces text."""
    port = runtime_dir() / "ports" / "mps2_an385"
    text = (port / "memory_protection.c").read_text(encoding="utf-8")
    assert edit[0] in text
    source, out = folder / "memory_protection.c", folder / "memory_protection.s"
    source.write_text(text.replace(*edit), encoding="utf-8")
    words = [
        ARM_GCC,
        "-mcpu=cortex-m4",
        "-mthumb",
        "-std=c11",
        "-O0",
        f"-I{runtime_dir() / 'include'}",
        f"-I{port}",
        "-S",
        str(source),
        "-o",
        str(out),
    ]
    subprocess.run(words, check=True)
    parts = re.split(r"^(\w+):$", out.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [name for name, body in zip(parts[1::2], parts[2::2], strict=True) if "tilewright_mpu_enter" in body]


@needs_arm
def test_no_frame_lies_in_the_stack_of_layers(tmp_path: Path) -> None:
    """The function that reads the stack pointer is the one that enters layers, also without optimisation."""
    assert functions_that_enter(tmp_path) == ["tilewright_protected"]
    apart = ("__attribute__((always_inline)) static inline", "static")
    assert functions_that_enter(tmp_path, apart) == ["work_within"]


def test_a_lock_keeps_the_granules(tmp_path: Path) -> None:
    first = protected()
    assert [pool.granule_bytes for pool in first.plan.pools] == [4, 1]
    lock = tmp_path / "m.lock.json"
    lock.write_text(first.lock, encoding="utf-8")
    options = CompileOptions(EXAMPLE, PLATFORM, "m", static_pools=True, quantized_io=True, plan_lock=lock)
    assert compile_model(replace(options, protect=True)).plan == first.plan
    with pytest.raises(TilewrightError, match="option 'protect'"):
        compile_model(options)


def _refused(**changes: Any) -> str:
    options = replace(CompileOptions(EXAMPLE, PLATFORM, "m", quantized_io=True, protect=True), **changes)
    with pytest.raises(TilewrightError) as caught:
        compile_model(options)
    return str(caught.value)


@pytest.mark.parametrize("platform", ["cortex-m0", "mps2-an385", "qemu-virt-rv32", "pulp-open", "host"])
def test_platforms_that_protect_nothing_are_refused(platform: str) -> None:
    assert f"PROTECT on platform '{platform}', whose port protects no memory" in _refused(platform=platform)


def test_what_protection_cannot_be_with_is_refused(tmp_path: Path) -> None:
    assert "PROTECT and WEIGHTS external contradict" in _refused(weights=Weights.EXTERNAL)
    text = (PLATFORMS / f"{PLATFORM}.toml").read_text(encoding="utf-8")
    small = tmp_path / "small.toml"
    small.write_text(text.replace("protected_regions = 5", "protected_regions = 4"), encoding="utf-8")
    assert "needs 5 regions of memory, the port of" in _refused(platform=str(small))
    options = CompileOptions(EXAMPLE, str(small), "m", quantized_io=True, protect=True)
    for fewer in (replace(options, io_in_pools=True), replace(options, outputs_in_pools=True)):
        assert compile_model(fewer).plan.protected


def test_without_the_option_there_is_none() -> None:
    assert all(b"protect" not in content for content in protected(protect=False).files.values())
