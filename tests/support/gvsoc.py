"""Programs for pulp-open, and whether GVSoC is installed."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulator_environment

from support.firmware import RISCV_GCC, build_riscv

PLATFORM = load_platform("pulp-open")
HAS_GVSOC = (
    shutil.which(RISCV_GCC) is not None
    and shutil.which("gvsoc", path=simulator_environment(PLATFORM, os.environ).get("PATH")) is not None
)

# GVSoC is in no package, so a machine may lack it: skipped tests say so, and what they show needs one that has it.
needs_gvsoc = pytest.mark.skipif(not HAS_GVSOC, reason=f"needs {RISCV_GCC} and GVSoC (GVSOC_INSTALL_DIR)")

TURNS = r"""
static volatile uint32_t turns[8], done[8];
static volatile uint32_t errors;

/* Of each core in a fork, at its own pace: barriers keep all of them in the same turn. */
static void each(void *argument)
{
    const uint32_t cores = *(const uint32_t *)argument;
    const uint32_t core = tilewright_core_id();
    for (uint32_t turn = 1; turn <= 3; turn++) {
        for (volatile uint32_t delay = 0; delay < 20u * (core + 1u); delay++) {
        }
        turns[core] = turn;
        tilewright_barrier();
        for (uint32_t other = 0; other < cores; other++) {
            errors += turns[other] != turn;
        }
        tilewright_barrier();
    }
    done[core]++;
}
"""


@cache
def build(text: str) -> Path:
    """A program of one C file; kept until the tests end, since each simulator runs it."""
    folder = Path(tempfile.mkdtemp(prefix="tilewright-pulp-open-"))
    atexit.register(shutil.rmtree, folder)
    source = folder / "main.c"
    source.write_text(text, encoding="utf-8")
    return build_riscv(PLATFORM, [source], folder / "main.elf")
