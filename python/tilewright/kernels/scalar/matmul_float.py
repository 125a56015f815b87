"""Float32 matrix product: packed panels of four columns for a constant factor, strides otherwise.

Before:  b[K, N], bias[N]
After:   packed[N/4, K, 4], biases[N/4, 4]
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Clamp, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp, points, step_of
from tilewright.kernels.kernel import (
    MAX_RANK,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import MATRIX_ORDER
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.matmul import nest as nest_of
from tilewright.operators.nest import Nest, along, blocks, whole

BLOCK = 4
"""Columns that are packed side by side."""

_PACKED_CALL_CYCLES, _VARIABLE_CALL_CYCLES = 600.0, 500.0


_CALLED_ROW = "tilewright_matmul_row_f32"
"""Name in a platform's costs of a product with one row: cores that share FPUs wait less for each other there."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Cycles of four rows of a by a block of four columns, or of one row: of each tap, and of a block besides."""

    tap: float
    block: float

    def of(self, blocks: int, taps: int) -> float:
        return blocks * (self.block + taps * self.tap)


_PACKED_FOUR, _PACKED_ONE = _Rows(24.8, 178.0), _Rows(9.8, 59.0)
_VARIABLE_FOUR, _VARIABLE_ONE = _Rows(26.6, 208.0), _Rows(17.0, 120.0)
"""Of matrices b whose taps or columns lie side by side; others take 34 cycles for a tap of four rows."""


@dataclass(frozen=True, slots=True)
class MatmulVariableF32(CStruct):
    """Operands: a and b, the bias if there is one, y; matrices stand in the last two of six axes."""

    has_bias: Annotated[Int32, "the bias is among the operands"]
    clamp: ClampF32


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for float32 MatMul; packed if the second factor and the bias are constant matrix and vector."""
    clamp = float_clamp(node, graph)
    if clamp is None:
        return ()
    nest = nest_of(node, graph)
    factor = graph.tensor(node.inputs[1])
    bias = graph.tensor(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    single = all(extent == 1 for extent in factor.shape[:-2])
    if factor.data is None or not single or (bias is not None and bias.data is None):
        return (_variable(node, graph, nest, clamp),)
    matrix: Array = np.asarray(factor.data).reshape(factor.shape[-2], factor.shape[-1])
    matrix = matrix.T if node.given(MatMulAttributes).transpose_b else matrix
    start = np.zeros(matrix.shape[1], np.float32) if bias is None or bias.data is None else bias.data
    return (_packed(node, graph, nest, clamp, packed_matrix(matrix), packed_bias(start)),)


def packed_matrix(matrix: Array) -> Packing:
    """float32 [ceil(N/4), K, 4] from [K, N], zeros behind the last column."""
    depth, columns = matrix.shape
    count = -(-columns // BLOCK)

    def pack(_: TileSteps) -> Array:
        padded = np.zeros((depth, count * BLOCK), np.float32)
        padded[:, :columns] = matrix
        blocked: Array = padded.reshape(depth, count, BLOCK).transpose(1, 0, 2)
        return blocked

    return Packing((count, depth, BLOCK), np.dtype(np.float32), pack)


def packed_bias(bias: Array) -> Packing:
    """float32 [ceil(N/4), 4] from [N], zeros behind the last column."""
    count = -(-bias.size // BLOCK)

    def pack(_: TileSteps) -> Array:
        biases = np.zeros(count * BLOCK, np.float32)
        biases[: bias.size] = bias.reshape(-1)
        return biases.reshape(count, BLOCK)

    return Packing((count, BLOCK), np.dtype(np.float32), pack)


def _packed(node: Node, graph: Graph, nest: Nest, clamp: Clamp, packed: Packing, biases: Packing) -> KernelChoice:
    def partial_bytes(steps: TileSteps) -> int:
        columns = step_of(nest, steps, "n")
        rows = points(nest, steps) // (step_of(nest, steps, "k") * columns)
        return 4 * rows * -(-columns // BLOCK) * BLOCK

    block = blocks("n", BLOCK)
    return KernelChoice(
        kernel=_PACKED,
        sources=("matmul_f32.c", "walk.c"),
        nest=nest,
        reads=(
            matrix_operand(node, graph, nest, 0),
            ConstantOperand("weights", packed, (block, along("k"), whole(BLOCK))),
            ConstantOperand("bias", biases, (block, whole(BLOCK))),
        ),
        writes=(matrix_output(node, graph, nest),),
        attributes=clamp_attributes(clamp),
        partial_bytes=partial_bytes,
        multiples={"n": BLOCK, "k": BLOCK},
        called=_CALLED_ROW if _is_row(nest) else "",
    )


def _is_row(nest: Nest) -> bool:
    """Whether the first factor has one row."""
    whole = {dimension.name: dimension.extent for dimension in nest.dimensions}
    return points(nest, whole) == step_of(nest, whole, "k") * step_of(nest, whole, "n")


def _variable(node: Node, graph: Graph, nest: Nest, clamp: Clamp) -> KernelChoice:
    reads = [matrix_operand(node, graph, nest, 0), matrix_operand(node, graph, nest, 1)]
    has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
    if has_bias:
        reads.append(TensorOperand(node.inputs[2], nest.reads[2], (-1,) * (MAX_RANK - 1) + (0,)))
    return KernelChoice(
        kernel=_VARIABLE,
        sources=("matmul_variable_f32.c", "walk.c"),
        nest=nest,
        reads=tuple(reads),
        writes=(matrix_output(node, graph, nest),),
        attributes=MatmulVariableF32(int(has_bias), clamp_attributes(clamp)),
        uncut=frozenset({"k"}),
    )


def _packed_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Rows of all matrices follow each other."""
    nest = choice.nest
    depth, columns = step_of(nest, steps, "k"), step_of(nest, steps, "n")
    rows, blocks = points(nest, steps) // (depth * columns), -(-columns // BLOCK)
    fours = rows // 4 * _PACKED_FOUR.of(blocks, depth)
    return _PACKED_CALL_CYCLES + fours + rows % 4 * _PACKED_ONE.of(blocks, depth)


