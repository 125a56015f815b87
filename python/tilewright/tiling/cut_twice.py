"""A dimension that is cut twice: into blocks, for larger tiles far from the core, and each block into tiles.

Before:  y = a b, 64 x 64 x 64, loop m (4 tiles of 16 rows), n (3 tiles): all of b passes l2 for each tile of m
After:   loop m_by_32 (2 blocks of 32 rows), n (3 tiles), m (2 tiles within a block): b passes l2 for each block

Dimension ``m_by_32`` counts blocks, and a tile never has more than one of them: an axis that followed m with stride s
follows m, now of extent 32, with stride s and m_by_32 with stride 32 s. All else sees two dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilewright.kernels.kernel import KernelChoice
from tilewright.operators.nest import AxisMap, Dimension, Iteration
from tilewright.tiling.problem import TilingProblem

MOST_BLOCKS = 8
"""The most blocks of a dimension that are tried."""

_LABEL = re.compile(r"(\w+)_by_(\d+)")

AxisMaps = tuple[AxisMap, ...]


def blocked(problem: TilingProblem, name: str, step: int) -> TilingProblem:
    """The problem with dimension ``name`` cut into blocks of ``step``, which divides its extent."""
    operands = tuple(replace(item, axes=_blocked_axes(item.axes, name, step)) for item in problem.operands)
    return replace(
        problem,
        kernel=_blocked_kernel(problem.kernel, name, step),
        operands=operands,
        given={**problem.given, label(name, step): 1},
        blocks=(*problem.blocks, (name, step)),
    )


def label(name: str, step: int) -> str:
    """The name of the dimension that counts blocks of ``step`` of dimension ``name``."""
    return f"{name}_by_{step}"


def with_blocks(problem: TilingProblem, blocks: Iterable[tuple[str, int]]) -> TilingProblem:
    """The problem with several dimensions cut into blocks, one after the other."""
    for name, step in blocks:
        problem = blocked(problem, name, step)
    return problem


def named_blocks(problem: TilingProblem, names: Iterable[str]) -> list[tuple[str, int]]:
    """The dimensions and steps of blocks that ``names``, of dimensions, speak of: ``oh_by_8`` is 8 rows of oh.

    A name of which the problem has no dimension, or whose step leaves no whole blocks, is left out.
    """
    found = [match for match in map(_LABEL.fullmatch, names) if match is not None]
    return [(match[1], int(match[2])) for match in found if int(match[2]) in _steps(problem, match[1])]


def ways_to_block(problem: TilingProblem, far_bytes: int) -> Iterator[TilingProblem]:
    """The problem with one dimension cut into blocks, for each dimension and a few steps.

    None where the ``far_bytes`` of its best tiles over far links move nothing twice, and none where the user gives
    anything.
    """
    if problem.has_given_tiles or far_bytes <= problem.least_far_bytes:
        return
    for name in problem.cuttable:
        for step in _steps(problem, name):
            if problem.extents[name] // step <= MOST_BLOCKS:
                yield blocked(problem, name, step)


def _steps(problem: TilingProblem, name: str) -> list[int]:
    """Steps of whole blocks, from the longest; none if the dimension is not parallel, or no axis can follow blocks."""
    dimension = next((item for item in problem.kernel.nest.dimensions if item.name == name), None)
    if dimension is None or name not in problem.cuttable or dimension.iteration is not Iteration.PARALLEL:
        return []
    divided = any(
        name in dict(axis.terms) and axis.divisor > 1
        for operand in problem.operands
        if operand.write
        for axis in operand.axes
    )
    multiple, extent = problem.kernel.multiples.get(name, 1), dimension.extent
    steps = range(extent // 2, 1, -1)
    return [] if divided else [step for step in steps if extent % step == 0 and step % multiple == 0]


def _blocked_kernel(kernel: KernelChoice, name: str, step: int) -> KernelChoice:
    nest = kernel.nest
    dimensions: list[Dimension] = []
    for item in nest.dimensions:
        if item.name == name:
            dimensions.append(replace(item, name=label(name, step), extent=item.extent // step))
            item = replace(item, extent=step)
        dimensions.append(item)
    reads = tuple(_blocked_axes(axes, name, step) for axes in nest.reads)
    writes = tuple(_blocked_axes(axes, name, step) for axes in nest.writes)
    return replace(kernel, nest=replace(nest, dimensions=tuple(dimensions), reads=reads, writes=writes))


def _blocked_axes(axes: AxisMaps, name: str, step: int) -> AxisMaps:
    return tuple(_blocked_axis(axis, name, step) for axis in axes)


def _blocked_axis(axis: AxisMap, name: str, step: int) -> AxisMap:
    terms: list[tuple[str, int]] = []
    for term, stride in axis.terms:
        blocks = [(label(name, step), stride * step)] if term == name else []
        terms += [*blocks, (term, stride)]
    return replace(axis, terms=tuple(terms))
