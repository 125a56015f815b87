"""A convolution whose only window is the whole image becomes the product of a vector with a matrix.

Before:  x [1, 40, 5, 1] -> Conv, kernel (5, 1), weights [32, 40, 5, 1] -> y [1, 32, 1, 1]
After:   x -> Transpose, Reshape -> [1, 200] -> MatMul, weights [32, 200] -> [1, 32] -> Reshape -> y
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from tilewright.graph import Array, DType, Graph, Node
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.movement import TransposeAttributes

_DTYPES = (DType.INT8, DType.UINT8, DType.FLOAT32)
"""Elements of x for which there are kernels of matrix products; convolutions have some for int16 too."""

_MOST_IMAGES = 2
"""Products of more vectors take as long as convolutions, which compute several pixels at once."""


def multiply_whole_windows(graph: Graph) -> Graph:
    """The graph without convolutions whose only window is the whole image, one pixel for example.

    Elements stand in the order in which kernels of convolutions write images: channels side by side. Inputs of the
    network keep their own order.
    """
    editor = GraphEditor(graph)
    for node in graph.nodes:
        if _has_one_window(node, editor):
            _multiply(node, editor)
    return editor.graph()


def _has_one_window(node: Node, editor: GraphEditor) -> bool:
    """Whether a node is a convolution with constant weights whose windows are the whole images."""
    given = node.attributes
    if not isinstance(given, ConvAttributes) or node.operator != "Conv":
        return False
    x = editor.tensors[node.inputs[0]]
    images, _, *extents = x.shape
    is_whole = given.kernel == tuple(extents) and not any(given.pads) and given.group == 1
    is_constant = editor.tensors[node.inputs[1]].data is not None
    return is_whole and is_constant and x.dtype in _DTYPES and images <= _MOST_IMAGES


def _multiply(node: Node, editor: GraphEditor) -> None:
    """Puts the product in the place of a convolution."""
    given, x = node.given(ConvAttributes), editor.tensors[node.inputs[0]]
    weights, y = editor.tensors[node.inputs[1]].data, editor.tensors[node.outputs[0]]
    assert weights is not None
    last = (0, *range(2, len(x.shape)), 1)
    read = x
    if x.name not in editor.inputs and prod(x.shape[2:]) > 1:
        read = editor.variable(x, f"{x.name}.last", shape=tuple(x.shape[axis] for axis in last))
        editor.add(make_node("Transpose", [x.name], [read.name], attributes=TransposeAttributes(last)))
        weights = np.transpose(weights, last)
    vectors = editor.variable(x, f"{x.name}.vectors", shape=(x.shape[0], prod(x.shape[1:])))
    editor.add(make_node("Reshape", [read.name], [vectors.name]))
    matrix: Array = np.ascontiguousarray(weights.reshape(len(weights), -1))
    rows = editor.constant(f"{node.inputs[1]}.rows", matrix)
    product = editor.variable(y, f"{y.name}.product", shape=y.shape[:2])
    attributes = MatMulAttributes(transpose_b=True, a_zero_point=given.x_zero_point, b_zero_point=given.w_zero_point)
    inputs = (vectors.name, rows.name, *node.inputs[2:])
    editor.replace(
        node, replace(node, operator="MatMul", inputs=inputs, outputs=(product.name,), attributes=attributes)
    )
    editor.add(make_node("Reshape", [product.name], [y.name], name=f"{node.name}.view", sources=node.sources))
