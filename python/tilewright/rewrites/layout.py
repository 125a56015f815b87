"""The layout pass: in which order each tensor's axes lie in memory.

Interface tensors and constants are row-major. Tensors joined by Reshape and Transpose share
one storage; each such group gets the order, out of the orders that its members like best, that
costs least:

- (all costs are per element) a Reshape or Transpose that would have to move bytes: 4;
- an operator that does not read the order that its kernel likes best: the kernel's ``misread_cost`` (16 of
  a convolution, 4 of pooling and of a matrix product);
- a producer that does not write the order that its kernel likes best: 1 (every kernel takes any strides);
- a Concat whose input and output differ in order, so that the input cannot lie in the output: 4.

A Reshape that still does not fit its input gets a Copy before it. A view that would join two
interface tensors gets a Copy behind it, since each has its own storage.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node, Tensor, channels_last_order, identity_order
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.kernels.liked_orders import Layout, LikedOrder
from tilewright.kernels.registry import liked_order
from tilewright.operators.movement import TransposeAttributes
from tilewright.operators.operator import Joins
from tilewright.plan import Core
from tilewright.rewrites.views import Order, input_order, is_view, same_order, view_order

_MOVE_COST = 4
_WRITE_COST = 1


@dataclass(frozen=True, slots=True)
class _Group:
    """A tensor with storage of its own and the views of it, in topological order."""

    root: str
    views: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes that read and that write each tensor, and by node the memory order that its kernel likes best."""

    readers: dict[str, list[Node]]
    producers: dict[str, Node]
    likes: dict[str, LikedOrder]

    def liked(self, node: Node) -> Layout:
        """The layout that a node's kernel likes best."""
        return self.likes[node.name].layout


def choose_layout(graph: Graph, families: tuple[str, ...], core: Core) -> Graph:
    """The graph with an order for every tensor, with Copy nodes where bytes have to move.

    Args:
        families, core: the families of kernels in order of preference, and the core that runs them.
    """
    tensors = dict(graph.tensors)
    likes = {node.name: liked_order(node, graph, families, core) for node in graph.nodes}
    nodes = _Nodes(graph.consumers(), graph.producers(), likes)
    for group in _groups(graph):
        for name, order in _best(graph, tensors, group, nodes).items():
            tensors[name] = replace(tensors[name], order=order)
    laid_out = graph.with_nodes(graph.nodes, tensors)
    return _separate_interface(_copy_before_reshapes(laid_out))


def _groups(graph: Graph) -> list[_Group]:
    """Groups in topological order of their roots."""
    root_of = {name: name for name in graph.tensors}
    views: dict[str, list[Node]] = {name: [] for name in graph.inputs}
    for node in graph.nodes:
        output = node.outputs[0]
        if declared(node, graph.extensions).is_view:
            root_of[output] = root_of[node.inputs[0]]
            views.setdefault(root_of[output], []).append(node)
        else:
            views.update({name: views.get(name, []) for name in node.outputs})
    return [_Group(root, tuple(nodes)) for root, nodes in views.items()]


def _best(graph: Graph, tensors: dict[str, Tensor], group: _Group, nodes: _Nodes) -> dict[str, Order]:
    """The cheapest orders of a group's tensors; the first of equals."""
    producer = nodes.producers.get(group.root)
    own = _written_order(graph, tensors, tensors[group.root], nodes)
    best: dict[str, Order] = {}
    least = None
    for candidate in _candidates(graph, tensors, group, nodes, own):
        orders, cost = _spread(graph, tensors, group, candidate)
        if producer is not None and not same_order(candidate, own, tensors[group.root].shape):
            joins = declared(producer, graph.extensions).joins
            cost += (_MOVE_COST if joins is Joins.PARTS else _WRITE_COST) * tensors[group.root].elements
        cost += sum(_reading_cost(graph, tensors[name], order, nodes) for name, order in orders.items())
        if least is None or cost < least:
            best, least = orders, cost
    return best


def _candidates(graph: Graph, tensors: dict[str, Tensor], group: _Group, nodes: _Nodes, own: Order) -> list[Order]:
    """Orders of the root for which the producer, or a reader of some tensor of the group, gets the order it likes."""
    root = tensors[group.root]
    row_major = identity_order(len(root.shape))
    if _pinned(graph, root):
        return [row_major]
    wanted = [own]
    members = [(root, ()), *((tensors[node.outputs[0]], _path(group, node)) for node in group.views)]
    for tensor, path in members:
        likes = [identity_order(len(tensor.shape))]
        if any(nodes.liked(reader) is Layout.CHANNELS_LAST for reader in nodes.readers[tensor.name]):
            likes.insert(0, channels_last_order(len(tensor.shape)))
        for like in likes:
            order = _pulled_back(tensors, path, like)
            if order is not None:
                wanted.append(order)
    return list(dict.fromkeys([*wanted, row_major]))


def _path(group: _Group, last: Node) -> tuple[Node, ...]:
    """The views from the root to a view's output."""
    writers = {node.outputs[0]: node for node in group.views}
    path = [last]
    while (before := writers.get(path[0].inputs[0])) is not None:
        path.insert(0, before)
    return tuple(path)