def _variable_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Each matrix has rows of its own."""
    nest = choice.nest
    depth, columns, rows = (step_of(nest, steps, name) for name in ("k", "n", "m"))
    matrices, blocks = points(nest, steps) // (depth * columns * rows), -(-columns // BLOCK)
    fours = rows // 4 * _VARIABLE_FOUR.of(blocks, depth)
    return _VARIABLE_CALL_CYCLES + matrices * (fours + rows % 4 * _VARIABLE_ONE.of(blocks, depth))


def matrix_operand(node: Node, graph: Graph, nest: Nest, index: int) -> TensorOperand:
    """A factor with its matrix, as it is multiplied, in the last two of six axes."""
    rank = len(graph.tensor(node.inputs[index]).shape)
    given = node.given(MatMulAttributes)
    transposed = given.transpose_a if index == 0 else given.transpose_b
    last = (rank - 1, rank - 2) if transposed else (rank - 2, rank - 1)
    view = (-1,) * (MAX_RANK - rank) + tuple(range(rank - 2)) + last
    return TensorOperand(node.inputs[index], nest.reads[index], view)


def matrix_output(node: Node, graph: Graph, nest: Nest) -> TensorOperand:
    """The product in the last of six axes."""
    rank = len(graph.tensor(node.outputs[0]).shape)
    return TensorOperand(node.outputs[0], nest.writes[0], (-1,) * (MAX_RANK - rank) + tuple(range(rank)))


_PACKED = Kernel("tilewright_matmul_f32", ClampF32, _packed_cycles, likes=MATRIX_ORDER)
_VARIABLE = Kernel("tilewright_matmul_variable_f32", MatmulVariableF32, _variable_cycles, likes=MATRIX_ORDER)

DECLARATION = Declaration(
    operators={"MatMul": choices},
    kernels=(_PACKED, _VARIABLE),
    stack_bytes={"matmul_f32": 672, "matmul_variable_f32": 640},
)
