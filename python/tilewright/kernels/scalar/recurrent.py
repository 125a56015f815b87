"""The kernel of RNN, GRU and LSTM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32, Float32x6, Int32, Int32x2, Int32x6, ScratchOffset, snake
from tilewright.kernels.float_common import per_point, trailing_operand
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, TileSteps
from tilewright.operators.recurrent import ACTIVATIONS, GATES, RecurrentAttributes
from tilewright.operators.recurrent import nest as nest_of

_MAC_CYCLES = 8.0
_BIAS, _LENGTHS, _INITIAL_H, _INITIAL_C, _PEEPHOLES, _MASK = range(3, 9)
"""Positions of the inputs that a node may leave out."""
_TYPES = {_LENGTHS: DType.INT32, _MASK: DType.BOOL}


@dataclass(frozen=True, slots=True)
class RecurrentF32(CStruct):
    """RNN, GRU or LSTM over a whole sequence; per direction three activations. An operand that the node leaves
    out has number -1 here, others their position in the operand array. Operands with trailing axes: X [step,
    entry, input], W [direction, gate * unit, input], R [direction, gate * unit, unit], B [direction, 2 * gate *
    unit], lengths [entry], initial states [direction, entry, unit], P [direction, 3 * unit], mask [step, entry, 1] of
    bytes, Y [step, direction, entry, unit], last states; scratch: floats for each gate of the units, and for the
    reset state of a GRU.
    """

    cell: Int32
    reverse: Int32x2
    activations: Int32x6
    alpha: Float32x6
    beta: Float32x6
    clip: Float32
    linear_before_reset: Int32
    input_forget: Int32
    cell_clip: Annotated[Float32, "0: none"]
    bias: Int32
    lengths: Int32
    initial_h: Int32
    initial_c: Int32
    peepholes: Int32
    mask: Annotated[Int32, "steps with 0 are left out: the state stays, and Y has it again"]
    outputs: Annotated[Int32, "position of Y; Y_h follows, and Y_c for LSTM"]
    reset_at: ScratchOffset = 0


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for float32; lengths are int32, the mask of steps is bool."""
    for position, name in enumerate(node.inputs):
        if name and graph.tensor(name).dtype is not _TYPES.get(position, DType.FLOAT32):
            return ()
    nest = nest_of(node, graph)
    present = [position for position, name in enumerate(node.inputs) if name]
    where = {position: number for number, position in enumerate(present)}
    given = node.given(RecurrentAttributes)
    numbers = list(ACTIVATIONS)
    forward, backward = (int(flag) for flag in given.reverse)
    attributes = RecurrentF32(
        cell=list(GATES).index(node.operator),
        reverse=(forward, backward),
        activations=tuple(numbers.index(name) for name in given.activations),
        alpha=given.alpha,
        beta=given.beta,
        clip=given.clip,
        linear_before_reset=int(given.linear_before_reset),
        input_forget=int(given.input_forget),
        cell_clip=given.cell_clip,
        bias=where.get(_BIAS, -1),
        lengths=where.get(_LENGTHS, -1),
        initial_h=where.get(_INITIAL_H, -1),
        initial_c=where.get(_INITIAL_C, -1),
        peepholes=where.get(_PEEPHOLES, -1),
        mask=where.get(_MASK, -1),
        outputs=len(present),
    )
    return (
        KernelChoice(
            kernel=_RECURRENT,
            sources=("recurrent_f32.c",),
            nest=nest,
            reads=tuple(trailing_operand(graph, node.inputs[p], nest.reads[p]) for p in present),
            writes=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.outputs, nest.writes, strict=True)
            ),
            attributes=attributes,
        ),
    )


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """A row of units for each gate, and one more."""
    rows = choice.nest.dimension("h").extent
    units = rows // list(GATES.values())[choice.given(RecurrentF32).cell]
    return {"gates": 4 * rows, "reset": 4 * units}


_RECURRENT = Kernel("tilewright_recurrent_f32", RecurrentF32, per_point(_MAC_CYCLES), scratch=_scratch)

DECLARATION = Declaration(
    operators=dict.fromkeys(GATES, choices),
    kernels=(_RECURRENT,),
    numbers={
        **{f"CELL_{name}": number for number, name in enumerate(GATES)},
        **{snake(name).upper(): number for number, name in enumerate(ACTIVATIONS)},
    },
)
