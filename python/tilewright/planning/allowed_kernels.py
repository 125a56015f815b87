"""Some of the kernels of layers: those that a plan may take where others do not fit.

Before:  conv a: conv_packed_6, conv_packed_4, conv_integer; allowed for a: conv_integer
After:   conv a: conv_integer
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.graph import Node
from tilewright.planning.prepare import Prepared
from tilewright.tiling.problem import TilingProblem

LayerKey = tuple[str, ...]
"""A layer by its operator and the model's nodes that it comes from, which its copies for strips have as well."""

KernelKey = tuple[str, int]
"""A kernel and its variant."""

AllowedKernels = Mapping[LayerKey, frozenset[KernelKey]]
"""By layer, the kernels that it may have; other layers may have any."""


def layer_key(node: Node) -> LayerKey:
    """By which a layer is found."""
    return (node.operator, *(node.sources or (node.name,)))


def kernel_key(problem: TilingProblem) -> KernelKey:
    """By which a kernel is found."""
    return problem.kernel.name, problem.variant


def with_allowed(prepared: Prepared, allowed: AllowedKernels) -> Prepared:
    """The graph, in all ways to store and order it, with the kernels that are allowed."""
    if not allowed:
        return prepared
    problems = tuple(_allowed(layer, allowed.get(layer_key(layer[0].node))) for layer in prepared.problems)
    others = tuple(with_allowed(other, allowed) for other in prepared.others)
    return replace(prepared, problems=problems, others=others)


def _allowed(problems: Sequence[TilingProblem], kernels: frozenset[KernelKey] | None) -> tuple[TilingProblem, ...]:
    """The problems of allowed kernels; all where these could not run the layer alone."""
    if kernels is None:
        return tuple(problems)
    found = tuple(problem for problem in problems if kernel_key(problem) in kernels)
    return tuple(problems) if all(problem.kernel.in_groups for problem in found) else found
