"""The kernel of RNN, GRU and LSTM.

Before:  a GRU of 32 units over 32 inputs, whole near the core: W and R of 96 rows, 24,576 bytes
After:   tiles of one step and one row: x 128 bytes, rows 256, gates and state 512; R travels once for each step
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32, Float32x6, Int32, Int32x2, Int32x6, snake
from tilewright.kernels.float_common import CALL_CYCLES, step_of, trailing_operand
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, TensorOperand, TileSteps
from tilewright.operators.nest import Nest, along
from tilewright.operators.recurrent import ACTIVATIONS, GATES, RecurrentAttributes
from tilewright.operators.recurrent import nest as nest_of

_MAC_CYCLES = 2.8
_ROW_CYCLES = MappingProxyType({"RNN": 150.0, "GRU": 143.0, "LSTM": 164.0})
"""Cycles of a row of the gates besides its products: sums and biases, activations, and its share of a unit's state."""
_BIAS, _LENGTHS, _INITIAL_H, _INITIAL_C, _PEEPHOLES, _MASK = range(3, 9)
"""Positions of the inputs that a node may leave out."""
_TYPES = {_LENGTHS: DType.INT32, _MASK: DType.BOOL}


@dataclass(frozen=True, slots=True)
class RecurrentF32(CStruct):
    """RNN, GRU or LSTM over steps of a sequence and rows of its gates; per direction three activations. An operand
    that the node leaves out has number -1 here, others their position in the operand array. Operands with trailing
    axes: X [step, entry, input], W [direction, gate * unit, input], R [direction, gate * unit, unit], the biases of
    W and of R [direction, gate * unit], lengths [entry], initial states [direction, entry, unit], P [direction, 3 *
    unit], mask [step, entry, 1] of bytes, Y [step, direction, entry, unit], last states. Scratch has floats for each
    gate of the units, for the state and for the cell state of an LSTM; where steps or rows are cut, partial results
    have them for each direction and entry of the tile. Rows are cut within one step only.
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
    bias: Annotated[Int32, "of W; that of R follows"]
    lengths: Int32
    initial_h: Int32
    initial_c: Int32
    peepholes: Int32
    mask: Annotated[Int32, "steps with 0 are left out: the state stays, and Y has it again"]
    outputs: Annotated[Int32, "position of Y; Y_h follows, and Y_c for LSTM"]


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for float32; lengths are int32, the mask of steps is bool."""
    for position, name in enumerate(node.inputs):
        if name and graph.tensor(name).dtype is not _TYPES.get(position, DType.FLOAT32):
            return ()
    nest = nest_of(node, graph)
    present = [position for position, name in enumerate(node.inputs) if name]
    reads = [operand for position in present for operand in _operands(node, graph, nest, position)]
    # The two halves of the bias are operands of their own.
    where = {position: number + (position > _BIAS and _BIAS in present) for number, position in enumerate(present)}
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
        outputs=len(reads),
    )
    return (
        KernelChoice(
            kernel=_RECURRENT,
            sources=("recurrent_f32.c",),
            nest=nest,
            reads=tuple(reads),
            writes=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.outputs, nest.writes, strict=True)
            ),
            attributes=attributes,
            partial_bytes=partial(_partial_bytes, nest, node.operator),
        ),
    )


def _operands(node: Node, graph: Graph, nest: Nest, position: int) -> tuple[TensorOperand, ...]:
    """The operand at a position of the node's inputs; the bias of W and that of R stand in one tensor."""
    name, axes = node.inputs[position], nest.reads[position]
    if position != _BIAS:
        return (trailing_operand(graph, name, axes),)
    rows = nest.dimension("h").extent
    return tuple(trailing_operand(graph, name, (axes[0], along("h", offset=offset))) for offset in (0, rows))


def _line_bytes(nest: Nest, operator: str) -> int:
    """Bytes of the gates, the state and the cell state of one direction of one entry."""
    rows = nest.dimension("h").extent
    states = 2 if operator == "LSTM" else 1
    return 4 * (rows + states * rows // GATES[operator])


def _partial_bytes(nest: Nest, operator: str, steps: TileSteps) -> int:
    """Bytes that pass from part to part, for all directions and entries of a tile."""
    return _line_bytes(nest, operator) * steps["dir"] * steps["b"]


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """What one direction of one entry needs after the other; parts have it in the partial results."""
    cut = any(steps[name] < choice.nest.dimension(name).extent for name in ("s", "h"))
    operator = list(GATES)[choice.given(RecurrentF32).cell]
    return {} if cut else {"gates": _line_bytes(choice.nest, operator)}


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    directions, entries, run_steps, rows, taps = (
        step_of(choice.nest, steps, name) for name in ("dir", "b", "s", "h", "i")
    )
    cell = list(GATES)[choice.given(RecurrentF32).cell]
    return CALL_CYCLES + directions * entries * run_steps * rows * (taps * _MAC_CYCLES + _ROW_CYCLES[cell])


_RECURRENT = Kernel("tilewright_recurrent_f32", RecurrentF32, _cycles, scratch=_scratch)

DECLARATION = Declaration(
    operators=dict.fromkeys(GATES, choices),
    kernels=(_RECURRENT,),
    numbers={
        **{f"CELL_{name}": number for number, name in enumerate(GATES)},
        **{snake(name).upper(): number for number, name in enumerate(ACTIVATIONS)},
    },
)
