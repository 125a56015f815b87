"""LSTM of int8 with a cell state of int16, as LiteRT's UNIDIRECTIONAL_SEQUENCE_LSTM without peepholes computes it."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.fixed_point import halved_multiplier, multiplied
from tilewright.operators.nest import Dimension, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Operator, operand
from tilewright.operators.sigmoid_table import logistic_halves, tanh_halves

GATES = 4
"""Input, forget, cell and output gate, in the order of weights and factors."""
_FORGET, _INPUT, _OUTPUT = 2 * GATES, 2 * GATES + 1, 2 * GATES + 2
"""Factors of forget gate * cell, of input gate * cell gate, of tanh(cell) * output gate."""


@dataclass(frozen=True, slots=True)
class LstmIntegerAttributes(Attributes):
    """Arithmetic of an LSTM; factors are multipliers and shifts that round twice, but for sums of int16.

    Attributes:
        x_zero_point, h_zero_point: stored integers that stand for 0.
        multipliers, shifts: of sums with x for each gate, then of sums with h for each gate, as Q3.12; then of the
            products forget gate * cell, input gate * cell gate, and tanh(cell) * output gate.
        cell_multiplier, cell_shift: the argument of tanh is cell * multiplier / 2^shift / 3, as Q3.12.
        clip: the largest magnitude of the cell; 0 for none.
    """

    x_zero_point: int
    h_zero_point: int
    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]
    cell_multiplier: int
    cell_shift: int
    clip: int


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions b (entries), t (steps), g (gates * units), i (inputs + units); only b can be cut.

    Operands: x [b, t, inputs], h and c [b, units], w [gates, units, inputs], r [gates, units, units], bias [gates,
    units]; y [b, t, units], h and c of the last step.
    """
    entries, steps, inputs = graph.tensor(node.inputs[0]).shape
    units = graph.tensor(node.inputs[1]).shape[1]
    state = (along("b"), whole(units))
    constants = (
        (whole(GATES), whole(units), whole(inputs)),
        (whole(GATES), whole(units), whole(units)),
        (whole(GATES), whole(units)),
    )
    dimensions = (
        Dimension("b", entries),
        Dimension("t", steps, Iteration.WHOLE),
        Dimension("g", GATES * units, Iteration.WHOLE),
        Dimension("i", inputs + units, Iteration.WHOLE),
    )
    reads = ((along("b"), whole(steps), whole(inputs)), state, state, *constants)
    return Nest(dimensions, reads, ((along("b"), whole(steps), whole(units)), state, state), macs_per_point=1)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The steps of the sequence one after the other, with the integers of LiteRT's kernels."""
    given = node.given(LstmIntegerAttributes)
    x, h, c, w, r, bias = (operand(arrays, index).astype(np.int64) for index in range(6))
    kind = operand(arrays, 0).dtype
    factored, limits = _factored if kind == np.int8 else _factored_once, np.iinfo(kind)
    rows = []
    for at in range(x.shape[1]):
        inputs, units = x[:, at] - given.x_zero_point, h - given.h_zero_point
        gates = []
        for gate in range(GATES):
            from_x = _halves(factored(given, gate, inputs @ w[gate].T + bias[gate]))
            from_h = _halves(factored(given, GATES + gate, units @ r[gate].T))
            total = _halves(from_x + from_h)
            gates.append(tanh_halves(total, 3, 0) if gate == 2 else logistic_halves(total, 3, 0))
        c = _halves(
            _halves(_factored(given, _FORGET, gates[1] * c)) + _halves(_factored(given, _INPUT, gates[0] * gates[2]))
        )
        if given.clip:
            c = np.clip(c, -given.clip, given.clip)
        shown = tanh_halves(c, given.cell_multiplier, given.cell_shift)
        h = np.clip(_factored(given, _OUTPUT, shown * gates[3]) + given.h_zero_point, limits.min, limits.max)
        rows.append(h)
    return [np.stack(rows, axis=1).astype(kind), h.astype(kind), c.astype(np.int16)]


def _factored(given: LstmIntegerAttributes, number: int, values: Array) -> Array:
    return multiplied(values, given.multipliers[number], given.shifts[number])


def _factored_once(given: LstmIntegerAttributes, number: int, sums: Array) -> Array:
    """Sums of 64 bits, rounded half up, with 15 bits of the multiplier."""
    shift = 15 - given.shifts[number]
    rounded: Array = (sums * halved_multiplier(given.multipliers[number]) + (1 << (shift - 1))) >> shift
    return rounded


def _halves(values: Array) -> Array:
    return np.clip(values, -32768, 32767)


OPERATORS = (Operator("LstmInteger", nest, reference, LstmIntegerAttributes),)
