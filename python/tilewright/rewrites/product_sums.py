"""A product of float32 that only a sum reads becomes one operator, as BatchNormalization in front of Relu is.

Before:  p = Mul(x, factor), y = Add(p, summand)
After:   y = MulAdd(x, factor, summand)
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph import DType, Graph, Node
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, joined_sources


def join_products_and_sums(graph: Graph) -> Graph:
    """Mul and Add of float32 as MulAdd; products are not rounded where the core has a fused instruction.

    Products with bounds stay, and products whose elements a sum reads more than once.
    """
    editor = GraphEditor(graph)
    for node in editor.nodes():
        if node.operator == "Mul" and node.epilogue is None:
            _join(editor, node)
    return editor.graph()


def _join(editor: GraphEditor, product: Node) -> None:
    middle = editor.tensors[product.outputs[0]]
    total = editor.sole_reader(middle.name)
    if total is None or total.operator != "Add" or middle.dtype is not DType.FLOAT32:
        return
    others = [name for name in total.inputs if name != middle.name]
    if len(others) != 1 or editor.tensors[total.outputs[0]].shape != middle.shape:
        return
    editor.remove(product)
    editor.replace(
        total,
        replace(
            total,
            operator="MulAdd",
            inputs=(*product.inputs, others[0]),
            attributes=NO_ATTRIBUTES,
            sources=joined_sources(product, total),
        ),
    )
