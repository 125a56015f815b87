"""Kernels over windows of up to three spatial axes, for what the fast ones do not take."""

from __future__ import annotations

from collections.abc import Sequence
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
from tilewright.kernels.scalar.map import SUFFIX
from tilewright.operators.nest import Nest, whole
from tilewright.operators.registry import OPERATORS
from tilewright.plan import AttributeValue

_MAC_CYCLES = 10.0
_TAP_CYCLES = 15.0
_CHANNEL_VIEW = (-1, 0, -1, -1, -1, -1)

_Fields = tuple[tuple[str, AttributeValue], ...]


def convolution(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Conv of float32 or int32 with any weights."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    types = {graph.tensor(name).dtype for name in names}
    clamp = clamp_of(node)
    integer = types == {DType.INT32}
    if clamp is None or not (integer or types == {DType.FLOAT32}) or (integer and node.epilogue is not None):
        return ()
    if any(node.attributes["w_zero_point"]) or node.attributes["x_zero_point"]:
        return ()
    w = graph.tensor(node.inputs[1]).shape
    fields = (
        *_geometry(node, w[2:]),
        ("group_inputs", w[1]),
        ("group_outputs", w[0] // node.attributes["group"]),
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
    x, w = (graph.tensor(name).shape for name in node.inputs[:2])
    fields = (
        *_geometry(node, w[2:]),
        ("group_inputs", x[1] // node.attributes["group"]),
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
    kernel = tuple(node.attributes["kernel"])
    spatial = len(kernel)
    name = {"MaxPool": "max", "AveragePool": "mean", "LpPool": "lp"}[node.operator]
    ends = node.attributes["pads"][spatial:]
    limits = [extent + end for extent, end in zip(x.shape[2:], ends, strict=True)]
    fields = (
        ("reducer", f"&tilewright_reduce_{name}_{SUFFIX[x.dtype]}"),
        *_geometry(node, kernel),
        ("limits", _three(limits, 1)),
        ("include_pads", int(bool(node.attributes.get("count_include_pad", 0)))),
        ("power", float(node.attributes.get("p", 1.0))),
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
    fields = (
        *_geometry(node, tuple(node.attributes["kernel"])),
        ("steps", _three(node.attributes["steps"], 0)),
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
    axis = int(node.attributes["axis"])
    taps = len(node.attributes["weights"]) // shape[axis]
    tables = [
        ConstantOperand(
            role,
            np.array(node.attributes[role], dtype).reshape(shape[axis], taps),
            (whole(shape[axis]), whole(taps)),
        )
        for role, dtype in (("indices", np.int32), ("weights", np.float32))
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
                ("outside", float(node.attributes["outside"])),
            ),
            cycles=cycles,
            uncut=frozenset({f"d{axis}"}),
        ),
    )


def _three(values: Sequence[int], fill: int) -> tuple[int, ...]:
    """Values for d, h, w; ``fill`` for the axes that are not there."""
    return (fill,) * (3 - len(values)) + tuple(int(value) for value in values)


def _geometry(node: Node, kernel: Sequence[int]) -> _Fields:
    attributes = node.attributes
    return (
        ("kernel", _three(kernel, 1)),
        ("strides", _three(attributes["strides"], 1)),
        ("dilations", _three(attributes["dilations"], 1)),
        ("pads", _three(attributes["pads"][: len(kernel)], 0)),
    )


def _view(rank: int) -> tuple[int, ...]:
    """n, c, -, d, h, w."""
    spatial = rank - 2
    return (0, 1, -1) + (-1,) * (3 - spatial) + tuple(range(2, rank))


def _weighted(node: Node, graph: Graph, stem: str, fields: _Fields, uncut: frozenset[str]) -> KernelChoice:
    nest = OPERATORS[node.operator].nest(node, graph)
    reads = []
    for number, (name, axes) in enumerate(zip(node.inputs, nest.reads, strict=True)):
        if name:
            view = _CHANNEL_VIEW if number == 2 else _view(len(graph.tensor(name).shape))
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


def _pooling(node: Node, graph: Graph, stem: str, rows: tuple[str, ...], fields: _Fields) -> KernelChoice:
    nest = OPERATORS[node.operator].nest(node, graph)
    return KernelChoice(
        symbol=f"tilewright_{stem}",
        sources=(f"{stem}.c", *rows),
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], _view(len(graph.tensor(node.inputs[0]).shape))),),
        writes=tuple(_spatial_operand(graph, name, nest, number) for number, name in enumerate(node.outputs)),
        attributes=fields,
        cycles=lambda steps: CALL_CYCLES + points(nest, steps) * _TAP_CYCLES,
        uncut=frozenset({"kd", "kh", "kw"}),
    )


def _spatial_operand(graph: Graph, name: str, nest: Nest, number: int) -> TensorOperand:
    return TensorOperand(name, nest.writes[number], _view(len(graph.tensor(name).shape)))
