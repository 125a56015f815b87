"""Canaries: each byte that a spoilt kernel writes beside a buffer ends the run, and is named."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import needs_arm, needs_riscv
from support.linked import EXAMPLE, digits, link_model
from tilewright.firmware.check_image import check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image
from tilewright.options import CompileOptions
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Layer, Plan
from tilewright.plan.canaries import canaries
from tilewright.plan.lifetimes import lifetimes
from tilewright.plan.stages import stage_spans
from tilewright.platform import load_platform
from tilewright.report.data import report_data
from tilewright.report.text import report_text
from tilewright.tools.simulate import simulate

WAKE_WORD = EXAMPLE.parents[1] / "wake-word" / "wake_word.onnx"
MAIN = """
#include <stdio.h>
#include <string.h>
#include "m_layout.h"

static const struct {{ const char *at; uint32_t layer, offset; uint8_t *pool; }} writes[] = {{
{rows}
}};
static uint32_t number;
static volatile uint32_t layer;
static _Alignas(16) uint8_t input[{input_bytes}], output[{output_bytes}];

void spoil(void);
void spoil(void)
{{
    if (number < sizeof writes / sizeof writes[0] && layer++ == writes[number].layer) {{
        writes[number].pool[writes[number].offset] ^= 0x10;
    }}
}}

static int run(void)
{{
    layer = 0;
    const struct m_inputs inputs = {{(const void *)input}};
    const struct m_outputs outputs = {{(void *)output}};
    return (int)m_run(&inputs, &outputs);
}}

