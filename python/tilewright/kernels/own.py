"""Operators of firmware projects: the declaration by which a project adds an operator of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.graph import Attributes, DType, Graph, Node, Tensor
from tilewright.kernels.float_common import trailing_operand
from tilewright.kernels.kernel import KernelChoice, TensorOperand
from tilewright.operators.attributes import NamedAttributes
from tilewright.operators.nest import Nest
from tilewright.operators.operator import Operator

Outputs = Sequence[tuple[Sequence[int], DType]]
"""Shape and element type of each output of a node."""

Infer = Callable[[Sequence["Tensor | None"], Any], Outputs]
"""From a node's inputs (None: absent) and attributes to its outputs; ValueError, with the reason, refuses a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOperator(Operator):
    """An ONNX operator that a project brings along.

    Attributes:
        name: ``op_type`` of the ONNX nodes. Tilewright has no operator of this name and ``domain``.
        nest, reference, and the further fields of ``Operator``: as for every operator
            (docs/reference/operators-and-kernels.md).
        infer: shape and element type of each output.
        kernels: the kernels that can run a node, best first; empty if none can. Each names the project's
            header and, in ``sources``, the files of Tilewright's runtime that the kernel calls.
        domain: domain of the ONNX nodes; empty for ONNX's default domain.
        attributes: a frozen dataclass below ``Attributes`` whose fields are the ONNX attributes, with
            defaults for those that a node may leave out; by default attributes stay a mapping by name.
    """

    infer: Infer
    kernels: Callable[[Node, Graph], tuple[KernelChoice, ...]]
    domain: str = ""
    attributes: type[Attributes] = NamedAttributes


def operands_of(node: Node, graph: Graph, nest: Nest) -> tuple[tuple[TensorOperand, ...], tuple[TensorOperand, ...]]:
    """Reads and writes of a kernel whose operands are the node's tensors, their axes last in views of six."""
    reads = tuple(
        trailing_operand(graph, name, axes) for name, axes in zip(node.inputs, nest.reads, strict=True) if name
    )
    writes = tuple(trailing_operand(graph, name, axes) for name, axes in zip(node.outputs, nest.writes, strict=True))
    return reads, writes
