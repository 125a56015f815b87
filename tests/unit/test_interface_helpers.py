"""The inline functions of generated headers: they convert as ONNX does, name a status, and find the largest output."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.firmware import WARNINGS, needs_host_compiler
from support.onnx_models import ModelBuilder
from tilewright.base import resources
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model

pytestmark = needs_host_compiler

SCALE, ZERO_POINT = np.float32(0.05), 3
PROGRAM = """
#include "net.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    float value;
    while (fread(&value, sizeof value, 1, stdin) == 1) {
        const NET_INPUT_X_TYPE stored = net_quantize_x(value);
        const float back = net_dequantize_y(stored);
        fwrite(&stored, sizeof stored, 1, stdout);
        fwrite(&back, sizeof back, 1, stdout);
    }
    const int8_t scores[NET_OUTPUT_Y_COUNT] = {1, 5, -7, 5};
    if (net_argmax_y(scores) != 1u || NET_OUTPUT_Y_DIM_1 != 4u || NET_INPUT_X_DIM_0 != 1u) {
        return 1;
    }
    return strcmp(net_status_text(NET_MISALIGNED), "misaligned address") != 0 || strlen(net_model_sha256) != 64;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("helpers")
    build = ModelBuilder()
    x = build.dequantize(build.input("x", [1, 4], np.int8), SCALE, ZERO_POINT)
    build.quantize(build.node("Relu", x), SCALE, ZERO_POINT, output="y")
    (folder / "net.onnx").write_bytes(build.model("y", dtypes={"y": np.int8}).SerializeToString())
    for name, content in compile_model(CompileOptions(folder / "net.onnx", "host", "net")).files.items():
        (folder / name).write_bytes(content)
    (folder / "main.c").write_text(PROGRAM, encoding="utf-8")
    command = ["cc", *WARNINGS, f"-I{folder}", f"-I{resources.runtime() / 'include'}", "-fsanitize=undefined"]
    command += [str(folder / "main.c"), str(folder / "net_weights.c"), "-o", str(folder / "program")]
    subprocess.run(command, check=True)
    return folder / "program"


def test_conversions_are_those_of_onnx(program: Path) -> None:
    halves = (np.arange(-600, 600).astype(np.float32) * np.float32(0.5)) * SCALE
    wide = np.random.default_rng(3).normal(scale=4.0, size=2000).astype(np.float32)
    values = np.concatenate([halves, wide, np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38])])
    done = subprocess.run([str(program)], input=values.tobytes(), capture_output=True, check=True)
    got = np.frombuffer(done.stdout, np.dtype([("stored", "<i1"), ("back", "<f4")]))
    with np.errstate(over="ignore"):
        quotients = values / SCALE
    steps = np.nan_to_num(np.rint(quotients).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    wanted = np.clip(steps + ZERO_POINT, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(got["stored"], wanted)
    back = (wanted.astype(np.int32) - ZERO_POINT).astype(np.float32) * SCALE
    np.testing.assert_array_equal(got["back"], back)


def test_another_rounding_is_noticed(program: Path) -> None:
    values = np.float32([0.5, 1.5, 2.5]) * SCALE
    done = subprocess.run([str(program)], input=values.tobytes(), capture_output=True, check=True)
    got = np.frombuffer(done.stdout, np.dtype([("stored", "<i1"), ("back", "<f4")]))["stored"]
    assert list(got) != list(np.floor(values / SCALE + 0.5).astype(np.int8) + ZERO_POINT)