int main(void)
{{
    unsigned caught = 0;
    {reset}
    number = UINT32_MAX;
    printf("unspoilt %d %d\\n", run(), m_corruption().layer == NULL);
    for (number = 0; number < sizeof writes / sizeof writes[0]; ++number) {{
        const int status = run();
        const struct tilewright_corruption told = m_corruption();
        if (status == M_CORRUPTED && (told.expected ^ told.found) == 0x10) {{
            caught += 1;
        }} else {{
            printf("missed %d %u %s\\n", status, (unsigned)number, writes[number].at);
        }}
        if (number % 50 == 0) {{
            printf("at %s: %s, %s %d\\n", writes[number].at, told.layer, told.buffer, (int)told.byte);
        }}
    }}
    printf("caught %u\\n", caught);
    return 0;
}}
"""


def guarded(model: Path = EXAMPLE, platform: str = "qemu-virt-rv32-single", pools: tuple[str, ...] = ()) -> Artifacts:
    options = CompileOptions(model, platform, "m", static_pools=True, guards=True, pools=pools)
    states = () if model == EXAMPLE else (("history", "next_history"), ("level", "next_level"))
    return compile_model(replace(options, quantized_io=model == EXAMPLE, state=states))


def beside(plan: Plan) -> list[tuple[str, int, str, int]]:
    """Each byte next to a buffer, and the last one of its room, that belongs to no live buffer.

    Tuples of (buffer and distance, layer, pool, offset), found byte by byte from placements and lifetimes.
    """
    assert plan.guards is not None
    alive, sizes = lifetimes(plan.program), {item.name: item.size_bytes for item in plan.buffers}
    layers = [step for step in plan.program if isinstance(step, Layer)]
    assert all(len(layer.stages) == 1 for layer in layers)
    found = []
    for number, (first, end) in enumerate(stage_spans(plan.program)):
        living = [
            item
            for item in plan.placements
            if item.pool in plan.guards.pools
            and sizes[item.buffer]
            and alive[item.buffer][0] < end
            and first < alive[item.buffer][1]
        ]
        taken = {(p.pool, p.offset_bytes + byte) for p in living for byte in range(sizes[p.buffer])}
        for item in living:
            size = sizes[item.buffer]
            for at in (-plan.guards.below_bytes, -1, size, size + plan.guards.behind_bytes - 1):
                if (item.pool, item.offset_bytes + at) not in taken:
                    found.append((f"{item.buffer} {at}", number, item.pool, item.offset_bytes + at))
    return found


def spoilt_program(folder: Path, artifacts: Artifacts, writes: list[tuple[str, int, str, int]]) -> Path:
    """A program whose kernels write, one run after the other, each of the bytes."""
    plan = artifacts.plan
    source = artifacts.files["m.c"].decode()
    # Behind its last kernel call each layer writes where it should not.
    parts = re.split(r"(?=^static enum m_status m_layer_)", source, flags=re.MULTILINE)
    calls = [re.sub(r"(\n    return M_OK;\n\}\n)", r"\n    spoil();\1", part, count=1) for part in parts[1:]]
    spoilt = "void spoil(void);\n" + parts[0] + "".join(calls)
    assert spoilt.count("    spoil();") == len(plan.layers)
    rows = "\n".join(f'    {{"{at}", {layer}u, {offset}u, m_pool_{pool}}},' for at, layer, pool, offset in writes)
    sizes = {item.name: item.size_bytes for item in plan.buffers}
    main = MAIN.format(
        rows=rows,
        input_bytes=sizes[plan.inputs[0].buffer],
        output_bytes=sizes[plan.outputs[0].buffer],
        reset="m_reset();" if plan.states else "",
    )
    return link_model(folder, replace(artifacts, files={**artifacts.files, "m.c": spoilt.encode()}), main)


def printed(program: Path, platform: str) -> list[str]:
    lines: list[str] = []
    assert simulate(load_platform(platform), program, 120, (), lines.append) == 0
    return lines


CASES = {
    "one memory": (EXAMPLE, "qemu-virt-rv32-single", ()),
    "tiles and a ring": (EXAMPLE, "qemu-virt-rv32", ("l1=4600",)),
    "states and an output over its input": (WAKE_WORD, "qemu-virt-rv32-single", ()),
}


@needs_riscv
@pytest.mark.parametrize("case", CASES)
def test_each_byte_beside_a_buffer_is_caught(tmp_path: Path, case: str) -> None:
    model, platform, pools = CASES[case]
    artifacts = guarded(model, platform, pools)
    plan = artifacts.plan
    assert any(item.ring_axis is not None for item in plan.buffers) == ("ring" in case)
    writes = beside(plan)
    assert len(writes) > 60
    lines = printed(spoilt_program(tmp_path, artifacts, writes), platform)
    assert lines[0] == "unspoilt 0 1"
    assert [line for line in lines if line.startswith("missed")] == []
    assert lines[-1] == f"caught {len(writes)}"


@needs_riscv
def test_a_layer_and_a_buffer_are_named_and_a_gap_is_seen(tmp_path: Path) -> None:
    artifacts = guarded()
    at = next(item for item in artifacts.plan.placements if item.buffer == "conv_2.scratch")
    size = next(item.size_bytes for item in artifacts.plan.buffers if item.name == "conv_2.scratch")
    writes = [("first", 1, "sram", at.offset_bytes - 1), ("second", 1, "sram", at.offset_bytes + size)]
    source = artifacts.files["m.c"].decode()
    # The canaries behind the scratch are forgotten: exactly their writes must be missed.
    forgotten, count = re.subn(rf'\n    \{{"conv_2.scratch", \d+u, {size}, .*', "", source)
    assert count == 1
    spoilt = replace(artifacts, files={**artifacts.files, "m.c": forgotten.encode()})
    lines = printed(spoilt_program(tmp_path, spoilt, writes), "qemu-virt-rv32-single")
    assert lines[1] == "at first: 01 conv 3x3/2 32ch, conv_2.scratch -1"
    assert lines[2:] == ["missed 0 1 second", "caught 1"]


@needs_riscv
def test_the_program_is_what_the_plan_says(tmp_path: Path) -> None:
    artifacts = digits(static_pools=True, guards=True)
    main = '#include "digits.h"\nint main(void) { (void)digits_run(0, 0); return digits_corruption().layer == 0; }'
    program = link_model(tmp_path, artifacts, main)
    assert check_image(read_image(program), [artifacts.plan], Linked()).findings == ()


@needs_arm
def test_guards_on_arm(tmp_path: Path) -> None:
    artifacts = guarded(platform="mps2-an385")
    writes = beside(artifacts.plan)[:9]
    lines = printed(spoilt_program(tmp_path, artifacts, writes), "mps2-an385")
    assert lines[-1] == "caught 9"


@pytest.mark.parametrize("platform", ["qemu-virt-rv32", "pulp-open", "host"])
def test_canaries_lie_on_no_live_byte(platform: str) -> None:
    plan = guarded(platform=platform).plan
    alive, sizes = lifetimes(plan.program), {item.name: item.size_bytes for item in plan.buffers}
    spans = stage_spans(plan.program)
    found = canaries(plan)
    assert found
    for item in found:
        begin, end = spans[item.first][0], spans[item.last][1]
        for place in plan.placements:
            if place.pool == item.pool and alive[place.buffer][0] < end and begin < alive[place.buffer][1]:
                apart = item.offset_bytes + item.size_bytes <= place.offset_bytes
                assert apart or place.offset_bytes + sizes[place.buffer] <= item.offset_bytes


def test_a_lock_keeps_the_room(tmp_path: Path) -> None:
    first = guarded()
    lock = tmp_path / "m.lock.json"
    lock.write_text(first.lock, encoding="utf-8")
    options = CompileOptions(EXAMPLE, first.plan.platform, "m", static_pools=True, quantized_io=True, plan_lock=lock)
    assert compile_model(replace(options, guards=True)).plan == first.plan
    with pytest.raises(Exception, match="option 'guards'"):
        compile_model(options)


def test_the_report_says_the_bytes() -> None:
    plan = guarded().plan
    told = report_data(plan)["guards"]
    assert told == {"below_bytes": 4, "behind_bytes": 4, "pools": [{"name": "sram", "canary_bytes": 60}]}
    assert "Canaries (bytes): 4 below and 4 behind each buffer and pool" in report_text(plan)
    assert report_data(digits().plan)["guards"] is None


def test_without_the_option_there_is_none() -> None:
    assert all(b"guard" not in content for content in digits().files.values())
    assert "guard.c" not in digits().plan.kernel_sources
