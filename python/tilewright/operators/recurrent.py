"""RNN, GRU and LSTM over whole sequences, both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.nest import Dimension, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Operator, operand, optional_operand

_Activation = Callable[[Array, float, float], Array]

ACTIVATIONS: Mapping[str, _Activation] = MappingProxyType(
    {
        "Sigmoid": lambda x, a, b: 1.0 / (1.0 + np.exp(-x)),
        "Tanh": lambda x, a, b: np.tanh(x),
        "Relu": lambda x, a, b: np.maximum(x, 0.0),
        "Affine": lambda x, a, b: a * x + b,
        "LeakyRelu": lambda x, a, b: np.where(x >= 0, x, a * x),
        "ThresholdedRelu": lambda x, a, b: np.where(x >= a, x, 0.0),
        "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
        "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0.0, 1.0),
        "Elu": lambda x, a, b: np.where(x >= 0, x, a * np.expm1(x)),
        "Softsign": lambda x, a, b: x / (1.0 + np.abs(x)),
        "Softplus": lambda x, a, b: np.logaddexp(x, 0.0),
    }
)
"""function(x, alpha, beta) by ONNX's name, in the order of the C kernel's numbers for activations."""

GATES: Mapping[str, int] = MappingProxyType({"RNN": 1, "GRU": 3, "LSTM": 4})


@dataclass(frozen=True, slots=True)
class RecurrentAttributes(Attributes):
    """ONNX's attributes of RNN, GRU and LSTM, with values for two directions.

    Attributes:
        reverse: for each of two directions, whether it runs from the last step to the first.
        activations, alpha, beta: three for each of two directions: names of ``ACTIVATIONS``, and their parameters.
        clip: the arguments of activations are clipped to [-clip, clip].
        linear_before_reset: for GRU only, as in ONNX.
        input_forget: for LSTM only, as in ONNX.
        cell_clip: the cell state of an LSTM is clipped to [-cell_clip, cell_clip]; 0 for none.
    """

    reverse: tuple[bool, ...]
    activations: tuple[str, ...]
    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    clip: float
    linear_before_reset: bool
    input_forget: bool
    cell_clip: float = 0.0


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions s (steps), dir, b (entries of the batch), h (gates x units), i (inputs + units).

    Of one direction, s and h can be cut too: the state is carried from step to step, and the gates of a step from row
    to row. Operands, with u units and g = gates * u: X [s, b, inputs], W [dir, g, inputs], R [dir, g, u], B [dir, 2 g],
    lengths [b], initial_h and initial_c [dir, b, u], P [dir, 3 u], mask [s, b, 1]; Y [s, dir, b, u], Y_h and
    Y_c [dir, b, u].
    """
    steps, entries, inputs = graph.tensor(node.inputs[0]).shape
    directions, rows, units = graph.tensor(node.inputs[2]).shape
    # Two directions take the steps in opposite orders, so no tile of steps serves both.
    carried = Iteration.SEQUENTIAL if directions == 1 else Iteration.WHOLE
    backward = node.given(RecurrentAttributes).reverse[0]
    step = along("s", -1, steps - 1) if backward and directions == 1 else along("s")
    state = (along("dir"), along("b"), whole(units))
    maps = (
        (step, along("b"), whole(inputs)),
        (along("dir"), along("h"), whole(inputs)),
        (along("dir"), along("h"), whole(units)),
        (along("dir"), whole(2 * rows)),
        (along("b"),),
        state,
        state,
        (along("dir"), whole(3 * units)),
        (step, along("b"), whole(1)),
    )
    reads = tuple(axes if name else () for name, axes in zip(node.inputs, maps, strict=False))
    written = ((step, along("dir"), along("b"), whole(units)), state, state)
    dimensions = (
        Dimension("dir", directions),
        Dimension("b", entries),
        Dimension("s", steps, carried),
        Dimension("h", rows, carried),
        Dimension("i", inputs + units, Iteration.WHOLE),
    )
    return Nest(dimensions, reads, written[: len(node.outputs)], macs_per_point=1)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """ONNX's equations in float64; behind the end of its sequence, an entry gives zeros in Y and keeps its state.

    A step that the mask leaves out keeps the state, and gives it in Y again.
    """
    x = operand(arrays, 0).astype(np.float64)
    directions, _, units = operand(arrays, 2).shape
    steps, entries = x.shape[:2]
    lengths = optional_operand(arrays, 4)
    ends = np.full(entries, steps) if lengths is None else np.clip(lengths, 0, steps)
    mask = optional_operand(arrays, 8)
    y = np.zeros((steps, directions, entries, units))
    states = [_initial(arrays, position, (directions, entries, units)) for position in (5, 6)]
    for direction in range(directions):
        for entry in range(entries):
            h, c = states[0][direction, entry], states[1][direction, entry]
            order = range(ends[entry])
            for at in reversed(order) if node.given(RecurrentAttributes).reverse[direction] else order:
                if mask is None or mask[at, entry, 0]:
                    h, c = _step(node, arrays, direction, x[at, entry], (h, c))
                y[at, direction, entry] = h
            states[0][direction, entry], states[1][direction, entry] = h, c
    return [result.astype(np.float32) for result in (y, *states)][: len(node.outputs)]


def _initial(arrays: Arrays, position: int, shape: tuple[int, ...]) -> Array:
    given = optional_operand(arrays, position)
    return np.zeros(shape) if given is None else given.astype(np.float64)


def _step(node: Node, arrays: Arrays, direction: int, x: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
    given = node.given(RecurrentAttributes)
    w = operand(arrays, 1)[direction].astype(np.float64)
    r = operand(arrays, 2)[direction].astype(np.float64)
    bias = optional_operand(arrays, 3)
    both = np.zeros(2 * len(w)) if bias is None else bias[direction].astype(np.float64)
    units, (h, c) = r.shape[1], state
    from_x, from_h = w @ x + both[: len(w)], r @ h + both[len(w) :]
    total = (from_x + from_h).reshape(-1, units)

    def activate(number: int, values: Array) -> Array:
        at, clip = 3 * direction + number, given.clip
        function = ACTIVATIONS[given.activations[at]]
        limited = np.clip(values, -clip, clip)
        with np.errstate(over="ignore"):
            return function(limited, given.alpha[at], given.beta[at])

    if node.operator == "RNN":
        return activate(0, total[0]), c
    if node.operator == "GRU":
        z, reset = activate(0, total[0]), activate(0, total[1])
        last = slice(2 * units, None)
        late = given.linear_before_reset
        hidden = reset * from_h[last] if late else r[last] @ (reset * h) + both[len(w) :][last]
        return (1.0 - z) * activate(1, from_x[last] + hidden) + z * h, c
    holes = optional_operand(arrays, 7)
    p = np.zeros((3, units)) if holes is None else holes[direction].astype(np.float64).reshape(3, units)
    i = activate(0, total[0] + p[0] * c)
    forget = 1.0 - i if given.input_forget else activate(0, total[2] + p[2] * c)
    cell = forget * c + i * activate(1, total[3])
    if given.cell_clip > 0:
        cell = np.clip(cell, -given.cell_clip, given.cell_clip)
    return activate(0, total[1] + p[1] * cell) * activate(2, cell), cell


OPERATORS = tuple(Operator(name, nest, reference, RecurrentAttributes) for name in GATES)
