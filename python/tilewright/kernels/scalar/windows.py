"""General kernels over windows of up to three spatial axes, for nodes that no faster kernel takes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import PREFIX, CStruct, Float32, Int32, Int32x3, Reducer
from tilewright.kernels.element_types import ELEMENT_TYPES, ElementType
from tilewright.kernels.float_common import (
    CALL_CYCLES,
    ClampF32,
    all_float,
    clamp_attributes,
    clamp_of,
    fits_rank,
    per_point,
    points,
    trailing_operand,
)
from tilewright.kernels.kernel import (
    MAX_RANK,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import ANY_ORDER, CONVOLUTION_ORDER, POOLING_ORDER
from tilewright.kernels.scalar.geometry import SPATIAL_AXES, VOLUME, VolumeWindows, filled, volume_view, volume_windows
from tilewright.kernels.scalar.map import SUFFIX
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.conv import nest as conv_nest
from tilewright.operators.nest import Nest, along, whole
from tilewright.operators.operator import NestOf
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.pooling import nest as pool_nest
from tilewright.operators.spatial import Windows
from tilewright.operators.windows import (
    ConvTransposeAttributes,
    InterpolateAttributes,
    LpPoolAttributes,
    MaxPoolIndicesAttributes,
    conv_transpose_nest,
    interpolate_nest,
    interpolation_tables,
    max_pool_indices_nest,
)

_MAC_CYCLES = 10.0
_TAP_CYCLES = 15.0
_PAIR_CYCLES = 9.0
_RUN_CYCLES = 80.0
_CHANNEL_VIEW = (-1, 0, -1, -1, -1, -1)


@dataclass(frozen=True, slots=True)
class ConvAny(CStruct):
    """Operands: x [n, c, -, d, h, w], weights [c of y, c of x, -, d, h, w], the bias if there is one, y. Only float
    results are clamped.
    """

    windows: VolumeWindows
    group_inputs: Int32
    group_outputs: Int32
    integer: Annotated[Int32, "elements are int32_t, else float"]
    biased: Int32
    clamp: ClampF32


@dataclass(frozen=True, slots=True)
class ConvTransposeF32(CStruct):
    """Operands: x [n, c, -, d, h, w], weights [c of x, c of y, -, d, h, w], the bias if there is one, y."""

    windows: VolumeWindows
    group_inputs: Int32
    group_outputs: Int32
    biased: Int32


@dataclass(frozen=True, slots=True)
class PoolAny(CStruct):
    """Operands: x and y [n, c, -, d, h, w]."""

    reducer: Reducer
    windows: VolumeWindows
    limits: Annotated[Int32x3, "the first input positions behind what counts, if padding does"]
    include_pads: Int32
    power: Float32
    clamped: Annotated[Int32, "whether the bounds apply; to float only"]
    clamp: ClampF32


@dataclass(frozen=True, slots=True)
class MaxPoolIndices(CStruct):
    """Operands: x, y and int64 indices [n, c, -, d, h, w]."""

    windows: VolumeWindows
    steps: Annotated[Int32x3, "of the flat index along each spatial axis"]
    channels: Annotated[Int32, "of the whole tensor"]
    image: Annotated[Int32, "elements of one channel"]
    x_type: ElementType


@dataclass(frozen=True, slots=True)
class InterpolateF32(CStruct):
    """Operands: x, indices int32 and weights float [extent of y][taps], y."""

    axis: Int32
    taps: Int32
    outside: Annotated[Float32, "the result where the index table has -1"]


def convolution(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Conv of float32 or int32 with any weights."""
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
    attributes = ConvAny(
        volume_windows(given),
        group_inputs=w[1],
        group_outputs=w[0] // given.group,
        integer=int(integer),
        biased=len(names) - 3,
        clamp=clamp_attributes(clamp),
    )
    return (_weighted(node, graph, conv_nest, _CONV, attributes),)


