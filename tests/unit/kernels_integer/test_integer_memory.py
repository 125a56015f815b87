"""Kernels stay inside their operands, and the harness notices when they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from kernel_harness import ADDRESS_SANITIZER, run_kernel
from support.integer_nodes import SOURCES, choices_of, integers, node_graph, requantize
from tilewright.kernels.kernel import KernelChoice, TileSteps

FOLDER = Path(__file__).parent


def small_conv() -> tuple:
    import numpy as np

    rng = np.random.default_rng(0)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": 1, "x_zero_point": 0}
    inputs = [integers(rng, "int8", (1, 4, 5, 5)), integers(rng, "int8", (4, 4, 3, 3))]
    return node_graph("Conv", inputs, (1,), (1, 4, 5, 5), "int8", attributes, requantize([0.0013]), True)


@pytest.mark.skipif(ADDRESS_SANITIZER, reason="the sanitizer ends the process")
def test_a_kernel_that_leaves_its_scratch_is_noticed() -> None:
    graph, feeds = small_conv()
    choice = next(found for found in choices_of(graph) if found.kernel.symbol == "tilewright_conv_packed")

    def smaller(_: KernelChoice, steps: TileSteps) -> dict[str, int]:
        areas = dict(choice.kernel.scratch(choice, steps))
        return {**areas, "padding": areas["padding"] - 4}

    small = replace(choice, kernel=replace(choice.kernel, scratch=smaller))
    with pytest.raises(AssertionError, match="outside its operands"):
        run_kernel(small, graph, feeds, sources=SOURCES)


def sanitized(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with the address sanitizer preloaded; skips where the host compiler has none."""
    question = ["cc", "-print-file-name=libasan.so"]
    runtime = subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(runtime).is_absolute():
        pytest.skip("the host compiler has no address sanitizer")
    tests = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "LD_PRELOAD": runtime,
        # Python allocates so often that walking its stack each time takes a tenth of the whole.
        "ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=1",
        "TILEWRIGHT_TEST_ADDRESS_SANITIZER": "1",
        "PYTHONPATH": os.pathsep.join([str(tests.parent / "python"), str(tests), str(FOLDER)]),
    }
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tests.parent)


@pytest.mark.skipif(ADDRESS_SANITIZER, reason="runs the others under the sanitizer")
def test_everything_under_the_address_sanitizer() -> None:
    # Of programs and interpreters that run beside this process, its sanitizer sees nothing.
    kernels_here = "not test_tiles_of_the_generated_code and not test_a_wrong_instruction_is_seen"
    done = sanitized("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", kernels_here, str(FOLDER))
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


@pytest.mark.skipif(ADDRESS_SANITIZER, reason="starts a process of its own")
def test_the_address_sanitizer_notices_a_short_operand() -> None:
    program = (
        "from dataclasses import replace\n"
        "from test_integer_memory import small_conv\n"
        "from kernel_harness import run_kernel\n"
        "from tilewright.kernels.kernel import packed_array\n"
        "from support.integer_nodes import SOURCES, choices_of\n"
        "graph, feeds = small_conv()\n"
        "choice = choices_of(graph)[0]\n"
        "weights = replace(choice.reads[1], data=packed_array(choice.reads[1].data, {})[:, :, :-1])\n"
        "short = replace(choice, reads=(choice.reads[0], weights, *choice.reads[2:]))\n"
        "run_kernel(short, graph, feeds, sources=SOURCES)\n"
    )
    assert "heap-buffer-overflow" in sanitized("-c", program).stderr
