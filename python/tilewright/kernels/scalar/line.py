"""Operators along one axis: one C walker over the lines, with a function for each operator and element type."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Attributes, DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, Int32x2, LineFunction
from tilewright.kernels.float_common import CALL_CYCLES, fits_rank, per_point, points, trailing_operand
from tilewright.kernels.kernel import MAX_RANK, Declaration, Kernel, KernelChoice, TileSteps
from tilewright.kernels.scalar.map import SUFFIX, snake
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.line import LpNormalizationAttributes, RunningAttributes, TopKAttributes
from tilewright.operators.line import nest as nest_of

_FLOAT = frozenset({DType.FLOAT32})
_SUMS = frozenset({DType.FLOAT32, DType.INT32, DType.INT64})
_TYPES = {
    **dict.fromkeys(("LogSoftmax", "Hardmax", "LpNormalization"), _FLOAT),
    **dict.fromkeys(("CumSum", "CumProd"), _SUMS),
    "TopK": frozenset(DType) - {DType.BOOL},
    "PairwiseCoupling": _FLOAT,
    "QuantizeLine": _FLOAT,
}
_STEMS = {"TopK": "top_k"}
_TOP_K_CYCLES = 15.0
_COUPLING_CYCLES = 1200.0
"""For each comparison of two classes: some ten rounds, each of which reads it four times."""


@dataclass(frozen=True, slots=True)
class Line(CStruct):
    """Operands: reads, then writes, all with six axes that differ only along `axis`."""

    line: LineFunction
    operands: Int32
    axis: Int32
    parameters: Annotated[Int32x2, "p, or exclusive and reverse, or largest"]


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The walker with the function of the node's operator and type."""
    x = graph.tensor(node.inputs[0])
    names = (*node.inputs, *node.outputs)
    if x.dtype not in _TYPES[node.operator] or not fits_rank(graph, names):
        return ()
    nest = nest_of(node, graph)
    axis = node.given(AxisAttributes).axis
    stem = _STEMS.get(node.operator, snake(node.operator))
    kind = graph.tensor(node.outputs[0]).dtype if node.operator == "QuantizeLine" else x.dtype
    return (
        KernelChoice(
            kernel=_KERNELS.get(node.operator, _LINE),
            sources=("line.c", f"line_{stem}.c", "walk.c"),
            nest=nest,
            reads=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.inputs, nest.reads, strict=True)
            ),
            writes=tuple(
                trailing_operand(graph, name, axes) for name, axes in zip(node.outputs, nest.writes, strict=True)
            ),
            attributes=Line(
                f"tilewright_line_{stem}_{SUFFIX[kind]}",
                operands=len(names),
                axis=MAX_RANK - len(x.shape) + axis,
                parameters=_parameters(node.attributes),
            ),
            uncut=frozenset({f"d{axis}"}),
            called=_CALLED.get(node.operator, ""),
        ),
    )


def _parameters(given: Attributes) -> tuple[int, int]:
    """The two numbers that the C functions get besides the axis: p; exclusive and reverse; or largest."""
    if isinstance(given, LpNormalizationAttributes):
        return given.p, 0
    if isinstance(given, RunningAttributes):
        return int(given.exclusive), int(given.reverse)
    return (int(given.largest), 0) if isinstance(given, TopKAttributes) else (0, 0)


def _top_k_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Each of the largest elements is searched for in the whole line."""
    found = max(axis.last_offset + 1 for axis in choice.writes[0].axes if not axis.terms)
    return CALL_CYCLES + points(choice.nest, steps) * (_TOP_K_CYCLES * found)


_LINE = Kernel("tilewright_line", Line, per_point(20.0))
_CALLED = {"LogSoftmax": f"{_LINE.symbol}_log_softmax", "QuantizeLine": f"{_LINE.symbol}_quantize"}
"""Names in platform files of functions that cost far more than others where library functions compute floats."""
_KERNELS = {
    "LogSoftmax": replace(_LINE, cycles=per_point(130.0)),
    "TopK": replace(_LINE, cycles=_top_k_cycles),
    "QuantizeLine": replace(_LINE, cycles=per_point(30.0)),
    "PairwiseCoupling": replace(_LINE, cycles=per_point(_COUPLING_CYCLES)),
}

DECLARATION = Declaration(
    operators=dict.fromkeys(_TYPES, choices),
    kernels=(_LINE, *_KERNELS.values()),
    pointed={
        "tilewright_line_body": (
            *(
                f"line_{_STEMS.get(operator, snake(operator))}_{SUFFIX[dtype]}"
                for operator, types in _TYPES.items()
                for dtype in DType
                if dtype in types and operator != "QuantizeLine"
            ),
            "line_quantize_line_i8",
            "line_quantize_line_i16",
        )
    },
    stack_bytes={
        "line_cum_prod_f32": 576,
        "line_cum_sum_f32": 560,
        "line_hardmax_f32": 544,
        "line_log_softmax_f32": 608,
        "line_lp_normalization_f32": 624,
        "line_pairwise_coupling_f32": 720,
        "line_quantize_line_i16": 640,
        "line_quantize_line_i8": 560,
        "line_top_k_f32": 592,
        "line_top_k_i64": 528,
    },
)
