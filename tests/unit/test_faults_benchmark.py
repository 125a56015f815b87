"""benchmarks/faults.py: flipped bits of constants are caught with the options, and some change outputs without."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.firmware import needs_riscv
from support.linked import EXAMPLE

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import faults


@needs_riscv
@pytest.mark.parametrize("kept", [False, True])
def test_flips_are_counted(tmp_path: Path, kept: bool) -> None:
    found = faults.measured(faults.built(tmp_path, EXAMPLE, kept), 12, 1)
    assert set(found) == set(faults.PLACES)
    assert all(sum(ways.values()) == 12 and not ways["stopped"] for ways in found.values())
    constants = found["constants"]
    if kept:
        assert constants["silent"] == constants["harmless"] == 0
    else:
        assert constants["silent"] > 0 < constants["harmless"]
        assert all(ways["check"] == ways["status"] == 0 for ways in found.values())