def conv_transpose(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for ConvTranspose of float32."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    if node.epilogue is not None or not all_float(graph, names):
        return ()
    given = node.given(ConvTransposeAttributes)
    x, w = (graph.tensor(name).shape for name in node.inputs[:2])
    attributes = ConvTransposeF32(
        volume_windows(given),
        group_inputs=x[1] // given.group,
        group_outputs=w[1],
        biased=len(names) - 3,
    )
    return (_weighted(node, graph, conv_transpose_nest, _CONV_TRANSPOSE, attributes),)


def pool(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for MaxPool of any element type, and for AveragePool and LpPool of float32."""
    x = graph.tensor(node.inputs[0])
    clamp = clamp_of(node)
    if clamp is None or x.dtype is DType.BOOL or x.dtype is not graph.tensor(node.outputs[0]).dtype:
        return ()
    if x.dtype is not DType.FLOAT32 and (node.operator != "MaxPool" or node.epilogue is not None):
        return ()
    windows = node.given(Windows)
    name = {"MaxPool": "max", "AveragePool": "mean", "LpPool": "lp"}[node.operator]
    limits = [extent + end for extent, end in zip(x.shape[2:], windows.pads_end, strict=True)]
    kernel = _LP_POOL if isinstance(windows, LpPoolAttributes) else _POOL
    counts = isinstance(windows, AveragePoolAttributes) and windows.count_include_pad
    attributes = PoolAny(
        f"&tilewright_reduce_{name}_{SUFFIX[x.dtype]}",
        volume_windows(windows),
        limits=filled(limits, VOLUME, 1),
        include_pads=int(counts),
        power=windows.p if isinstance(windows, LpPoolAttributes) else 1.0,
        clamped=int(node.epilogue is not None),
        clamp=clamp_attributes(clamp),
    )
    return (_pooling(node, graph, pool_nest, kernel, (f"reduce_{name}.c",), attributes),)


def max_pool_indices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for MaxPool with indices of float32, int8 and uint8."""
    x = graph.tensor(node.inputs[0])
    if x.dtype not in (DType.FLOAT32, DType.INT8, DType.UINT8):
        return ()
    given = node.given(MaxPoolIndicesAttributes)
    attributes = MaxPoolIndices(
        volume_windows(given),
        steps=filled(given.steps, VOLUME, 0),
        channels=x.shape[1],
        image=prod(x.shape[2:]),
        x_type=ELEMENT_TYPES[x.dtype],
    )
    return (_pooling(node, graph, max_pool_indices_nest, _MAX_POOL_INDICES, (), attributes),)


def interpolate(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Interpolate along one axis, with tables of indices and weights."""
    names = (*node.inputs, *node.outputs)
    if node.epilogue is not None or not all_float(graph, names) or not fits_rank(graph, names):
        return ()
    nest = interpolate_nest(node, graph)
    shape = graph.tensor(node.outputs[0]).shape
    given = node.given(InterpolateAttributes)
    axis = given.axis
    indices, weights = interpolation_tables(given, shape[axis])
    taps = indices.shape[1]
    tables = [
        ConstantOperand(role, table, (along(f"d{axis}"), whole(taps)))
        for role, table in (("indices", indices.astype(np.int32)), ("weights", weights.astype(np.float32)))
    ]
    return (
        KernelChoice(
            kernel=_INTERPOLATE,
            sources=("interpolate_f32.c", "walk.c"),
            nest=nest,
            reads=(trailing_operand(graph, node.inputs[0], nest.reads[0]), *tables),
            writes=(trailing_operand(graph, node.outputs[0], nest.writes[0]),),
            attributes=InterpolateF32(MAX_RANK - len(shape) + axis, taps, given.outside),
        ),
    )


def _view(rank: int) -> tuple[int, ...]:
    """The view [n, c, -, d, h, w] of a tensor of ``rank`` axes."""
    spatial = rank - 2
    return (0, 1, -1) + (-1,) * (3 - spatial) + tuple(range(2, rank))


def _weighted(node: Node, graph: Graph, nest_of: NestOf, kernel: Kernel, attributes: CStruct) -> KernelChoice:
    nest = nest_of(node, graph)
    reads = []
    for number, (name, axes) in enumerate(zip(node.inputs, nest.reads, strict=True)):
        if name:
            view = _CHANNEL_VIEW if number == 2 else volume_view(len(graph.tensor(name).shape))
            reads.append(TensorOperand(name, axes, view))
    return KernelChoice(
        kernel=kernel,
        sources=(f"{kernel.symbol.removeprefix(PREFIX)}.c",),
        nest=nest,
        reads=tuple(reads),
        writes=(_spatial_operand(graph, node.outputs[0], nest, 0),),
        attributes=attributes,
        uncut=frozenset({"ic", "kd", "kh", "kw"}),
    )


def _pooling(
    node: Node, graph: Graph, nest_of: NestOf, kernel: Kernel, rows: tuple[str, ...], attributes: CStruct
) -> KernelChoice:
    nest = nest_of(node, graph)
    return KernelChoice(
        kernel=kernel,
        sources=(f"{kernel.symbol.removeprefix(PREFIX)}.c", *rows),
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], volume_view(len(graph.tensor(node.inputs[0]).shape))),),
        writes=tuple(_spatial_operand(graph, name, nest, number) for number, name in enumerate(node.outputs)),
        attributes=attributes,
        uncut=frozenset({"kd", "kh", "kw"}),
    )


def _spatial_operand(graph: Graph, name: str, nest: Nest, number: int) -> TensorOperand:
    return TensorOperand(name, nest.writes[number], _view(len(graph.tensor(name).shape)))


def _interpolate_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """For each two taps the elements, and the runs of them at one position: channels, and what is behind the axis."""
    given = choice.given(InterpolateF32)
    axis = given.axis - MAX_RANK + len(choice.nest.dimensions)
    beside = [item.name for place, item in enumerate(choice.nest.dimensions) if place > axis or place == 1 < axis]
    elements = points(choice.nest, steps)
    runs = elements / points(choice.nest, steps, beside)
    return CALL_CYCLES + -(-given.taps // 2) * (elements * _PAIR_CYCLES + runs * _RUN_CYCLES)


_CONV = Kernel("tilewright_conv_any", ConvAny, per_point(_MAC_CYCLES), likes=CONVOLUTION_ORDER)
_CONV_TRANSPOSE = Kernel(
    "tilewright_conv_transpose_f32", ConvTransposeF32, per_point(_MAC_CYCLES), ring_axes=SPATIAL_AXES
)
_POOL = Kernel("tilewright_pool_any", PoolAny, per_point(_TAP_CYCLES), likes=POOLING_ORDER)
_LP_POOL = replace(_POOL, likes=ANY_ORDER)
_MAX_POOL_INDICES = Kernel("tilewright_max_pool_indices", MaxPoolIndices, per_point(_TAP_CYCLES))
_INTERPOLATE = Kernel(
    "tilewright_interpolate_f32", InterpolateF32, _interpolate_cycles, ring_axes=frozenset(range(MAX_RANK))
)

DECLARATION = Declaration(
    operators={
        "Conv": convolution,
        "MaxPool": pool,
        "AveragePool": pool,
        "LpPool": pool,
        "MaxPoolIndices": max_pool_indices,
        "ConvTranspose": conv_transpose,
        "Interpolate": interpolate,
    },
    kernels=(_CONV, _CONV_TRANSPOSE, _POOL, _LP_POOL, _MAX_POOL_INDICES, _INTERPOLATE),
    pointed={"const struct tilewright_reducer": ("reduce_lp_f32",)},
    stack_bytes={"reduce_lp_f32": 608},
    is_fallback=True,
)
