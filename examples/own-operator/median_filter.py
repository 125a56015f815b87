"""MedianFilter of domain com.example: the median of `size` neighbours along the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tilewright.own import (
    Array,
    Arrays,
    Attributes,
    DType,
    Graph,
    Kernel,
    KernelChoice,
    Nest,
    Node,
    Outputs,
    OwnOperator,
    Tensor,
    TileSteps,
    along,
    dimensions_of,
    identity_maps,
    operand,
    operands_of,
)

LARGEST = 15
"""MEDIAN_FILTER_LARGEST of median_filter.h."""


@dataclass(frozen=True, slots=True)
class MedianFilterAttributes(Attributes):
    """Number of elements of a window; a node may leave it out."""

    size: int = 3


def infer(inputs: Sequence[Tensor | None], given: MedianFilterAttributes) -> Outputs:
    """x float32 -> y of the same shape. ValueError says why a node is not taken."""
    x = inputs[0]
    if x is None or x.dtype is not DType.FLOAT32 or not x.shape:
        raise ValueError("x must be float32 with at least one axis")
    if given.size % 2 == 0 or not 1 <= given.size <= LARGEST:
        raise ValueError(f"size {given.size}; odd numbers up to {LARGEST} are supported")
    return [(x.shape, x.dtype)]


def nest(node: Node, graph: Graph) -> Nest:
    """One dimension for each axis of y. A tile of y reads as many elements of x more as the window hangs over."""
    shape = graph.tensor(node.outputs[0]).shape
    size, last = node.given(MedianFilterAttributes).size, len(shape) - 1
    reads = (*identity_maps(shape)[:last], along(f"d{last}", offset=-(size // 2), window=size))
    return Nest(dimensions_of(shape), (reads,), (identity_maps(shape),), operations_per_point=size * size)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Windows at the ends have fewer elements; of an even number the lower of the two in the middle counts."""
    x = operand(arrays, 0)
    reach = node.given(MedianFilterAttributes).size // 2
    y = np.empty_like(x)
    for i in range(x.shape[-1]):
        window = np.sort(x[..., max(i - reach, 0) : i + reach + 1], axis=-1)
        y[..., i] = window[..., (window.shape[-1] - 1) // 2]
    return [y]


def cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Cycles of one call on a tile. A guess is enough: it decides between tile shapes."""
    size = dict(choice.fields)["size"]
    elements = np.prod([steps.get(dimension.name, dimension.extent) for dimension in choice.nest.dimensions])
    return 100.0 + float(elements) * 8.0 * size * size


MEDIAN_FILTER = Kernel("median_filter", None, cycles, header="median_filter.h")


def kernels(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The one in median_filter.c. It walks rows by Tilewright's own walk.c."""
    size = node.given(MedianFilterAttributes).size
    iteration = nest(node, graph)
    reads, writes = operands_of(node, graph, iteration)
    return (
        KernelChoice(
            kernel=MEDIAN_FILTER,
            sources=("walk.c",),
            nest=iteration,
            reads=reads,
            writes=writes,
            attributes=(("size", size),),
        ),
    )


OPERATORS = (
    OwnOperator(
        name="MedianFilter",
        domain="com.example",
        attributes=MedianFilterAttributes,
        infer=infer,
        nest=nest,
        reference=reference,
        kernels=kernels,
    ),
)
