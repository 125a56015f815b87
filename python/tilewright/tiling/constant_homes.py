"""Where constants live that travel to the kernels, if several pools hold them.

Before:  l2_constants (768 KiB) and l3 hold constants; the network has 1,100 KiB of them
After:   all but the two largest in l2_constants, those in l3: few copies take the long way
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.plan import BufferKind
from tilewright.platform import Platform
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem, rehomed

Content = tuple[str, str, tuple[int, ...]]
"""What makes two constants one: digest of the bytes in memory order, element type, extents."""


def with_constant_homes(
    problems: Sequence[Sequence[TilingProblem]], platform: Platform, arrays: HashedArrays
) -> list[list[TilingProblem]]:
    """The problems of each layer, with constants that exceed the first pool in the next ones.

    Only where kernels address none of these pools. A byte costs the same to move whatever array
    it is part of, but each copy has its set-up: so the smallest arrays stay in the first pool.
    Kernels behind the first of a layer's keep arrays of their own in the last pool.
    Raises not_supported if a constant has to live where no link begins.
    """
    pools = [pool for pool in platform.pools if BufferKind.CONSTANT in pool.holds]
    travelling = all(platform.access_cycles(pool.name) is None for pool in pools)
    first = pools[0].size_bytes if pools else None
    # Whichever kernels are taken.
    most = sum(max(sum(map(_stored_bytes, _constants(problem))) for problem in layer) for layer in problems)
    if not travelling or len(pools) < 2 or first is None or most <= first:
        return [list(layer) for layer in problems]
    used = [operand for layer in problems for operand in _constants(layer[0])]
    sizes = {_content(operand, arrays): _stored_bytes(operand) for operand in used}
    homes: dict[Content, str] = {}
    left = [pool.size_bytes for pool in pools]
    at = 0
    for content in sorted(sizes, key=lambda item: sizes[item]):
        while at + 1 < len(pools) and not _fits(sizes[content], left[at]):
            at += 1
        room = left[at]
        left[at] = None if room is None else room - sizes[content]
        homes[content] = pools[at].name
    last = pools[-1].name
    return [[_rehomed(problem, homes, last, platform, arrays) for problem in layer] for layer in problems]


def _rehomed(
    problem: TilingProblem, homes: dict[Content, str], last: str, platform: Platform, arrays: HashedArrays
) -> TilingProblem:
    operands = []
    for operand in problem.operands:
        home = operand.home if operand.data is None else homes.get(_content(operand, arrays), last)
        operands.append(operand if home == operand.home else rehomed(operand, problem.node, platform, home))
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
