"""Networks of one spatial axis stand upright: their positions become rows of images of one column.

Kernels find rows in a ring, and most of them no columns. So a group can run over such a network row by row.

Before:  x [1, 6, 128] -> conv, kernel (3,) -> y [1, 8, 128]
After:   x -> Reshape -> [1, 6, 128, 1] -> conv, kernel (3, 1) -> [1, 8, 128, 1] -> Reshape -> y
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node, Tensor, constant, identity_order
from tilewright.graph.edit import make_node, untaken, with_attributes
from tilewright.operators import elementwise
from tilewright.operators.movement import PadAttributes, SliceAttributes, TransposeAttributes
from tilewright.operators.spatial import Windows

_RANK = 3
"""Axes of a tensor [N, C, positions]."""


def upright(graph: Graph) -> Graph:
    """The graph with all nodes over one spatial axis, whose tensors are [N, C, positions], over rows of one column.

    Inputs and outputs keep their shapes, and so do tensors of other nodes. The graph itself where no node has windows.
    """
    standing = [node for node in graph.nodes if _can_stand(node, graph)]
    if not any(isinstance(node.attributes, Windows) for node in standing):
        return graph
    return _Standing(graph, frozenset(node.name for node in standing)).written()


def _can_stand(node: Node, graph: Graph) -> bool:
    """Whether a node does the same at every position of its only spatial axis, and all its tensors have that axis."""
    tensors = [graph.tensor(name) for name in (*node.inputs, *node.outputs) if name]
    is_line = all(len(item.shape) == _RANK for item in tensors if not item.is_constant)
    has_state = any(name in {state.input, state.output} for state in graph.states for name in node.outputs)
    return is_line and not has_state and len(node.outputs) == 1 and declared(node, graph.extensions).is_alike


@dataclass(slots=True)
class _Standing:
    """A graph in which some nodes stand upright, as it is written.

    Attributes:
        names: of the nodes that stand.
        tensors: of the new graph so far.
        tall, flat: by tensor of ``graph``, the one with rows and the one without.
    """

    graph: Graph
    names: frozenset[str]
    nodes: list[Node] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    tall: dict[str, str] = field(default_factory=dict)
    flat: dict[str, str] = field(default_factory=dict)

    def written(self) -> Graph:
        """The new graph."""
        self.tensors = dict(self.graph.tensors)
        self.flat = {name: name for name in self.graph.tensors}
        for node in self.graph.nodes:
            if node.name not in self.names:
                self.nodes.append(replace(node, inputs=tuple(self._flat(name) for name in node.inputs)))
                continue
            inputs = tuple(self._operand(node, number, name) for number, name in enumerate(node.inputs))
            (output,) = node.outputs
            is_result = output in self.graph.outputs
            made = self._tensor(output, self._name(f"{output}.tall") if is_result else output)
            self.tall[output] = made
            self.nodes.append(replace(_upright(node), inputs=inputs, outputs=(made,)))
            if is_result:
                self._reshape(made, output)
            else:
                self.flat.pop(output)
        return self.graph.with_nodes(self.nodes, self.tensors)

    def _operand(self, node: Node, number: int, name: str) -> str:
        """The tensor that an upright node reads in the place of ``name``."""
        if not name:
            return name
        tensor = self.graph.tensor(name)
        if tensor.data is not None:
            shape = _constant_shape(node, number, tensor, self.graph)
            return name if shape == tensor.shape else self._constant(tensor, shape)
        if name not in self.tall:
            self.tall[name] = self._tensor(name, self._name(f"{name}.tall"))
            self._reshape(name, self.tall[name])
        return self.tall[name]

    def _flat(self, name: str) -> str:
        """The tensor that any other node reads in the place of ``name``."""
        if name and name not in self.flat:
            flat = replace(self.graph.tensor(name), name=self._name(f"{name}.flat"))
            self.tensors[flat.name] = flat
            self._reshape(name, flat.name)
            self.flat[name] = flat.name
        return self.flat.get(name, name)

    def _tensor(self, like: str, name: str) -> str:
        """A new tensor as an image of one column."""
        shape = (*self.graph.tensor(like).shape, 1)
        self.tensors[name] = replace(
            self.graph.tensor(like), name=name, shape=shape, order=identity_order(len(shape)), required=()
        )
        return name

    def _constant(self, tensor: Tensor, shape: Sequence[int]) -> str:
        assert tensor.data is not None
        name = self._name(f"{tensor.name}.tall")
        self.tensors[name] = constant(name, tensor.data.reshape(shape), tensor.quantization)
        return name

    def _reshape(self, source: str, target: str) -> None:
        self.nodes.append(make_node("Reshape", [source], [target], name=f"{target}.view"))

    def _name(self, wanted: str) -> str:
        return untaken(wanted, self.tensors)


def _constant_shape(node: Node, number: int, tensor: Tensor, graph: Graph) -> tuple[int, ...]:
    """The shape of a constant operand beside images: of weights, or of what broadcasts to the positions."""
    if isinstance(node.attributes, Windows):
        return (*tensor.shape, 1) if number == 1 and len(tensor.shape) == _RANK else tensor.shape
    broadcasts = declared(node, graph.extensions).nest is elementwise.nest
    if not broadcasts or not tensor.shape:
        return tensor.shape
    return (*(1,) * (_RANK - len(tensor.shape)), *tensor.shape, 1)


def _upright(node: Node) -> Node:
    """The node with the attributes that it has for images of one column."""
    given = node.attributes
    if isinstance(given, Windows):
        (begin, end), single = given.pads, (1,)
        windows = {name: getattr(given, name) + single for name in ("kernel", "strides", "dilations")}
        return with_attributes(node, **windows, pads=(begin, 0, end, 0))
    if isinstance(given, SliceAttributes):
        return with_attributes(node, starts=(*given.starts, 0), steps=(*given.steps, 1))
    if isinstance(given, PadAttributes):
        before, behind = given.pads[:_RANK], given.pads[_RANK:]
        return with_attributes(node, pads=(*before, 0, *behind, 0))
    if isinstance(given, TransposeAttributes):
        return with_attributes(node, perm=(*given.perm, _RANK))
    return node
