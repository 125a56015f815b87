"""Lookup, Requantize and Softmax of integer tensors (runtime/kernels/{lookup,requantize,softmax_integer}.c)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Epilogue, Graph, Node
from tilewright.graph import Requantize as RequantizeEpilogue
from tilewright.kernels.c_structs import CStruct, Float32, Int32, LineFinish, RowFunction
from tilewright.kernels.element_types import ELEMENT_TYPES, INTEGERS, ElementType
from tilewright.kernels.float_common import CALL_CYCLES
from tilewright.kernels.integer import (
    EIGHT_BIT,
    flat_choice,
    flat_operand,
    magnitude,
    per_element,
    steps_product,
)
from tilewright.kernels.kernel import (
    MAX_RANK,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TileSteps,
    elementwise_over_tensors,
    scratch_for_parts,
)
from tilewright.kernels.requantization import ROW_WORDS, WIDE_RULES, Limits, Rule, finish_of
from tilewright.operators import elementwise
from tilewright.operators.nest import Dimension, Iteration, along, whole
from tilewright.operators.quantization import RequantizeAttributes, lookup_nest
from tilewright.operators.softmax import SoftmaxAttributes
from tilewright.operators.softmax import nest as softmax_nest

LOOKUP_SOURCES = ("lookup.c", "walk.c")
REQUANTIZE_SOURCES = ("requantize.c", "integer_line.c", "integer_finish.c", "walk.c")
SOFTMAX_SOURCES = ("softmax_integer.c",)


@dataclass(frozen=True, slots=True)
class Lookup(CStruct):
    """y = table[x - smallest value of the type of x]. Operands: x, table (256 elements), y."""

    flip: Annotated[Int32, "128: x is int8; 0: uint8"]


@dataclass(frozen=True, slots=True)
class Requantize(CStruct):
    """Every element of x, finished with the constants of its channel. Operands: x, constants [channel][4], y."""

    x_type: ElementType
    channel_axis: Annotated[Int32, "of the view; -1: one row of constants for all"]
    row: Annotated[RowFunction, "how long the pieces of a row are that lie on the stack"]
    finish: LineFinish
    limits: Limits


@dataclass(frozen=True, slots=True)
class SoftmaxInteger(CStruct):
    """Softmax of 8-bit tensors along one axis, requantised. Operands: x; table of exp(-scale * d) for d = 0 ...
    255, float32; y. In parts the table has blocks of 16 powers, each behind a word with the first d of the call (bits
    0 to 15) and the number of powers of the call; partial results are the powers of all elements, float32.
    """

    axis: Annotated[Int32, "of the view"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    multiplier: Annotated[Float32, "y = round half even of probability * multiplier, + zero point"]
    zero_point: Int32
    minimum: Int32
    maximum: Int32


_LOOKUPS = {
    size: Kernel(f"tilewright_lookup_{elements}", Lookup, per_element(cycles), elementwise_over_tensors)
    for size, elements, cycles in ((1, "bytes", 5.0), (4, "words", 8.0))
}
"""The kernels by bytes of an element of y."""

_REQUANTIZE = Kernel("tilewright_requantize", Requantize, per_element(20.0), elementwise_over_tensors)
_REQUANTIZE_WIDE = replace(_REQUANTIZE, cycles=per_element(28.8))
"""The same for results of 16 and 32 bits."""

_SOFTMAX_CYCLES = 450.0
_SOFTMAX = Kernel("tilewright_softmax_integer", SoftmaxInteger, per_element(_SOFTMAX_CYCLES))
_INT32_MAX = (1 << 31) - 1


def lookup(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Lookup with a constant table of elements of 8 or 32 bits."""
    x, table = (graph.tensor(name) for name in node.inputs)
    y = graph.tensor(node.outputs[0])
    kernel = _LOOKUPS.get(y.dtype.size_bytes)
    if x.dtype not in EIGHT_BIT or table.data is None or kernel is None or node.epilogue is not None:
        return ()
    if table.dtype is not y.dtype or len(y.shape) > MAX_RANK:
        return ()
    nest = lookup_nest(node, graph)
    return (
        KernelChoice(
            kernel=kernel,
            sources=LOOKUP_SOURCES,
            nest=nest,
            reads=(
                flat_operand(x.name, nest.reads[0], graph),
                ConstantOperand("table", np.ascontiguousarray(table.data.reshape(-1)), (whole(256),)),
            ),
            writes=(flat_operand(y.name, nest.writes[0], graph),),
            attributes=Lookup(flip=128 if x.dtype is DType.INT8 else 0),
        ),
    )


