"""Layers that are alike: the best tiles of one are the best tiles of the other.

Before:  layers conv_1 and conv_7, both 3x3 on [1, 16, 32, 32], with other weights and other tensors
After:   one form, under which a choice of kernel and tiles is kept
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields

from tilewright.kernels.c_structs import CStruct
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.requantization import LayerLimits, Limits
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

_COST_NOTHING = (Limits, LayerLimits)
"""Attributes whose numbers change results, but neither cycles nor scratch."""


def form(candidates: Sequence[TilingProblem]) -> Hashable | None:
    """A key that two layers share if the same kernel and tiles are best for both on one platform, in equal pools.

    Names of tensors and values of constants decide nothing. None if layers cannot be compared: where the user
    gives tiles or slots by name, and for a project's own kernels, whose costs may follow from anything.
    """
    if any(_is_apart(problem) for problem in candidates):
        return None
    return tuple(_problem(problem) for problem in candidates)


def _is_apart(problem: TilingProblem) -> bool:
    return problem.has_given_tiles or not isinstance(problem.kernel.attributes, CStruct)


def _problem(problem: TilingProblem) -> Hashable:
    kernel, extents = problem.kernel, problem.extents
    return (
        kernel.symbol,
        kernel.name,
        problem.variant,
        problem.scratch_pool,
        kernel.nest,
        tuple(sorted(kernel.multiples.items())),
        kernel.uncut,
        tuple(_attributes(kernel)),
        tuple(_operand(operand) for operand in problem.operands),
        # The functions of a choice see the node that it is for; these are samples of what they say.
        kernel.cycles(extents),
        kernel.scratch_bytes(extents),
        kernel.partial_bytes and kernel.partial_bytes(extents),
    )


def _attributes(kernel: KernelChoice) -> Iterator[Hashable]:
    for item in fields(kernel.attributes) if isinstance(kernel.attributes, CStruct) else ():
        value = getattr(kernel.attributes, item.name)
        yield item.name if isinstance(value, _COST_NOTHING) else value


def _operand(operand: TileOperand) -> Hashable:
    """The operand without the name of its tensor and the elements of its constant."""
    return (
        operand.write,
        operand.axes,
        operand.extents,
        operand.order,
        operand.view,
        operand.element_bytes,
        operand.align_bytes,
        operand.home,
        operand.link,
        operand.near,
        operand.far_links,
        operand.tensor is None,
        operand.data is None,
        operand.home_strides,
    )
