"""Reductions: one C walker, with a C file for each operator and a reducer for each element type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, Reducer, UInt32
from tilewright.kernels.float_common import CALL_CYCLES, fits_rank, points, trailing_view
from tilewright.kernels.kernel import MAX_RANK, Declaration, Kernel, KernelChoice, TensorOperand, TileSteps
from tilewright.kernels.scalar.map import SUFFIX, snake
from tilewright.operators.nest import Iteration
from tilewright.operators.reduction import ArgAttributes, ReductionAttributes
from tilewright.operators.reduction import nest as nest_of

_SUMS = frozenset({DType.FLOAT32, DType.INT32, DType.INT64})
_FLOAT = frozenset({DType.FLOAT32})
_NUMBERS = frozenset(DType) - {DType.BOOL}
_TYPES: Mapping[str, frozenset[DType]] = MappingProxyType(
    {
        **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceSumSquare"), _SUMS),
        **dict.fromkeys(("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"), _FLOAT),
        **dict.fromkeys(("ReduceMax", "ReduceMin"), frozenset(DType)),
        **dict.fromkeys(("ArgMax", "ArgMin"), _NUMBERS),
    }
)


@dataclass(frozen=True, slots=True)
class Reduce(CStruct):
    """Operands: x with six axes, y with the same axes, of extent 1 where they are reduced. Reduced axes are
    whole in every tile.
    """

    reducer: Reducer
    axes: Annotated[UInt32, "bit i: axis i of the view is reduced"]
    select_last: Int32


_TWO_PASSES = frozenset({"ReduceLogSumExp"})
_STATE_BYTES = 48
"""Bytes of ``struct tilewright_reduction``, which is kept for each result between the calls for its parts."""

_ELEMENT_CYCLES = 10.0
_RESULT_CYCLES = 40.0


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The walker with the reducer of the node's operator and type; where it is done in one pass, also part by part."""
    x = graph.tensor(node.inputs[0])
    if x.dtype not in _TYPES[node.operator] or not fits_rank(graph, (*node.inputs, *node.outputs)):
        return ()
    # Elements of type bool are bytes 0 or 1, which compare as uint8.
    suffix = "u8" if x.dtype is DType.BOOL else SUFFIX[x.dtype]
    name = snake(node.operator.removeprefix("Reduce"))
    nest = nest_of(node, graph)
    axes = node.given(ReductionAttributes).axes
    lead = MAX_RANK - len(x.shape)
    attributes = Reduce(
        f"&tilewright_reduce_{name}_{suffix}",
        axes=sum(1 << (lead + axis) for axis in axes),
        select_last=int(isinstance(node.attributes, ArgAttributes) and node.attributes.select_last),
    )
    whole = KernelChoice(
        kernel=_REDUCE,
        sources=("reduce.c", f"reduce_{name}.c", "walk.c"),
        nest=nest,
        reads=(TensorOperand(x.name, nest.reads[0], trailing_view(len(x.shape))),),
        writes=(TensorOperand(node.outputs[0], nest.writes[0], _written_view(node, len(x.shape))),),
        attributes=attributes,
        uncut=frozenset(f"d{axis}" for axis in axes),
    )
    return (whole,) if node.operator in _TWO_PASSES else (whole, _in_parts(whole))


def _in_parts(whole: KernelChoice) -> KernelChoice:
    """The walker that takes parts of the reduced axes, one call after the other."""

    def partial_bytes(steps: TileSteps) -> int:
        return _STATE_BYTES * prod(step for name, step in steps.items() if name not in whole.uncut)

    return replace(
        whole,
        kernel=_REDUCE_PARTS,
        sources=("reduce_parts.c", *whole.sources[1:]),
        nest=whole.nest.with_iteration(whole.uncut, Iteration.REDUCTION),
        uncut=frozenset(),
        partial_bytes=partial_bytes,
        called=_REDUCE.symbol,
    )


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    return CALL_CYCLES + points(choice.nest, steps) * _ELEMENT_CYCLES + _RESULT_CYCLES


def _written_view(node: Node, rank: int) -> tuple[int, ...]:
    """The view of the output in the input's order of axes; -1 in the place of each reduced axis that it lacks."""
    given = node.given(ReductionAttributes)
    if given.keepdims:
        return trailing_view(rank)
    axes = given.axes
    kept = iter(range(rank - len(axes)))
    return (-1,) * (MAX_RANK - rank) + tuple(-1 if axis in axes else next(kept) for axis in range(rank))


REDUCERS = tuple(
    f"reduce_{snake(operator.removeprefix('Reduce'))}_{SUFFIX[dtype]}"
    for operator, types in _TYPES.items()
    for dtype in DType
    if dtype in types - {DType.BOOL}
)
"""Reducers of reduction operators, as C names them; pools have one reducer more."""

_REDUCE = Kernel("tilewright_reduce", Reduce, _cycles)
_REDUCE_PARTS = Kernel("tilewright_reduce_parts", Reduce, _cycles)

DECLARATION = Declaration(
    operators=dict.fromkeys(_TYPES, choices),
    kernels=(_REDUCE, _REDUCE_PARTS),
    pointed={"const struct tilewright_reducer": REDUCERS},
    stack_bytes={
        "reduce_parts": 656,
        "reduce_arg_max_f32": 576,
        "reduce_arg_min_f32": 576,
        "reduce_l1_f32": 544,
        "reduce_l2_f32": 576,
        "reduce_log_sum_exp_f32": 608,
        "reduce_log_sum_f32": 576,
        "reduce_max_f32": 576,
        "reduce_mean_f32": 544,
        "reduce_min_f32": 576,
        "reduce_prod_f32": 560,
        "reduce_sum_f32": 544,
        "reduce_sum_square_f32": 560,
    },
)
