"""Single bits that flip in the memory of a running model: how many are caught, harmless, or change outputs in silence.

    python benchmarks/faults.py --corpus FOLDER [--flips N] [--seed N] [--markdown FILE]

The digits example and kws_int8 run on RV32 in QEMU, without options and with GUARDS and CHECK_CONSTANTS. At a random
instruction of a run one random bit is flipped through QEMU's GDB stub: in constants, in the pool, in the read-only
tables of the code, or in loop state (the stack below the application, where registers are saved too, and the registers
s0 to s11). The machine is reset behind each flip. Inputs are random bytes of the same seed.

caught: the run returned another status than OK, the check of constants behind it failed, the program trapped or ended,
or run and check took more than the bound, 1.1 times their instructions without a fault. silent: the run returned OK and
an output differs; harmless: none does. Exit status 1 if the machine had to be stopped from outside, which no flip may
need.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gdb_stub import Stub, machine
from support.linked import EXAMPLE, link_model
from tilewright.firmware.image import Image, SymbolKind, read_image
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.platform import load_platform

HERE = Path(__file__).resolve().parent
PLATFORM = "qemu-virt-rv32-single"
STOPS = ("fault_start", "fault_now", "fault_end", "fault_late", "fault_trap", "tilewright_trap", "tilewright_exit")
PLACES = ("constants", "pool", "tables", "loop state")
WAYS = ("status", "check", "trap", "bound", "harmless", "silent", "stopped")
STACK_POINTER, PROGRAM_COUNTER = 2, 32
SAVED_REGISTERS = (8, 9, *range(18, 28))


@dataclass(frozen=True)
class Program:
    """A linked model: its program, bytes of its input and output, and whether it checks itself."""

    image: Image
    path: Path
    input_bytes: int
    output_bytes: int

    def address(self, name: str) -> int:
        """The address of a function or object."""
        return self.image.named(name)[0].address

    def spans(self, place: str) -> list[tuple[int, int]]:
        """(address, bytes) of what may be hit; none for loop state, which is where the run stands."""
        if place == "constants":
            return [(item.address, item.size_bytes) for item in self.image.named("m_flash")]
        if place == "pool":
            return [(item.address, item.size_bytes) for item in self.image.named("m_pool_sram")]
        if place == "tables":
            objects = (item for item in self.image.symbols if item.kind is SymbolKind.OBJECT and item.size_bytes)
            return [(item.address, item.size_bytes) for item in objects if item.section.name == ".rodata"]
        return []


def built(folder: Path, model: Path, kept: bool) -> Program:
    """The program of a model, with or without the options."""
    options = CompileOptions(model, PLATFORM, "m", static_pools=True, quantized_io=True)
    artifacts = compile_model(replace(options, guards=kept, check_constants=kept))
    tensors = (artifacts.plan.inputs[0], artifacts.plan.outputs[0])
    assert all(tensor.dtype == "int8" for tensor in tensors)
    input_bytes, output_bytes = (prod(tensor.shape) for tensor in tensors)
    sizes = f"#define INPUT_BYTES {input_bytes}\n#define OUTPUT_BYTES {output_bytes}\n"
    text = sizes + ("#define CHECKED\n" if kept else "") + (HERE / "faults.c").read_text(encoding="utf-8")
    path = link_model(folder, artifacts, text)
    return Program(read_image(path), path, input_bytes, output_bytes)


@dataclass
class Campaign:
    """One program in one machine; ``expected`` is the unspoilt output, ``instructions`` those of the unspoilt run
    and the check behind it."""

    program: Program
    stub: Stub
    chance: random.Random
    content: bytes
    instructions: int = 0
    run_instructions: int = 0
    expected: bytes = b""

    def prepare(self) -> None:
        """Set the breakpoints, and measure a run without a fault."""
        for name in STOPS:
            self.stub.break_at(self.program.address(name))
        self._start(1 << 29, 1 << 30)
        assert self._next() == "fault_end"
        assert self._word("fault_status") == 0
        self.instructions = self._word("fault_instructions")
        self.run_instructions = self._word("fault_run")
        self.expected = self._output()

    def flip(self, place: str) -> str:
        """What comes of one flipped bit, one of WAYS."""
        while True:
            self.stub.reset()
            when = self.chance.randrange(200, self.run_instructions)
            top = self._start(when, self.instructions * 11 // 10)
            if self._next() == "fault_now":
                break
        self._hit(place, top)
        stop = self._next()
        if stop != "fault_end":
            return {"fault_late": "bound", "": "stopped"}.get(stop, "trap")
        if self._word("fault_status") != 0:
            return "status"
        if self._word("fault_check") != 0:
            return "check"
        return "harmless" if self._output() == self.expected else "silent"

    def _start(self, when: int, most: int) -> int:
        """Run to the start of the model; returns the stack pointer there."""
        assert self._next() == "fault_start"
        for begin in range(0, len(self.content), 1024):
            self.stub.write(self.program.address("fault_input") + begin, self.content[begin : begin + 1024])
        for name, value in (("fault_when", when), ("fault_most", most)):
            self.stub.write(self.program.address(name), value.to_bytes(4, "little"))
        return self.stub.register(STACK_POINTER)

    def _hit(self, place: str, top: int) -> None:
        spans = self.program.spans(place)
        if place == "loop state":
            low = self.stub.register(STACK_POINTER)
            spans = [(low, top - low), *((-number, 4) for number in SAVED_REGISTERS)]
        at = self.chance.randrange(sum(size for _, size in spans))
        for address, size in spans:
            if at >= size:
                at -= size
                continue
            bit = self.chance.randrange(8)
            if address < 0:
                value = self.stub.register(-address) ^ (1 << (8 * at + bit))
                self.stub.set_register(-address, value)
            else:
                byte = self.stub.read(address + at, 1)[0]
                self.stub.write(address + at, bytes([byte ^ (1 << bit)]))
            return

    def _next(self) -> str:
        """The function where the machine stops next; empty if it had to be stopped."""
        if not self.stub.run():
            return ""
        counter = self.stub.register(PROGRAM_COUNTER)
        return next(name for name in STOPS if self.program.address(name) == counter)

    def _word(self, name: str) -> int:
        return int.from_bytes(self.stub.read(self.program.address(name), 4), "little")

    def _output(self) -> bytes:
        return self.stub.read(self.program.address("fault_output"), self.program.output_bytes)


def measured(program: Program, flips: int, seed: int) -> dict[str, Counter[str]]:
    """For each place what came of as many flips."""
    simulator = load_platform(PLATFORM).simulator
    assert simulator is not None
    command = [str(program.path) if word == "{elf}" else word for word in simulator.command if word != "-nographic"]
    chance = random.Random(seed)
    with machine([*command, "-display", "none"]) as stub:
        campaign = Campaign(program, stub, chance, chance.randbytes(program.input_bytes))
        campaign.prepare()
        return {place: Counter(campaign.flip(place) for _ in range(flips)) for place in PLACES}


def rows(name: str, options: str, found: dict[str, Counter[str]]) -> Iterator[str]:
    """Lines of the table for one program."""
    for place, ways in found.items():
        caught = sum(ways[way] for way in WAYS[:4])
        cells = (name, options, place, sum(ways.values()), caught, *(ways[way] for way in WAYS[:-1]))
        yield "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--flips", type=int, default=250, help="flips in each place of each program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="programs whose name has this text")
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    models = {"digits": EXAMPLE, "kws_int8": given.corpus / "onnx" / "kws_int8" / "network.onnx"}
    head = ["| network | options | place | flips | caught | " + " | ".join(WAYS[:-1]) + " |", "|" + "---|" * 11]
    lines, stopped = list(head), 0
    for name, model in models.items():
        for kept in (False, True):
            options = "GUARDS CHECK_CONSTANTS" if kept else "none"
            if given.only not in f"{name} {options}":
                continue
            with tempfile.TemporaryDirectory() as folder:
                found = measured(built(Path(folder), model, kept), given.flips, given.seed)
            stopped += sum(ways["stopped"] for ways in found.values())
            lines += rows(name, options, found)
            print("\n".join(lines[-len(PLACES) :]), flush=True)
    if given.markdown is not None:
        given.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if stopped else 0


if __name__ == "__main__":
    sys.exit(main())
