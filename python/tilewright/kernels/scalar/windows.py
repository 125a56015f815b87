"""Kernels over windows of up to three spatial axes, for what the fast ones do not take."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.graph import DType, Graph, Node
from tilewright.kernels.float_common import (
    CALL_CYCLES,
    MAX_RANK,
    all_float,
    clamp_attributes,
    clamp_of,
    fits_rank,
    points,
    trailing_operand,
)
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, TensorOperand, TileSteps
from tilewright.kernels.scalar.geometry import VOLUME, Fields, filled, geometry, volume_view
from tilewright.kernels.scalar.map import SUFFIX
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.nest import Nest, whole
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.registry import OPERATORS
from tilewright.operators.spatial import Windows
from tilewright.operators.windows import (
    ConvTransposeAttributes,
    InterpolateAttributes,
    LpPoolAttributes,
    MaxPoolIndicesAttributes,
)

_MAC_CYCLES = 10.0
_TAP_CYCLES = 15.0
_CHANNEL_VIEW = (-1, 0, -1, -1, -1, -1)


def convolution(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Conv of float32 or int32 with any weights."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    types = {graph.tensor(name).dtype for name in names}
    clamp = clamp_of(node)
    integer = types == {DType.INT32}
    if clamp is None or not (integer or types == {DType.FLOAT32}) or (integer and node.epilogue is not None):
        return ()
    given = node.given(ConvAttributes)
    if any(given.w_zero_point) or given.x_zero_point:
        return ()
    w = graph.tensor(node.inputs[1]).shape
    fields = (
        *geometry(given, VOLUME),
        ("group_inputs", w[1]),
        ("group_outputs", w[0] // given.group),
        ("integer", int(integer)),
        ("biased", len(names) - 3),
        *clamp_attributes(clamp),
    )
    return (_weighted(node, graph, "conv_any", fields, frozenset({"ic"})),)


def conv_transpose(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """ConvTranspose of float32."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    if node.epilogue is not None or not all_float(graph, names):
        return ()
    given = node.given(ConvTransposeAttributes)
    x, w = (graph.tensor(name).shape for name in node.inputs[:2])
    fields = (
        *geometry(given, VOLUME),
        ("group_inputs", x[1] // given.group),
        ("group_outputs", w[1]),
        ("biased", len(names) - 3),
    )
    return (_weighted(node, graph, "conv_transpose_f32", fields, frozenset({"ic"})),)


def pool(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """MaxPool of any numbers, AveragePool and LpPool of float32."""
    x = graph.tensor(node.inputs[0])
    clamp = clamp_of(node)
    if clamp is None or x.dtype is DType.BOOL or x.dtype is not graph.tensor(node.outputs[0]).dtype:
        return ()
    if x.dtype is not DType.FLOAT32 and (node.operator != "MaxPool" or node.epilogue is not None):
        return ()
    windows = node.given(Windows)
    name = {"MaxPool": "max", "AveragePool": "mean", "LpPool": "lp"}[node.operator]
    limits = [extent + end for extent, end in zip(x.shape[2:], windows.pads_end, strict=True)]
    counts = isinstance(windows, AveragePoolAttributes) and windows.count_include_pad
    fields = (
        ("reducer", f"&tilewright_reduce_{name}_{SUFFIX[x.dtype]}"),
        *geometry(windows, VOLUME),
        ("limits", filled(limits, VOLUME, 1)),
        ("include_pads", int(counts)),
        ("power", windows.p if isinstance(windows, LpPoolAttributes) else 1.0),
        ("clamped", int(node.epilogue is not None)),
        *clamp_attributes(clamp),
    )
    return (_pooling(node, graph, "pool_any", (f"reduce_{name}.c",), fields),)


def max_pool_indices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """MaxPool with indices, of float32, int8 and uint8."""
    x = graph.tensor(node.inputs[0])
    kinds = {DType.FLOAT32: 0, DType.INT8: 1, DType.UINT8: 2}
    if x.dtype not in kinds:
        return ()
    given = node.given(MaxPoolIndicesAttributes)
    fields = (
        *geometry(given, VOLUME),
        ("steps", filled(given.steps, VOLUME, 0)),
        ("channels", x.shape[1]),
        ("image", prod(x.shape[2:])),
        ("element", kinds[x.dtype]),
    )
    return (_pooling(node, graph, "max_pool_indices", (), fields),)


def interpolate(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Interpolation along one axis with tables of indices and weights."""
    names = (*node.inputs, *node.outputs)
    if node.epilogue is not None or not all_float(graph, names) or not fits_rank(graph, names):
        return ()
    nest = OPERATORS[node.operator].nest(node, graph)
    shape = graph.tensor(node.outputs[0]).shape
    given = node.given(InterpolateAttributes)
    axis = given.axis
    taps = len(given.weights) // shape[axis]
    tables = [
        ConstantOperand(role, table.reshape(shape[axis], taps), (whole(shape[axis]), whole(taps)))
        for role, table in (
            ("indices", np.array(given.indices, np.int32)),
            ("weights", np.array(given.weights, np.float32)),
        )
    ]

    def cycles(steps: TileSteps) -> float:
        return CALL_CYCLES + points(nest, steps) * taps * _TAP_CYCLES

    return (
        KernelChoice(
            symbol="tilewright_interpolate_f32",
            sources=("interpolate_f32.c", "walk.c"),
            nest=nest,
            reads=(trailing_operand(graph, node.inputs[0], nest.reads[0]), *tables),
            writes=(trailing_operand(graph, node.outputs[0], nest.writes[0]),),
            attributes=(
                ("axis", MAX_RANK - len(shape) + axis),
                ("taps", taps),
                ("outside", given.outside),
            ),
            cycles=cycles,
            uncut=frozenset({f"d{axis}"}),
        ),
    )


def _weighted(node: Node, graph: Graph, stem: str, fields: Fields, uncut: frozenset[str]) -> KernelChoice:
    nest = OPERATORS[node.operator].nest(node, graph)
    reads = []
    for number, (name, axes) in enumerate(zip(node.inputs, nest.reads, strict=True)):
        if name:
            view = _CHANNEL_VIEW if number == 2 else volume_view(len(graph.tensor(name).shape))
            reads.append(TensorOperand(name, axes, view))
    return KernelChoice(
        symbol=f"tilewright_{stem}",
        sources=(f"{stem}.c",),
        nest=nest,
        reads=tuple(reads),
        writes=(_spatial_operand(graph, node.outputs[0], nest, 0),),
        attributes=fields,
        cycles=lambda steps: CALL_CYCLES + points(nest, steps) * _MAC_CYCLES,
        uncut=uncut | {"kd", "kh", "kw"},
    )


def _pooling(node: Node, graph: Graph, stem: str, rows: tuple[str, ...], fields: Fields) -> KernelChoice:
    nest = OPERATORS[node.operator].nest(node, graph)
    return KernelChoice(
        symbol=f"tilewright_{stem}",
        sources=(f"{stem}.c", *rows),
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], volume_view(len(graph.tensor(node.inputs[0]).shape))),),
        writes=tuple(_spatial_operand(graph, name, nest, number) for number, name in enumerate(node.outputs)),
        attributes=fields,
        cycles=lambda steps: CALL_CYCLES + points(nest, steps) * _TAP_CYCLES,
        uncut=frozenset({"kd", "kh", "kw"}),
    )


def _spatial_operand(graph: Graph, name: str, nest: Nest, number: int) -> TensorOperand:
    return TensorOperand(name, nest.writes[number], volume_view(len(graph.tensor(name).shape)))
