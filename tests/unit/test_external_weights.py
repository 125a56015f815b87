"""Weights in a file: one program runs two trainings of a shape, and refuses what was not made for it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from support.firmware import needs_riscv
from support.linked import EXAMPLE, digits, link_model
from tilewright.base.errors import TilewrightError
from tilewright.firmware.check_image import check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image
from tilewright.graph import Array
from tilewright.options import CompileOptions, Weights
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan.layout_hash import layout_hash
from tilewright.platform import load_platform
from tilewright.report.data import report_data
from tilewright.report.text import report_text
from tilewright.tools.golden import GoldenRequest, golden_files
from tilewright.tools.simulate import simulate

MAIN = """
#include <stdio.h>
#include <string.h>
#include "digits.h"

static _Alignas(64) const uint8_t first[] = {{{first}}};
static _Alignas(64) const uint8_t second[] = {{{second}}};
static _Alignas(64) const uint8_t other[] = {{{other}}};
static _Alignas(64) const int8_t image[64] = {{{image}}};
static _Alignas(64) uint8_t spoilt[sizeof first + 64];

static void scores(const char *what)
{{
    _Alignas(16) static int8_t out[10];
    memset(out, 0, sizeof out);
    const struct digits_inputs inputs = {{image}};
    const struct digits_outputs outputs = {{out}};
    printf("%s %d:", what, (int)digits_run(&inputs, &outputs));
    for (unsigned i = 0; i < 10; ++i) {{
        printf(" %d", out[i]);
    }}
    printf("\\n");
}}

