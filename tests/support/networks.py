"""Random networks of Concat, Slice, views, elementwise operators and pooling, float32 or int8."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from tilewright.graph import DType, Graph, Node, Tensor, constant, variable
from tilewright.rewrites.passes import optimise

from support.nodes import node_of


@dataclass
class Network:
    """A graph under construction; every tensor has at least one element."""

    dtype: DType
    tensors: dict[str, Tensor] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)

    def input(self, shape: tuple[int, ...]) -> str:
        name = f"x{len(self.inputs)}"
        self.tensors[name] = variable(name, self.dtype, shape)
        self.inputs.append(name)
        return name

    def add(self, operator: str, inputs: list[str], shape: tuple[int, ...], **attributes: object) -> str:
        name = f"t{len(self.nodes)}"
        self.tensors[name] = variable(name, self.dtype, shape)
        self.nodes.append(node_of(f"n{len(self.nodes)}", operator, inputs, (name,), attributes))
        return name

    def shape(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    def sliced(self, name: str, axis: int, start: int, step: int, count: int) -> str:
        shape = self.shape(name)
        starts, steps = [0] * len(shape), [1] * len(shape)
        starts[axis], steps[axis] = start, step
        after = (*shape[:axis], count, *shape[axis + 1 :])
        return self.add("Slice", [name], after, starts=tuple(starts), steps=tuple(steps))

    def mapped(self, name: str) -> str:
        """An elementwise function of one tensor."""
        shape = self.shape(name)
        if self.dtype is DType.FLOAT32:
            return self.add("LeakyRelu", [name], shape, alpha=0.5)
        table = f"c{len(self.nodes)}"
        values = np.random.default_rng(len(self.nodes)).permutation(256).astype(np.uint8).view(np.int8)
        self.tensors[table] = constant(table, values)
        return self.add("Lookup", [name, table], shape)

    def pooled(self, name: str) -> str:
        """An operator that cannot run in place."""
        shape = self.shape(name)
        attributes = {"kernel": (2, 2), "strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 1, 1)}
        return self.add("MaxPool", [name], shape, **attributes)


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    net = Network(draw(st.sampled_from([DType.FLOAT32, DType.INT8])))
    first = (1, draw(st.integers(2, 4)), draw(st.integers(2, 5)), draw(st.integers(1, 5)))
    names = [net.input(first)]
    if draw(st.booleans()):
        names.append(net.input(first))
    kinds = ["map", "map", "pool", "pool", "concat", "concat", "concat", "slice", "turn", "flat"]
    kinds += ["add", "add"] if net.dtype is DType.FLOAT32 else []
    for _ in range(draw(st.integers(4, 12))):
        source = draw(st.sampled_from([*names, names[-1], names[-1]]))
        names.append(extended(draw, net, names, source, draw(st.sampled_from(kinds))))
    read = {name for node in net.nodes for name in node.inputs}
    unread = [name for name in names[len(net.inputs) :] if name not in read]
    others = draw(st.lists(st.sampled_from(names[len(net.inputs) :]), max_size=1))
    outputs = tuple(dict.fromkeys([*others, *unread]))
    return optimise(Graph("graph", tuple(net.nodes), net.tensors, tuple(net.inputs), outputs))


def extended(draw: st.DrawFn, net: Network, names: list[str], source: str, kind: str) -> str:
    shape = net.shape(source)
    if kind == "pool" and len(shape) == 4:
        return net.pooled(source)
    if kind == "concat":
        axis = draw(st.integers(0, len(shape) - 1))
        fits = [name for name in names if alike(net.shape(name), shape, axis)]
        sources = [source, *draw(st.lists(st.sampled_from(fits), min_size=1, max_size=2))]
        sources = list(draw(st.permutations(sources)))
        length = sum(net.shape(name)[axis] for name in sources)
        assume(length <= 24)
        return net.add("Concat", sources, (*shape[:axis], length, *shape[axis + 1 :]), axis=axis)
    if kind == "slice":
        axis = draw(st.integers(0, len(shape) - 1))
        start = draw(st.integers(0, shape[axis] - 1))
        step = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))
        most = (shape[axis] - 1 - start) // step + 1 if step > 0 else start // -step + 1
        return net.sliced(source, axis, start, step, draw(st.integers(1, most)))
    if kind == "turn":
        perm = tuple(draw(st.permutations(range(len(shape)))))
        return net.add("Transpose", [source], tuple(shape[axis] for axis in perm), perm=perm)
    if kind == "flat":
        return net.add("Reshape", [source], (shape[0], int(np.prod(shape[1:]))))
    if kind == "add":
        return net.add("Add", [source, draw(st.sampled_from([n for n in names if net.shape(n) == shape]))], shape)
    return net.mapped(source)


def alike(one: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    """Whether two shapes differ on one axis at most."""
    return (*one[:axis], *one[axis + 1 :]) == (*other[:axis], *other[axis + 1 :]) and len(one) == len(other)
