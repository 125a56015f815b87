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
@pytest.mark.parametrize("kept", faults.OPTIONS.values())
def test_flips_are_counted(tmp_path: Path, kept: tuple[str, ...]) -> None:
    found, in_layers = faults.measured(faults.built(tmp_path, EXAMPLE, kept), 12, 1)
    assert set(found) == set(faults.PLACES)
    assert all(sum(ways[way] for way in faults.WAYS) == 12 for ways in found.values())
    constants = found["constants"]
    assert in_layers > 40 if "protect" in kept else in_layers == 0
    if kept:
        assert constants["silent"] == constants["harmless"] == 0
    else:
        assert constants["silent"] > 0 < constants["harmless"]
        assert all(ways["check"] == ways["status"] == 0 for ways in found.values())


@needs_riscv
def test_a_machine_that_waits_for_ever_is_reset(tmp_path: Path) -> None:
    """No alarm comes before the run, where interrupts are off."""
    program = faults.built(tmp_path, EXAMPLE)
    with faults.machine(faults.command_for(program)) as stub:
        stub.break_at(program.address("fault_start"))
        assert stub.run()
        stub.set_register(faults.PROGRAM_COUNTER, program.address("park"))
        assert not stub.run(patience_s=1.0)
        stub.reset()
        assert stub.run()
        assert stub.register(faults.PROGRAM_COUNTER) == program.address("fault_start")
