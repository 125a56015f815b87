"""Random single-node graphs with real kernels, small enough to walk tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from tilewright.graph import (
    Clamp,
    DType,
    Epilogue,
    Graph,
    Node,
    Requantize,
    Tensor,
    channels_last_order,
    constant,
    variable,
)
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.registry import choices
from tilewright.platform.types import Platform
from tilewright.tiling.problem import TilingProblem, tiling_problem

from support.nodes import node_of
from support.touches import windows


def graph_of(node: Node, tensors: list[Tensor]) -> Graph:
    """A graph of one node; inputs are the tensors without data that it reads."""
    named = {tensor.name: tensor for tensor in tensors}
    inputs = tuple(dict.fromkeys(name for name in node.inputs if name and not named[name].is_constant))
    return Graph("graph", (node,), named, inputs, node.outputs)


def kernel_of(graph: Graph) -> KernelChoice:
    """The kernel that planning would try first."""
    return choices(graph.nodes[0], graph)[0]


def problem_of(graph: Graph, platform: Platform) -> TilingProblem:
    """The only node with that kernel; tensors are at home in sram, constants in flash."""
    homes = {name: "flash" if tensor.is_constant else "sram" for name, tensor in graph.tensors.items()}
    return tiling_problem(graph, graph.nodes[0], kernel_of(graph), platform, homes)


def conv(
    shape: tuple[int, ...],
    weights: tuple[int, ...],
    outputs: tuple[int, ...],
    *,
    quantized: bool = False,
    **geometry: object,
) -> Graph:
    """Conv of x[N, C, s...] with constant weights, channels last, float32 or int8."""
    dtype = DType.INT8 if quantized else DType.FLOAT32
    rank, channels = len(shape), weights[0]
    attributes = {
        "strides": (1,) * (rank - 2),
        "dilations": (1,) * (rank - 2),
        "pads": (0,) * (2 * (rank - 2)),
        "group": 1,
        "x_zero_point": 0,
        "w_zero_point": (0,),
        **geometry,
    }
    generator = np.random.default_rng(0)
    data = generator.integers(-9, 9, weights).astype(dtype.numpy)
    bias = np.arange(channels).astype(np.int32 if quantized else np.float32)
    epilogue: Epilogue | None = Requantize((0.01,) * channels, 0, -128, 127) if quantized else None
    order = channels_last_order(rank)
    tensors = [
        replace(variable("x", dtype, shape), order=order),
        constant("w", data),
        constant("b", bias),
        replace(variable("y", dtype, (shape[0], channels, *outputs)), order=order),
    ]
    return graph_of(node_of("conv", "Conv", ("x", "w", "b"), ("y",), attributes, epilogue, weights=data), tensors)


@st.composite
def convolutions(draw: st.DrawFn) -> Graph:
    geometry, sizes, kernel, outputs = draw(windows())
    batch, group, inputs, outs = (draw(st.integers(1, most)) for most in (2, 3, 3, 9))
    shape, weights = (batch, group * inputs, *sizes), (group * outs, inputs, *kernel)
    return conv(shape, weights, outputs, group=group, quantized=draw(st.booleans()), **geometry)


@st.composite
def pools(draw: st.DrawFn) -> Graph:
    geometry, sizes, kernel, outputs = draw(windows())
    batch, channels = draw(st.integers(1, 2)), draw(st.integers(1, 9))
    order = channels_last_order(2 + len(sizes)) if draw(st.booleans()) else tuple(range(2 + len(sizes)))
    x = replace(variable("x", DType.FLOAT32, (batch, channels, *sizes)), order=order)
    y = replace(variable("y", DType.FLOAT32, (batch, channels, *outputs)), order=order)
    return graph_of(node_of("pool", "MaxPool", ("x",), ("y",), {**geometry, "kernel": kernel}), [x, y])


@st.composite
def products(draw: st.DrawFn) -> Graph:
    batch, m, n, k = (draw(st.integers(1, most)) for most in (2, 7, 12, 6))
    x, y = variable("x", DType.FLOAT32, (batch, m, k)), variable("y", DType.FLOAT32, (batch, m, n))
    other = constant("w", np.ones((k, n), np.float32)) if draw(st.booleans()) else variable("w", DType.FLOAT32, (k, n))
    attributes = {"transpose_a": False, "transpose_b": False}
    return graph_of(node_of("product", "MatMul", ("x", "w"), ("y",), attributes), [x, other, y])


@st.composite
def elementwise(draw: st.DrawFn) -> Graph:
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=4)))
    other = tuple(draw(st.sampled_from([1, extent])) for extent in shape)
    order = tuple(draw(st.permutations(range(len(shape)))))
    x, y = (replace(variable(name, DType.FLOAT32, shape), order=order) for name in ("x", "y"))
    kind = draw(st.sampled_from(["broadcast", "twice", "unary"]))
    if kind == "unary":
        clip = node_of("clip", "Clip", ("x",), ("y",), {"minimum": 0.0, "maximum": 6.0})
        return graph_of(clip, [x, y])
    second = "x" if kind == "twice" else "z"
    z = variable("z", DType.FLOAT32, other)
    add = node_of("add", "Add", ("x", second), ("y",), {}, Clamp(0.0, 6.0))
    return graph_of(add, [x, y] if kind == "twice" else [x, z, y])


NODES: tuple[Callable[[], st.SearchStrategy[Graph]], ...] = (convolutions, pools, products, elementwise)


def nodes() -> st.SearchStrategy[Graph]:
    """Any of them."""
    return st.one_of(*(make() for make in NODES))
