"""Kernels of the operators in ``operators/breadth.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tilewright.graph import Graph, Node
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar import indexing, line, recurrent, reduction, windows
from tilewright.kernels.scalar import map as rows
from tilewright.operators.line import LINE
from tilewright.operators.map import FUNCTIONS
from tilewright.operators.recurrent import RECURRENT
from tilewright.operators.reduction import REDUCTION

ChoicesOf = Callable[[Node, Graph], "tuple[KernelChoice, ...]"]

BREADTH: Mapping[str, tuple[ChoicesOf, ...]] = MappingProxyType(
    {
        **dict.fromkeys(FUNCTIONS, (rows.choices,)),
        "Expand": (rows.expand,),
        **{operator.name: (reduction.choices,) for operator in REDUCTION},
        **{operator.name: (line.choices,) for operator in LINE},
        **{operator.name: (recurrent.choices,) for operator in RECURRENT},
        "LpPool": (windows.pool,),
        "MaxPoolIndices": (windows.max_pool_indices,),
        "ConvTranspose": (windows.conv_transpose,),
        "Interpolate": (windows.interpolate,),
        "Gather": (indexing.gather,),
        "GatherElements": (indexing.gather_elements,),
        "ScatterElements": (indexing.scatter_elements,),
    }
)

FALLBACK: Mapping[str, ChoicesOf] = MappingProxyType(
    {
        "Conv": windows.convolution,
        "MaxPool": windows.pool,
        "AveragePool": windows.pool,
    }
)
"""Slow kernels for nodes that no other kernel takes: three spatial axes, weights known at run time."""
