"""Ways to spoil a model, each drawn from a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Iterator

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from fuzz.sound import SOUND_EDITS, Edit
from fuzz.values import HUGE, NAMES, any_value

_MOST_TRIES = 12
_WEIGHT_BYTES = 32


def spoilt(content: bytes, chance: random.Random) -> tuple[str, bytes]:
    """A model's bytes spoilt in one to three ways, and the names of the ways."""
    kind = chance.choice(("bytes", "cut", "edit", "edit", "edit", "edit", "edit", "edit"))
    if kind == "bytes":
        return "bytes flipped", _flipped(content, chance)
    if kind == "cut":
        return "cut off", content[: chance.randrange(len(content))]
    model = onnx.ModelProto.FromString(content)
    done = []
    wanted = chance.choice((1, 1, 1, 2, 3))
    for _ in range(_MOST_TRIES):
        if len(done) == wanted:
            break
        edit = chance.choice(EDITS)
        try:
            edit(model, chance)
        except (ValueError, TypeError, IndexError, OverflowError, DecodeError, onnx.checker.ValidationError):
            continue  # no such thing here, a value that cannot be written, or data in another file
        done.append(edit.__name__)
    return ", ".join(done) or "nothing", model.SerializeToString()


def _flipped(content: bytes, chance: random.Random) -> bytes:
    """Bytes of the structure are flipped: those of weights only change numbers."""
    changed = bytearray(content)
    weights = _weights(content)
    for _ in range(chance.choice((1, 2, 4, 16))):
        at = chance.randrange(len(changed))
        while any(first <= at < last for first, last in weights):
            at = chance.randrange(len(changed))
        changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _weights(content: bytes) -> list[tuple[int, int]]:
    """Where the bytes of the larger initializers lie."""
    raws = [tensor.raw_data for tensor in onnx.ModelProto.FromString(content).graph.initializer]
    return [(at, at + len(raw)) for raw in raws if len(raw) >= _WEIGHT_BYTES and (at := content.find(raw)) >= 0]


