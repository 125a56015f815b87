"""Several models in one program, run in turn, and runs that the application cancels between two layers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conformance.build import RUNTIME, runtime_library
from support.firmware import WARNINGS, needs_host_compiler
from support.host_runs import OBJECTS, TILED
from support.objects import LINKER
from support.stateful import accumulator, built, window

MAIN = """
#include "one.h"
#include "two.h"
#include <stdio.h>
#include <string.h>

static _Alignas(16) float x1[ONE_INPUT_X_COUNT], y1[ONE_OUTPUT_Y_COUNT];
static _Alignas(16) float x2[TWO_INPUT_X_COUNT], y2[TWO_OUTPUT_Y_COUNT];
static const struct one_inputs in1 = {x1};
static const struct one_outputs out1 = {y1};
static const struct two_inputs in2 = {x2};
static const struct two_outputs out2 = {y2};
static int layers_left = 1000;

int is_over(void);
int is_over(void)
{
    return layers_left-- <= 0;
}

static void feed(int run)
{
    for (unsigned i = 0; i < ONE_INPUT_X_COUNT; i++) { x1[i] = (float)(i + 1u) * (float)(run + 1); }
    for (unsigned i = 0; i < TWO_INPUT_X_COUNT; i++) { x2[i] = (float)(i % 7u) - (float)run; }
}

int main(void)
{
    static float alone1[3][ONE_OUTPUT_Y_COUNT], alone2[3][TWO_OUTPUT_Y_COUNT];
    one_reset();
    for (int run = 0; run < 3; run++) {
        feed(run);
        if (one_run(&in1, &out1) != ONE_OK) { return 1; }
        memcpy(alone1[run], y1, sizeof y1);
    }
    two_reset();
    for (int run = 0; run < 3; run++) {
        feed(run);
        if (two_run(&in2, &out2) != TWO_OK) { return 2; }
        memcpy(alone2[run], y2, sizeof y2);
    }
    for (int after = 0; after < 2; after++) {
        layers_left = after;
        if (one_run(&in1, &out1) != ONE_CANCELLED) { return 3; }
        layers_left = after;
        if (two_run(&in2, &out2) != TWO_CANCELLED) { return 4; }
    }
    layers_left = 1000;
    if (strcmp(two_status_text(TWO_CANCELLED), "cancelled") != 0) { return 5; }
    one_reset();
    two_reset();
    for (int run = 0; run < 3; run++) {
        feed(run);
        if (one_run(&in1, &out1) != ONE_OK || two_run(&in2, &out2) != TWO_OK) { return 6; }
        if (memcmp(alone1[run], y1, sizeof y1) != 0 || memcmp(alone2[run], y2, sizeof y2) != 0) { return 7; }
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cancelled")
    for name, make, platform in (("one", accumulator, "host"), ("two", window, TILED)):
        for file, content in built(make(), folder, name, platform).files.items():
            (folder / file).write_bytes(content)
    (folder / "main.c").write_text(MAIN, encoding="utf-8")
    return folder


def _status(folder: Path, *flags: str) -> int:
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *LINKER, "-std=c11", *WARNINGS, *sanitizers, *flags, f"-I{folder}", f"-I{RUNTIME / 'include'}"]
    command += [*map(str, folder.glob("*.c")), str(runtime_library(OBJECTS)), "-lm", "-o", str(folder / "program")]
    subprocess.run(command, check=True)
    return subprocess.run([folder / "program"], check=False).returncode


@needs_host_compiler
def test_models_in_turn_and_cancelled_runs_leave_each_other_alone(folder: Path) -> None:
    assert _status(folder, "-DTILEWRIGHT_CANCEL=is_over") == 0


@needs_host_compiler
def test_a_model_that_never_asks_is_noticed(folder: Path) -> None:
    assert _status(folder) == 3
