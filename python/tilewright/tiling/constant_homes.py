"""The home of each constant that is copied to the kernels, where several pools hold constants.

Before:  l2_constants (768 KiB) and l3 hold constants; the network has 1,100 KiB of constants
After:   the two largest constants in l3, all others in l2_constants: few copies take the long way
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tilewright.plan import BufferKind
from tilewright.platform import Platform
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.homed_operand import rehomed
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

Content = tuple[str, str, tuple[int, ...]]
"""Constants of equal content are stored once: SHA-256 of the bytes in memory order, element type, extents."""


def with_constant_homes(
    problems: Sequence[Sequence[TilingProblem]],
    platform: Platform,
    arrays: HashedArrays,
    given: Mapping[str, str] = MappingProxyType({}),
) -> list[list[TilingProblem]]:
    """The problems of each layer, where constants that exceed the first pool have their home in the next pools.

    ``problems`` has, for each layer, one problem for each kernel that can run it. Homes change only
    where kernels address none of the pools that hold constants. All bytes cost the same to move, but
    each copy has its set-up: so the smallest arrays stay in the first pool. Arrays that only the
    second or a later kernel of a layer reads live in the last pool.
    ``given`` has the pools that the user gives, by the constants' names.
    Raises not_supported if a constant would have its home in a pool from which no link starts.
    """
    if given:
        named = [[_with_given(problem, platform, given) for problem in layer] for layer in problems]
        free = [[_without_given(problem, given) for problem in layer] for layer in named]
        settled = with_constant_homes(free, platform, arrays)
        pairs = (zip(*layers, strict=True) for layers in zip(settled, named, strict=True))
        return [[_with_all(problem, full) for problem, full in layer] for layer in pairs]
    pools = [pool for pool in platform.pools if BufferKind.CONSTANT in pool.holds]
    travelling = all(platform.access_cycles(pool.name) is None for pool in pools)
    first = pools[0].size_bytes if pools else None
    if not travelling or len(pools) < 2 or first is None or most_constant_bytes(problems) <= first:
        return [list(layer) for layer in problems]
    used = [operand for layer in problems for operand in _constants(layer[0])]
    sizes = {_content(operand, arrays): _stored_bytes(operand) for operand in used}
    homes: dict[Content, str] = {}
    left = [pool.usable_bytes for pool in pools]
    at = 0
    for content in sorted(sizes, key=lambda item: sizes[item]):
        while at + 1 < len(pools) and not _fits(sizes[content], left[at]):
            at += 1
        room = left[at]
        left[at] = None if room is None else room - sizes[content]
        homes[content] = pools[at].name
    last = pools[-1].name
    return [[_rehomed(problem, homes, last, platform, arrays) for problem in layer] for layer in problems]


def _with_given(problem: TilingProblem, platform: Platform, given: Mapping[str, str]) -> TilingProblem:
    return problem.with_operands(
        tuple(
            rehomed(operand, problem.node, platform, given[problem.constant_name(operand)], problem.level)
            if _is_given(problem, operand, given)
            else operand
            for operand in problem.operands
        )
    )


def _without_given(problem: TilingProblem, given: Mapping[str, str]) -> TilingProblem:
    return problem.with_operands(tuple(item for item in problem.operands if not _is_given(problem, item, given)))


def _is_given(problem: TilingProblem, operand: TileOperand, given: Mapping[str, str]) -> bool:
    return operand.data is not None and problem.constant_name(operand) in given


def _with_all(problem: TilingProblem, full: TilingProblem) -> TilingProblem:
    """``full`` with the operands that a part of it, ``problem``, has in other homes."""
    moved = {operand.name: operand for operand in problem.operands}
    return full.with_operands(tuple(moved.get(operand.name, operand) for operand in full.operands))


def most_constant_bytes(problems: Sequence[Sequence[TilingProblem]]) -> int:
    """An upper bound of all constants, whichever kernels are taken."""
    return sum(max(sum(map(_stored_bytes, _constants(problem))) for problem in layer) for layer in problems)


def constant_bytes(problem: TilingProblem, arrays: HashedArrays) -> dict[Content, int]:
    """The bytes that a layer's constants take with a kernel, equal ones once."""
    return {_content(operand, arrays): _stored_bytes(operand) for operand in _constants(problem)}


def _rehomed(
    problem: TilingProblem, homes: dict[Content, str], last: str, platform: Platform, arrays: HashedArrays
) -> TilingProblem:
    operands = []
    for operand in problem.operands:
        home = operand.home if operand.data is None else homes.get(_content(operand, arrays), last)
        operands.append(
            operand if home == operand.home else rehomed(operand, problem.node, platform, home, problem.level)
        )
    return replace(problem, operands=tuple(operands))


def _constants(problem: TilingProblem) -> list[TileOperand]:
    return [operand for operand in problem.operands if operand.data is not None]


def _content(operand: TileOperand, arrays: HashedArrays) -> Content:
    hashed = arrays.of(operand, {})
    return hashed.sha256, hashed.data.dtype.name, operand.extents


def _stored_bytes(operand: TileOperand) -> int:
    return -(-max(operand.size_bytes, 1) // operand.align_bytes) * operand.align_bytes


def _fits(size_bytes: int, room_bytes: int | None) -> bool:
    return room_bytes is None or size_bytes <= room_bytes
