"""Products of two int16 matrices, with sums of 64 bits (runtime/kernels/matmul_halves.c)."""

from __future__ import annotations

from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node, RequantizeShift
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import CALL_CYCLES, points, step_of
from tilewright.kernels.kernel import MAX_RANK, Declaration, Kernel, KernelChoice, TileSteps
from tilewright.kernels.liked_orders import MATRIX_ORDER
from tilewright.kernels.scalar.matmul_float import matrix_operand, matrix_output
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.matmul import nest as nest_of

_MOST_SHIFT = 62
_INT32_MAX, _INT64_MAX = (1 << 31) - 1, (1 << 63) - 1
_TAP_CYCLES, _OUTPUT_CYCLES = 12.0, 40.0


@dataclass(frozen=True, slots=True)
class MatmulHalves(CStruct):
    """y = (sum * multiplier + half) >> shift, limited. Operands: a, b, y of int16; matrices stand in the last two of
    six axes.
    """

    multiplier: Int32
    shift: Annotated[Int32, "1 or more"]
    minimum: Int32
    maximum: Int32


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for MatMul of int16 without zero points and bias, whose products with the multiplier fit 64 bits."""
    rule, given = node.epilogue, node.given(MatMulAttributes)
    tensors = [graph.tensor(name) for name in (*node.inputs[:2], *node.outputs)]
    plain = not any((given.a_zero_point, *given.b_zero_point)) and not any(node.inputs[2:])
    if {tensor.dtype for tensor in tensors} != {DType.INT16} or not plain or not isinstance(rule, RequantizeShift):
        return ()
    nest = nest_of(node, graph)
    multiplier, largest = rule.multiplier[0], nest.dimension("k").extent << 30
    exact = 0 <= multiplier <= _INT32_MAX and 1 <= rule.shift <= _MOST_SHIFT
    fits = largest * multiplier + (1 << rule.shift) <= _INT64_MAX and max(len(t.shape) for t in tensors) <= MAX_RANK
    if len(rule.multiplier) > 1 or any(rule.addend) or not exact or not fits:
        return ()
    return (
        KernelChoice(
            kernel=_KERNEL,
            sources=("matmul_halves.c", "walk.c"),
            nest=nest,
            reads=(matrix_operand(node, graph, nest, 0), matrix_operand(node, graph, nest, 1)),
            writes=(matrix_output(node, graph, nest),),
            attributes=MatmulHalves(multiplier, rule.shift, rule.minimum, rule.maximum),
            uncut=frozenset({"k"}),
        ),
    )


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Cycles of a call on a tile."""
    taps = points(choice.nest, steps)
    return CALL_CYCLES + taps * _TAP_CYCLES + taps // step_of(choice.nest, steps, "k") * _OUTPUT_CYCLES


_KERNEL = Kernel("tilewright_matmul_halves", MatmulHalves, _cycles, likes=MATRIX_ORDER)

DECLARATION = Declaration(operators={"MatMul": choices}, kernels=(_KERNEL,))
