"""Softmax approximations of the Deeploy dialect (runtime/kernels/softmax_dialect.c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, per_element
from tilewright.kernels.kernel import MAX_RANK, ConstantOperand, Declaration, Kernel, KernelChoice
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.integer_softmax import GroupedAttributes, ProbabilityAttributes, powers
from tilewright.operators.nest import whole

SOURCES = ("softmax_dialect.c", "walk.c")


@dataclass(frozen=True, slots=True)
class SoftmaxDialect(CStruct):
    """iSoftmax, ITAMax and ITAPartialMax over the last axis of the view: 8-bit integers to unsigned probabilities.
    Operands: x; for iSoftmax the table of powers, uint32[256]; y, uint8.
    """

    flip: Annotated[Int32, "128: x is int8; 0: uint8"]
    levels: Annotated[Int32, "iSoftmax and ITAMax: the largest probability; ITAPartialMax: the half of it"]
    group: Annotated[Int32, "ITAPartialMax: elements whose maximum is taken at once"]


_UINT32_MAX = (1 << 32) - 1
_MOST_ITA_ELEMENTS = 1 << 22


def softmax(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for iSoftmax of 8-bit tensors whose powers, and their sum, fit 32 bits."""
    table = powers(node)
    extent, levels = graph.tensor(node.inputs[0]).shape[-1], _levels(node)
    largest = int(table.max()) * max(extent, levels - 1)
    if int(table.min()) < 0 or table[0] == 0 or largest > _UINT32_MAX:
        return ()
    constant = ConstantOperand("powers", table.astype(np.uint32), (whole(256),))
    return _choice(node, graph, _TABLE, levels - 1, constant)


def ita_max(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for ITAMax of 8-bit tensors."""
    return _choice(node, graph, _ITA_MAX, _levels(node) - 1)


def ita_partial_max(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for ITAPartialMax of int8 tensors whose last axis is a multiple of the group."""
    x = graph.tensor(node.inputs[0])
    if x.dtype is not DType.INT8 or x.shape[-1] % node.given(GroupedAttributes).group:
        return ()
    return _choice(node, graph, _ITA_PARTIAL_MAX, _levels(node) // 2 - 1)


def _levels(node: Node) -> int:
    return node.given(ProbabilityAttributes).levels


def _choice(
    node: Node, graph: Graph, kernel: Kernel, levels: int, *constants: ConstantOperand
) -> tuple[KernelChoice, ...]:
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype not in EIGHT_BIT or y.dtype is not DType.UINT8 or not 0 < len(y.shape) <= MAX_RANK:
        return ()
    if x.shape[-1] > _MOST_ITA_ELEMENTS:
        return ()
    nest = last_axis_nest(node, graph)
    return (
        flat_choice(
            node,
            graph,
            kernel=kernel,
            sources=SOURCES,
            nest=nest,
            constants=constants,
            attributes=SoftmaxDialect(
                flip=128 if x.dtype is DType.INT8 else 0,
                levels=levels,
                group=node.attributes.group if isinstance(node.attributes, GroupedAttributes) else 0,
            ),
            uncut=frozenset({f"d{len(y.shape) - 1}"}),
        ),
    )


_TABLE = Kernel("tilewright_softmax_table", SoftmaxDialect, per_element(55.0))
_ITA_MAX = Kernel("tilewright_ita_max", SoftmaxDialect, per_element(35.0))
_ITA_PARTIAL_MAX = Kernel("tilewright_ita_partial_max", SoftmaxDialect, per_element(35.0))

DECLARATION = Declaration(
    operators={"iSoftmax": softmax, "ITAMax": ita_max, "ITAPartialMax": ita_partial_max},
    kernels=(_TABLE, _ITA_MAX, _ITA_PARTIAL_MAX),
)
