"""The kernel of LSTM of int8 (runtime/kernels/lstm_integer.c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import per_point, trailing_operand
from tilewright.kernels.kernel import ConstantOperand, Declaration, Kernel, KernelChoice, TileSteps
from tilewright.operators.integer_lstm import GATES, LstmIntegerAttributes, nest
from tilewright.operators.nest import whole
from tilewright.operators.sigmoid_table import sigmoid_table


@dataclass(frozen=True, slots=True)
class LstmInteger(CStruct):
    """Operands with trailing axes: x [entry, step, input], h [entry, unit], c [entry, unit]; constants: weights of x
    and of h [gate][unit][input or unit] int8, for each gate and unit the bias of both sums, multiplier and shift of
    each factor, the table of the logistic function; y [entry, step, unit], h, c; scratch: h, then gates of int16.
    """

    h_zero_point: Int32
    cell_multiplier: Int32
    cell_shift: Int32
    clip: Annotated[Int32, "0: none"]


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for constant weights whose sums fit 32 bits."""
    given = node.given(LstmIntegerAttributes)
    tensors = [graph.tensor(name) for name in node.inputs]
    w, r, bias = (tensor.data for tensor in tensors[3:])
    if w is None or r is None or bias is None or tensors[2].dtype is not DType.INT16:
        return ()
    sums = [
        bias.astype(np.int64) - given.x_zero_point * w.astype(np.int64).sum(axis=2),
        -given.h_zero_point * r.astype(np.int64).sum(axis=2),
    ]
    largest = max(int(np.abs(bias.astype(np.int64)).max()) + 255 * 128 * w.shape[2], 255 * 128 * r.shape[2])
    lefts = max(max(shift, 0) for shift in given.shifts[: 2 * GATES])
    if max(*given.shifts[2 * GATES :], 0) > 0 or largest << lefts >= 1 << 31:
        return ()
    rules = np.stack([np.asarray(given.multipliers, np.int64) * 2, np.asarray(given.shifts)], axis=1)
    loop = nest(node, graph)
    constants = {
        "x_weights": w,
        "h_weights": r,
        "biases": np.stack(sums, axis=2).astype(np.int32),
        "rules": rules.astype(np.uint32).view(np.int32),
        "logistic": sigmoid_table(),
    }
    reads = [trailing_operand(graph, name, axes) for name, axes in zip(node.inputs[:3], loop.reads[:3], strict=True)]
    return (
        KernelChoice(
            kernel=_KERNEL,
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


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    return {"gates": 3 * choice.nest.dimension("g").extent}


_KERNEL = Kernel("tilewright_lstm_integer", LstmInteger, per_point(6.0), scratch=_scratch)

DECLARATION = Declaration(operators={"LstmInteger": choices}, kernels=(_KERNEL,))
