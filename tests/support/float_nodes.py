"""Nodes for kernel tests: graphs with chosen constants and memory orders, checked against the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from tilewright.graph import Array, Epilogue, Graph, channels_last_order, constant
from tilewright.kernels.kernel import KernelChoice
from tilewright.operators.nest import Iteration

from support.float_kernels import Kernels, Ring, random_steps, run_choice
from support.overlapped import check_over
from support.single_node import run, single_node
from support.tolerance import assert_sums_close


@dataclass(frozen=True)
class Case:
    """One node with its inputs; ``constants`` are the positions that the graph holds as data."""

    operator: str
    arrays: tuple[Array | None, ...]
    attributes: Mapping[str, Any]
    shape: tuple[int, ...]
    dtype: str = "float32"
    epilogue: Epilogue | None = None
    constants: tuple[int, ...] = ()
    channels_last: bool = False

    def graph(self) -> Graph:
        """The graph of this node."""
        graph = single_node(self.operator, self.arrays, self.attributes, self.shape, self.dtype, self.epilogue)
        tensors = dict(graph.tensors)
        for index in self.constants:
            array = self.arrays[index]
            if array is not None:
                tensors[f"i{index}"] = constant(f"i{index}", array)
        if self.channels_last:
            for name, tensor in tensors.items():
                if tensor.data is None:
                    tensors[name] = replace(tensor, order=channels_last_order(len(tensor.shape)))
        return replace(graph, tensors=tensors)

    def expected(self) -> Array:
        """The reference's output."""
        plain = single_node(self.operator, self.arrays, self.attributes, self.shape, self.dtype, self.epilogue)
        return run(plain, self.arrays)

    def feeds(self) -> dict[str, Array]:
        """Inputs that are not constants."""
        return {
            f"i{index}": array
            for index, array in enumerate(self.arrays)
            if array is not None and index not in self.constants
        }

    def result(
        self,
        kernels: Kernels,
        choice: KernelChoice,
        steps: Mapping[str, int] | None = None,
        *,
        in_place: bool = False,
        rings: Sequence[Ring] = (),
    ) -> Array:
        """The kernel's output."""
        outputs = run_choice(kernels, choice, self.graph(), self.feeds(), steps, in_place=in_place, rings=rings)
        return outputs["out"]


def same_bits(left: Array, right: Array) -> bool:
    """Whether two arrays are equal bit for bit, NaN included."""
    return left.shape == right.shape and left.tobytes() == right.tobytes()


def assert_tiling_changes_nothing(kernels: Kernels, case: Case, choice: KernelChoice, splits: int = 3) -> Array:
    """Assert that random tiles give the bits of the untiled result, which is returned.

    Tiles are buffers of their own, or lie in the whole tensors; the output is also written over an input. Where a cut
    reduction changes the order of additions, results may differ by roundings.
    """
    untiled = case.result(kernels, choice)
    generator = np.random.default_rng(len(case.shape) + sum(case.shape))
    for split in range(splits):
        steps = random_steps(choice, generator)
        tiled = case.result(kernels, choice, steps, in_place=split % 2 == 1)
        if _reorders(choice, steps):
            assert_sums_close(tiled, untiled, terms(choice))
        else:
            assert same_bits(tiled, untiled), f"tiles of {steps} give other results"
    check_over(choice, case.graph(), case.feeds())
    return untiled


def terms(choice: KernelChoice) -> int:
    """How many products each result of a kernel is the sum of."""
    return prod(d.extent for d in choice.nest.dimensions if d.iteration is Iteration.REDUCTION)


def _reorders(choice: KernelChoice, steps: Mapping[str, int]) -> bool:
    """Whether the steps cut a reduction that has whole reductions inside of it."""
    reductions = [item for item in choice.nest.dimensions if item.iteration is not Iteration.PARALLEL]
    cut = any(steps[item.name] < item.extent for item in reductions)
    return cut and sum(item.extent > 1 for item in reductions) > 1
