"""The kernel of RNN, GRU and LSTM."""

from __future__ import annotations

from tilewright.graph import DType, Graph, Node
from tilewright.kernels.float_common import CALL_CYCLES, points, trailing_operand
from tilewright.kernels.kernel import KernelChoice, TileSteps
from tilewright.operators.recurrent import ACTIVATIONS, GATES, RecurrentAttributes
from tilewright.operators.registry import OPERATORS
from tilewright.plan import AttributeValue

_MAC_CYCLES = 8.0
_LENGTHS = 4
_OPTIONAL = (("bias", 3), ("lengths", 4), ("initial_h", 5), ("initial_c", 6), ("peepholes", 7))


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for float32; lengths are int32."""
    for position, name in enumerate(node.inputs):
        if name and graph.tensor(name).dtype is not (DType.INT32 if position == _LENGTHS else DType.FLOAT32):
            return ()
    nest = OPERATORS[node.operator].nest(node, graph)
    units = graph.tensor(node.inputs[2]).shape[2]
    present = [position for position, name in enumerate(node.inputs) if name]
    where = {position: number for number, position in enumerate(present)}
    given = node.given(RecurrentAttributes)
    numbers = list(ACTIVATIONS)
    fields: tuple[tuple[str, AttributeValue], ...] = (
        ("cell", list(GATES).index(node.operator)),
        ("reverse", tuple(int(flag) for flag in given.reverse)),
        ("activations", tuple(numbers.index(name) for name in given.activations)),
        ("alpha", given.alpha),
        ("beta", given.beta),
        ("clip", given.clip),
        ("linear_before_reset", int(given.linear_before_reset)),
        ("input_forget", int(given.input_forget)),
        *((name, where.get(position, -1)) for name, position in _OPTIONAL),
        ("outputs", len(present)),
    )
    scratch = 4 * (GATES[node.operator] + 1) * units

    def cycles(steps: TileSteps) -> float:
        return CALL_CYCLES + points(nest, steps) * _MAC_CYCLES

    return (
        KernelChoice(
            symbol="tilewright_recurrent_f32",
            sources=("recurrent_f32.c",),
            nest=nest,
            reads=tuple(trailing_operand(graph, node.inputs[p], nest.reads[p]) for p in present),
            writes=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.outputs, nest.writes, strict=True)
            ),
            attributes=fields,
            cycles=cycles,
            scratch_bytes=lambda steps: scratch,
        ),
    )
