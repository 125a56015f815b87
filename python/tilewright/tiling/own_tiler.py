"""Tilers of the user's own: functions that give the tiles of one operator, which are checked and completed.

    def tiler(operator: OperatorTiling) -> Mapping[str, int]:
        return {dimension.name: dimension.extent for dimension in operator.dimensions if dimension.name == "w"}

gives tiles of whole rows; the dimensions that are left out, loop order and buffering are chosen by predicted cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import cast

import numpy as np

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.own_code import CannotImport, own_function
from tilewright.options import Strategy
from tilewright.tiling.field import Capacities
from tilewright.tiling.footprint import tile_bytes
from tilewright.tiling.given import with_given
from tilewright.tiling.problem import TilingProblem

ENTRY_POINTS = "tilewright.tilers"


@dataclass(frozen=True, slots=True)
class TiledDimension:
    """A dimension of the operator's iteration space.

    ``can_be_cut`` is False where tiles must have the whole extent. Other steps are multiples of ``multiple``.
    """

    name: str
    extent: int
    can_be_cut: bool
    multiple: int


@dataclass(frozen=True, slots=True)
class TiledOperand:
    """An operand: the dimensions on which its tile depends, and where it lives.

    ``home`` is the pool of the whole array, ``near`` that of its tiles; both are equal where kernels work in the home.
    """

    name: str
    is_written: bool
    dimensions: frozenset[str]
    size_bytes: int
    home: str
    near: str


@dataclass(frozen=True, slots=True)
class OperatorTiling:
    """One operator, with one kernel that can run it, for which a tiler gives tiles.

    ``capacities`` are bytes by pool, None for a pool without limit; tiles share them with nothing else.
    """

    layer: str
    operator: str
    kernel: str
    dimensions: tuple[TiledDimension, ...]
    operands: tuple[TiledOperand, ...]
    capacities: Capacities
    _problem: TilingProblem = field(repr=False)

    def near_bytes(self, steps: Mapping[str, int]) -> dict[str, int]:
        """Bytes by pool of one slot of each tile, and of scratch. ``steps`` has the step of every dimension."""
        problem = self._problem
        columns = {name: np.asarray([step]) for name, step in steps.items()}
        used: dict[str, int] = {}
        for operand in problem.operands:
            if operand.link is not None:
                used[operand.near] = used.get(operand.near, 0) + int(tile_bytes(operand, columns)[0])
        scratch = problem.scratch_bytes(steps)
        if scratch:
            used[problem.scratch_pool] = used.get(problem.scratch_pool, 0) + scratch
        return used

    def kernel_cycles(self, steps: Mapping[str, int]) -> float:
        """Predicted cycles of a kernel call for one tile. ``steps`` has the step of every dimension."""
        return self._problem.kernel_cycles(steps, self._problem.core_split(steps))


Tiler = Callable[[OperatorTiling], Mapping[str, int]]
"""Gives steps of dimensions by name; those that it leaves out are chosen."""


def find_tiler(name: str) -> Tiler | None:
    """The tiler that a strategy's name means: an entry point, or ``package.module:function``; None for our own.

    Raises bad_input ``unknown-strategy`` if there is none of that name, or if it is no function(operator).
    """
    ours = tuple(strategy.value for strategy in Strategy)
    if name in ours:
        return None
    try:
        return cast("Tiler", own_function(name, ENTRY_POINTS, "operator", ours))
    except CannotImport as error:
        remedy = error.help or "docs/how-to/write-a-tiler.md says what a tiler is"
        raise bad_input("unknown-strategy", f"strategy '{name}' {error}", help=remedy) from error


def with_own_tiles(problem: TilingProblem, tiler: Tiler, name: str, capacities: Capacities) -> TilingProblem:
    """The problem with the steps that a tiler gives; as it is where nothing travels, or the user gives steps.

    Raises bad_input ``own-tiler`` for an answer that is no mapping of steps, or has steps that cannot be.
    """
    if not problem.moves or problem.given:
        return problem
    place = f"{problem.node.name} ({problem.node.operator}), kernel {problem.kernel.name}"
    try:
        steps = dict(tiler(_operator(problem, capacities)))
    except Exception as error:  # the user's own code may raise anything
        what = f"strategy '{name}' failed: {type(error).__name__}: {error}"
        raise bad_input("own-tiler", what, at=place) from error
    for dimension, step in steps.items():
        if not isinstance(dimension, str) or isinstance(step, bool) or not isinstance(step, int) or step < 1:
            what = f"strategy '{name}' gives {dimension!r} = {step!r}, which is no step"
            raise bad_input("own-tiler", what, at=place, help="steps are whole numbers above 0")
    try:
        return with_given(problem, tuple(steps.items()))
    except TilewrightError as error:
        raise bad_input("own-tiler", f"strategy '{name}': {error.what}", at=place, help=error.help) from error


def _operator(problem: TilingProblem, capacities: Capacities) -> OperatorTiling:
    cuttable, multiples = problem.cuttable, problem.kernel.multiples
    return OperatorTiling(
        problem.node.name,
        problem.node.operator,
        problem.kernel.name,
        tuple(
            TiledDimension(name, extent, name in cuttable, multiples.get(name, 1))
            for name, extent in problem.extents.items()
        ),
        tuple(
            TiledOperand(
                operand.name, operand.write, operand.dimensions, operand.size_bytes, operand.home, operand.near
            )
            for operand in problem.operands
        ),
        capacities,
        problem,
    )
