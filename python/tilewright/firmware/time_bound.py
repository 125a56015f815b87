"""The most instructions that a model's run takes, from the program's instructions.

The run is executed with inputs, tensors and scratch unknown. The bounds of loops are known, as they stand in the
program's constants. Where a branch depends on an unknown value, both ways are executed up to the place where they meet,
and the longer one counts. So no input takes more instructions than the sum. The arrays and structs that the caller
passes are assumed to lie at multiples of 16 bytes.

Before:  if (value > 127) { value = 127; }   with a value that is unknown
After:   the instructions of the longer way; behind it, what differs between the ways is unknown
"""

from __future__ import annotations

from dataclasses import field

from tilewright.base.errors import TilewrightError, not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.disassembly import Disassembly, Instruction
from tilewright.firmware.image import Image, Machine, Symbol
from tilewright.firmware.known_branches import Branch, touched_by
from tilewright.firmware.known_memory import Known, KnownMemory, UnknownAddress
from tilewright.firmware.rv32_steps import (
    BRANCHES,
    MASK,
    REGISTERS,
    Condition,
    Registers,
    Step,
    Word,
    address_of,
    condition_of,
    step_of,
    target_of,
)
from tilewright.firmware.walk import Walker, walker
from tilewright.firmware.ways import Meeting, meeting_points
from tilewright.plan import Plan

_END = 0xFFFFFFFE
"""The address to which the run returns."""

_STACK, _CALLERS, _STEP = 0x7F000000, 0x60000000, 0x01000000
"""Addresses of the stack and of the first array that the caller passes, and bytes from one such array to the next."""

_DEEPEST = 64
"""Branches on unknown values that may nest; a loop whose end is unknown nests until this limit, and is refused."""

_MOST = 1 << 31
"""The most instructions that are executed before the program is refused."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A basic block: instructions in a row. ``last`` is the branch or jump at its end, None if it has none.

    ``touched`` has the bits of the registers that the block reads or writes.
    """

    address: int
    steps: tuple[Step, ...]
    count: int
    last: Instruction | None
    behind: int
    condition: Condition | None
    touched: int
    target: int = 0


