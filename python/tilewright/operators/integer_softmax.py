"""Softmax approximations of the Deeploy dialect over the last axis: iSoftmax, ITAMax, ITAPartialMax.

The operators take 8-bit integers and give unsigned probabilities from 0 to levels - 1. iSoftmax is the polynomial of
I-BERT (Kim et al., 2021), the others are the softmax of the accelerator ITA (Islamoglu et al., 2023).
"""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.exact import offset_removed, truncated_quotient
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.operator import Arrays, Operator, operand

_MOST_HALVINGS = 31
_ITA_ROUNDING, _ITA_SHIFT, _ITA_ONE = 16, 5, 8


@dataclass(frozen=True, slots=True)
class ProbabilityAttributes(Attributes):
    """Number of values that a probability can have: 0 to levels - 1."""

    levels: int


@dataclass(frozen=True, slots=True)
class PolynomialAttributes(ProbabilityAttributes):
    """The coefficients of ``powers``."""

    a: int
    b: int
    c: int
    log2: int


@dataclass(frozen=True, slots=True)
class GroupedAttributes(ProbabilityAttributes):
    """``group``: number of neighbours on the last axis that are added to the sum at a time."""

    group: int


def powers(node: Node) -> Array:
    """iSoftmax's approximation of a multiple of exp(-d) for every difference d of two 8-bit integers, int64[256].

    With z = min(d / log2, 31) and p = z * log2 - d: (a * (p + b)^2 + c) >> z.
    """
    difference = np.arange(256, dtype=np.int64)
    given = node.given(PolynomialAttributes)
    log2 = np.int64(given.log2)
    halvings = np.minimum(truncated_quotient(difference, log2), _MOST_HALVINGS)
    rest = halvings * log2 - difference + given.b
    result: Array = (given.a * rest * rest + given.c) >> halvings
    return result


def softmax(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """y = e * (levels - 1) / sum of e, rounded down, where e is ``powers`` at max - x."""
    x = offset_removed(operand(arrays, 0), 0)
    e = powers(node)[x.max(axis=-1, keepdims=True) - x]
    return [(e * (node.given(ProbabilityAttributes).levels - 1) // e.sum(axis=-1, keepdims=True)).astype(np.uint8)]


def ita_max(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """y = (256 * (levels - 1) / sum of (256 >> s)) >> s, with s = (max - x + 16) >> 5."""
    x = offset_removed(operand(arrays, 0), 0)
    shift = _shift(x.max(axis=-1, keepdims=True) - x)
    total = ((1 << _ITA_ONE) >> shift).sum(axis=-1, keepdims=True)
    return [((((node.given(ProbabilityAttributes).levels - 1) << _ITA_ONE) // total) >> shift).astype(np.uint8)]


def ita_partial_max(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """``ita_max`` with levels / 2, where the sum grows group by group: each new maximum shifts the sum so far."""
    x = offset_removed(operand(arrays, 0), 0)
    width = node.given(GroupedAttributes).group
    largest = np.full((*x.shape[:-1], 1), -128, np.int64)
    total = np.zeros_like(largest)
    for first in range(0, x.shape[-1], width):
        group = x[..., first : first + width]
        new = np.maximum(largest, group.max(axis=-1, keepdims=True))
        total >>= np.where(new > largest, _shift(new - largest), 0)
        largest = new
        total += ((1 << _ITA_ONE) >> _shift(largest - group)).sum(axis=-1, keepdims=True)
    inverse = ((node.given(ProbabilityAttributes).levels // 2 - 1) << _ITA_ONE) // total
    return [(inverse >> _shift(largest - x)).astype(np.uint8)]


def _shift(difference: Array) -> Array:
    shift: Array = (difference + _ITA_ROUNDING) >> _ITA_SHIFT
    return shift


OPERATORS = (
    Operator("iSoftmax", last_axis_nest, softmax, PolynomialAttributes),
    Operator("ITAMax", last_axis_nest, ita_max, ProbabilityAttributes),
    Operator("ITAPartialMax", last_axis_nest, ita_partial_max, GroupedAttributes),
)
