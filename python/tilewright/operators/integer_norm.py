"""Normalisations of the Deeploy dialect: iLayerNorm, iRMSNorm, iNoNorm. Quotients truncate towards zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.elementwise import broadcast_maps, dimensions_of, identity_maps
from tilewright.operators.exact import offset_removed, truncated_quotient
from tilewright.operators.nest import Iteration, Nest, whole
from tilewright.operators.operator import Arrays, Operator, operand


@dataclass(frozen=True, slots=True)
class ShiftAttributes(Attributes):
    """Bits by which the result is shifted to the right."""

    shift: int


@dataclass(frozen=True, slots=True)
class NoNormAttributes(ShiftAttributes):
    """The factor of the result, and the shift that follows the factor."""

    multiplier: int


def last_axis_nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ... over x; the last one is whole. Other inputs broadcast to x."""
    shape = graph.tensor(node.outputs[0]).shape
    *outer, last = dimensions_of(shape)
    reads = tuple(broadcast_maps(graph.tensor(name).shape, len(shape)) for name in node.inputs)
    return Nest((*outer, replace(last, iteration=Iteration.WHOLE)), reads, (identity_maps(shape),))


def part_of_line(nest: Nest) -> Nest:
    """``last_axis_nest`` for kernels that read the whole line of the first input for each part of a line of y."""
    *outer, last = nest.dimensions
    x, *others = nest.reads
    return Nest(
        (*outer, replace(last, iteration=Iteration.PARALLEL)), ((*x[:-1], whole(last.extent)), *others), nest.writes
    )


def layer_norm(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Over the last axis: c = x - mean, sd = floor(sqrt(mean(c^2) + 1)), y = low byte of (c * w / sd + b) >> shift."""
    x, w, b = (_wide(operand(arrays, index)) for index in range(3))
    extent = np.int64(x.shape[-1])
    centred = x - truncated_quotient(x.sum(axis=-1, keepdims=True), extent)
    y: Array = (truncated_quotient(centred * w, _deviation(centred)) + b) >> node.given(ShiftAttributes).shift
    return [y.astype(np.int8)]


def rms_norm(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Over the last axis: y = clip((x * w / floor(sqrt(mean(x^2) + 1))) >> shift) to int8."""
    x, w = _wide(operand(arrays, 0)), _wide(operand(arrays, 1))
    y = truncated_quotient(x * w, _deviation(x)) >> node.given(ShiftAttributes).shift
    return [np.clip(y, -128, 127).astype(np.int8)]


def no_norm(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """y = low byte of ((x * w + b) * multiplier) >> shift, elementwise."""
    x, w, b = (_wide(operand(arrays, index)) for index in range(3))
    y: Array = ((x * w + b) * node.given(NoNormAttributes).multiplier) >> node.given(ShiftAttributes).shift
    return [y.astype(np.int8)]


def _deviation(x: Array) -> Array:
    """floor(sqrt(mean of squares + 1)); squares of 16-bit values stay below 2^52, where float64 is exact."""
    variance = truncated_quotient((x * x).sum(axis=-1, keepdims=True), np.int64(x.shape[-1])) + 1
    root: Array = np.sqrt(variance.astype(np.float64)).astype(np.int64)
    return root


def _wide(x: Array) -> Array:
    return offset_removed(x, 0)


OPERATORS = (
    Operator("iLayerNorm", last_axis_nest, layer_norm, ShiftAttributes),
    Operator("iRMSNorm", last_axis_nest, rms_norm, ShiftAttributes),
    Operator("iNoNorm", elementwise.nest, no_norm, NoNormAttributes),
)