@dataclass(slots=True)
class _Run:
    """The state of the execution. ``frames`` have the return address and the stack pointer of each call under way."""

    image: Image
    code: Disassembly
    walker: Walker
    memory: KnownMemory
    registers: Registers
    pc: int
    frames: list[tuple[int, Word]]
    blocks: dict[int, _Block] = field(default_factory=dict)
    meetings: dict[int, dict[int, Meeting]] = field(default_factory=dict)
    starts: dict[int, frozenset[int]] = field(default_factory=dict)
    branches: dict[int, Branch] = field(default_factory=dict)
    touched: int = 0
    nested: int = 0

    def until(self, places: frozenset[int], depth: int) -> int:
        """Instructions up to the first of some addresses at a depth of calls, or up to the return from there."""
        count = 0
        while len(self.frames) >= depth and (self.pc not in places or len(self.frames) > depth):
            block = self.blocks.get(self.pc) or self._block(self.pc)
            try:
                for step in block.steps:
                    step(self.registers)
            except UnknownAddress as error:
                function = self.image.function_at(block.address)
                raise _refused("a store to an address that depends on data", self.image, function) from error
            count += block.count
            self.touched |= block.touched
            if count > _MOST:
                function = self.image.function_at(block.address)
                raise _refused(f"a run of more than {_MOST:,} instructions", self.image, function)
            if block.condition is None:
                count += self._go(block)
                continue
            taken = block.condition(self.registers)
            if taken is None:
                count += self._branch(block)
            else:
                self.pc = block.target if taken else block.behind
        return count

    def _go(self, block: _Block) -> int:
        """Go to the next block by a jump, and return 0; or the instructions of the longest case of a switch."""
        if block.last is None:
            self.pc = block.behind
            return 0
        name, operands = block.last.name, block.last.operands
        if name == "ret":
            name, operands = "jr", ("ra",)
        link = _link(name, operands)
        if name in ("j", "jal"):
            target: Word = int(operands[-1], 16)
        else:
            register, offset = address_of(operands[-1])
            base = self.registers[register]
            target = None if base is None else (base + offset) & MASK & ~1
        if target is None:
            return self._switch(block, link)
        pointer = self.registers[REGISTERS["sp"]]
        if link:
            self.registers[target_of(link)] = block.behind
            if link == "ra":
                self.frames.append((block.behind, pointer))
        elif self.frames and self.frames[-1] == (target, pointer):
            self.frames.pop()
        self.pc = target
        return 0

    def _switch(self, block: _Block, link: str) -> int:
        """The instructions of the longest case, up to the return from the function."""
        function = self.image.function_at(block.address)
        cases = () if function is None or link else self._cases(function)
        if not cases or self.nested >= _DEEPEST:
            raise _refused("a jump to an address that depends on data", self.image, function)
        self.nested += 1
        count = self._ways(cases, frozenset())
        assert count is not None, "all cases end where the function returns"
        self.nested -= 1
        return count

    def _cases(self, function: Symbol) -> tuple[int, ...]:
        """The addresses in a function that stand in its jump tables, as addresses or as distances from the table."""
        inside = {item.address for item in self.code.between(function.address, function.end)}
        found: set[int] = set()
        for table in self.walker.body(function).touched - inside:
            for base in (0, table):
                place = table
                while (word := self.image.word(place)) is not None and (word + base) & MASK in inside:
                    found.add((word + base) & MASK)
                    place += 4
        return tuple(sorted(found))

    def _branch(self, block: _Block) -> int:
        """The same as ``_both``, which need not be executed again for registers that it was executed with before."""
        branch = self.branches.setdefault(block.address, Branch())
        if (known := branch.known(self.registers, self.frames[-1])) is not None:
            count, self.pc, self.registers = known
            self.touched |= branch.touched
            return count
        before, was_used = (self.touched, list(self.registers), list(self.frames)), self.memory.is_used
        self.touched, self.memory.is_used = 0, False
        count = self._both(block)
        if not self.memory.is_used and self.frames == before[2]:
            branch.learn(before[1], self.frames[-1], self.touched, (count, self.pc, self.registers))
        self.touched |= before[0]
        self.memory.is_used |= was_used
        return count

    def _both(self, block: _Block) -> int:
        """Execute both ways of a branch up to where they meet, and return the instructions of the longer one."""
        assert block.last is not None
        function = self.image.function_at(block.last.address)
        self.nested += 1
        if function is None or self.nested > _DEEPEST:
            raise _refused("a loop whose end depends on data", self.image, function)
        meeting = self._meeting(function, block.last.address)
        starts = (block.target, block.behind)
        count = self._ways(starts, meeting.near)
        if count is None and meeting.near != {meeting.certain}:
            count = self._ways(starts, frozenset(() if meeting.certain is None else (meeting.certain,)))
        if count is None:
            raise _refused("a branch whose ways do not meet", self.image, function)
        self.nested -= 1
        return count

    def _ways(self, starts: tuple[int, ...], places: frozenset[int]) -> int | None:
        """Execute several ways from the same state, and return the instructions of the longest.

        Behind them, registers and words that differ between the ways are unknown. None, and nothing changed, if the
        ways do not reach the same one of ``places``.
        """
        before = (self.pc, self.registers, self.frames)
        log, counts, ends = self.memory.log, [], []
        for start in starts:
            self.pc, self.registers, self.frames = start, list(before[1]), list(before[2])
            self.memory.log = []
            counts.append(self.until(places, len(before[2])))
            ends.append((self.pc, self.frames, self.registers, self._undone()))
        self.memory.log = log
        if any((pc, frames) != ends[0][:2] for pc, frames, _, _ in ends):
            self.pc, self.registers, self.frames = before
            return None
        self.registers = [
            a if all(a == b for b in rest) else None for a, *rest in zip(*(end[2] for end in ends), strict=True)
        ]
        for address in {address for end in ends for address in end[3]}:
            old = self.memory.words.get(address)
            values = {end[3].get(address, old) for end in ends}
            log.append((address, old))
            self.memory.put(address, values.pop() if len(values) == 1 else None)
        return max(counts)

    def _undone(self) -> dict[int, Known]:
        """Take back all writes since the log began, and return the words that they wrote."""
        log = self.memory.log
        after = {place: self.memory.words.get(place) for place, _ in log}
        for place, before in reversed(log):
            self.memory.put(place, before)
        return after

    def _meeting(self, function: Symbol, address: int) -> Meeting:
        if function.address not in self.meetings:
            instructions = self.code.between(function.address, function.end)
            self.meetings[function.address] = meeting_points(instructions)
        return self.meetings[function.address][address]

    def _starts(self, function: Symbol) -> frozenset[int]:
        """The targets of a function's branches and jumps."""
        if function.address not in self.starts:
            jumps = (*BRANCHES, "j", "jal")
            found = (item for item in self.code.between(function.address, function.end) if item.name in jumps)
            self.starts[function.address] = frozenset(int(item.operands[-1], 16) for item in found)
        return self.starts[function.address]

    def _block(self, address: int) -> _Block:
        function = self.image.function_at(address)
        instructions = [] if function is None else self.code.between(address, function.end)
        starts = frozenset() if function is None else self._starts(function)
        steps: list[Step] = []
        for number, instruction in enumerate(instructions):
            behind = instructions[number + 1].address if number + 1 < len(instructions) else _function_end(function)
            if number and instruction.address in starts:
                touched = touched_by(instructions[:number])
                block = _Block(address, tuple(steps), number, None, instruction.address, None, touched)
                self.blocks[address] = block
                return block
            is_branch = instruction.name in BRANCHES
            if is_branch or instruction.name in ("j", "jr", "jal", "jalr", "ret"):
                condition = condition_of(instruction) if is_branch else None
                target = int(instruction.operands[-1], 16) if is_branch else 0
                touched = touched_by(instructions[: number + 1])
                block = _Block(address, tuple(steps), number + 1, instruction, behind, condition, touched, target)
                self.blocks[address] = block
                return block
            step = step_of(instruction, self.memory)
            if step is None:
                raise _refused(f"the instruction {instruction.name}", self.image, function)
            steps.append(step)
        raise _refused(f"code at {address:#x}, which no function has", self.image, function)


