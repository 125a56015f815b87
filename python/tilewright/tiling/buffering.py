"""Which operands may have several slots for their tiles, with the user's ``buffers`` applied.

Before:  buffers.conv = {x = "double", l2 = {weights = "single"}}, all links asynchronous
After:   x always has two slots; weights and y have one or two slots, whichever is cheaper; l2 holds
         one larger tile of the weights
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilewright.base.errors import TilewrightError, bad_input, suggestion
from tilewright.options import Buffering, LayerBuffers, Slots
from tilewright.tiling.problem import TilingProblem


def with_buffers(problems: Sequence[TilingProblem], given: LayerBuffers) -> list[TilingProblem]:
    """The problems whose kernel has all operands that ``given`` names, with ``given`` applied.

    Raises bad_input ``buffer-override`` of the first problem if no kernel has all operands.
    """
    allowed: list[TilingProblem] = []
    errors: list[TilewrightError] = []
    for problem in problems:
        try:
            allowed.append(_with_buffers(problem, given))
        except TilewrightError as error:
            errors.append(error)
    if not allowed:
        raise errors[0]
    return allowed


def _with_buffers(problem: TilingProblem, given: LayerBuffers) -> TilingProblem:
    near: dict[str, Slots] = {}
    far: dict[tuple[str, str], Slots] = {}
    moving = [operand.name for operand in problem.operands if operand.link is not None]
    staged = {(operand.name, pool) for operand in problem.operands for pool in operand.between}
    for name, pool, how in given:
        if not pool and name not in moving:
            raise _refused(problem, f"no tiles of '{name}' travel", name, moving)
        if pool and (name, pool) not in staged:
            known = sorted(other for other, between in staged if between == pool)
            raise _refused(problem, f"no larger tiles of '{name}' stay in pool '{pool}'", name, known)
        slots = how if isinstance(how, int) else Buffering(how)
        if pool:
            far[name, pool] = slots
        else:
            near[name] = slots
    return replace(problem, buffers=near, far_buffers=far)


def _refused(problem: TilingProblem, what: str, name: str, known: Iterable[str]) -> TilewrightError:
    node = problem.node
    known = tuple(known)
    return bad_input(
        "buffer-override",
        f"buffers given for '{node.name}': {what}",
        at=f"{node.name} ({node.operator}), kernel {problem.kernel.name}",
        help=suggestion(name, known) or (f"it has {', '.join(known)}" if known else "leave the layer out"),
    )


def with_given_slots(problem: TilingProblem, ways: list[frozenset[int]], buffering: Buffering) -> list[frozenset[int]]:
    """``ways`` (each a set of numbers of operands with several slots) with the user's ``problem.buffers`` applied.

    Example: with operand 1 given as ``double`` and operand 2 as ``single``, {} and {0, 2} become {1} and {0, 1}.
    """
    given = {
        number: problem.buffers[operand.name]
        for number, operand in enumerate(problem.operands)
        if operand.name in problem.buffers
    }
    if not given:
        return ways
    forced = frozenset(number for number, how in given.items() if how not in (Buffering.AUTO, Buffering.SINGLE, 1))
    free = frozenset(number for number, how in given.items() if how is Buffering.AUTO and _overlaps(problem, number))
    kept = [(way - frozenset(given)) | forced for way in ways]
    more = [way | free for way in kept]
    return list(dict.fromkeys([*more, *kept] if buffering is Buffering.DOUBLE else [*kept, *more]))


def _overlaps(problem: TilingProblem, number: int) -> bool:
    link = problem.operands[number].link
    return link is not None and link.asynchronous
