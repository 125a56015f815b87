"""Tile steps that the user gives for a layer, checked against what operator and kernel allow.

Before:  tiles.conv = {oh = 4, l2.oc = 32}
After:   every candidate has oh in steps of 4; larger tiles in l2 have 32 channels; the rest is chosen
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from tilewright.base.errors import TilewrightError, bad_input, suggestion
from tilewright.graph import Node
from tilewright.options import TileSteps
from tilewright.tiling.cut_twice import label, named_blocks, with_blocks
from tilewright.tiling.problem import TilingProblem

Entry = TypeVar("Entry")


def given_by_layer(
    nodes: Iterable[Node], given: Iterable[tuple[str, tuple[Entry, ...]]], key: str
) -> dict[str, tuple[Entry, ...]]:
    """The entries of option ``key`` (``tiles``, ``buffers`` or ``levels``) by layer.

    The user names a layer as reports do, or by one of the model's nodes that the layer contains.
    Raises bad_input ``tile-override``, ``buffer-override`` or ``level-override`` for a name that no layer has.
    """
    layers = {source: node.name for node in nodes for source in (*node.sources, node.name)}
    layers.update({node.name: node.name for node in nodes})
    found: dict[str, tuple[Entry, ...]] = {}
    for name, entries in given:
        if name not in layers:
            help_ = suggestion(name, layers.values())
            if key == "tiles":
                what = f"tiles are given for '{name}', which is no layer"
                raise bad_input("tile-override", what, at=f"tiles.{name}", help=help_)
            if key == "levels":
                what = f"a level is given for '{name}', which is no layer"
                raise bad_input("level-override", what, at=f"levels.{name}", help=help_)
            what = f"buffers are given for '{name}', which is no layer"
            raise bad_input("buffer-override", what, at=f"buffers.{name}", help=help_)
        found[layers[name]] = (*found.get(layers[name], ()), *entries)
    return found


def with_given_steps(problems: Sequence[TilingProblem], steps: TileSteps) -> list[TilingProblem]:
    """The problems whose kernel allows ``steps``. Raises the first problem's error if no kernel does."""
    allowed: list[TilingProblem] = []
    errors: list[TilewrightError] = []
    for problem in problems:
        try:
            allowed.append(with_given(problem, steps))
        except TilewrightError as error:
            errors.append(error)
    if not allowed:
        raise errors[0]
    return allowed


def with_given(problem: TilingProblem, steps: TileSteps) -> TilingProblem:
    """The problem with given steps; ``<pool>.<dimension>`` is for the larger tiles in that pool.

    ``oh_by_8 = 1`` cuts oh into blocks of 8 rows first, of which a tile has one (``tiling.cut_twice``).

    Raises bad_input ``tile-override`` for a dimension that the operator lacks or that cannot be cut,
    a step beyond its extent or against the kernel's multiple, and a pool without larger tiles.
    """
    if steps and not problem.moves:
        raise _refused(problem, "it has no tiles, since kernels work on whole tensors here", ())
    problem = with_blocks(problem, named_blocks(problem, (name for name, _ in steps)))
    near: dict[str, int] = {}
    far: dict[str, dict[str, int]] = {}
    between = {pool for operand in problem.operands for pool in operand.between}
    for name, step in steps:
        pool, separator, dimension = name.rpartition(".")
        if separator and pool not in between:
            raise _refused(problem, f"no tiles of this layer stay in a pool '{pool}' between home and core", between)
        _check(problem, dimension, step, near=not separator)
        if separator:
            far.setdefault(pool, {})[dimension] = step
        else:
            near[dimension] = step
    _check_far(problem, near, far)
    _check_blocks(problem, near)
    return replace(problem, given={**problem.given, **near}, given_far=far)


def not_possible(problem: TilingProblem) -> TilewrightError:
    """The error for given steps with which no tiles write every element exactly once."""
    near = [f"{name} = {step}" for name, step in problem.given.items()]
    far = [f"{pool}.{name} = {step}" for pool, steps in problem.given_far.items() for name, step in steps.items()]
    return _refused(problem, f"no tiles have {', '.join(near + far)} and write every element once", ())


def _check(problem: TilingProblem, dimension: str, step: int, *, near: bool) -> None:
    extents = problem.extents
    if dimension not in extents:
        raise _refused(problem, f"there is no dimension '{dimension}'", extents)
    extent = extents[dimension]
    if step > extent:
        raise _refused(problem, f"{dimension} = {step} exceeds its extent, {extent}", ())
    if step == extent:
        return
    if dimension not in problem.cuttable:
        raise _refused(problem, f"'{dimension}' cannot be cut", problem.cuttable)
    multiple = problem.kernel.multiples.get(dimension, 1)
    if near and step % multiple:
        raise _refused(problem, f"{dimension} = {step} is no multiple of {multiple}, which the kernel needs", ())


def _check_far(problem: TilingProblem, near: Mapping[str, int], far: Mapping[str, Mapping[str, int]]) -> None:
    """Raises bad_input unless each given larger tile is made of whole tiles of the layer."""
    for pool, steps in far.items():
        for name, step in steps.items():
            part = near.get(name, 1)
            if step % part and step != problem.extents[name]:
                raise _refused(problem, f"{pool}.{name} = {step} is no multiple of {name} = {part}", ())


def _check_blocks(problem: TilingProblem, near: Mapping[str, int]) -> None:
    """Raises bad_input unless a tile is to have one block of each dimension that is cut into blocks."""
    for name in (label(*block) for block in problem.blocks):
        if near.get(name, 1) != 1:
            raise _refused(problem, f"{name} = {near[name]}, where a tile has one block", ())


def _refused(problem: TilingProblem, what: str, known: Iterable[str]) -> TilewrightError:
    extents = problem.extents
    names = ", ".join(f"{name} ({extents[name]})" if name in extents else name for name in known)
    node = problem.node
    return bad_input(
        "tile-override",
        f"tiles given for '{node.name}': {what}",
        at=f"{node.name} ({node.operator}), kernel {problem.kernel.name}",
        help=f"it has {names}" if names else "leave the dimension out, and it is chosen",
    )