def _function_end(function: Symbol | None) -> int:
    """The address behind a function."""
    return 0 if function is None else function.end


def _link(name: str, operands: tuple[str, ...]) -> str:
    """The register that takes the return address; empty for a jump that does not return."""
    if name in ("j", "jr"):
        return ""
    link = operands[0] if len(operands) > 1 else "ra"
    return "" if link == "zero" else link


def _refused(what: str, image: Image, function: Symbol | None = None) -> TilewrightError:
    """The error for a program, or a function of it, without a bound."""
    where = str(image.path) if function is None else f"{image.path}: {function.name}"
    remedies = (
        "docs/how-to/ship-it.md says which programs have a bound",
        "or check the program without INSTRUCTIONS and BUDGET instructions",
    )
    return not_supported("time-bound", f"{what} has no bound", at=where, help=remedies)


def instruction_bound(image: Image, code: Disassembly, plan: Plan) -> int:
    """The most instructions from the first of ``<p>_run`` to its return, for any input.

    Raises not_supported ``time-bound`` for other machines than RV32, for a model whose input is fed, and for code
    whose loops depend on data.
    """
    if image.machine is not Machine.RISCV or image.word_bytes != 4:
        raise _refused("another instruction set than RV32", image)
    if any(item.fed_axis is not None for item in plan.inputs):
        raise _refused(f"model '{plan.name}', whose input is fed,", image)
    name = f"{plan.name}_run"
    root = next((symbol for symbol in image.functions if symbol.name == name), None)
    if root is None:
        raise _refused(f"a program without {name}", image)
    memory = KnownMemory(image)
    registers: Registers = [0, *(None for _ in range(32))]
    registers[REGISTERS["sp"]] = _STACK
    registers[REGISTERS["ra"]] = _END
    pointer = next((symbol.address for symbol in image.named("__global_pointer$")), None)
    registers[REGISTERS["gp"]] = pointer
    for number, struct in enumerate(_passed(plan)):
        address = _CALLERS + (number + 1) * 0x1000
        registers[REGISTERS[f"a{number}"]] = address
        for member, value in enumerate(struct):
            memory.put(address + 4 * member, value)
    run = _Run(image, code, walker(image, code), memory, registers, root.address, [(_END, _STACK)])
    return run.until(frozenset(), 1)


def _passed(plan: Plan) -> list[list[int]]:
    """The pointers in each struct that the caller passes: inputs, outputs, pools."""
    counts = [len(plan.callers_inputs), len(plan.callers_outputs)]
    if not plan.static_pools:
        used = {use.pool for use in plan.pool_use if use.used_bytes}
        counts.append(sum(pool.name in used and pool.access.value == "rw" and pool.base is None for pool in plan.pools))
    found, taken = [], 0
    for count in counts:
        if count:
            found.append([_CALLERS + (taken + number + 1) * _STEP for number in range(count)])
            taken += count
    return found
