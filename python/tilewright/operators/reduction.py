"""Reductions over any axes: sums, norms, extremes and their indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.nest import Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Operator, operand

_Reduce = Callable[[Array, "tuple[int, ...]"], Array]
"""Called with float64 or int64 elements and the reduced axes, which the result keeps with extent 1."""


@dataclass(frozen=True, slots=True)
class ReductionAttributes(Attributes):
    """The reduced axes, not negative, and whether the output keeps these axes with extent 1."""

    axes: tuple[int, ...]
    keepdims: bool


@dataclass(frozen=True, slots=True)
class ArgAttributes(ReductionAttributes):
    """``axes`` has one axis; ``select_last`` says whether the index of the last of equal elements is wanted."""

    select_last: bool


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ... over the input's axes; the reduced ones are whole."""
    shape = graph.tensor(node.inputs[0]).shape
    axes = node.given(ReductionAttributes).axes
    dimensions = tuple(
        replace(dimension, iteration=Iteration.WHOLE) if axis in axes else dimension
        for axis, dimension in enumerate(dimensions_of(shape))
    )
    written = [whole(1) if axis in axes else along(f"d{axis}") for axis in range(len(shape))]
    if not node.given(ReductionAttributes).keepdims:
        written = [written[axis] for axis in range(len(shape)) if axis not in axes]
    return Nest(dimensions, (identity_maps(shape),), (tuple(written),))


def _log_sum_exp(x: Array, axes: tuple[int, ...]) -> Array:
    largest = np.max(x, axis=axes, keepdims=True)
    with np.errstate(all="ignore"):
        powers = np.where(x == largest, 1.0, np.exp(x - largest))
        return np.asarray(largest + np.log(np.sum(powers, axis=axes, keepdims=True)))


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    total = np.sum(x, axis=axes, keepdims=True)
    if x.dtype.kind == "f":
        return np.asarray(np.mean(x, axis=axes, keepdims=True))
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    return np.asarray(np.sign(total) * (np.abs(total) // count))


def _keeping(function: Callable[..., Array]) -> _Reduce:
    return lambda x, axes: np.asarray(function(x, axis=axes, keepdims=True))


REDUCTIONS: Mapping[str, _Reduce] = MappingProxyType(
    {
        "ReduceSum": _keeping(np.sum),
        "ReduceMean": _mean,
        "ReduceProd": _keeping(np.prod),
        "ReduceMax": _keeping(np.max),
        "ReduceMin": _keeping(np.min),
        "ReduceL1": lambda x, axes: np.asarray(np.sum(np.abs(x), axis=axes, keepdims=True)),
        "ReduceL2": lambda x, axes: np.asarray(np.sqrt(np.sum(x * x, axis=axes, keepdims=True))),
        "ReduceSumSquare": lambda x, axes: np.asarray(np.sum(x * x, axis=axes, keepdims=True)),
        "ReduceLogSum": lambda x, axes: np.asarray(np.log(np.sum(x, axis=axes, keepdims=True))),
        "ReduceLogSumExp": _log_sum_exp,
    }
)


def _operator(name: str, function: _Reduce) -> Operator:
    def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
        """Floats are computed in float64 and rounded once; integers wrap."""
        x, output = operand(arrays, 0), graph.tensor(node.outputs[0])
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x.astype(np.int64)
        with np.errstate(all="ignore"):
            result = function(wide, node.given(ReductionAttributes).axes)
        return [result.reshape(output.shape).astype(output.dtype.numpy)]

    return Operator(name, nest, reference, ReductionAttributes)


def _arg(name: str, find: Callable[..., Array]) -> Operator:
    def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
        """The int64 index of the extreme element along the axis; of equal elements the first, or the last."""
        x, output = operand(arrays, 0), graph.tensor(node.outputs[0])
        (axis,) = node.given(ReductionAttributes).axes
        index = find(x, axis=axis)
        if node.given(ArgAttributes).select_last:
            index = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis)
        return [np.asarray(index, np.int64).reshape(output.shape)]

    return Operator(name, nest, reference, ArgAttributes)


OPERATORS = (
    *(_operator(name, function) for name, function in REDUCTIONS.items()),
    _arg("ArgMax", np.argmax),
    _arg("ArgMin", np.argmin),
)
