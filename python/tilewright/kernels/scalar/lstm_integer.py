"""The kernels of LSTM of int8 and of int16 (runtime/kernels/lstm_integer.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import per_point, trailing_operand
from tilewright.kernels.kernel import ConstantOperand, Declaration, Kernel, KernelChoice, TileSteps
from tilewright.operators.fixed_point import halved_multiplier
from tilewright.operators.integer_lstm import GATES, LstmIntegerAttributes, nest
from tilewright.operators.nest import whole
from tilewright.operators.sigmoid_table import sigmoid_table


@dataclass(frozen=True, slots=True)
class LstmInteger(CStruct):
    """Operands with trailing axes: x [entry, step, input], h [entry, unit], c [entry, unit]; constants: weights of x
    and of h [gate][unit][input or unit] int8, for each gate and unit the bias of both sums, multiplier and shift of
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
        "x_weights": w,
        "h_weights": r,
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


def _biases(given: LstmIntegerAttributes, w: Array, r: Array, bias: Array) -> Array:
    """int32[gates, units, 2]: what both sums of a gate begin with."""
    sums = [
        bias.astype(np.int64) - given.x_zero_point * w.astype(np.int64).sum(axis=2),
        -given.h_zero_point * r.astype(np.int64).sum(axis=2),
    ]
    return np.stack(sums, axis=2).astype(np.int32)


def _wide_biases(bias: Array) -> Array:
    """int32[gates, units, 2]: the low and the high word of each bias."""
    return np.ascontiguousarray(bias.astype("<i8")).view("<i4").reshape(*bias.shape, 2)


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


_KERNEL = Kernel("tilewright_lstm_integer", LstmInteger, per_point(10.35), scratch=_scratch)
_HALVES = Kernel("tilewright_lstm_halves", LstmInteger, per_point(16.0), scratch=_scratch)

DECLARATION = Declaration(operators={"LstmInteger": choices}, kernels=(_KERNEL, _HALVES))
