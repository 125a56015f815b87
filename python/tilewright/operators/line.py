"""Operators along one axis: LogSoftmax, Hardmax, LpNormalization, running sums, TopK, coupled probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.nest import AxisMap, Iteration, Nest, whole
from tilewright.operators.operator import Arrays, Operator, operand

_MOST_ROUNDS = 100
_CLOSE = 0.005


@dataclass(frozen=True, slots=True)
class LpNormalizationAttributes(AxisAttributes):
    """The axis, and the order of the norm: 1 or 2."""

    p: int


@dataclass(frozen=True, slots=True)
class RunningAttributes(AxisAttributes):
    """Attributes of running sums and products.

    Attributes:
        exclusive: whether an output element leaves out the input element at its own position.
        reverse: whether elements are added up from the end of the axis.
    """

    exclusive: bool
    reverse: bool


@dataclass(frozen=True, slots=True)
class TopKAttributes(AxisAttributes):
    """The axis, and whether the largest elements are wanted or the smallest."""

    largest: bool


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ... over the input's axes; ``axis`` is whole, and may have another extent in the outputs."""
    shape = graph.tensor(node.inputs[0]).shape
    axis = node.given(AxisAttributes).axis
    dimensions = tuple(
        replace(dimension, iteration=Iteration.WHOLE) if position == axis else dimension
        for position, dimension in enumerate(dimensions_of(shape))
    )
    maps = identity_maps(shape)

    def along_line(name: str) -> tuple[AxisMap, ...]:
        return (*maps[:axis], whole(graph.tensor(name).shape[axis]), *maps[axis + 1 :])

    return Nest(
        dimensions,
        tuple(along_line(name) for name in node.inputs),
        tuple(along_line(name) for name in node.outputs),
    )


def _log_softmax(x: Array, node: Node) -> Array:
    axis = node.given(AxisAttributes).axis
    real = x.astype(np.float64)
    shifted = real - real.max(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)))


def _hardmax(x: Array, node: Node) -> Array:
    axis = node.given(AxisAttributes).axis
    best = np.expand_dims(np.argmax(x, axis=axis), axis)
    result = np.zeros(x.shape, x.dtype)
    np.put_along_axis(result, best, 1, axis=axis)
    return result


def _lp_normalization(x: Array, node: Node) -> Array:
    given = node.given(LpNormalizationAttributes)
    norm = np.linalg.norm(x.astype(np.float64), ord=given.p, axis=given.axis, keepdims=True)
    return np.where(norm == 0, 0.0, x / np.where(norm == 0, 1.0, norm))


def _running(x: Array, node: Node) -> Array:
    given = node.given(RunningAttributes)
    axis = given.axis
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    if given.reverse:
        wide = np.flip(wide, axis)
    accumulate = np.cumsum if node.operator == "CumSum" else np.cumprod
    result = np.asarray(accumulate(wide, axis=axis, dtype=wide.dtype))
    if given.exclusive:
        first = np.full_like(np.take(result, [0], axis), 0 if node.operator == "CumSum" else 1)
        result = np.concatenate([first, np.delete(result, -1, axis)], axis=axis)
    return np.flip(result, axis) if given.reverse else result


def _operator(name: str, function: Callable[[Array, Node], Array], attributes: type[AxisAttributes]) -> Operator:
    def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
        """Floats are computed in float64 and rounded once; integers wrap."""
        output = graph.tensor(node.outputs[0])
        return [np.array(function(operand(arrays, 0), node)).astype(output.dtype.numpy)]

    return Operator(name, nest, reference, attributes)