def attribute_of_another_type(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice([node for node in _nodes(model.graph) if node.attribute])
    attribute = chance.choice(node.attribute)
    attribute.CopyFrom(helper.make_attribute(attribute.name, any_value(chance)))


def attribute_that_lies(model: onnx.ModelProto, chance: random.Random) -> None:
    """The declared type is another than the field that is set."""
    node = chance.choice([node for node in _nodes(model.graph) if node.attribute])
    chance.choice(node.attribute).type = chance.choice(list(AttributeProto.AttributeType.values()))


def attribute_added(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice(list(_nodes(model.graph)))
    names = (
        "axis axes pads kernel_shape strides dilations group to auto_pad mode perm ceil_mode alpha epsilon "
        "keepdims num_outputs blocksize value ceil_mode count_include_pad hidden_size direction activations "
        "block_size output_dtype storage_order select_last_index batch_dims body"
    ).split()
    node.attribute.append(helper.make_attribute(chance.choice(names), any_value(chance)))


def attribute_removed(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice([node for node in _nodes(model.graph) if node.attribute])
    del node.attribute[chance.randrange(len(node.attribute))]


def attribute_number(model: onnx.ModelProto, chance: random.Random) -> None:
    """A number of an attribute becomes an extreme one (huge, negative, 0, NaN), or a list gets longer or shorter."""
    kinds = (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT, AttributeProto.FLOATS)
    nodes = list(_nodes(model.graph))
    attribute = chance.choice([item for node in nodes for item in node.attribute if item.type in kinds])
    if attribute.type == AttributeProto.INT:
        attribute.i = chance.choice(HUGE)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = chance.choice((0.0, -1.0, float("nan"), float("inf"), 1e38, 1e-45))
    elif attribute.type == AttributeProto.FLOATS:
        attribute.floats.append(chance.choice((0.0, float("nan"))))
    elif chance.random() < 0.3:
        attribute.ints.append(chance.choice(HUGE))
    elif chance.random() < 0.3:
        attribute.ints.pop()
    else:
        attribute.ints[chance.randrange(len(attribute.ints))] = chance.choice(HUGE)


def cycle(model: onnx.ModelProto, chance: random.Random) -> None:
    nodes = model.graph.node
    later = chance.randrange(len(nodes))
    node = nodes[chance.randrange(later + 1)]
    node.input[chance.randrange(len(node.input))] = chance.choice(nodes[later].output)


def duplicate_name(model: onnx.ModelProto, chance: random.Random) -> None:
    """A tensor or a node takes the name of another one."""
    graph = model.graph
    named = [*graph.input, *graph.output, *graph.initializer, *graph.node]
    if chance.random() < 0.5:
        chance.choice(named).name = chance.choice(named).name
        return
    node, other = chance.choice(graph.node), chance.choice(graph.node)
    node.output[chance.randrange(len(node.output))] = chance.choice([*other.output, *other.input])


def duplicate_node(model: onnx.ModelProto, chance: random.Random) -> None:
    model.graph.node.append(chance.choice(model.graph.node))


def duplicate_value(model: onnx.ModelProto, chance: random.Random) -> None:
    graph = model.graph
    values = chance.choice([values for values in (graph.input, graph.output, graph.initializer) if len(values)])
    values.append(chance.choice(values))


def huge_input(model: onnx.ModelProto, chance: random.Random) -> None:
    value = chance.choice([*model.graph.input, *model.graph.output])
    shape = value.type.tensor_type.shape
    if chance.random() < 0.2:
        shape.dim.add().dim_value = chance.choice(HUGE)
    else:
        chance.choice(shape.dim).dim_value = chance.choice(HUGE)


def sizes_that_overflow(model: onnx.ModelProto, chance: random.Random) -> None:
    """Extents that are harmless alone and whose product is 2**31 or a multiple of 2**32."""
    shape = chance.choice(model.graph.input).type.tensor_type.shape
    extents = chance.choice(((32_768, 65_536), (65_536, 65_536), (2**31, 2), (2**16, 2**15 + 1), (46_341, 46_341)))
    for dim, extent in zip(chance.sample(list(shape.dim), min(2, len(shape.dim))), extents, strict=False):
        dim.dim_value = extent


def symbolic_dimension(model: onnx.ModelProto, chance: random.Random) -> None:
    dim = chance.choice(chance.choice(model.graph.input).type.tensor_type.shape.dim)
    dim.dim_param = chance.choice(NAMES)


def shape_lost(model: onnx.ModelProto, chance: random.Random) -> None:
    chance.choice(model.graph.input).type.tensor_type.ClearField("shape")


def constant_shape(model: onnx.ModelProto, chance: random.Random) -> None:
    """The stored shape no longer says how many elements there are."""
    tensor = chance.choice(list(_constants(model.graph)))
    if tensor.dims and chance.random() < 0.7:
        tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(HUGE)
    else:
        tensor.dims.append(chance.choice(HUGE))


def constant_number(model: onnx.ModelProto, chance: random.Random) -> None:
    """One element of a constant becomes an extreme one."""
    tensor = chance.choice(list(_constants(model.graph)))
    array = numpy_helper.to_array(tensor).copy()
    if array.dtype.kind == "f":
        value = chance.choice((0.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e38, 1e-45))
    else:
        value = chance.choice(HUGE)
    array.reshape(-1)[chance.randrange(array.size)] = value
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def constant_type(model: onnx.ModelProto, chance: random.Random) -> None:
    tensor = chance.choice(list(_constants(model.graph)))
    tensor.data_type = chance.choice(list(TensorProto.DataType.values()))


def constant_emptied(model: onnx.ModelProto, chance: random.Random) -> None:
    tensor = chance.choice(list(_constants(model.graph)))
    for name in ("raw_data", "float_data", "int32_data", "int64_data"):
        tensor.ClearField(name)


def constant_elsewhere(model: onnx.ModelProto, chance: random.Random) -> None:
    """External data that does not exist, or is something else."""
    tensor = chance.choice(list(_constants(model.graph)))
    tensor.data_location = TensorProto.EXTERNAL
    places = ("", "none.bin", "../../../../etc/passwd", "/dev/zero", ".", "a\x00b", "n" * 3000)
    tensor.external_data.add(key="location", value=chance.choice(places))
    if chance.random() < 0.5:
        key = chance.choice(("offset", "length", "checksum"))
        tensor.external_data.add(key=key, value=chance.choice(("-1", "x", "99999999999999999999", "0")))


def constant_lost(model: onnx.ModelProto, chance: random.Random) -> None:
    del model.graph.initializer[chance.randrange(len(model.graph.initializer))]


def constant_as_input(model: onnx.ModelProto, chance: random.Random) -> None:
    """A constant becomes an input, so that shapes may depend on a value that is not known."""
    position = chance.randrange(len(model.graph.initializer))
    tensor = model.graph.initializer[position]
    model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    del model.graph.initializer[position]


def element_type(model: onnx.ModelProto, chance: random.Random) -> None:
    value = chance.choice([*model.graph.input, *model.graph.output])
    value.type.tensor_type.elem_type = chance.choice([*TensorProto.DataType.values(), 999])


def not_a_tensor(model: onnx.ModelProto, chance: random.Random) -> None:
    value = chance.choice([*model.graph.input, *model.graph.output])
    if chance.random() < 0.5:
        value.ClearField("type")
    else:
        value.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT


def node_removed(model: onnx.ModelProto, chance: random.Random) -> None:
    del model.graph.node[chance.randrange(len(model.graph.node))]


def another_operator(model: onnx.ModelProto, chance: random.Random) -> None:
    """The operator of one node is one that takes other operands."""
    schemas = sorted({schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""})
    node = chance.choice(list(_nodes(model.graph)))
    node.op_type = chance.choice((*schemas, "", "Nonsense", "RequantShift", "QLinearAdd", "iGELU", 'A"\n'))


def another_domain(model: onnx.ModelProto, chance: random.Random) -> None:
    chance.choice(list(_nodes(model.graph))).domain = chance.choice(
        ("ai.onnx", "com.microsoft", "own", "\n", "ai.onnx.ml")
    )


def another_opset(model: onnx.ModelProto, chance: random.Random) -> None:
    opset = chance.choice(model.opset_import)
    if chance.random() < 0.7:
        opset.version = chance.choice((*range(5, 27), *HUGE))
    else:
        opset.domain = chance.choice(("ai.onnx", "com.microsoft", "own"))


def operand_lost(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice(list(_nodes(model.graph)))
    names = chance.choice([names for names in (node.input, node.output) if len(names)])
    if chance.random() < 0.5:
        names[chance.randrange(len(names))] = ""
    else:
        del names[chance.randrange(len(names))]


def operand_added(model: onnx.ModelProto, chance: random.Random) -> None:
    node, other = chance.choice(model.graph.node), chance.choice(model.graph.node)
    if chance.random() < 0.5:
        node.input.append(chance.choice([*other.input, *other.output, "", "nowhere"]))
    else:
        node.output.append(chance.choice(["extra", ""]))


def operands_exchanged(model: onnx.ModelProto, chance: random.Random) -> None:
    node, other = chance.choice(model.graph.node), chance.choice(model.graph.node)
    node.input[chance.randrange(len(node.input))] = chance.choice(list(other.input))


def function_called(model: onnx.ModelProto, chance: random.Random) -> None:
    """A node becomes a call of a function, which may call itself, or have other operands."""
    names = ("first", "second")
    for name in names:
        body = [helper.make_node(chance.choice((*names, "Relu")), ["a"], ["b"], domain=chance.choice(("own", "")))]
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
        operands = chance.choice((["a"], ["a"], ["a", "c"], []))
        model.functions.append(helper.make_function("own", name, operands, ["b"], body, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    node = chance.choice(model.graph.node)
    node.domain, node.op_type = "own", chance.choice(names)
    del node.attribute[:]


def output_of_inside(model: onnx.ModelProto, chance: random.Random) -> None:
    """Any tensor becomes an output of the model: an input, a constant, an intermediate."""
    node = chance.choice(model.graph.node)
    chance.choice(model.graph.output).name = chance.choice([*node.input, *node.output])


def renamed(model: onnx.ModelProto, chance: random.Random) -> None:
    """A node, the graph, or one to four tensors get strange names; a tensor wherever it is used."""
    graph = model.graph
    names = sorted({name for node in graph.node for name in (*node.input, *node.output) if name})
    if chance.random() < 0.2:
        chance.choice(graph.node).name = chance.choice(NAMES)
        return
    if chance.random() < 0.1:
        graph.name = chance.choice(NAMES)
        return
    for old in chance.sample(names, min(len(names), chance.randint(1, 4))):
        _rename(graph, old, chance.choice(NAMES))


def names_that_clash(model: onnx.ModelProto, chance: random.Random) -> None:
    """Two tensors get names that C may not tell apart, such as a.b and a/b, or A and a."""
    graph = model.graph
    names = sorted({value.name for value in (*graph.input, *graph.output)})
    first, second = chance.choice((("a.b", "a/b"), ("A", "a"), ("x", "x_"), ("é", "è"), ("x_1", "x:1"), ("1x", "_1x")))
    one, *others = chance.sample(names, len(names))
    _rename(graph, one, first)
    for other in others[:1]:
        _rename(graph, other, second)


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        if value.name == old:
            value.name = new
    for node in graph.node:
        for names in (node.input, node.output):
            for position, name in enumerate(names):
                if name == old:
                    names[position] = new


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Nodes, those of bodies included."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _constants(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in _nodes(graph):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t


EDITS: tuple[Edit, ...] = (
    attribute_of_another_type,
    attribute_of_another_type,
    attribute_that_lies,
    attribute_added,
    attribute_removed,
    attribute_number,
    attribute_number,
    cycle,
    duplicate_name,
    duplicate_node,
    duplicate_value,
    huge_input,
    sizes_that_overflow,
    symbolic_dimension,
    shape_lost,
    constant_shape,
    constant_number,
    constant_number,
    constant_type,
    constant_emptied,
    constant_elsewhere,
    constant_lost,
    constant_as_input,
    element_type,
    not_a_tensor,
    node_removed,
    another_operator,
    another_operator,
    another_domain,
    another_opset,
    operand_lost,
    operand_added,
    operands_exchanged,
    function_called,
    output_of_inside,
    renamed,
    renamed,
    names_that_clash,
    *SOUND_EDITS,
)
