"""Kernels of the operators in ``operators/breadth.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tilewright.graph import Graph, Node
from tilewright.kernels import indexing, line, map, reduction
from tilewright.kernels.kernel import KernelChoice
from tilewright.operators.line import LINE
from tilewright.operators.map import FUNCTIONS
from tilewright.operators.reduction import REDUCTION

BREADTH: Mapping[str, tuple[Callable[[Node, Graph], tuple[KernelChoice, ...]], ...]] = MappingProxyType(
    {
        **dict.fromkeys(FUNCTIONS, (map.choices,)),
        "Expand": (map.expand,),
        **{operator.name: (reduction.choices,) for operator in REDUCTION},
        **{operator.name: (line.choices,) for operator in LINE},
        "Gather": (indexing.gather,),
        "GatherElements": (indexing.gather_elements,),
        "ScatterElements": (indexing.scatter_elements,),
    }
)
