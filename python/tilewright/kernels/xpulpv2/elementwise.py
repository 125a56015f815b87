"""Add and Sub of 8-bit tensors, four elements of a word at a time (runtime/kernels/add_xpulpv2.c)."""

from __future__ import annotations

from functools import partial

from tilewright.graph import Graph, Node
from tilewright.kernels.add_split import BELOW, AddSplit, add_choice, attributes_of
from tilewright.kernels.integer import per_element
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, elementwise_over_tensors

SOURCES = ("add_xpulpv2.c", "walk.c")

_WHOLE = Kernel("tilewright_add_xpulpv2_whole", AddSplit, per_element(8.5), elementwise_over_tensors)
"""Where 32 bits hold multipliers that are exact enough: their low parts are 0."""

_SPLIT = Kernel("tilewright_add_xpulpv2_split", AddSplit, per_element(12.5), elementwise_over_tensors)


def _choices(node: Node, graph: Graph, sign: int) -> tuple[KernelChoice, ...]:
    for kernel, below in ((_WHOLE, 0), (_SPLIT, BELOW)):
        attributes = attributes_of(node, graph, sign, below)
        if attributes is not None:
            return (add_choice(node, graph, kernel, SOURCES, attributes),)
    return ()


DECLARATION = Declaration(
    operators={"Add": partial(_choices, sign=1), "Sub": partial(_choices, sign=-1)}, kernels=(_WHOLE, _SPLIT)
)
