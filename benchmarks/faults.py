"""Single bits that flip in the memory of a running model: how many are caught, harmless, or change outputs in silence.

    python benchmarks/faults.py --corpus FOLDER [--flips N] [--seed N] [--markdown FILE]

The digits example and kws_int8 run on RV32 in QEMU, without options, with GUARDS and CHECK_CONSTANTS, and with these
and PROTECT. At a random instruction of a run one random bit is flipped through QEMU's GDB stub: in constants, in the
pool, in the read-only tables of the code, or in loop state (the stack below the application, where registers are saved
too, and the registers s0 to s11). The machine is reset behind each flip. Inputs are random bytes of the same seed.

caught: the run returned another status than OK, the check of constants behind it failed, the program trapped or ended,
or run and check took more than the bound, 1.1 times their instructions without a fault. reset: the alarm for that did
not end the run, whose code can overwrite what the alarm needs; a watchdog outside of the core resets the machine then,
here the stub after a minute. silent: the run returned OK and an output differs; harmless: none does.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from corpus_parser import corpus_parser

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gdb_stub import Stub, machine
from support.linked import EXAMPLE, link_model
from tilewright.base.resources import runtime_dir
from tilewright.firmware.image import Image, SymbolKind, read_image
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.platform import load_platform

HERE = Path(__file__).resolve().parent
PLATFORM = "qemu-virt-rv32-single"
STOPS = ("fault_start", "fault_now", "fault_end", "fault_late", "fault_trap", "tilewright_trap", "tilewright_exit")
PLACES = ("constants", "pool", "tables", "loop state")
WAYS = ("status", "check", "trap", "bound", "reset", "harmless", "silent")
CAUGHT = WAYS[:5]
STACK_POINTER, PROGRAM_COUNTER = 2, 32
SAVED_REGISTERS = (8, 9, *range(18, 28))
OPTIONS = {
    "none": (),
    "GUARDS CHECK_CONSTANTS": ("guards", "check_constants"),
    "GUARDS CHECK_CONSTANTS PROTECT": ("guards", "check_constants", "protect"),
}
"""Options of the programs, as users and as ``CompileOptions`` name them."""
USER_MODE = "tilewright_protect_enter"
ALARMED = """\
    /* Machine mode takes no interrupt until user mode does. */
    li t1, 8
    clear_csr MSTATUS, t1
    lw t1, AT_MIE(sp)
    write_csr MIE, t1
PLACE"""
"""Before user mode is entered: the alarm that the port switched off is on again."""
ALARM = """\
PLACE
    /* sp is the port's frame now, whose room for floats a core without them does not need. */
    .insn i 0x73, 1, sp, sp, MSCRATCH
    sw t0, AT_FLOATS(sp)
    read_csr t0, MCAUSE
    bltz t0, alarm
    lw t0, AT_FLOATS(sp)
    write_csr MSCRATCH, sp
    j fault
alarm:
    la t0, fault_saved
    .set place, 0
    .irp name, ra, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
    sw \\name, place(t0)
    .set place, place + 4
    .endr
    lw t1, AT_FLOATS(sp)
    sw t1, place(t0)
    la t1, alarm_frame
    sw sp, 0(t1)
    read_csr t1, MSCRATCH
    la t2, fault_stack
    sw t1, 0(t2)
    la sp, alarm_stack + 1024
    call fault_alarm
    la t0, alarm_frame
    lw sp, 0(t0)
    la t0, fault_saved
    .set place, 0
    .irp name, ra, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
    lw \\name, place(t0)
    .set place, place + 4
    .endr
    lw t0, place(t0)
    .insn i 0x73, 1, sp, sp, MSCRATCH
    mret

    .section .bss.fault_saved, "aw", @nobits
    .balign 16
    .globl fault_saved
    .type fault_saved, @object
fault_saved:
    .zero 64
    .size fault_saved, 64
alarm_frame:
    .zero 16
alarm_stack:
    .zero 1024

    .section .text.__wrap_tilewright_protect_enter, "ax", @progbits
