"""The body of a Loop, evaluated for an iteration whatever its number is.

Names of a body stand for counting values (known for each iteration), constants, states, entries of sequences, or what
nodes compute of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array
from tilewright.importers.onnx.loop_cells import FUNCTIONS
from tilewright.importers.onnx.loop_values import (
    Atoms,
    NoCell,
    Sum,
    added,
    columns,
    complement,
    constant_row,
    joined,
    times,
)
from tilewright.importers.onnx.source import SourceNode

_FLOAT, _BOOL = 1, 9
"""ONNX's numbers of element types that Cast gives."""


class BodyValues:
    """The values of a body, each evaluated when it is asked for.

    Attributes:
        known: gives the elements of a constant, None for what is none.
    """

    def __init__(
        self,
        atoms: Atoms,
        nodes: Mapping[str, SourceNode],
        leaves: Mapping[str, Sum],
        known: Callable[[str], Array | None],
    ) -> None:
        self.atoms, self.known = atoms, known
        self._nodes, self._values = nodes, dict(leaves)

    def value(self, name: str) -> Sum:
        """The value that a name stands for. Raises NoCell if it is no row for each entry of the batch."""
        array = self.known(name)
        if array is not None:
            return constant_row(array, None)
        if name not in self._values:
            node = self._nodes.get(name)
            if node is None or not node.is_standard:
                raise NoCell
            results = self._results(node)
            self._values.update(zip(node.outputs, results, strict=True))
        return self._values[name]

    def constant(self, node: SourceNode, index: int) -> Array:
        """An operand that must be constant."""
        array = self.known(node.inputs[index]) if index < len(node.inputs) else None
        if array is None:
            raise NoCell
        return array

    def _results(self, node: SourceNode) -> list[Sum]:
        if node.operator in FUNCTIONS:
            return [self.atoms.function(node.operator, self.value(node.inputs[0]))]
        if node.operator == "Split":
            return _split(self, node)
        rule = _RULES.get(node.operator)
        if rule is None:
            raise NoCell
        return [rule(self, node)]


def _product_with_matrix(values: BodyValues, node: SourceNode) -> Sum:
    return times(values.value(node.inputs[0]), values.constant(node, 1))


def _gemm(values: BodyValues, node: SourceNode) -> Sum:
    given = node.attributes
    if given.get("transA", 0) or given.get("alpha", 1.0) != 1.0 or given.get("beta", 1.0) != 1.0:
        raise NoCell
    matrix = values.constant(node, 1)
    total = times(values.value(node.inputs[0]), matrix.T if given.get("transB", 0) else matrix)
    return added(total, constant_row(values.constant(node, 2), total.width)) if len(node.inputs) > 2 else total


def _add(values: BodyValues, node: SourceNode) -> Sum:
    return added(values.value(node.inputs[0]), values.value(node.inputs[1]))


def _subtract(values: BodyValues, node: SourceNode) -> Sum:
    return added(values.value(node.inputs[0]), values.value(node.inputs[1]), -1.0)


def _multiply(values: BodyValues, node: SourceNode) -> Sum:
    return values.atoms.product(values.value(node.inputs[0]), values.value(node.inputs[1]))


def _slice(values: BodyValues, node: SourceNode) -> Sum:
    value = values.value(node.inputs[0])
    starts, ends = (values.constant(node, index).reshape(-1).tolist() for index in (1, 2))
    axes = values.constant(node, 3).reshape(-1).tolist() if len(node.inputs) > 3 else list(range(len(starts)))
    steps = values.constant(node, 4).reshape(-1).tolist() if len(node.inputs) > 4 else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if axis not in (0, 1, -1, -2) or step != 1:
            raise NoCell
        if axis in (1, -1):
            first, last, _ = slice(start, end).indices(value.width)
            value = columns(value, first, last)
        elif start != 0 or end < 2**31 - 1:
            raise NoCell
    return value


def _split(values: BodyValues, node: SourceNode) -> list[Sum]:
    value, count = values.value(node.inputs[0]), len(node.outputs)
    if node.attributes.get("axis", 0) not in (1, -1):
        raise NoCell
    given = node.attributes.get("split")
    listed = values.constant(node, 1).tolist() if len(node.inputs) > 1 else given
    widths = [value.width // count] * count if listed is None else [int(width) for width in listed]
    if sum(widths) != value.width or len(widths) != count:
        raise NoCell
    ends = np.cumsum(widths).tolist()
    return [columns(value, end - width, end) for end, width in zip(ends, widths, strict=True)]


def _concatenate(values: BodyValues, node: SourceNode) -> Sum:
    if node.attributes.get("axis") not in (1, -1):
        raise NoCell
    return joined([values.value(name) for name in node.inputs])


def _where(values: BodyValues, node: SourceNode) -> Sum:
    """condition * one + (1 - condition) * other."""
    condition, one, other = (values.value(name) for name in node.inputs)
    product = values.atoms.product
    return added(product(condition, one), product(complement(condition), other))


def _cast(values: BodyValues, node: SourceNode) -> Sum:
    """Real numbers stay; of others a body has its masks only, which are 0 or 1."""
    if node.attributes.get("to") not in (_FLOAT, _BOOL):
        raise NoCell
    return values.value(node.inputs[0])


_RULES: Mapping[str, Callable[[BodyValues, SourceNode], Sum]] = MappingProxyType(
    {
        "Identity": lambda values, node: values.value(node.inputs[0]),
        "MatMul": _product_with_matrix,
        "Gemm": _gemm,
        "Add": _add,
        "Sub": _subtract,
        "Mul": _multiply,
        "Slice": _slice,
        "Concat": _concatenate,
        "Where": _where,
        "Cast": _cast,
        "Not": lambda values, node: complement(values.value(node.inputs[0])),
    }
)
"""Operator to the function that computes its row. Functions of single elements, and Split, stand apart."""
