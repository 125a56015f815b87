"""What a linked program takes of the chip and of time, from the verdict that check-elf wrote."""

from __future__ import annotations

import json
from pathlib import Path

from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_utf8
from tilewright.base.lazy_dataclass import dataclass
from tilewright.report.measured import Measured

INSTRUCTIONS = "instructions"
"""The counter of profiles that can be compared with a bound."""


@dataclass(frozen=True, slots=True)
class Firmware:
    """A program as check-elf found it.

    Attributes:
        line: RAM, flash and what is left of each region.
        stack_bytes: the most stack of the model's run.
        instructions: the most instructions of its run, for any input; None if nobody asked for them.
    """

    line: str
    stack_bytes: int
    instructions: int | None = None


def read_firmware(path: Path, model: str) -> Firmware:
    """What a verdict says of its program and of the model of this C prefix.

    Raises bad_input ``firmware-file`` for a file that cannot be read, is no verdict, or does not know the model.
    """
    try:
        content = json.loads(read_utf8(path))
        entry = {item["name"]: item for item in content["models"]}.get(model)
        if entry is not None:
            return Firmware(str(content["memory"]["line"]), int(entry["stack_bytes"]), entry.get(INSTRUCTIONS))
    except OSError as error:
        raise bad_input("firmware-file", f"cannot read the verdict: {error.strerror or error}", at=str(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        remedy = "tilewright check-elf --json writes it"
        raise bad_input("firmware-file", "the file is no verdict of check-elf", at=str(path), help=remedy) from error
    remedy = "check the program with this plan too"
    raise bad_input("firmware-file", f"the verdict has no model '{model}'", at=str(path), help=remedy)


def measured_instructions(measured: Measured | None) -> int | None:
    """The instructions of all layers of a profile; None without one, or where it counts something else."""
    if measured is None or measured.counter != INSTRUCTIONS or not measured.layers:
        return None
    return sum(measured.layers.values())


def firmware_text(firmware: Firmware, measured: Measured | None) -> str:
    """The first lines of the report: the chip, and the bound of a run beside what was measured."""
    if firmware.instructions is None:
        return f"{firmware.line}\n"
    text, count = f"time: a run takes at most {firmware.instructions:,} instructions", measured_instructions(measured)
    if count:
        text += (
            f"; {count:,} measured in its layers (the bound is {100 * (firmware.instructions / count - 1):.1f} % above)"
        )
    return f"{firmware.line}\n{text}\n"
