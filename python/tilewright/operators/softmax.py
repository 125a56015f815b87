"""Softmax along one axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.epilogue import finish
from tilewright.operators.nest import Iteration, Nest
from tilewright.operators.operator import Arrays, Integers, OnIntegers, Operator, operand


@dataclass(frozen=True, slots=True)
class SoftmaxAttributes(AxisAttributes):
    """The axis, and the real value of one stored unit of an integer x."""

    x_scale: float = 1.0


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ...; the softmax axis is whole."""
    shape = graph.tensor(node.outputs[0]).shape
    axis = node.given(SoftmaxAttributes).axis
    dimensions = tuple(
        replace(dimension, iteration=Iteration.WHOLE) if position == axis else dimension
        for position, dimension in enumerate(dimensions_of(shape))
    )
    return Nest(dimensions, (identity_maps(shape),), (identity_maps(shape),))


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """exp(s * x - max) / sum in float64; s is x_scale for integers, else 1."""
    x = operand(arrays, 0)
    scale = 1.0 if x.dtype.kind == "f" else float(node.given(SoftmaxAttributes).x_scale)
    axis = node.given(SoftmaxAttributes).axis
    real = x.astype(np.float64) * scale
    powers = np.exp(real - real.max(axis=axis, keepdims=True))
    return finish(node, graph, powers / powers.sum(axis=axis, keepdims=True))


OPERATORS = (Operator("Softmax", nest, reference, SoftmaxAttributes, on_integers=OnIntegers(Integers.RATIO)),)
