"""Sums, means and quotients of integers (runtime/kernels/{reduce_integer,divide_integer}.c)."""

from __future__ import annotations

from math import prod
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, UInt32x2
from tilewright.kernels.element_types import ELEMENT_TYPES, INTEGERS, ElementType
from tilewright.kernels.integer import flat_choice, flat_operand, magnitude, per_element, steps_product
from tilewright.kernels.kernel import (
    MAX_RANK,
    Declaration,
    Kernel,
    KernelChoice,
    ScratchOf,
    TensorOperand,
    TileSteps,
    elementwise_over_tensors,
)
from tilewright.operators import elementwise
from tilewright.operators.integer_reduction import IntegerDivAttributes
from tilewright.operators.integer_reduction import nest as nest_of
from tilewright.operators.nest import AxisMap
from tilewright.operators.reduction import ReductionAttributes

REDUCE_SOURCES = ("reduce_integer.c", "integer_line.c", "walk.c")
DIVIDE_SOURCES = ("divide_integer.c", "integer_line.c", "walk.c")


@dataclass(frozen=True, slots=True)
class SumInteger(CStruct):
    """Sums of integers over axes of the view; y is int32, and sums beyond 32 bits wrap. Operands: x; y, in which
    these axes have extent 1.
    """

    x_type: ElementType


@dataclass(frozen=True, slots=True)
class MeanInteger(CStruct):
    """Means of integers over axes of the view. Operands: x; y, in which these axes have extent 1; scratch with one
    accumulator for each element of y: int32, int64 if x is int32.
    """

    x_type: ElementType
    count: Annotated[Int32, "elements of one sum"]
    shift: Annotated[Int32, "its logarithm if it is a power of two, else -1"]


@dataclass(frozen=True, slots=True)
class DivideInteger(CStruct):
    """IntegerDiv: (numerator * a) / (eta * b + epsilon) to the nearest integer, halves away from zero, with
    broadcasting; 0 where the divisor is 0. Operands: a, b, y (int32).
    """

    a_type: ElementType
    b_type: ElementType
    numerator: Annotated[UInt32x2, "low word, high word"]
    eta: Int32
    epsilon: Int32


_INT32_MAX = (1 << 31) - 1
_SAFE_PRODUCT = 1 << 62
_CYCLES = 14.0


def total(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for IntegerSum of 8-, 16- and 32-bit tensors."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype not in INTEGERS or y.dtype is not DType.INT32 or len(x.shape) > MAX_RANK:
        return ()
    nest = nest_of(node, graph)
    return (
        KernelChoice(
            kernel=_SUM,
            sources=REDUCE_SOURCES,
            nest=nest,
            reads=(flat_operand(x.name, nest.reads[0], graph),),
            writes=(_reduced(node, graph, nest.writes[0]),),
            attributes=SumInteger(ELEMENT_TYPES[x.dtype]),
        ),
    )


def mean(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for IntegerMean of 8-, 16- and 32-bit tensors."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype not in INTEGERS or y.dtype is not x.dtype or len(x.shape) > MAX_RANK:
        return ()
    nest = nest_of(node, graph)
    axes = node.given(ReductionAttributes).axes
    count = prod(x.shape[axis] for axis in axes)
    wide = (count + 1) * magnitude(x.dtype, 0) > _INT32_MAX
    return (
        KernelChoice(
            kernel=_MEAN_WIDE if wide else _MEAN,
            sources=REDUCE_SOURCES,
            nest=nest,
            reads=(flat_operand(x.name, nest.reads[0], graph),),
            writes=(_reduced(node, graph, nest.writes[0]),),
            attributes=MeanInteger(
                ELEMENT_TYPES[x.dtype],
                count=count,
                shift=-1 if count & (count - 1) else count.bit_length() - 1,
            ),
        ),
    )


def divide(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for IntegerDiv whose dividends and divisors fit 64 bits."""
    a, b = (graph.tensor(name) for name in node.inputs)
    y = graph.tensor(node.outputs[0])
    if a.dtype not in INTEGERS or b.dtype not in INTEGERS or y.dtype is not DType.INT32:
        return ()
    given = node.given(IntegerDivAttributes)
    numerator, eta, epsilon = given.numerator, given.eta, given.epsilon
    largest = max(abs(numerator) * magnitude(a.dtype, 0), abs(eta) * magnitude(b.dtype, 0) + abs(epsilon))
    if largest >= _SAFE_PRODUCT or max(abs(eta), abs(epsilon)) > _INT32_MAX or len(y.shape) > MAX_RANK:
        return ()
    nest = elementwise.nest(node, graph)
    return (
        flat_choice(
            node,
            graph,
            kernel=_DIVIDE,
            sources=DIVIDE_SOURCES,
            nest=nest,
            attributes=DivideInteger(
                a_type=ELEMENT_TYPES[a.dtype],
                b_type=ELEMENT_TYPES[b.dtype],
                numerator=(numerator & 0xFFFFFFFF, numerator >> 32 & 0xFFFFFFFF),
                eta=eta,
                epsilon=epsilon,
            ),
        ),
    )


def _reduced(node: Node, graph: Graph, axes: tuple[AxisMap, ...]) -> TensorOperand:
    """The operand y, viewed with an axis of extent 1 in the place of each reduced axis."""
    given = node.given(ReductionAttributes)
    rank = len(graph.tensor(node.inputs[0]).shape)
    view = []
    position = 0
    for axis in range(rank):
        dropped = axis in given.axes and not given.keepdims
        view.append(-1 if dropped else position)
        position += 0 if dropped else 1
    return TensorOperand(node.outputs[0], axes, ((-1,) * (MAX_RANK - rank) + tuple(view)))


def _scratch(element_bytes: int) -> ScratchOf:
    """A sum for each element of y."""

    def scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
        kept = [name for axis in choice.writes[0].axes for name, _ in axis.terms]
        return {"sums": element_bytes * steps_product(choice.nest, steps, *kept)}

    return scratch


_SUM = Kernel("tilewright_sum_integer", SumInteger, per_element(_CYCLES))
_MEAN = Kernel("tilewright_mean_integer", MeanInteger, per_element(_CYCLES), scratch=_scratch(4))
_MEAN_WIDE = Kernel("tilewright_mean_integer_wide", MeanInteger, per_element(2 * _CYCLES), scratch=_scratch(8))
_DIVIDE = Kernel("tilewright_divide_integer", DivideInteger, per_element(300.0), elementwise_over_tensors)

DECLARATION = Declaration(
    operators={"IntegerSum": total, "IntegerMean": mean, "IntegerDiv": divide},
    kernels=(_SUM, _MEAN, _MEAN_WIDE, _DIVIDE),
)
