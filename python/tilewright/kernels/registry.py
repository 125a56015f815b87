"""All kernels by operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from tilewright.graph import Graph, Node
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.own import OwnOperator
from tilewright.kernels.scalar import (
    binary_float,
    binary_integer,
    conv_float,
    conv_integer,
    matmul_float,
    matmul_integer,
    movement,
    norm_float,
    norm_integer,
    pool_float,
    pool_integer,
    quantize,
    reduce_integer,
    softmax_dialect,
    softmax_float,
    unary_float,
    unary_integer,
)
from tilewright.kernels.scalar.breadth import BREADTH, FALLBACK
from tilewright.kernels.xpulpv2 import conv as conv_xpulpv2
from tilewright.kernels.xpulpv2 import matmul as matmul_xpulpv2
from tilewright.operators.nest import Dimension
from tilewright.operators.spatial import Windows

SCALAR = "scalar"
"""The family of plain C kernels."""

XPULPV2 = "xpulpv2"
"""The family for cores with PULP's extensions: four products of bytes per instruction."""

ChoicesOf = Callable[[Node, Graph], tuple[KernelChoice, ...]]
"""The kernels of one file for a node, best first; empty where they do not apply."""

_SCALAR: Mapping[str, tuple[ChoicesOf, ...]] = MappingProxyType(
    {
        "Conv": (conv_integer.choices, conv_float.choices),
        "MatMul": (matmul_integer.choices, matmul_float.choices),
        "Add": (binary_integer.add, binary_float.choices),
        "Sub": (binary_integer.subtract, binary_float.choices),
        "Mul": (binary_integer.multiply, binary_float.choices),
        "Div": (binary_float.choices,),
        "Clip": (unary_float.choices,),
        "LeakyRelu": (unary_float.choices,),
        "HardSigmoid": (unary_float.choices,),
        "Sigmoid": (unary_float.choices,),
        "Tanh": (unary_float.choices,),
        "HardSwish": (unary_float.choices,),
        "Lookup": (unary_integer.lookup,),
        "MaxPool": (pool_integer.max_pool, pool_float.choices),
        "AveragePool": (pool_integer.average_pool, pool_float.choices),
        "Softmax": (unary_integer.softmax, softmax_float.choices),
        "LayerNormalization": (norm_float.choices,),
        "RMSNormalization": (norm_float.choices,),
        "Concat": (movement.concat,),
        "Slice": (movement.slice_elements,),
        "Pad": (movement.pad,),
        "Transpose": (movement.transpose,),
        "Copy": (movement.copy,),
        "Reshape": (movement.reshape,),
        "Quantize": (quantize.quantize,),
        "Dequantize": (quantize.dequantize,),
        "Requantize": (unary_integer.requantize,),
        **BREADTH,
        "iLayerNorm": (norm_integer.layer_norm,),
        "iRMSNorm": (norm_integer.rms_norm,),
        "iNoNorm": (norm_integer.no_norm,),
        "iSoftmax": (softmax_dialect.softmax,),
        "ITAMax": (softmax_dialect.ita_max,),
        "ITAPartialMax": (softmax_dialect.ita_partial_max,),
        "IntegerSum": (reduce_integer.total,),
        "IntegerMean": (reduce_integer.mean,),
        "IntegerDiv": (reduce_integer.divide,),
    }
)

_XPULPV2: Mapping[str, tuple[ChoicesOf, ...]] = MappingProxyType(
    {"Conv": (conv_xpulpv2.choices,), "MatMul": (matmul_xpulpv2.choices,)}
)

_FAMILIES: Mapping[str, Mapping[str, tuple[ChoicesOf, ...]]] = MappingProxyType({SCALAR: _SCALAR, XPULPV2: _XPULPV2})


def choices(node: Node, graph: Graph, families: tuple[str, ...] = (SCALAR,)) -> tuple[KernelChoice, ...]:
    """Every kernel that can run the node, best first: families in their order, then files in theirs.

    An unknown family has no kernels. Nothing is returned for views and for what no kernel supports.
    An operator that the graph brings along has kernels of its own, whatever the families.
    """
    own = graph.extensions.get(node.operator)
    if isinstance(own, OwnOperator):
        return tuple(map(_with_a_dimension, own.kernels(node, graph)))
    fallback = FALLBACK.get(node.operator) if SCALAR in families else None
    if fallback is not None and node.given(Windows).rank > 2:
        return fallback(node, graph)
    found = tuple(
        choice
        for family in families
        for choices_of in _FAMILIES.get(family, {}).get(node.operator, ())
        for choice in choices_of(node, graph)
    )
    if fallback is not None and not found:
        found = fallback(node, graph)
    return tuple(map(_with_a_dimension, found))


def _with_a_dimension(choice: KernelChoice) -> KernelChoice:
    """Tiling wants at least one dimension; a scalar gets one of extent 1."""
    if choice.nest.dimensions:
        return choice
    return replace(choice, nest=replace(choice.nest, dimensions=(Dimension("d0", 1),)))
