"""Views, clamps and tile sizes for the declarations of float32 and movement kernels."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Clamp, DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32
from tilewright.kernels.kernel import MAX_RANK, CyclesOf, KernelChoice, TensorOperand, TileSteps
from tilewright.operators.nest import AxisMap, Nest

CALL_CYCLES = 60.0
"""Cycles to set up one kernel call: views, walk, loop bounds."""


@dataclass(frozen=True, slots=True)
class ClampF32(CStruct):
    """Bounds of the results."""

    minimum: Float32 = -inf
    maximum: Float32 = inf


def clamp_of(node: Node) -> Clamp | None:
    """The node's float epilogue, unbounded if it has none; None if the epilogue is of another kind."""
    if node.epilogue is None:
        return Clamp(-inf, inf)
    return node.epilogue if isinstance(node.epilogue, Clamp) else None


def clamp_attributes(clamp: Clamp) -> ClampF32:
    """The clamp as fields of a C struct."""
    return ClampF32(float(clamp.minimum), float(clamp.maximum))


def all_float(graph: Graph, names: Iterable[str]) -> bool:
    """Whether all named tensors are float32; empty names, of absent operands, do not count."""
    return all(graph.tensor(name).dtype is DType.FLOAT32 for name in names if name)


def fits_rank(graph: Graph, names: Iterable[str]) -> bool:
    """Whether views of six axes can hold all named tensors."""
    return all(len(graph.tensor(name).shape) <= MAX_RANK for name in names if name)


def float_clamp(node: Node, graph: Graph) -> Clamp | None:
    """The clamp of a node whose tensors are all float32 of at most six axes; None for any other node."""
    names = (*node.inputs, *node.outputs)
    return clamp_of(node) if all_float(graph, names) and fits_rank(graph, names) else None


def trailing_view(rank: int) -> tuple[int, ...]:
    """The view of six axes in which a tensor's ``rank`` axes stand last: (-1, -1, -1, 0, 1, 2) for rank 3."""
    return (-1,) * (MAX_RANK - rank) + tuple(range(rank))


def leading(values: Iterable[int], fill: int) -> tuple[int, ...]:
    """Six values for ``trailing_view``: ``fill`` for the axes that the tensor lacks."""
    own = tuple(int(value) for value in values)
    return (fill,) * (MAX_RANK - len(own)) + own


def trailing_operand(graph: Graph, name: str, axes: tuple[AxisMap, ...]) -> TensorOperand:
    """An operand whose axes stand last in a view of six."""
    return TensorOperand(name, axes, trailing_view(len(graph.tensor(name).shape)))


def step_of(nest: Nest, steps: TileSteps, name: str) -> int:
    """Step of a dimension: its extent if it is not cut, 1 if the nest lacks it."""
    if name in steps:
        return steps[name]
    return next((dimension.extent for dimension in nest.dimensions if dimension.name == name), 1)


def per_point(each: float) -> CyclesOf:
    """``cycles`` of kernels that spend ``each`` cycles on every point of a tile."""
    return lambda choice, steps: CALL_CYCLES + points(choice.nest, steps) * each


def per_row(each: float, row: tuple[str, ...], of_row: float, call: float = CALL_CYCLES) -> CyclesOf:
    """``cycles`` of kernels with a loop of its own for each row over the dimensions ``row``, which takes ``of_row``
    besides its points.
    """

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        elements = points(choice.nest, steps)
        return call + elements * each + elements / points(choice.nest, steps, row) * of_row

    return cycles


def points(nest: Nest, steps: TileSteps, names: Iterable[str] | None = None) -> int:
    """Points of a tile over the named dimensions (all if None)."""
    wanted = [dimension.name for dimension in nest.dimensions] if names is None else names
    return prod(step_of(nest, steps, name) for name in wanted)