def _pulled_back(tensors: dict[str, Tensor], path: tuple[Node, ...], order: Order) -> Order | None:
    """The order of the root for which the last tensor of a path has ``order``; None if bytes would have to move."""
    for node in reversed(path):
        source, target = tensors[node.inputs[0]], tensors[node.outputs[0]]
        before = input_order(node, source.shape, order, target.shape)
        if before is None:
            return None
        order = before
    return order


def _spread(graph: Graph, tensors: dict[str, Tensor], group: _Group, root_order: Order) -> tuple[dict[str, Order], int]:
    """The orders of all members for an order of the root, and the cost of the bytes that must move."""
    orders = {group.root: root_order}
    cost = 0
    for node in group.views:
        source, target = tensors[node.inputs[0]], tensors[node.outputs[0]]
        order = view_order(node, source.shape, orders[source.name], target.shape)
        row_major = identity_order(len(target.shape))
        if order is None or (_pinned(graph, target) and not same_order(order, row_major, target.shape)):
            order = row_major
            cost += _MOVE_COST * target.elements
        orders[target.name] = row_major if _pinned(graph, target) else order
    return orders, cost


def _pinned(graph: Graph, tensor: Tensor) -> bool:
    return tensor.name in graph.inputs or tensor.name in graph.outputs or tensor.is_constant


def _written_order(graph: Graph, tensors: dict[str, Tensor], root: Tensor, nodes: _Nodes) -> Order:
    """The order in which the producer's kernel likes to write."""
    rank = len(root.shape)
    producer = nodes.producers.get(root.name)
    if producer is None or nodes.liked(producer) is Layout.ROW_MAJOR:
        return identity_order(rank)
    if nodes.liked(producer) is Layout.CHANNELS_LAST:
        return channels_last_order(rank)
    activations = [tensors[name] for name in producer.inputs if name and not tensors[name].is_constant]
    if declared(producer, graph.extensions).joins is Joins.PARTS:
        return _commonest_order(graph, activations) or identity_order(rank)
    alike = [tensor for tensor in activations if tensor.shape == root.shape]
    alike += [tensor for tensor in activations if len(tensor.shape) == rank]
    return alike[0].order if alike else identity_order(rank)


def _commonest_order(graph: Graph, inputs: list[Tensor]) -> Order | None:
    """The order in which most elements of a Concat's inputs lie; None without inputs.

    Inputs whose order is free count first; pinned inputs (interface, constants) only break ties.
    """
    weights: dict[Order, tuple[int, int]] = {}
    for tensor in inputs:
        free, pinned = weights.get(tensor.order, (0, 0))
        held = _pinned(graph, tensor)
        weights[tensor.order] = (free + (0 if held else tensor.elements), pinned + (tensor.elements if held else 0))
    return max(weights, key=lambda order: weights[order], default=None)


def _reading_cost(graph: Graph, tensor: Tensor, order: Order, nodes: _Nodes) -> int:
    cost = 0
    for reader in nodes.readers[tensor.name]:
        likes = nodes.likes[reader.name]
        if declared(reader, graph.extensions).joins is Joins.PARTS and _pinned(graph, graph.tensor(reader.outputs[0])):
            row_major = identity_order(len(tensor.shape))
            cost += 0 if same_order(order, row_major, tensor.shape) else _MOVE_COST * tensor.elements
        if likes.misread_cost == 0:
            continue
        rank = len(tensor.shape)
        channels_last = likes.layout is Layout.CHANNELS_LAST
        liked = channels_last_order(rank) if channels_last else identity_order(rank)
        if not same_order(order, liked, tensor.shape):
            cost += likes.misread_cost * tensor.elements
    return cost


def _copy_before_reshapes(graph: Graph) -> Graph:
    """The graph in which every Reshape that cannot be a view of its input reads a row-major copy of the input."""
    editor = GraphEditor(graph)
    for node in graph.nodes:
        reshapes = declared(node, graph.extensions).is_view and not isinstance(node.attributes, TransposeAttributes)
        if not reshapes or is_view(graph, node):
            continue
        source = editor.tensors[node.inputs[0]]
        copied = editor.variable(source, f"{node.outputs[0]}/copy")
        editor.add(make_node("Copy", [source.name], [copied.name], sources=node.sources))
        editor.replace(node, replace(node, inputs=(copied.name,)))
    return editor.graph()


def _separate_interface(graph: Graph) -> Graph:
    """The graph in which no storage holds two interface tensors: a Copy writes an output that would share bytes."""
    editor = GraphEditor(graph)
    interface = set(graph.inputs) | set(graph.outputs)
    storage: dict[str, list[str]] = {}
    for node in graph.nodes:
        source, output = node.inputs[0] if node.inputs else "", node.outputs[0]
        if not is_view(graph, node):
            storage.update({name: [name] if name in interface else [] for name in node.outputs})
            continue
        held = storage.setdefault(source, [source] if source in interface else [])
        if output not in interface:
            storage[output] = held
            continue
        if not held and not graph.tensor(source).is_constant:
            held.append(output)
            storage[output] = held
            continue
        target = editor.tensors[output]
        inner = editor.variable(target, f"{output}/view")
        editor.replace(node, replace(node, outputs=(inner.name,)))
        editor.add(make_node("Copy", [inner.name], [output], sources=node.sources))
        storage[output] = [output]
    return editor.graph()
