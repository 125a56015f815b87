"""Float32 transposed convolution of channels side by side: blocks of four outputs by four channels.

Before:  w[C, M, kh, kw], b[M]
After:   packed[1, M/4, kh*kw, C, 4] and biases[1, M/4, 4]
"""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.kernels.c_structs import CStruct
from tilewright.kernels.float_common import (
    ClampF32,
    all_float,
    clamp_attributes,
    clamp_of,
    points,
    step_of,
)
from tilewright.kernels.kernel import (
    HEIGHT,
    WIDTH,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar.conv_float import RUN_BYTES
from tilewright.kernels.scalar.float_blocks import BLOCK, block_count, packed_bias, packed_weights
from tilewright.kernels.scalar.float_prices import CONVOLUTION_CALL_CYCLES, TRANSPOSED, Call
from tilewright.kernels.scalar.geometry import PlaneWindows, channels_lie_innermost, plane_view, plane_windows
from tilewright.kernels.work_parts import WorkParts
from tilewright.operators.nest import blocks, whole
from tilewright.operators.windows import ConvTransposeAttributes, conv_transpose_nest

_WEIGHTS_BYTES = 4
"""Of each run: where its weights begin."""


@dataclass(frozen=True, slots=True)
class ConvTransposeRowsF32(CStruct):
    """Operands: x [n, c, h, w]; weights [block][kh * kw][c][4]; bias [block][4]; y [n, c, h, w]; scratch of 24 bytes
    for each tap of the kernel and 4 for each channel of x. A block is four output channels.
    """

    windows: PlaneWindows
    clamp: ClampF32


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for constant weights and bias in one group, over one or two spatial axes."""
    given, clamp = node.given(ConvTransposeAttributes), clamp_of(node)
    if (
        clamp is None
        or node.epilogue is not None
        or given.group != 1
        or not all_float(graph, (*node.inputs, *node.outputs))
    ):
        return ()
    constants = [graph.tensor(name).data for name in node.inputs[1:] if name]
    if any(data is None for data in constants):
        return ()
    weights = np.asarray(constants[0])
    if weights.ndim not in (3, 4) or not channels_lie_innermost(graph, node.inputs[0]):
        return ()
    bias = np.asarray(constants[1]) if len(constants) > 1 else np.zeros(weights.shape[1], np.float32)
    nest, view = conv_transpose_nest(node, graph), plane_view(weights.ndim)
    packed = packed_weights(_rows(weights))
    block = (whole(1), blocks("oc", BLOCK))
    return (
        KernelChoice(
            kernel=_CONV_TRANSPOSE,
            sources=("conv_transpose_rows_f32.c",),
            nest=nest,
            reads=(
                TensorOperand(node.inputs[0], nest.reads[0], view),
                ConstantOperand("weights", packed, (*block, *map(whole, packed.shape[2:]))),
                ConstantOperand("bias", packed_bias(bias, 1), (*block, whole(BLOCK))),
            ),
            writes=(TensorOperand(node.outputs[0], nest.writes[0], view),),
            attributes=ConvTransposeRowsF32(plane_windows(given), clamp_attributes(clamp)),
            multiples={"oc": BLOCK},
            uncut=frozenset({"ic", "kh", "kw"}),
        ),
    )


def _rows(weights: Array) -> Array:
    """float32 [1, M, taps, C] from [C, M, k...]."""
    inputs, outputs = weights.shape[:2]
    return np.moveaxis(weights.reshape(inputs, outputs, -1), 0, -1)[None]


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    return CONVOLUTION_CALL_CYCLES + TRANSPOSED.cycles(_call(choice, steps))


def _parts(choice: KernelChoice, steps: TileSteps, ring: int | None) -> WorkParts:
    return TRANSPOSED.parts(_call(choice, steps))


def _call(choice: KernelChoice, steps: TileSteps) -> Call:
    """Of a row each ``strides[1]``-th column is computed together with the next three such columns.

    On the average, one of ``prod(strides)`` taps of an output meets an element of x.
    """
    nest, windows = choice.nest, choice.given(ConvTransposeRowsF32).windows
    met = max(1.0, prod(windows.kernel) / prod(windows.strides))
    columns, stride = step_of(nest, steps, "ow"), windows.strides[1]
    fours = sum((columns - phase + stride - 1) // stride // BLOCK * BLOCK for phase in range(stride))
    rows = points(nest, steps, ("n", "oh"))
    outputs = block_count(nest, steps, "oc") * BLOCK
    taps = met * nest.dimension("ic").extent
    return Call(rows * fours, rows * (columns - fours), outputs, taps, runs=met)


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """An entry for each tap of the kernel, and zeros for a pixel outside."""
    taps = prod(choice.given(ConvTransposeRowsF32).windows.kernel)
    return {"runs": (RUN_BYTES + _WEIGHTS_BYTES) * taps + 4 * choice.nest.dimension("ic").extent}


_CONV_TRANSPOSE = Kernel(
    "tilewright_conv_transpose_rows_f32",
    ConvTransposeRowsF32,
    _cycles,
    ring_axes=frozenset({HEIGHT, WIDTH}),
    likes=CONVOLUTION_ORDER,
    scratch=_scratch,
    parts=_parts,
)

DECLARATION = Declaration(operators={"ConvTranspose": choices}, kernels=(_CONV_TRANSPOSE,))
