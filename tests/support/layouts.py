"""The position in memory of every element of a tensor, found without strides."""

from __future__ import annotations

import numpy as np
from tilewright.catalogue.operators import declared
from tilewright.graph import identity_order
from tilewright.rewrites.views import is_view


def places(shape, order):
    """The position in memory of each element of a tensor, as an array of the tensor's shape."""
    extents = [shape[axis] for axis in order]
    stored = np.arange(int(np.prod(shape))).reshape(extents)
    return np.transpose(stored, np.argsort(order)) if shape else stored.reshape(())


def moves_nothing(graph, node):
    """Whether a Reshape or Transpose leaves every element where it is."""
    source, target = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    before = places(source.shape, source.order)
    if node.operator == "Transpose":
        before = np.transpose(before, node.attributes.perm)
    return np.array_equal(before.reshape(target.shape), places(target.shape, target.order))


def assert_layout_sound(graph):
    """The promises of the layout pass."""
    interface = {*graph.inputs, *graph.outputs}
    for tensor in graph.tensors.values():
        assert sorted(tensor.order) == list(range(len(tensor.shape)))
        if tensor.name in interface or tensor.is_constant:
            assert tensor.order == identity_order(len(tensor.shape))
    storage = {name: name for name in graph.tensors}
    for node in graph.nodes:
        if not declared(node).is_view:
            continue
        assert is_view(graph, node) == moves_nothing(graph, node)
        assert node.operator != "Reshape" or is_view(graph, node)
        if is_view(graph, node):
            root = storage[node.inputs[0]]
            storage = {name: node.outputs[0] if held == root else held for name, held in storage.items()}
    held = [storage[name] for name in interface]
    assert len(set(held)) == len(held), "two interface tensors share storage"
    constants = {storage[tensor.name] for tensor in graph.tensors.values() if tensor.is_constant}
    assert not constants.intersection(storage[name] for name in graph.outputs)
