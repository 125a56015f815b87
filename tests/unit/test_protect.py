"""Protected layers: each access of a spoilt kernel outside of the model's memory ends the run, and is named."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.firmware import needs_riscv
from support.linked import EXAMPLE, link_model
from tilewright.base.errors import TilewrightError
from tilewright.firmware.check_image import check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image
from tilewright.options import CompileOptions, Weights
from tilewright.pipeline import Artifacts, compile_model
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
MAIN = """
#include <stdio.h>
#include <string.h>
#include "m_layout.h"
#include <tilewright/port.h>
#include <tilewright/protect.h>

struct spoilt_access {{ const char *what; uint8_t *at; int32_t from_stack; int writes; }};
extern const struct spoilt_access accesses[];
static _Alignas(16) uint8_t input[M_INPUT_IMAGE_SIZE + 16], room[M_OUTPUT_SCORES_SIZE + 32], own[16];
#define OUTPUT (room + 16)
#define AFTER(start, size) ((start) + ((size) + 3u) / 4u * 4u)
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
    {{"a device", (uint8_t *)0x10000000, 0, 1}},
    {{"a device that is read", (uint8_t *)0x10000000, 0, 0}},
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
    return link_model(folder, replace(artifacts, files=files), MAIN.format(spoilt=SPOILT))


def printed(program: Path, platform: str = PLATFORM) -> list[str]:
    lines: list[str] = []
    assert simulate(load_platform(platform), program, 120, (), lines.append) == 0
    return lines


@needs_riscv
@pytest.mark.parametrize("platform", [PLATFORM, "qemu-virt-rv32f-single"])
def test_each_access_outside_ends_the_run(tmp_path: Path, platform: str) -> None:
    lines = printed(spoilt_program(tmp_path, protected(platform=platform)), platform)
    assert lines[0] == "unspoilt 0"
    assert [line for line in lines if line.startswith("missed")] == []
    assert lines[3] == "in 00 conv 3x3 16ch"
    assert lines[7] == "in 04 mat_mul 32 to 10"
    assert lines[-1] == "caught 85 of 85"


@needs_riscv
def test_a_region_that_is_too_large_is_seen(tmp_path: Path) -> None:
    larger = ("(uintptr_t)(m_pool_sram), M_POOL_SRAM_SIZE", "(uintptr_t)(m_pool_sram), M_POOL_SRAM_SIZE + 4u")
    lines = printed(spoilt_program(tmp_path, protected(), larger))
    assert {line for line in lines if line.startswith("missed")} == {"missed 0 behind the pool 0"}
    assert lines[-1] == "caught 80 of 85"


@needs_riscv
def test_protection_changes_no_bit_and_costs_little(tmp_path: Path) -> None:
    found = []
    for name, artifacts in (("plain", protected(protect=False)), ("protected", protected())):
        (tmp_path / name).mkdir()
        found.append(printed(link_model(tmp_path / name, artifacts, MAIN.format(spoilt="    (void)caught;"))))
    plain, kept = found
    assert plain[:2] == kept[:2]
    instructions = [int(lines[2].split()[1]) for lines in found]
    assert instructions[0] < instructions[1] < 1.005 * instructions[0], instructions


@needs_riscv
def test_the_stack_is_proved_through_user_mode(tmp_path: Path) -> None:
    depths = []
    for name, artifacts in (("plain", protected(protect=False)), ("protected", protected())):
        (tmp_path / name).mkdir()
        program = link_model(tmp_path / name, artifacts, MAIN.format(spoilt="    (void)caught;"))
        verdict = check_image(read_image(program), [artifacts.plan], Linked())
        assert verdict.findings == ()
        depths.append(verdict.models[0].calls.stack_bytes)
    assert depths[0] + 200 < depths[1] < depths[0] + 600, depths


@needs_riscv
def test_guards_within_protection_and_profiles(tmp_path: Path) -> None:
    options = CompileOptions(EXAMPLE, PLATFORM, "m", static_pools=True, quantized_io=True, guards=True, protect=True)
    lines = printed(spoilt_program(tmp_path, compile_model(replace(options, profile=True))))
    assert lines[0] == "unspoilt 0"
    assert lines[-1] == "caught 85 of 85"


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


@pytest.mark.parametrize("platform", ["mps2-an385-single", "qemu-virt-rv32", "pulp-open", "host"])
def test_platforms_that_protect_nothing_are_refused(platform: str) -> None:
    assert f"PROTECT on platform '{platform}', whose port protects no memory" in _refused(platform=platform)


def test_what_protection_cannot_be_with_is_refused(tmp_path: Path) -> None:
    assert "PROTECT and WEIGHTS external contradict" in _refused(weights=Weights.EXTERNAL)
    text = (PLATFORMS / f"{PLATFORM}.toml").read_text(encoding="utf-8")
    small = tmp_path / "small.toml"
    small.write_text(text.replace("protected_regions = 6", "protected_regions = 3"), encoding="utf-8")
    assert "needs 4 regions of memory, the port of" in _refused(platform=str(small))
    assert compile_model(
        CompileOptions(EXAMPLE, str(small), "m", quantized_io=True, protect=True, io_in_pools=True)
    ).plan.protected


def test_without_the_option_there_is_none() -> None:
    assert all(b"protect" not in content for content in protected(protect=False).files.values())