int main(void)
{{
    scores("none");
    printf("first %d\\n", (int)digits_set_weights(first, sizeof first));
    scores("first");
    printf("second %d\\n", (int)digits_set_weights(second, sizeof second));
    scores("second");
    printf("other %d\\n", (int)digits_set_weights(other, sizeof other));
    printf("short %d null %d", (int)digits_set_weights(first, sizeof first - 1), (int)digits_set_weights(NULL, 0));
    memcpy(spoilt + 1, first, sizeof first);
    printf(" odd %d\\n", (int)digits_set_weights(spoilt + 1, sizeof first));
    unsigned caught = 0, flips = 0;
    for (unsigned at = 0; at < sizeof first; at += at < 64 ? 1 : 101) {{
        memcpy(spoilt, first, sizeof first);
        spoilt[at] ^= (uint8_t)(1u << at % 8);
        flips += 1;
        caught += digits_set_weights(spoilt, sizeof first) == DIGITS_BAD_WEIGHTS;
    }}
    printf("flips %d\\n", caught == flips);
    scores("still second");
    return 0;
}}
"""


def trained_again(folder: Path, *, scale: float = 1.0) -> Path:
    """The digits with other weights, biases and inner scales; the scale of the scores is ``scale`` times as large."""
    model, rng = onnx.load(EXAMPLE), np.random.default_rng(7)
    values = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    for name, old in values.items():
        if name.startswith("image_"):
            continue
        if name == "scores_scale":
            values[name] = old * np.float32(scale)
        elif old.dtype == np.float32:
            values[name] = (old * rng.uniform(0.7, 1.3, old.shape)).astype(np.float32)
        elif not name.endswith("zero_point"):
            values[name] = rng.permutation(old.ravel()).reshape(old.shape)
    for layer, x in (("0", "image"), ("2", "relu_0"), ("4", "relu_2"), ("8", "pooled")):
        values[f"{layer}_bias_quantized_scale"] = values[f"{x}_scale"] * values[f"{layer}_weight_scale"]
    for item in model.graph.initializer:
        item.CopyFrom(numpy_helper.from_array(np.asarray(values[item.name]), item.name))
    path = folder / f"digits_{scale}.onnx"
    onnx.save(model, path)
    return path


def external(model: Path, platform: str = "qemu-virt-rv32-single") -> Artifacts:
    options = CompileOptions(model, platform, "digits", quantized_io=True, static_pools=True)
    return compile_model(replace(options, weights=Weights.EXTERNAL))


@cache
def first(platform: str = "qemu-virt-rv32-single") -> Artifacts:
    return external(EXAMPLE, platform)


def judged(model: Path, image: Array) -> list[int]:
    """The scores that ONNX Runtime computes for an image, both as stored values."""
    numbers = {item.name: numpy_helper.to_array(item) for item in onnx.load(model).graph.initializer}
    # ONNX Runtime's rewrites make integer products of QDQ, which are inexact on processors without VNNI.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    shown = session.get_inputs()[0]
    real = (image.astype(np.float32) - numbers["image_zero_point"]) * numbers["image_scale"]
    (found,) = session.run(None, {shown.name: real.astype(np.float32).reshape(shown.shape)})
    stored = np.rint(found / numbers["scores_scale"]) + numbers["scores_zero_point"]
    return [int(value) for value in stored.ravel()]


def banner_free(content: bytes) -> bytes:
    return re.sub(rb"(?s)\A/\* Generated by.*?\*/", b"", content)


@needs_riscv
@pytest.mark.parametrize("platform", ["qemu-virt-rv32-single", "qemu-virt-rv32"])
def test_weights_are_swapped_and_wrong_ones_refused(tmp_path: Path, platform: str) -> None:
    again = trained_again(tmp_path)
    files = {
        "first": first(platform).files["digits_weights.bin"],
        "second": external(again, platform).files["digits_weights.bin"],
        "other": external(trained_again(tmp_path, scale=1.5), platform).files["digits_weights.bin"],
    }
    image = np.random.default_rng(3).integers(-128, 128, 64).astype(np.int8)
    listed = {name: ", ".join(map(str, content)) for name, content in files.items()}
    main = MAIN.format(**listed, image=", ".join(map(str, image)))
    program = link_model(tmp_path, first(platform), main)
    assert check_image(read_image(program), [first(platform).plan], Linked()).findings == ()
    lines: list[str] = []
    assert simulate(load_platform(platform), program, 120, (), lines.append) == 0
    one, two = (" ".join(map(str, judged(model, image))) for model in (EXAMPLE, again))
    assert one != two
    nothing = " ".join(["0"] * 10)
    assert lines == [
        f"none 5: {nothing}",
        "first 0",
        f"first 0: {one}",
        "second 0",
        f"second 0: {two}",
        "other 6",
        "short 6 null 1 odd 2",
        "flips 1",
        f"still second 0: {two}",
    ]


def test_code_is_the_same_for_two_trainings(tmp_path: Path) -> None:
    again = external(trained_again(tmp_path))
    for name in ("digits.c", "digits.h", "digits_layout.h"):
        assert banner_free(again.files[name]) == banner_free(first().files[name])
    assert again.files["digits_weights.bin"] != first().files["digits_weights.bin"]
    # Without the option both trainings lead to other code, and so to other hashes.
    inside = CompileOptions(EXAMPLE, "qemu-virt-rv32-single", "digits", quantized_io=True)
    plans = [compile_model(replace(inside, model=model)).plan for model in (EXAMPLE, trained_again(tmp_path))]
    assert layout_hash(plans[0]) != layout_hash(plans[1])


def test_other_scales_of_the_interface_are_other_code(tmp_path: Path) -> None:
    other = external(trained_again(tmp_path, scale=1.5))
    assert layout_hash(other.plan) != layout_hash(first().plan)


def test_the_report_says_the_cost() -> None:
    told = report_data(first().plan)["external"]
    assert told["inside_cycles"] < told["external_cycles"]
    uses = [plan.pool_use for plan in (digits("qemu-virt-rv32-single", static_pools=True).plan, first().plan)]
    inside, outside = (next(use.used_bytes for use in pools if use.pool == "flash") for pools in uses)
    assert (told["inside_bytes"], told["external_bytes"]) == (inside, outside)
    assert "What external weights cost" in report_text(first().plan)


@pytest.mark.parametrize(
    ("platform", "changes", "code"),
    [
        ("pulp-open", {}, "external-weights"),
        ("qemu-virt-rv32", {"check_constants": True}, "bad-option"),
    ],
)
def test_what_cannot_be_is_refused(platform: str, changes: dict[str, bool], code: str) -> None:
    options = CompileOptions(EXAMPLE, platform, "digits", quantized_io=True, weights=Weights.EXTERNAL)
    with pytest.raises(TilewrightError) as caught:
        compile_model(replace(options, **changes))
    assert caught.value.code == code


def test_a_golden_test_is_refused() -> None:
    nowhere = Path("none.npz")
    with pytest.raises(TilewrightError, match="whose weights are external"):
        golden_files(GoldenRequest(first().plan, nowhere, nowhere, "0:0"))