def top_k(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The k largest (or smallest) elements, best first, and their int64 indices; of equals the smaller index first."""
    given = node.given(TopKAttributes)
    x, axis = operand(arrays, 0), given.axis
    count = graph.tensor(node.outputs[0]).shape[axis]
    ranked = x if not given.largest else np.flip(x, axis)
    order = np.argsort(ranked, axis=axis, kind="stable")
    if given.largest:
        order = np.flip(x.shape[axis] - 1 - order, axis)
    order = np.take(order, np.arange(count), axis=axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int64)]


def pairwise_coupling(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Probabilities of classes from those of the first of two, for the pairs (0, 1), (0, 2), ..., (1, 2), ...

    The minimum of sum over pairs (r[j, i] * p[i] - r[i, j] * p[j])^2, where r[j, i] = 1 - r[i, j], over p whose sum is
    1: the second method of Wu, Lin and Weng, one class after the other, in float32, until no derivative is further
    from the mean than 0.005 by the number of classes, or 100 times. Support vector machines are trained to it.
    """
    axis = node.given(AxisAttributes).axis
    x = np.moveaxis(operand(arrays, 0), axis, -1)
    count = graph.tensor(node.outputs[0]).shape[axis]
    lines = [_coupled(line, count) for line in x.reshape(-1, x.shape[-1])]
    return [np.moveaxis(np.array(lines, np.float32).reshape(*x.shape[:-1], count), -1, axis)]


def _coupled(pairs: Array, count: int) -> Array:
    share = np.zeros((count, count), np.float32)
    first, second = np.triu_indices(count, 1)
    share[first, second], share[second, first] = pairs, np.float32(1) - pairs
    factors = -share.T * share
    np.fill_diagonal(factors, (share.T**2).sum(axis=1))
    p = np.full(count, np.float32(1) / np.float32(count), np.float32)
    for _ in range(_MOST_ROUNDS):
        slopes = factors @ p
        mean = np.float32(p @ slopes)
        if np.abs(slopes - mean).max() < np.float32(_CLOSE / count):
            break
        for at in range(count):
            slope = np.float32(factors[at] @ p)
            step = (mean - slope) / factors[at, at]
            total = np.float32(1) + step
            mean = (mean + step * (step * factors[at, at] + np.float32(2) * slope)) / total / total
            p[at] += step
            p /= total
    return p


def quantize_line(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Each line in steps of a scale of its own, and the scales; float32, as LiteRT's hybrid operators compute.

    int8: from -127 to 127, 0 stands for 0. int16: the line's smallest and largest element, and 0, take 256 steps,
    and the step of 0 is taken off.
    """
    x, axis = operand(arrays, 0), node.given(AxisAttributes).axis
    symmetric = graph.tensor(node.outputs[0]).dtype.numpy == np.int8
    low, high = x.min(axis=axis, keepdims=True), x.max(axis=axis, keepdims=True)
    stored, scale = _symmetric(x, low, high) if symmetric else _asymmetric(x, low, high)
    return [stored.astype(graph.tensor(node.outputs[0]).dtype.numpy), scale.astype(np.float32)]


def _symmetric(x: Array, low: Array, high: Array) -> tuple[Array, Array]:
    reach = np.maximum(np.abs(low), np.abs(high))
    empty = reach == 0
    inverse = np.where(empty, np.float32(0), np.float32(127) / np.where(empty, np.float32(1), reach))
    stored = np.clip(_away(x * inverse), -127, 127)
    return stored, np.where(empty, np.float32(1), reach / np.float32(127))


def _asymmetric(x: Array, low: Array, high: Array) -> tuple[Array, Array]:
    lowest, highest = np.minimum(low, 0).astype(np.float64), np.maximum(high, 0).astype(np.float64)
    empty = lowest == highest
    scale = np.where(empty, 1.0, (highest - lowest) / 255.0)
    from_low, from_high = -128.0 - lowest / scale, 127.0 - highest / scale
    nearer = 128.0 + np.abs(lowest / scale) < 127.0 + np.abs(highest / scale)
    zero = np.where(empty, 0.0, np.clip(_away(np.where(nearer, from_low, from_high)), -128, 127))
    inverse = np.where(empty, 0.0, 1.0 / scale.astype(np.float32).astype(np.float64)).astype(np.float32)
    stored = np.clip(_away(zero.astype(np.float32) + x * inverse), -128, 127)
    return np.where(empty, 0.0, stored - zero), scale


def _away(values: Array) -> Array:
    """The nearest integers, halves away from zero."""
    whole = np.trunc(values)
    rounded: Array = whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0)
    return rounded


OPERATORS = (
    _operator("LogSoftmax", _log_softmax, AxisAttributes),
    _operator("Hardmax", _hardmax, AxisAttributes),
    _operator("LpNormalization", _lp_normalization, LpNormalizationAttributes),
    _operator("CumSum", _running, RunningAttributes),
    _operator("CumProd", _running, RunningAttributes),
    Operator("TopK", nest, top_k, TopKAttributes),
    Operator("PairwiseCoupling", nest, pairwise_coupling, AxisAttributes),
    Operator("QuantizeLine", nest, quantize_line, AxisAttributes),
)
