"""Normalisations of the Deeploy dialect (runtime/kernels/{norm_integer,no_norm_integer}.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node, Tensor
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.element_types import ELEMENT_TYPES, INTEGERS, ElementType
from tilewright.kernels.integer import flat_choice, magnitude, per_element, steps_product
from tilewright.kernels.kernel import MAX_RANK, Declaration, Kernel, KernelChoice, TileSteps, elementwise_over
from tilewright.operators import elementwise
from tilewright.operators.integer_norm import NoNormAttributes, ShiftAttributes, last_axis_nest, part_of_line

NORM_SOURCES = ("norm_integer.c", "integer_line.c", "walk.c")
NO_NORM_SOURCES = ("no_norm_integer.c", "integer_line.c", "walk.c")


@dataclass(frozen=True, slots=True)
class NormInteger(CStruct):
    """iLayerNorm and iRMSNorm: integers normalised over the last axis of the view. Operands: x (8 or 16 bits); w
    and, for iLayerNorm, b, int32 along the last axis; y, int8.
    """

    x_type: ElementType
    shift: Int32
    wide: Annotated[Int32, "0: products with w, with b added, fit 32 bits"]


@dataclass(frozen=True, slots=True)
class NoNormInteger(CStruct):
    """iNoNorm: y = low byte of ((x * w + b) * multiplier) >> shift, with broadcasting. Operands: x, w, b (int32),
    y (int8).
    """

    x_type: ElementType
    w_type: ElementType
    multiplier: Int32
    shift: Int32


_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1
_NARROW = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16})


def layer_norm(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for iLayerNorm of 8- and 16-bit tensors."""
    return _norm(node, graph, _LAYER_NORM)


def rms_norm(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for iRMSNorm of 8- and 16-bit tensors."""
    return _norm(node, graph, _RMS_NORM)


def _norm(node: Node, graph: Graph, kernel: Kernel) -> tuple[KernelChoice, ...]:
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
    shift = node.given(ShiftAttributes).shift
    attributes = NormInteger(ELEMENT_TYPES[x.dtype], shift, wide)
    lines = flat_choice(
        node,
        graph,
        kernel=kernel,
        sources=NORM_SOURCES,
        nest=nest,
        attributes=attributes,
        uncut=frozenset({f"d{last}"}),
    )
    parts = flat_choice(
        node,
        graph,
        kernel=_PARTS[kernel.symbol],
        sources=("norm_integer_parts.c", *NORM_SOURCES[1:]),
        nest=part_of_line(nest),
        attributes=attributes,
        called=kernel.symbol,
    )
    return lines, parts


def no_norm(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for iNoNorm of 8- and 16-bit tensors whose products fit 64 bits."""
    x, w, b = (graph.tensor(name) for name in node.inputs)
    y = graph.tensor(node.outputs[0])
    known = x.dtype in _NARROW and w.dtype in INTEGERS and b.dtype is DType.INT32 and y.dtype is DType.INT8
    reach = magnitude(x.dtype, 0) * _largest(w) + _largest(b)
    given = node.given(NoNormAttributes)
    fits = reach * abs(given.multiplier) <= _INT64_MAX
    if not known or not fits or len(y.shape) > MAX_RANK:
        return ()
    nest = elementwise.nest(node, graph)
    return (
        flat_choice(
            node,
            graph,
            kernel=_NO_NORM,
            sources=NO_NORM_SOURCES,
            nest=nest,
            attributes=NoNormInteger(
                x_type=ELEMENT_TYPES[x.dtype],
                w_type=ELEMENT_TYPES[w.dtype],
                multiplier=given.multiplier,
                shift=given.shift,
            ),
        ),
    )


def _largest(tensor: Tensor) -> int:
    """The largest magnitude of an element."""
    if tensor.data is None:
        return magnitude(tensor.dtype, 0)
    return int(np.abs(tensor.data.astype(np.int64)).max(initial=0))


_SUM_CYCLES = 30.0
"""Of an element that is read for mean and deviation only."""


def _norm_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile of whole rows along the last axis, or of parts of them."""
    *outer, last = choice.nest.dimensions
    rows = steps_product(choice.nest, steps, *(dimension.name for dimension in outer))
    each = 160.0 if choice.given(NormInteger).wide else 60.0
    written = steps_product(choice.nest, steps, last.name)
    return 200.0 + rows * (900.0 + (last.extent - written) * _SUM_CYCLES + written * each)


_LAYER_NORM = Kernel("tilewright_layer_norm_integer", NormInteger, _norm_cycles)
_RMS_NORM = Kernel("tilewright_rms_norm_integer", NormInteger, _norm_cycles)
_PARTS = {
    kernel.symbol: Kernel(f"{kernel.symbol}_parts", NormInteger, _norm_cycles) for kernel in (_LAYER_NORM, _RMS_NORM)
}
"""By the kernel of whole lines: those that read a whole line for each part of it, where whole lines do not fit."""

_NO_NORM = Kernel("tilewright_no_norm_integer", NoNormInteger, per_element(40.0), elementwise_over(0))

DECLARATION = Declaration(
    operators={"iLayerNorm": layer_norm, "iRMSNorm": rms_norm, "iNoNorm": no_norm},
    kernels=(_LAYER_NORM, _RMS_NORM, *_PARTS.values(), _NO_NORM),
)
