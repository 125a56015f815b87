"""Edits that keep a model sound, so that spoilt and unusual models reach the later stages of the compiler."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper, numpy_helper

from fuzz.values import NAMES

Edit = Callable[[onnx.ModelProto, random.Random], None]


def identity_inserted(model: onnx.ModelProto, chance: random.Random) -> None:
    """One operand passes through an Identity first."""
    graph = model.graph
    position = chance.randrange(len(graph.node))
    names = graph.node[position].input
    at = chance.choice([at for at, name in enumerate(names) if name])
    between = f"between_{len(graph.node)}"
    node = helper.make_node("Identity", [names[at]], [between], name=between)
    names[at] = between
    graph.node.insert(position, node)


def constant_of_a_node(model: onnx.ModelProto, chance: random.Random) -> None:
    """An initializer becomes the value of a Constant."""
    graph = model.graph
    tensor = graph.initializer.pop(chance.randrange(len(graph.initializer)))
    graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))


def constant_in_another_field(model: onnx.ModelProto, chance: random.Random) -> None:
    """An initializer's elements leave raw_data for the field of their type."""
    tensor = chance.choice([tensor for tensor in model.graph.initializer if tensor.HasField("raw_data")])
    array = numpy_helper.to_array(tensor)
    stored = helper.make_tensor(tensor.name, tensor.data_type, array.shape, array.reshape(-1).tolist())
    tensor.CopyFrom(stored)


def constants_in_another_order(model: onnx.ModelProto, chance: random.Random) -> None:
    """Constants lie in another order, and one that nothing uses is among them."""
    graph = model.graph
    unused = numpy_helper.from_array(np.arange(3, dtype=np.float32), f"unused_{len(graph.initializer)}")
    tensors = [*graph.initializer, unused]
    chance.shuffle(tensors)
    del graph.initializer[:]
    graph.initializer.extend(tensors)


def strange_texts(model: onnx.ModelProto, chance: random.Random) -> None:
    """Every text that means nothing to a compiler is a strange one."""
    model.producer_name, model.doc_string, model.graph.doc_string = (chance.choice(NAMES) for _ in range(3))
    model.metadata_props.add(key="author", value=chance.choice(NAMES))
    for node in model.graph.node:
        node.doc_string = chance.choice(NAMES)


SOUND_EDITS: tuple[Edit, ...] = (
    identity_inserted,
    identity_inserted,
    constant_of_a_node,
    constant_of_a_node,
    constant_in_another_field,
    constant_in_another_field,
    constants_in_another_order,
    strange_texts,
)
