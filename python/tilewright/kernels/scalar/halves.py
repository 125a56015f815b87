"""Functions and poolings of int16 (runtime/kernels/{interpolated,sigmoid,softmax,pool}_halves.c)."""

from __future__ import annotations

from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node, RoundAway
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import flat_choice, flat_operand, per_element, steps_product
from tilewright.kernels.kernel import (
    HEIGHT,
    MAX_RANK,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
    elementwise_over_tensors,
)
from tilewright.kernels.liked_orders import POOLING_ORDER
from tilewright.kernels.requantization import doubled
from tilewright.kernels.scalar.geometry import PlaneWindows, is_plane, plane_view, plane_windows
from tilewright.operators import elementwise
from tilewright.operators.int16_functions import (
    SigmoidHalvesAttributes,
    SoftmaxHalvesAttributes,
    powers_table,
    reciprocal_table,
)
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.nest import whole
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.pooling import nest as pool_nest
from tilewright.operators.quantization import lookup_nest
from tilewright.operators.sigmoid_table import sigmoid_table
from tilewright.operators.spatial import Windows

_MOST_ELEMENTS = 1 << 16
"""The most elements of a softmax: the sum of their powers fits 32 bits."""

_LOW_BITS = 7
"""Low bits of an argument of InterpolatedHalves, between two of the table's 513 entries."""

_MOST_TAPS = 1 << 15
"""The most taps of an average: the sum of their int16, and half their number, fits 32 bits."""


@dataclass(frozen=True, slots=True)
class SigmoidHalves(CStruct):
    """y = function(x * multiplier / 2^shift / 3 / 2^12) as Q0.15. Operands: x of int16, the logistic function at
    multiples of 1/24 as uint16[256], y of int16.
    """

    multiplier: Int32
    shift: Int32
    is_tanh: Annotated[Int32, "1: tanh; 0: logistic"]


@dataclass(frozen=True, slots=True)
class InterpolatedHalves(CStruct):
    """y between the entry of the high bits of x and its successor, by the low bits of x; the difference of both entries
    is cut to 16 bits. Operands: x of int16, int16[2^(16 - bits) + 1], y of int16.
    """

    bits: Annotated[Int32, "how many of x are low; 7 in LiteRT"]


@dataclass(frozen=True, slots=True)
class SoftmaxHalves(CStruct):
    """Softmax of int16 over the last axis of the view. Operands: x; exp on [-10, 0], then 1 / (1 + x) on [0, 1], as
    int16[513] each; y. A difference is one of 10/65535 after the factor doubled / 2^32 * 2^left / 2^right.
    """

    doubled: Int32
    left: Int32
    right: Int32


@dataclass(frozen=True, slots=True)
class PoolHalves(CStruct):
    """Largest tap, or the sum of the taps in x / their number, rounded half away from zero. Operands: x and y
    [n, c, h, w] of int16.
    """

    windows: PlaneWindows
    is_average: Annotated[Int32, "1: average; 0: maximum"]
    minimum: Int32
    maximum: Int32


def sigmoid(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for SigmoidHalves."""
    if len(graph.tensor(node.outputs[0]).shape) > MAX_RANK:
        return ()
    given = node.given(SigmoidHalvesAttributes)
    return (
        flat_choice(
            node,
            graph,
            kernel=_SIGMOID,
            sources=("sigmoid_halves.c", "walk.c"),
            nest=elementwise.nest(node, graph),
            constants=(ConstantOperand("logistic", sigmoid_table(), (whole(256),)),),
            attributes=SigmoidHalves(given.multiplier, given.shift, int(given.is_tanh)),
        ),
    )


def interpolated(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for InterpolatedHalves."""
    table = graph.tensor(node.inputs[1]).data
    if table is None or len(graph.tensor(node.outputs[0]).shape) > MAX_RANK:
        return ()
    nest = lookup_nest(node, graph)
    return (
        KernelChoice(
            kernel=_INTERPOLATED,
            sources=("interpolated_halves.c", "walk.c"),
            nest=nest,
            reads=(
                flat_operand(node.inputs[0], nest.reads[0], graph),
                ConstantOperand("table", np.ascontiguousarray(table.reshape(-1)), (whole(513),)),
            ),
            writes=(flat_operand(node.outputs[0], nest.writes[0], graph),),
            attributes=InterpolatedHalves(_LOW_BITS),
        ),
    )


def softmax(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for SoftmaxHalves."""
    y, given = graph.tensor(node.outputs[0]), node.given(SoftmaxHalvesAttributes)
    left, right = max(given.shift, 0), max(-given.shift, 0)
    if not 0 < len(y.shape) <= MAX_RANK or y.shape[-1] >= _MOST_ELEMENTS or 65535 << left >= 1 << 31:
        return ()
    tables = np.concatenate([powers_table(), reciprocal_table()])
    return (
        flat_choice(
            node,
            graph,
            kernel=_SOFTMAX,
            sources=("softmax_halves.c", "walk.c"),
            nest=last_axis_nest(node, graph),
            constants=(ConstantOperand("tables", tables, (whole(tables.size),)),),
            attributes=SoftmaxHalves(doubled(given.multiplier), left, right),
            uncut=frozenset({f"d{len(y.shape) - 1}"}),
        ),
    )


def pool(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for MaxPool of int16, and for AveragePool of its stored integers."""
    x, y, windows = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0]), node.given(Windows)
    if x.dtype is not DType.INT16 or y.dtype is not DType.INT16 or not is_plane(windows):
        return ()
    low, high, epilogue = -32768, 32767, node.epilogue
    if isinstance(windows, AveragePoolAttributes):
        if windows.x_zero_point != 0 or windows.count_include_pad or not isinstance(epilogue, RoundAway):
            return ()
        if prod(windows.kernel) > _MOST_TAPS:
            return ()
        low, high = epilogue.minimum, epilogue.maximum
    elif epilogue is not None:
        return ()
    nest = pool_nest(node, graph)
    view = plane_view(len(nest.writes[0]))
    average = int(isinstance(windows, AveragePoolAttributes))
    return (
        KernelChoice(
            kernel=_POOL,
            sources=("pool_halves.c",),
            nest=nest,
            reads=(TensorOperand(node.inputs[0], nest.reads[0], view),),
            writes=(TensorOperand(node.outputs[0], nest.writes[0], view),),
            attributes=PoolHalves(plane_windows(windows), average, low, high),
            uncut=frozenset({"kh", "kw"}),
        ),
    )


def _pool_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    taps = steps_product(choice.nest, steps, "kh", "kw")
    return 100.0 + steps_product(choice.nest, steps, "n", "c", "oh", "ow") * (60.0 + 7.0 * taps)


_SIGMOID = Kernel("tilewright_sigmoid_halves", SigmoidHalves, per_element(30.0), elementwise_over_tensors)
_INTERPOLATED = Kernel(
    "tilewright_interpolated_halves", InterpolatedHalves, per_element(16.0), elementwise_over_tensors
)
_SOFTMAX = Kernel("tilewright_softmax_halves", SoftmaxHalves, per_element(70.0))
_POOL = Kernel("tilewright_pool_halves", PoolHalves, _pool_cycles, ring_axes=frozenset({HEIGHT}), likes=POOLING_ORDER)

DECLARATION = Declaration(
    operators={
        "InterpolatedHalves": interpolated,
        "SigmoidHalves": sigmoid,
        "SoftmaxHalves": softmax,
        "MaxPool": pool,
        "AveragePool": pool,
    },
    kernels=(_INTERPOLATED, _SIGMOID, _SOFTMAX, _POOL),
)
