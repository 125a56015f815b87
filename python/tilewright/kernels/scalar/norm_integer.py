"""Normalisations of the Deeploy dialect (runtime/kernels/{norm_integer,no_norm_integer}.c)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np

from tilewright.graph import DType, Graph, Node, Tensor
from tilewright.kernels.attributes import CStruct, Int32
from tilewright.kernels.integer import ELEMENT_TYPES, flat_operand, magnitude, steps_product
from tilewright.kernels.kernel import MAX_RANK, Declaration, KernelChoice, TileSteps, elementwise_over
from tilewright.kernels.scalar.binary_integer import elementwise_cycles
from tilewright.operators import elementwise
from tilewright.operators.integer_norm import NoNormAttributes, ShiftAttributes, last_axis_nest

NORM_SOURCES = ("norm_integer.c", "integer_line.c", "walk.c")
NO_NORM_SOURCES = ("no_norm_integer.c", "integer_line.c", "walk.c")


@dataclass(frozen=True, slots=True)
class NormInteger(CStruct):
    """iLayerNorm and iRMSNorm: integers normalised over the last axis of the view. Operands: x (8 or 16 bits); w
    and, for iLayerNorm, b, int32 along the last axis; y, int8.
    """

    x_type: Annotated[Int32, "as integer_line.h numbers them"]
    shift: Int32
    wide: Annotated[Int32, "0: products with w, with b added, fit 32 bits"]


@dataclass(frozen=True, slots=True)
class NoNormInteger(CStruct):
    """iNoNorm: y = low byte of ((x * w + b) * multiplier) >> shift, with broadcasting. Operands: x, w, b (int32),
    y (int8).
    """

    x_type: Annotated[Int32, "as integer_line.h numbers them"]
    w_type: Int32
    multiplier: Int32
    shift: Int32


_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1
_NARROW = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16})


def layer_norm(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for iLayerNorm of 8- and 16-bit tensors."""
    return _norm(node, graph, "tilewright_layer_norm_integer")


def rms_norm(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for iRMSNorm of 8- and 16-bit tensors."""
    return _norm(node, graph, "tilewright_rms_norm_integer")


def _norm(node: Node, graph: Graph, symbol: str) -> tuple[KernelChoice, ...]:
    x, *parameters = (graph.tensor(name) for name in node.inputs)
    y = graph.tensor(node.outputs[0])
    along_last = all(p.dtype is DType.INT32 and p.elements == p.shape[-1] == x.shape[-1] for p in parameters)
    if x.dtype not in _NARROW or y.dtype is not DType.INT8 or not along_last or len(y.shape) > MAX_RANK:
        return ()
    nest = last_axis_nest(node, graph)
    last = len(y.shape) - 1
    # c = x - mean may be as large as the whole range of x.
    reach = 2 * magnitude(x.dtype, 0) * _largest(parameters[0]) + sum(_largest(p) for p in parameters[1:])
    wide = int(reach > _INT32_MAX)

    def cycles(steps: TileSteps) -> float:
        rows = prod(steps_product(nest, steps, f"d{axis}") for axis in range(last))
        return 200.0 + rows * (900.0 + y.shape[last] * (160.0 if wide else 60.0))

    shift = node.given(ShiftAttributes).shift
    return (
        KernelChoice(
            symbol=symbol,
            sources=NORM_SOURCES,
            nest=nest,
            reads=tuple(flat_operand(n, axes, graph) for n, axes in zip(node.inputs, nest.reads, strict=True)),
            writes=(flat_operand(y.name, nest.writes[0], graph),),
            attributes=NormInteger(ELEMENT_TYPES[x.dtype], shift, wide),
            cycles=cycles,
            uncut=frozenset({f"d{last}"}),
        ),
    )


def no_norm(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for iNoNorm of 8- and 16-bit tensors whose products fit 64 bits."""
    x, w, b = (graph.tensor(name) for name in node.inputs)
    y = graph.tensor(node.outputs[0])
    known = x.dtype in _NARROW and w.dtype in ELEMENT_TYPES and b.dtype is DType.INT32 and y.dtype is DType.INT8
    reach = magnitude(x.dtype, 0) * _largest(w) + _largest(b)
    given = node.given(NoNormAttributes)
    fits = reach * abs(given.multiplier) <= _INT64_MAX
    if not known or not fits or len(y.shape) > MAX_RANK:
        return ()
    nest = elementwise.nest(node, graph)
    return (
        KernelChoice(
            symbol="tilewright_no_norm_integer",
            sources=NO_NORM_SOURCES,
            nest=nest,
            reads=tuple(flat_operand(n, axes, graph) for n, axes in zip(node.inputs, nest.reads, strict=True)),
            writes=(flat_operand(y.name, nest.writes[0], graph),),
            attributes=NoNormInteger(
                x_type=ELEMENT_TYPES[x.dtype],
                w_type=ELEMENT_TYPES[w.dtype],
                multiplier=given.multiplier,
                shift=given.shift,
            ),
            cycles=lambda steps: elementwise_cycles(nest, steps, 40.0),
            stores=elementwise_over(0),
        ),
    )


def _largest(tensor: Tensor) -> int:
    """The largest magnitude of an element."""
    if tensor.data is None:
        return magnitude(tensor.dtype, 0)
    return int(np.abs(tensor.data.astype(np.int64)).max(initial=0))


DECLARATION = Declaration(
    operators={"iLayerNorm": layer_norm, "iRMSNorm": rms_norm, "iNoNorm": no_norm},
    functions={
        "layer_norm_integer": NormInteger,
        "rms_norm_integer": NormInteger,
        "no_norm_integer": NoNormInteger,
    },
)