def requantize(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Requantize of 8-bit and 32-bit integers, constants per tensor or along one axis."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype not in INTEGERS or len(y.shape) > MAX_RANK:
        return ()
    given = node.given(RequantizeAttributes)
    zero_point, axis = given.x_zero_point, given.channel_axis
    channels = y.shape[axis] if _values(node.epilogue) > 1 else 1
    bound = given.largest or magnitude(x.dtype, zero_point)
    largest = np.full(channels, min(bound, _INT32_MAX), np.int64)
    bias = np.full(channels, -zero_point, np.int64)
    finish = finish_of(node.epilogue, y.dtype, bias, largest, wide=True, any_values=graph.any_weights)
    if finish is None:
        return ()
    nest = elementwise.nest(node, graph)
    channel = along(f"d{axis}") if channels > 1 else whole(1)
    return (
        flat_choice(
            node,
            graph,
            kernel=_REQUANTIZE_WIDE if finish.rule in WIDE_RULES.values() else _REQUANTIZE,
            called=f"tilewright_requantize_{finish.rule.value}",
            sources=REQUANTIZE_SOURCES,
            nest=nest,
            constants=(ConstantOperand("requantization", finish.rows, (channel, whole(ROW_WORDS))),),
            attributes=Requantize(
                ELEMENT_TYPES[x.dtype],
                channel_axis=MAX_RANK - len(y.shape) + axis if channels > 1 else -1,
                row=f"tilewright_requantize_{'short_' if finish.rule is Rule.RESCALE else ''}row",
                finish=finish.line,
                limits=finish.limits,
            ),
        ),
    )


def softmax(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels for Softmax of 8-bit tensors that is requantised to 8 bits: with the whole table, or parts of it."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    epilogue = node.epilogue
    if x.dtype not in EIGHT_BIT or y.dtype not in EIGHT_BIT or len(y.shape) > MAX_RANK:
        return ()
    if not isinstance(epilogue, RequantizeEpilogue) or len(epilogue.multiplier) != 1:
        return ()
    nest = softmax_nest(node, graph)
    given = node.given(SoftmaxAttributes)
    one = flat_choice(
        node,
        graph,
        kernel=_SOFTMAX,
        sources=SOFTMAX_SOURCES,
        nest=nest,
        constants=(ConstantOperand("table", _powers(given.x_scale), (whole(256),)),),
        attributes=SoftmaxInteger(
            axis=MAX_RANK - len(y.shape) + given.axis,
            is_unsigned=int(x.dtype is DType.UINT8),
            multiplier=float(np.float32(epilogue.multiplier[0])),
            zero_point=epilogue.zero_point,
            minimum=epilogue.minimum,
            maximum=epilogue.maximum,
        ),
    )
    return one, _softmax_in_parts(one, given.x_scale)


def _softmax_in_parts(one: KernelChoice, scale: float) -> KernelChoice:
    """The kernel that has some blocks of the table at a time."""
    names = [dimension.name for dimension in one.nest.dimensions]
    blocks = Dimension(_BLOCK, 256 // _POWERS_OF_BLOCK, Iteration.REDUCTION)

    def partial_bytes(steps: TileSteps) -> int:
        return 4 * steps_product(one.nest, steps, *names)

    return replace(
        one,
        kernel=_SOFTMAX_PARTS,
        nest=replace(one.nest, dimensions=(*one.nest.dimensions, blocks), operations_per_point=0),
        reads=(one.reads[0], ConstantOperand("table", _blocks(scale), (along(_BLOCK), whole(_POWERS_OF_BLOCK + 1)))),
        partial_bytes=partial_bytes,
        called=_SOFTMAX.symbol,
    )


def _softmax_parts_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    names = (dimension.name for dimension in choice.nest.dimensions if dimension.name != _BLOCK)
    return CALL_CYCLES + _SOFTMAX_PARTS_CYCLES * steps_product(choice.nest, steps, *names)


_BLOCK = "block"
"""The dimension of the blocks of a table of powers."""

_BLOCK_BITS = 4
_POWERS_OF_BLOCK = 1 << _BLOCK_BITS
_SOFTMAX_PARTS_CYCLES = 40.0
"""Of an element in a call for a part of the table."""

_SOFTMAX_PARTS = Kernel(
    "tilewright_softmax_integer_parts", SoftmaxInteger, _softmax_parts_cycles, scratch=scratch_for_parts
)


def _exponentials(scale: float) -> Array:
    return np.exp(-scale * np.arange(256, dtype=np.float64)).astype(np.float32)


def _powers(scale: float) -> Packing:
    """exp(-scale * d) for every difference d between two elements, float32[256]."""
    return Packing((256,), np.dtype(np.float32), lambda _: _exponentials(scale))


def _blocks(scale: float) -> Packing:
    """The powers in blocks, each behind a word that says what the tile has."""
    count = 256 // _POWERS_OF_BLOCK

    def pack(steps: TileSteps) -> Array:
        step = steps.get(_BLOCK, count)
        first = np.arange(count, dtype=np.uint32) // step * step
        held = np.minimum(first + step, count) - first
        heads = first * _POWERS_OF_BLOCK | held * _POWERS_OF_BLOCK << np.uint32(16)
        powers = _exponentials(scale).view(np.uint32).reshape(count, _POWERS_OF_BLOCK)
        return np.concatenate([heads.astype(np.uint32)[:, None], powers], axis=1)

    return Packing((count, _POWERS_OF_BLOCK + 1), np.dtype(np.uint32), pack, by_tile=True)


def _values(epilogue: Epilogue | None) -> int:
    """The number of values of an epilogue: 1, or the number of channels."""
    return max((len(getattr(epilogue, name, ())) for name in ("multiplier", "addend")), default=1)


DECLARATION = Declaration(
    operators={"Lookup": lookup, "Requantize": requantize, "Softmax": softmax},
    kernels=(*_LOOKUPS.values(), _REQUANTIZE, _SOFTMAX, _SOFTMAX_PARTS),
    numbers={"SOFTMAX_BLOCK_BITS": _BLOCK_BITS},
    pointed={"tilewright_row_body": ("requantize_row", "requantize_short_row")},
    gcc_options={"softmax_integer.c": ("-Os",)},
)