fault:
"""
"""Where layers trap: an interrupt calls the alarm, and the layer goes on; whatever else ends the layer, as ever."""


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
        """(address, bytes) of what may be hit; empty for loop state, whose addresses are known only during the run."""
        if place == "constants":
            return [(item.address, item.size_bytes) for item in self.image.named("m_flash")]
        if place == "pool":
            return [(item.address, item.size_bytes) for item in self.image.named("m_pool_sram")]
        if place == "tables":
            objects = (item for item in self.image.symbols if item.kind is SymbolKind.OBJECT and item.size_bytes)
            return [(item.address, item.size_bytes) for item in objects if item.section.name == ".rodata"]
        return []


def built(folder: Path, model: Path, kept: Sequence[str] = ()) -> Program:
    """The program of a model, with some of the options that keep it."""
    options = CompileOptions(model, PLATFORM, "m", static_pools=True, quantized_io=True)
    artifacts = compile_model(replace(options, **dict.fromkeys(kept, True)))
    tensors = (artifacts.plan.inputs[0], artifacts.plan.outputs[0])
    assert all(tensor.dtype == "int8" for tensor in tensors)
    input_bytes, output_bytes = (prod(tensor.shape) for tensor in tensors)
    sizes = f"#define INPUT_BYTES {input_bytes}\n#define OUTPUT_BYTES {output_bytes}\n"
    text = (
        sizes
        + ("#define CHECKED\n" if "check_constants" in kept else "")
        + (HERE / "faults.c").read_text(encoding="utf-8")
    )
    words, more = (), []
    if "protect" in kept:
        words, more = (f"-Wl,--wrap={USER_MODE}",), [folder / "user_mode_with_alarms.S"]
        more[0].write_text(user_mode_with_alarms(), encoding="utf-8")
    path = link_model(folder, artifacts, text, words=words, more=more)
    return Program(read_image(path), path, input_bytes, output_bytes)


def user_mode_with_alarms() -> str:
    """The port's way into user mode, but the alarm interrupts layers; the port keeps interrupts until a layer is done.

    A trap that is an interrupt calls ``fault_alarm`` on a stack of its own, and then the layer goes on.
    """
    text = (runtime_dir() / "ports" / "qemu_virt" / "user_mode.S").read_text(encoding="utf-8")
    head, _, enter = text.partition(f"    .section .text.{USER_MODE}")
    enter = f"    .section .text.{USER_MODE}{enter}".replace(USER_MODE, f"__wrap_{USER_MODE}")
    head = head.partition("    .section .text.tilewright_protect_set")[0]
    for place, more in (("    mret\nin_user_mode:\n", ALARMED), ("trapped:\n", ALARM)):
        assert enter.count(place) == 1
        enter = enter.replace(place, more.replace("PLACE", place))
    return head + enter


@dataclass
class Campaign:
    """One program in one machine; ``expected`` is the unspoilt output, ``instructions`` those of the unspoilt run
    and the check behind it, ``in_layers`` the flips that came while a protected layer ran."""

    program: Program
    stub: Stub
    chance: random.Random
    content: bytes
    instructions: int = 0
    run_instructions: int = 0
    expected: bytes = b""
    in_layers: int = 0

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
        self.in_layers += self._word("fault_stack") != 0
        self._hit(place, top)
        stop = self._next()
        if stop != "fault_end":
            return {"fault_late": "bound", "": "reset"}.get(stop, "trap")
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
            low = self._word("fault_stack") or self.stub.register(STACK_POINTER)
            spans = [(low, top - low), *((-number, 4) for number in SAVED_REGISTERS)]
            spans += [(item.address, item.size_bytes) for item in self.program.image.named("fault_saved")]
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


def command_for(program: Program) -> list[str]:
    """The simulator's command line."""
    simulator = load_platform(PLATFORM).simulator
    assert simulator is not None
    words = (word for word in simulator.command if word != "-nographic")
    return [*(str(program.path) if word == "{elf}" else word for word in words), "-display", "none"]


def measured(program: Program, flips: int, seed: int) -> tuple[dict[str, Counter[str]], int]:
    """For each place what came of as many flips, and how many of all came while a protected layer ran."""
    chance = random.Random(seed)
    with machine(command_for(program)) as stub:
        campaign = Campaign(program, stub, chance, chance.randbytes(program.input_bytes))
        campaign.prepare()
        found = {place: Counter(campaign.flip(place) for _ in range(flips)) for place in PLACES}
        return found, campaign.in_layers


def rows(name: str, options: str, found: dict[str, Counter[str]]) -> Iterator[str]:
    """Lines of the table for one program."""
    for place, ways in found.items():
        caught = sum(ways[way] for way in CAUGHT)
        cells = (name, options, place, sum(ways.values()), caught, *(ways[way] for way in WAYS))
        yield "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    """Print the table; returns the exit status."""
    parser = corpus_parser(__doc__.splitlines()[0], only="programs whose name has this text", markdown=True)
    parser.add_argument(
        "--flips",
        type=int,
        default=250,
        help="number of flips in each place (constants, pool, tables, loop state) of each program",
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    models = {"digits": EXAMPLE, "kws_int8": given.corpus / "onnx" / "kws_int8" / "network.onnx"}
    head = ["| network | options | place | flips | caught | " + " | ".join(WAYS) + " |", "|" + "---|" * 12]
    lines = list(head)
    for name, model in models.items():
        for options, kept in OPTIONS.items():
            if given.only not in f"{name} {options}":
                continue
            with tempfile.TemporaryDirectory() as folder:
                found, _ = measured(built(Path(folder), model, kept), given.flips, given.seed)
            lines += rows(name, options, found)
            print("\n".join(lines[-len(PLACES) :]), flush=True)
    if given.markdown is not None:
        given.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
