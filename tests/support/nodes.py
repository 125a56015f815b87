"""Nodes from attributes by name, as tests like to write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.catalogue.operators import attributes_for
from tilewright.graph import Array, Epilogue, Node, Tensor
from tilewright.operators.quantization import QuantizationAttributes


def node_of(
    name: str,
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    values: Mapping[str, Any] | None = None,
    epilogue: Epilogue | None = None,
    *,
    weights: Tensor | Array | None = None,
) -> Node:
    """A node; ``weights`` of a convolution say what its kernel is."""
    given = dict(values or {})
    if weights is not None and operator.startswith("Conv"):
        given.setdefault("kernel", weights.shape[2:])
    return Node(name, operator, tuple(inputs), tuple(outputs), attributes_for(operator, given), epilogue)


def scale_of(node: Node) -> float:
    """The real value of one step of what a node writes: the scale of Dequantize, else 1."""
    given = node.attributes
    return given.scale[0] if isinstance(given, QuantizationAttributes) else 1.0
