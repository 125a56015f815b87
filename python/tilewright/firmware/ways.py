"""Where the two ways of each branch of a function meet again: the branch's post-dominator, or an earlier place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.disassembly import Instruction
from tilewright.firmware.rv32_steps import BRANCHES

_EXIT = -1


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where the ways of a branch may meet.

    Attributes:
        near: places of which both ways usually reach the same one first: in a loop its start and its exits.
        certain: the first instruction through which every way from the branch goes; None if there is none.
    """

    near: frozenset[int]
    certain: int | None


def meeting_points(instructions: Sequence[Instruction]) -> dict[int, Meeting]:
    """The meeting of each branch of a function. A jump through a register leaves the function."""
    order, ways = _successors(instructions)
    above = _above(order, ways)
    loops = _loops(ways)
    found = {}
    for item in instructions:
        if item.name in BRANCHES:
            certain = above.get(item.address, _EXIT)
            around = [(start, body) for start, body in loops if item.address in body]
            start, body = min(around, key=lambda loop: len(loop[1]), default=(_EXIT, frozenset()))
            near = {certain}
            if around and certain not in body:
                near |= {start, *(way for address in body for way in ways[address] if way not in body)}
            found[item.address] = Meeting(frozenset(near - {_EXIT}), None if certain == _EXIT else certain)
    return found


def _loops(ways: Mapping[int, tuple[int, ...]]) -> list[tuple[int, frozenset[int]]]:
    """The start of each loop, and its instructions."""
    before: dict[int, list[int]] = {}
    for address, nexts in ways.items():
        for way in nexts:
            before.setdefault(way, []).append(address)
    bodies: dict[int, set[int]] = {}
    for address, nexts in ways.items():
        for start in nexts:
            if _EXIT < start <= address:
                body = bodies.setdefault(start, {start})
                waiting = [address]
                while waiting:
                    at = waiting.pop()
                    if at not in body:
                        body.add(at)
                        waiting += before.get(at, [])
    return [(start, frozenset(body)) for start, body in bodies.items()]


def _above(order: Sequence[int], ways: Mapping[int, tuple[int, ...]]) -> dict[int, int]:
    """For each instruction its immediate post-dominator: the next instruction through which all ways from it go."""
    above: dict[int, int] = {_EXIT: _EXIT}
    changes = True
    while changes:
        changes = False
        for address in order[1:]:
            known = [way for way in ways[address] if way in above]
            if not known:
                continue
            met = known[0]
            for way in known[1:]:
                met = _common(met, way, above)
            if above.get(address) != met:
                above[address] = met
                changes = True
    return above


def _successors(instructions: Sequence[Instruction]) -> tuple[list[int], Mapping[int, tuple[int, ...]]]:
    """The exit and all instructions from the last to the first, and for each where it may go on."""
    inside = {item.address for item in instructions}
    ways: dict[int, tuple[int, ...]] = {}
    for number, item in enumerate(instructions):
        behind = instructions[number + 1].address if number + 1 < len(instructions) else _EXIT
        if item.name in BRANCHES:
            ways[item.address] = (behind, _inside(int(item.operands[-1], 16), inside))
        elif item.name == "j":
            ways[item.address] = (_inside(int(item.operands[-1], 16), inside),)
        elif item.name in ("jr", "ret") or (item.name in ("jal", "jalr") and item.operands[0] == "zero"):
            ways[item.address] = (_EXIT,)
        else:
            ways[item.address] = (behind,)
    return [_EXIT, *sorted(ways, reverse=True)], ways


def _inside(address: int, inside: set[int]) -> int:
    return address if address in inside else _EXIT


def _common(first: int, second: int, above: Mapping[int, int]) -> int:
    """The nearest instruction through which the ways from both go."""
    seen = set()
    at = first
    while True:
        seen.add(at)
        if at == _EXIT:
            break
        at = above[at]
    at = second
    while at not in seen:
        at = above[at]
    return at
