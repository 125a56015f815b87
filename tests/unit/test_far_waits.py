"""The verdict of benchmarks/far_waits.py: how long a layer may wait for copies over external RAM."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.planned import link
from tilewright.report.step_runs import Started

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import far_waits

COPIES = far_waits.Copies(near=10.0, far=100.0, ends=20.0)


@pytest.mark.parametrize(
    ("kernels", "allowed"),
    [
        (100.0, 30.0),  # what is near, and the ends
        (500.0, 30.0),
        (50.0, 85.0),  # and 1.10 times 50
        (0.0, 140.0),
    ],
)
def test_a_layer_may_wait_for_what_kernels_cannot_hide(kernels: float, allowed: float) -> None:
    assert far_waits.may_wait(COPIES, kernels) == pytest.approx(allowed)


def test_a_copy_takes_its_commands_its_lines_and_its_bytes() -> None:
    far = replace(link("l3", "l2"), bytes_per_cycle=1.0, setup_cycles=400, line_cycles=84)
    assert far_waits.copy_cycles(far, Started(("x", 0), "l3->l2", 2, 10, 1_000)) == 2 * 400 + 10 * 84 + 1_000
