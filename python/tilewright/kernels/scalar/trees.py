"""Ensembles of decision trees (runtime/kernels/tree_ensemble_f32.c)."""

from __future__ import annotations

from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import trailing_operand
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, TileSteps
from tilewright.operators.trees import AGGREGATES, MISSING_TRUE, NODE_WORDS, TreeAttributes, nest

_TREE_CYCLES = 200.0
"""Instructions for one row in one tree, in which a row meets about ten nodes."""


@dataclass(frozen=True, slots=True)
class TreeEnsemble(CStruct):
    """Operands: x [rows, features]; nodes [node][4 words] (feature, or -1 for a leaf; the nodes of the two branches,
    or first and number of the leaf's values; mode); thresholds [node]; roots [tree]; targets and values [value]; y
    [rows, targets]. Branches stand behind their node.
    """

    trees: Int32
    targets: Int32
    aggregate: Annotated[Int32, "0: sum, 1: smallest, 2: largest value"]


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for trees on float32 features."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if x.dtype is not DType.FLOAT32 or y.dtype is not DType.FLOAT32 or node.epilogue is not None:
        return ()
    iteration = nest(node, graph)
    trees = graph.tensor(node.inputs[3]).elements
    aggregate = AGGREGATES.index(node.given(TreeAttributes).aggregate)
    operands = zip(node.inputs, iteration.reads, strict=True)
    return (
        KernelChoice(
            kernel=_TREES,
            sources=("tree_ensemble_f32.c",),
            nest=iteration,
            reads=tuple(trailing_operand(graph, name, axes) for name, axes in operands),
            writes=(trailing_operand(graph, node.outputs[0], iteration.writes[0]),),
            attributes=TreeEnsemble(trees, y.shape[1], aggregate),
        ),
    )


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    return 100.0 + steps["n"] * choice.given(TreeEnsemble).trees * _TREE_CYCLES


_TREES = Kernel("tilewright_tree_ensemble_f32", TreeEnsemble, _cycles)

DECLARATION = Declaration(
    operators={"TreeEnsemble": choices},
    kernels=(_TREES,),
    numbers={"TREE_NODE_WORDS": NODE_WORDS, "TREE_MISSING_TRUE": MISSING_TRUE},
)
