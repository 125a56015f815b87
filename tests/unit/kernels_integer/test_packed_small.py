"""Cores of packed convolutions compiled for size: the same elements as those compiled for speed."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.firmware import WARNINGS, needs_host_compiler
from support.objects import ROOT
from tilewright.graph import Array
from tilewright.kernels.integer import BLOCK
from tilewright.kernels.requantization import Rule
from tilewright.kernels.scalar.conv_packed import CORE_SOURCES
from tilewright.kernels.scalar.packed import INLINED
from tilewright.kernels.scalar.rounds import Core, sorted_blocks

MOST_PIXELS = 6
ROW_WORDS = {Rule.FOLDED: 2, Rule.LAYER: 2}
CHANNELS, TAPS = 7, 45


class Job(ctypes.Structure):
    """``struct tilewright_packed``."""

    _fields_ = (
        ("pixel", ctypes.c_void_p * MOST_PIXELS),
        *((name, ctypes.c_void_p) for name in ("words", "weights", "rows")),
        *((name, ctypes.c_int32) for name in ("block_bytes", "unit", "channels", "channel_stride")),
        *((name, ctypes.c_int32) for name in ("minimum", "maximum", "addend", "shift")),
        ("finish", ctypes.c_void_p),
        ("row_words", ctypes.c_int32),
    )


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    """The cores at -O1 and at -Os, by the option."""
    folder = tmp_path_factory.mktemp("packed")
    return {option: library(option, folder) for option in ("-O1", "-Os")}


def library(option: str, folder: Path) -> ctypes.CDLL:
    files = [str(ROOT / "runtime" / "kernels" / name) for name in CORE_SOURCES]
    made = folder / f"packed{option}.so"
    include = f"-I{ROOT / 'runtime' / 'include'}"
    subprocess.run(["gcc", *WARNINGS, option, "-fPIC", "-shared", include, *files, "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


def drawn_rows(rng: np.random.Generator, rule: Rule) -> Array:
    """Constants of each channel: multipliers that leave elements of both signs, shifts without overflow."""
    rows = rng.integers(-(1 << 12), 1 << 12, (CHANNELS + 1, ROW_WORDS.get(rule, 4))).astype(np.int32)
    multiplier = 0 if rule is Rule.FOLDED else 1
    rows[:, multiplier] = rng.integers(1 << 8, 1 << 9, CHANNELS + 1) << (0 if rule is Rule.FOLDED else 20)
    if rule not in ROW_WORDS:
        rows[:, 3] = rng.integers(1, 7, CHANNELS + 1)
    return rows


def elements(core: Callable[[object], None], pixels: int, rule: Rule, kind: Core, spread: int) -> Array:
    """uint8[pixels, channels] as a core computes it, from numbers that depend on the arguments alone."""
    rng = np.random.default_rng(spread)
    weights = rng.integers(-spread, spread + 1, (1, CHANNELS, TAPS))
    blocks = sorted_blocks(weights, kind)
    packed, rows = blocks.packed(weights), drawn_rows(rng, rule)
    halves = rng.integers(-128, 128, (TAPS, pixels // 2, 2))
    words = (halves[..., 0] + (halves[..., 1] << 16)).astype(np.uint32)
    y = np.zeros((pixels, CHANNELS), np.uint8)
    job = Job()
    for pixel in range(pixels):
        job.pixel[pixel] = y[pixel].ctypes.data
    job.words, job.weights, job.rows = (array.ctypes.data for array in (words, packed, rows))
    job.block_bytes, job.unit, job.channels, job.channel_stride = packed[0, 0].nbytes, blocks.unit, CHANNELS, 1
    job.minimum, job.maximum, job.addend, job.shift = -128, 127, 3, 18 if rule is Rule.FOLDED else 3
    job.row_words = rows.shape[1]
    core(ctypes.byref(job))
    return y


@needs_host_compiler
@pytest.mark.parametrize("rule", INLINED)
def test_elements_are_the_same(rule: Rule, libraries: dict[str, ctypes.CDLL]) -> None:
    seen = set()
    narrow = product((2, BLOCK, MOST_PIXELS), (Core.TO4, Core.TO8, Core.TO16), (5, 40, 127))
    for pixels, kind, spread in (*narrow, (BLOCK, Core.WIDE, 40), (BLOCK, Core.WIDE, 255)):
        name = f"tilewright_packed_{rule.value}_{pixels}_{kind.value}"
        fast, small = (elements(libraries[option][name], pixels, rule, kind, spread) for option in libraries)
        np.testing.assert_array_equal(small, fast, err_msg=f"{name}, weights up to {spread}")
        seen |= set(fast.ravel().tolist())
    assert len(seen) > 50, "nearly all elements are clamped"
