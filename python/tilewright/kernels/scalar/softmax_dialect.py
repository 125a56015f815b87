"""Softmax approximations of the Deeploy dialect (runtime/kernels/softmax_dialect.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import EIGHT_BIT, flat_choice, per_element
from tilewright.kernels.kernel import MAX_RANK, ConstantOperand, Declaration, Kernel, KernelChoice
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.integer_softmax import GroupedAttributes, PolynomialAttributes, ProbabilityAttributes, powers
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


@dataclass(frozen=True, slots=True)
class SoftmaxPowers(CStruct):
    """iSoftmax over the last axis of the view, which computes each power again instead of looking it up.
    Operands: x; y, uint8. All terms and products fit 32 bits.
    """

    flip: Annotated[Int32, "128: x is int8; 0: uint8"]
    levels: Annotated[Int32, "the largest probability"]
    a: Int32
    b: Int32
    c: Int32
    log2: Annotated[Int32, "above 0"]


_INT32_MAX = (1 << 31) - 1
_UINT32_MAX = (1 << 32) - 1
_MOST_ITA_ELEMENTS = 1 << 22
_POWERS_CYCLES = 85.0


def softmax(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels for iSoftmax of 8-bit tensors whose powers, and their sum, fit 32 bits.

    The second one needs no table near the core, for more cycles.
    """
    table = powers(node)
    extent, levels = graph.tensor(node.inputs[0]).shape[-1], _levels(node)
    largest = int(table.max()) * max(extent, levels - 1)
    if int(table.min()) < 0 or table[0] == 0 or largest > _UINT32_MAX:
        return ()
    constant = ConstantOperand("powers", table.astype(np.uint32), (whole(256),))
    return (*_choice(node, graph, _TABLE, levels - 1, constant), *_computed(node, graph))


def _computed(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    given = node.given(PolynomialAttributes)
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if not _fits_words(given) or x.dtype not in EIGHT_BIT or y.dtype is not DType.UINT8:
        return ()
    if not 0 < len(y.shape) <= MAX_RANK or x.shape[-1] > _MOST_ITA_ELEMENTS:
        return ()
    flip = 128 if x.dtype is DType.INT8 else 0
    return (
        flat_choice(
            node,
            graph,
            kernel=_POWERS,
            sources=SOURCES,
            nest=last_axis_nest(node, graph),
            attributes=SoftmaxPowers(flip, _levels(node) - 1, given.a, given.b, given.c, given.log2),
            uncut=frozenset({f"d{len(y.shape) - 1}"}),
        ),
    )


def _fits_words(given: PolynomialAttributes) -> bool:
    """Whether no product on the way to a power of any difference exceeds 31 bits, and none is negative in the end."""
    if given.log2 < 1:
        return False
    for difference in range(256):
        halvings = min(difference // given.log2, 31)
        rest = halvings * given.log2 - difference + given.b
        parts = (given.a * rest, given.a * rest * rest, given.a * rest * rest + given.c, given.c, given.b)
        if max(map(abs, parts)) > _INT32_MAX or parts[2] < 0:
            return False
    return True


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


_TABLE = Kernel("tilewright_softmax_table", SoftmaxDialect, per_element(39.5))
_POWERS = Kernel("tilewright_softmax_powers", SoftmaxPowers, per_element(_POWERS_CYCLES))
_ITA_MAX = Kernel("tilewright_ita_max", SoftmaxDialect, per_element(35.0))
_ITA_PARTIAL_MAX = Kernel("tilewright_ita_partial_max", SoftmaxDialect, per_element(35.0))

DECLARATION = Declaration(
    operators={"iSoftmax": softmax, "ITAMax": ita_max, "ITAPartialMax": ita_partial_max},
    kernels=(_TABLE, _POWERS, _ITA_MAX, _ITA_PARTIAL_MAX),
)
