"""What a function does, from its instructions: the stack that it takes, what it calls and which addresses it knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware import arm, riscv
from tilewright.firmware.compared_ends import Comparing, only_compared
from tilewright.firmware.disassembly import Disassembly, Instruction
from tilewright.firmware.image import Image, Machine, Symbol
from tilewright.firmware.machine import STACK_POINTER, Effect, Reader, Registers, Value

_MOST_FRAME_BYTES = 1 << 24
"""A frame beyond this size is taken for one without bound, as in a loop that lowers the stack pointer."""


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call from ``address``, when the caller has taken ``depth_bytes`` of stack; ``target`` is None for a pointer."""

    address: int
    target: int | None
    depth_bytes: int


@dataclass(frozen=True, slots=True)
class Body:
    """A function's frame at its deepest, its calls, and addresses that it computes or accesses.

    With those in ``compared`` it does nothing but compare. ``is_bounded`` is False where the stack pointer is lowered
    by an amount that is not known.
    """

    frame_bytes: int
    calls: tuple[CallSite, ...]
    touched: frozenset[int]
    is_bounded: bool
    compared: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Walk:
    """States before instructions that were reached, and what was found on the way.

    ``makers`` has for each address the instructions that compute or access it.
    """

    known: dict[int, Registers] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    calls: dict[tuple[int, int | None], int] = field(default_factory=dict)
    jumps: dict[int, int] = field(default_factory=dict)
    makers: dict[int, set[int]] = field(default_factory=dict)
    frame_bytes: int = 0
    is_bounded: bool = True

    def reach(self, address: int, registers: Registers) -> None:
        """Go on at an address with the values that are known on this way and on all earlier ways to it."""
        before = self.known.get(address)
        after = registers if before is None else _met(before, registers)
        if after != before:
            self.known[address] = after
            self.waiting.append(address)

    def depth(self, registers: Registers) -> int:
        """Bytes of stack taken; the deepest counts for the frame."""
        pointer = registers.get(STACK_POINTER)
        if pointer is None or not pointer.on_stack or pointer.number < -_MOST_FRAME_BYTES:
            self.is_bounded = False
            return self.frame_bytes
        self.frame_bytes = max(self.frame_bytes, -pointer.number)
        return max(-pointer.number, 0)


def _met(first: Registers, second: Registers) -> Registers:
    """Values that are the same on two ways; of two stack pointers the lower."""
    both = {name: value for name, value in first.items() if second.get(name) == value}
    one, other = first.get(STACK_POINTER), second.get(STACK_POINTER)
    if one is not None and other is not None and one.on_stack and other.on_stack:
        both[STACK_POINTER] = Value(min(one.number, other.number), on_stack=True)
    return both


@dataclass(frozen=True, slots=True)
class Walker:
    """Follows functions of one program."""

    image: Image
    code: Disassembly
    start: Registers
    effect: Callable[[Instruction, Registers, Reader], Effect]
    comparing: Comparing

    def body(self, function: Symbol) -> Body:
        """What a function does, on all ways through it."""
        instructions = self.code.between(function.address, function.end)
        place = {instruction.address: number for number, instruction in enumerate(instructions)}
        walk = _Walk()
        walk.reach(function.address, self.start)
        is_switch = False
        while True:
            while walk.waiting:
                self._step(function, instructions, place, walk)
            rest = next((item.address for item in instructions if item.address not in walk.known), None)
            if rest is None or not walk.jumps:
                break
            # A jump through a register is a switch if some instructions are reached by nothing else: its cases.
            is_switch = True
            pointer = Value(-max(walk.jumps.values()), on_stack=True)
            walk.reach(rest, {**self.start, STACK_POINTER: pointer})
        if not is_switch:
            walk.calls.update({(address, None): depth for address, depth in walk.jumps.items()})
        sites = (CallSite(address, target, depth) for (address, target), depth in walk.calls.items())
        ordered = sorted(sites, key=lambda site: (site.address, site.target or 0))
        compared = only_compared(instructions, walk.makers, self.comparing)
        return Body(walk.frame_bytes, tuple(ordered), frozenset(walk.makers), walk.is_bounded, compared)

    def _step(self, function: Symbol, instructions: Sequence[Instruction], place: dict[int, int], walk: _Walk) -> None:
        address = walk.waiting.pop()
        number = place.get(address)
        if number is None:
            return
        registers = walk.known[address]
        depth = walk.depth(registers)
        effect = self.effect(instructions[number], registers, self.image.word)
        for touched in effect.touched:
            walk.makers.setdefault(touched, set()).add(address)
        after = effect.registers
        if effect.call is not None:
            target = effect.call.target
            if target is None and effect.call.is_jump:
                walk.jumps[address] = depth
            elif target in place and (effect.call.is_jump or target != function.address):
                # A jump inside the function, or a call of a subroutine that lies inside the function (assembler).
                walk.reach(target, after)
            elif (saved := self._saved_bytes(target)) is not None:
                after = {**registers, STACK_POINTER: registers[STACK_POINTER].plus(-saved)}
            else:
                walk.calls[address, target] = max(depth, walk.calls.get((address, target), 0))
        for branch in effect.branches:
            if branch in place:
                walk.reach(branch, after)
            else:
                walk.calls[address, branch] = max(depth, walk.calls.get((address, branch), 0))
        if effect.falls and number + 1 < len(instructions):
            walk.reach(instructions[number + 1].address, after)

    def _saved_bytes(self, target: int | None) -> int | None:
        """Bytes of the caller's stack that a function takes to save registers there; None for every other function."""
        symbol = None if target is None else self.image.function_at(target)
        return None if symbol is None else riscv.saved_bytes(symbol.name)


def walker(image: Image, code: Disassembly) -> Walker:
    """The walker for the instruction set of a program."""
    if image.machine is Machine.ARM:
        return Walker(image, code, arm.start(None), arm.effect, arm.COMPARING)
    pointer = next((symbol.address for symbol in image.named("__global_pointer$")), None)
    return Walker(image, code, riscv.start(pointer), riscv.effect, riscv.COMPARING)
