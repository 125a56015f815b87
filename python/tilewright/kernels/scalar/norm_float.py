"""Float32 LayerNormalization and RMSNormalization over the last axis (runtime/kernels/norm_f32.c)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32, Int32
from tilewright.kernels.float_common import CALL_CYCLES, all_float, fits_rank, points, trailing_operand
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, TileSteps, elementwise_over
from tilewright.operators.integer_norm import last_axis_nest, part_of_line
from tilewright.operators.norm import NormAttributes


@dataclass(frozen=True, slots=True)
class NormF32(CStruct):
    """Operands: x, scale, the bias if there is one, y, with six axes; the last one is whole in every tile."""

    epsilon: Float32
    biased: Annotated[Int32, "the bias is among the operands"]


_SUM_CYCLES, _WRITE_CYCLES, _LINE_CYCLES = 7.3, 9.1, 52.0
"""Cycles of an element in the sums of its line, and of its result, and of a line besides."""


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Cycles of a call, also on parts of lines; the sums are those of whole lines."""
    last = choice.nest.dimensions[-1]
    lines = points(choice.nest, {**steps, last.name: 1})
    sums = lines * (_LINE_CYCLES + last.extent * _SUM_CYCLES)
    return CALL_CYCLES + sums + points(choice.nest, steps) * _WRITE_CYCLES


_KERNELS = {
    "LayerNormalization": Kernel("tilewright_layer_norm_f32", NormF32, _cycles, elementwise_over(0)),
    "RMSNormalization": Kernel("tilewright_rms_norm_f32", NormF32, _cycles, elementwise_over(0)),
}

_PARTS = {kernel.symbol: Kernel(f"{kernel.symbol}_parts", NormF32, _cycles) for kernel in _KERNELS.values()}


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for float32 tensors of at most six axes; scale and bias have the last axis only."""
    names = (*node.inputs, *node.outputs)
    if node.epilogue is not None or not all_float(graph, names) or not fits_rank(graph, names):
        return ()
    nest = last_axis_nest(node, graph)
    last = len(graph.tensor(node.outputs[0]).shape) - 1
    given = [(name, axes) for name, axes in zip(node.inputs, nest.reads, strict=True) if name]
    lines = KernelChoice(
        kernel=_KERNELS[node.operator],
        sources=("norm_f32.c", "walk.c"),
        nest=nest,
        reads=tuple(trailing_operand(graph, name, axes) for name, axes in given),
        writes=(trailing_operand(graph, node.outputs[0], nest.writes[0]),),
        attributes=NormF32(node.given(NormAttributes).epsilon, biased=int(len(given) > 2)),
        uncut=frozenset({f"d{last}"}),
    )
    return lines, _in_parts(lines)


def _in_parts(lines: KernelChoice) -> KernelChoice:
    """The kernel that reads a whole line for each part of it, where whole lines of all operands do not fit."""
    nest = part_of_line(lines.nest)
    reads = (replace(lines.reads[0], axes=nest.reads[0]), *lines.reads[1:])
    return replace(
        lines,
        kernel=_PARTS[lines.symbol],
        sources=("norm_f32_parts.c", *lines.sources[1:]),
        nest=nest,
        reads=reads,
        uncut=frozenset(),
        called=lines.symbol,
    )


DECLARATION = Declaration(
    operators=dict.fromkeys(_KERNELS, choices),
    kernels=(*_KERNELS.values(), *_PARTS.values()),
)
