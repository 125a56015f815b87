"""The kernels of LSTM of int8 and of int16 (runtime/kernels/lstm_integer.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import CALL_CYCLES, points, trailing_operand
from tilewright.kernels.kernel import ConstantOperand, CyclesOf, Declaration, Kernel, KernelChoice, TileSteps
from tilewright.operators.fixed_point import halved_multiplier
from tilewright.operators.integer_lstm import GATES, LstmIntegerAttributes, nest
from tilewright.operators.nest import whole
from tilewright.operators.sigmoid_table import sigmoid_table


@dataclass(frozen=True, slots=True)
class LstmInteger(CStruct):
    """Operands with trailing axes: x [entry, step, input], h [entry, unit], c [entry, unit]; constants: weights of x
    and of h [unit][input or unit][gate] int8, for each unit and gate the bias of both sums, multiplier and shift of
    each factor, the table of the logistic function; y [entry, step, unit], h, c; scratch: gates of int16, then h. Of
    int16, the two words of a bias are one of 64 bits, and the first eight multipliers have 15 bits.
    """

    h_zero_point: Int32
    cell_multiplier: Int32
    cell_shift: Int32
    clip: Annotated[Int32, "0: none"]


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for constant weights whose sums fit 32 bits, of int16 64 bits."""
    given = node.given(LstmIntegerAttributes)
    tensors = [graph.tensor(name) for name in node.inputs]
    w, r, bias = (tensor.data for tensor in tensors[3:])
    if w is None or r is None or bias is None or tensors[2].dtype is not DType.INT16:
        return ()
    wide = tensors[0].dtype is DType.INT16
    if max(*given.shifts[2 * GATES :], 0) > 0 or not (_fits_wide if wide else _fits)(given, w, r, bias):
        return ()
    loop = nest(node, graph)
    constants = {
        "x_weights": _by_unit(w),
        "h_weights": _by_unit(r),
        "biases": _wide_biases(bias) if wide else _biases(given, w, r, bias),
        "rules": _rules(given, wide=wide),
        "logistic": sigmoid_table(),
    }
    reads = [trailing_operand(graph, name, axes) for name, axes in zip(node.inputs[:3], loop.reads[:3], strict=True)]
    return (
        KernelChoice(
            kernel=_HALVES if wide else _KERNEL,
            sources=("lstm_integer.c",),
            nest=loop,
            reads=(
                *reads,
                *(ConstantOperand(name, data, tuple(map(whole, data.shape))) for name, data in constants.items()),
            ),
            writes=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.outputs, loop.writes, strict=True)
            ),
            attributes=LstmInteger(given.h_zero_point, given.cell_multiplier, given.cell_shift, given.clip),
        ),
    )


def _fits(given: LstmIntegerAttributes, w: Array, r: Array, bias: Array) -> bool:
    """Whether sums of int8, shifted to the left, fit 32 bits."""
    largest = max(int(np.abs(bias.astype(np.int64)).max()) + 255 * 128 * w.shape[2], 255 * 128 * r.shape[2])
    lefts = max(max(shift, 0) for shift in given.shifts[: 2 * GATES])
    return bool(largest << lefts < 1 << 31)


def _fits_wide(given: LstmIntegerAttributes, w: Array, r: Array, bias: Array) -> bool:
    """Whether products of sums of int16 with multipliers of 15 bits fit 64 bits."""
    largest = max(int(np.abs(bias.astype(object)).max()) + (w.shape[2] << 22), r.shape[2] << 22)
    shifts = [15 - shift for shift in given.shifts[: 2 * GATES]]
    return min(shifts) >= 1 and max(shifts) <= _MOST_SHIFT and (largest << 15) + (1 << max(shifts)) < 1 << 63


def _by_unit(weights: Array) -> Array:
    """int8[units, inputs, gates] of int8[gates, units, inputs]."""
    return np.ascontiguousarray(np.moveaxis(weights, 0, -1))


def _biases(given: LstmIntegerAttributes, w: Array, r: Array, bias: Array) -> Array:
    """int32[units, gates, 2]: what both sums of a gate begin with."""
    sums = [
        bias.astype(np.int64) - given.x_zero_point * w.astype(np.int64).sum(axis=2),
        -given.h_zero_point * r.astype(np.int64).sum(axis=2),
    ]
    return np.ascontiguousarray(np.stack(sums, axis=2).astype(np.int32).swapaxes(0, 1))


def _wide_biases(bias: Array) -> Array:
    """int32[units, gates, 2]: the low and the high word of each bias."""
    by_unit: Array = np.ascontiguousarray(bias.astype("<i8").T)
    return by_unit.view("<i4").reshape(*by_unit.shape, 2)


def _rules(given: LstmIntegerAttributes, *, wide: bool) -> Array:
    """int32[factors, 2]: multiplier and shift of each factor."""
    rules = np.stack([np.asarray(given.multipliers, np.int64) * 2, np.asarray(given.shifts)], axis=1)
    if wide:
        for number in range(2 * GATES):
            rules[number] = halved_multiplier(given.multipliers[number]), 15 - given.shifts[number]
    return rules.astype(np.uint32).view(np.int32)


_MOST_SHIFT = 62


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    return {"gates": 3 * choice.nest.dimension("g").extent}


def _cycles(product: float, gate: float) -> CyclesOf:
    """Instructions of a tile: ``product`` for each product of a weight, ``gate`` for what follows the sums of one."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        gates = points(choice.nest, steps, ("b", "t", "g"))
        return CALL_CYCLES + points(choice.nest, steps) * product + gates * gate

    return cycles


_KERNEL = Kernel("tilewright_lstm_integer", LstmInteger, _cycles(4.0, 177.5), scratch=_scratch)
_HALVES = Kernel("tilewright_lstm_halves", LstmInteger, _cycles(9.25, 200.0), scratch=_scratch)

DECLARATION = Declaration(operators={"LstmInteger": choices}, kernels=(_KERNEL, _HALVES))
