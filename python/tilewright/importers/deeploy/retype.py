"""Element types in the Deeploy dialect: the types that a node reads decide the types that it writes.

Before:  x int8 -> MatMul with a float32 constant that holds integers -> float32
After:   x int8 -> MatMul with an int8 constant -> int32

A node whose variable inputs are all float32 (TYPES says so, or Dequantize gives them) stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil, floor
from types import MappingProxyType

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import Array, DType, Node, Tensor
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, make_node, with_attributes
from tilewright.importers.deeploy.nodes import TabulatedAttributes
from tilewright.operators.movement import PadAttributes
from tilewright.operators.operator import Affine, Multipliers
from tilewright.operators.quantization import QuantizationAttributes
from tilewright.operators.unary import ClipAttributes

EIGHT_BIT = frozenset({DType.INT8, DType.UINT8})
_WEIGHT_TYPES = (DType.INT8, DType.INT16, DType.INT32)
_AS_THEY_ARE = frozenset({"Quantize", "Dequantize", "Requantize"})


_Rule = Callable[[GraphEditor, Node], None]


class NoMeaning(Exception):
    """A node that the dialect does not define."""


def retype(editor: GraphEditor, node: Node) -> None:
    """Give the node's constants and outputs their integer types.

    Raises:
        NoMeaning: the node has no meaning on integers, or a constant holds something else.
    """
    variables = [editor.tensors[name] for name in node.inputs if name and not editor.tensors[name].is_constant]
    if node.operator in _AS_THEY_ARE or (variables and all(t.dtype is DType.FLOAT32 for t in variables)):
        return
    if any(tensor.dtype is DType.FLOAT32 for tensor in variables):
        raise NoMeaning("it reads integers and real numbers")
    _rule_of(node)(editor, node)


def _rule_of(node: Node) -> _Rule:
    """The dialect's rule for the types of an operator. Raises NoMeaning for an operator without a rule."""
    operator, rule = declared(node), _RULES.get(node.operator)
    if rule is not None:
        return rule
    if operator.keeps_values:
        return _moving
    if operator.multipliers is Multipliers.NONE:
        raise NoMeaning("no integer meaning in this dialect")
    return _accumulating


def _accumulating(editor: GraphEditor, node: Node) -> None:
    """Sums and biases are int32; weights take the narrowest type that holds them."""
    if declared(node).affine is Affine.FACTOR and _dequantize(editor, node):
        return
    for position in range(len(node.inputs)):
        node = _typed(editor, node, position, (DType.INT32,) if position == 2 else _WEIGHT_TYPES)
    editor.retype(node.outputs[0], DType.INT32)


def _moving(editor: GraphEditor, node: Node) -> None:
    """The output has the type of the inputs; constant inputs take the type of the other inputs."""
    dtypes = {editor.tensors[name].dtype for name in node.inputs if name and not editor.tensors[name].is_constant}
    if len(dtypes) > 1:
        raise NoMeaning("inputs of different types: " + ", ".join(sorted(dtype.value for dtype in dtypes)))
    wanted = tuple(dtypes) or _WEIGHT_TYPES
    for position in range(len(node.inputs)):
        node = _typed(editor, node, position, wanted)
    editor.retype(node.outputs[0], editor.tensors[node.inputs[0]].dtype)
    if isinstance(node.attributes, PadAttributes):
        _check_pad(editor, node)


def _selecting(editor: GraphEditor, node: Node) -> None:
    """The output has elements of the first input; indices stay as they are."""
    editor.retype(node.outputs[0], _typed_input(editor, node, _WEIGHT_TYPES).dtype)


def _clip(editor: GraphEditor, node: Node) -> None:
    """Relu and Clip keep the type; the bounds may lie outside it."""
    x = _typed_input(editor, node, _WEIGHT_TYPES)
    low, high = _range(x.dtype)
    given = node.given(ClipAttributes)
    lower, upper = ceil(max(given.minimum, low)), floor(min(given.maximum, high))
    editor.retype(node.outputs[0], x.dtype)
    if x.dtype in EIGHT_BIT:
        _to_table(editor, node, np.clip(np.arange(low, high + 1), lower, upper).astype(x.dtype.numpy))
        return
    bounds = [editor.constant(f"{node.outputs[0]}/bound", np.asarray(b, x.dtype.numpy)).name for b in (lower, upper)]
    raised = editor.variable(editor.tensors[node.outputs[0]], f"{node.outputs[0]}/raised").name
    editor.add(make_node("Max", [node.inputs[0], bounds[0]], [raised], sources=node.sources))
    editor.replace(node, replace(node, operator="Min", inputs=(raised, bounds[1]), attributes=NO_ATTRIBUTES))


def _function(editor: GraphEditor, node: Node) -> None:
    """A function of an 8-bit tensor is a table of int32 values."""
    x = _eight_bit(editor, node)
    table = node.given(TabulatedAttributes).table(*_range(x.dtype))
    limits = np.iinfo(np.int32)
    if table.min() < limits.min or table.max() > limits.max:
        raise NoMeaning("its values exceed 32 bits")
    _to_table(editor, node, table.astype(np.int32))


def _same_type(editor: GraphEditor, node: Node) -> None:
    """A function of an 8-bit tensor whose values have the type of the tensor."""
    x = _eight_bit(editor, node)
    table = node.given(TabulatedAttributes).table(*_range(x.dtype))
    if not _fits(table, x.dtype):
        raise NoMeaning(f"its values, {table.min()} to {table.max()}, exceed {x.dtype.value}")
    _to_table(editor, node, table.astype(x.dtype.numpy))


def _norm(editor: GraphEditor, node: Node) -> None:
    """x of at most 16 bits, int32 parameters, int8 out."""
    x = _typed_input(editor, node, _WEIGHT_TYPES)
    if x.dtype.size_bytes > 2:
        raise NoMeaning(f"an operand of type {x.dtype.value}; 8 and 16 bits are supported")
    for position in range(1, len(node.inputs)):
        narrow = node.operator == "iNoNorm" and position == 1
        node = _typed(editor, node, position, _WEIGHT_TYPES if narrow else (DType.INT32,))
    editor.retype(node.outputs[0], DType.INT8)


def _probabilities(editor: GraphEditor, node: Node) -> None:
    x = _eight_bit(editor, node)
    if node.operator == "ITAPartialMax" and x.dtype is not DType.INT8:
        raise NoMeaning(f"an operand of type {x.dtype.value}; int8 is supported")
    editor.retype(node.outputs[0], DType.UINT8)


def _mean(editor: GraphEditor, node: Node) -> None:
    editor.retype(node.outputs[0], _typed_input(editor, node, _WEIGHT_TYPES).dtype)


def _word(editor: GraphEditor, node: Node) -> None:
    """Operators whose result is int32."""
    for position in range(len(node.inputs)):
        node = _typed(editor, node, position, _WEIGHT_TYPES)
    editor.retype(node.outputs[0], DType.INT32)


def _eight_bit(editor: GraphEditor, node: Node) -> Tensor:
    x = _typed_input(editor, node, _WEIGHT_TYPES)
    if x.dtype not in EIGHT_BIT:
        raise NoMeaning(f"an operand of type {x.dtype.value}; 8 bits are supported, put RequantShift before it")
    return x


def _typed_input(editor: GraphEditor, node: Node, dtypes: tuple[DType, ...]) -> Tensor:
    return editor.tensors[_typed(editor, node, 0, dtypes).inputs[0]]


def _typed(editor: GraphEditor, node: Node, position: int, dtypes: tuple[DType, ...]) -> Node:
    """The node with a constant input in the first type that holds its values."""
    name = node.inputs[position]
    tensor = editor.tensors[name] if name else None
    if tensor is None or tensor.data is None or tensor.dtype in dtypes:
        return node
    whole = tensor.data.astype(np.int64)
    if not np.array_equal(whole, tensor.data):
        raise NoMeaning(f"constant '{name}' holds values that are not integers")
    dtype = next((dtype for dtype in dtypes if _fits(whole, dtype)), None)
    if dtype is None:
        raise NoMeaning(f"constant '{name}' holds values that do not fit " + " or ".join(d.value for d in dtypes))
    if len(editor.readers(name)) == 1 and name not in editor.outputs:
        _store(editor, name, whole.astype(dtype.numpy), dtype)
        return node
    # Other nodes may read the constant in another type.
    twin = f"{name}/{dtype.value}"
    if twin not in editor.tensors:
        editor.constant(twin, whole.astype(dtype.numpy))
    inputs = (*node.inputs[:position], twin, *node.inputs[position + 1 :])
    return editor.replace(node, replace(node, inputs=inputs))


def _store(editor: GraphEditor, name: str, data: Array, dtype: DType) -> None:
    data.flags.writeable = False
    editor.retype(name, dtype, data=data)


def _fits(values: Array, dtype: DType) -> bool:
    low, high = _range(dtype)
    return values.size == 0 or bool(low <= values.min() and values.max() <= high)


def _range(dtype: DType) -> tuple[int, int]:
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


def _to_table(editor: GraphEditor, node: Node, table: Array) -> None:
    data = editor.constant(f"{node.outputs[0]}/table", table)
    editor.retype(node.outputs[0], data.dtype)
    editor.replace(node, replace(node, operator="Lookup", inputs=(node.inputs[0], data.name), attributes=NO_ATTRIBUTES))


def _dequantize(editor: GraphEditor, node: Node) -> bool:
    """Integers times a fraction are real numbers: Sub of a zero point and Mul by a scale are Dequantize."""
    constants = [editor.tensors[name] for name in node.inputs if editor.tensors[name].is_constant]
    if len(constants) != 1 or constants[0].data is None or constants[0].elements != 1:
        return False
    scale = float(constants[0].data.reshape(-1)[0])
    if scale == int(scale):
        return False
    source = next(name for name in node.inputs if name != constants[0].name)
    given = QuantizationAttributes((scale,), (0,))
    before = editor.producer(source)
    point = _zero_point(editor, before) if before is not None and editor.sole_reader(source) is node else None
    if before is not None and point is not None:
        source, given = before.inputs[0], QuantizationAttributes((scale,), (point,))
        editor.remove(before)
    if editor.tensors[source].shape != editor.tensors[node.outputs[0]].shape:
        raise NoMeaning("a scale that adds axes")
    editor.retype(node.outputs[0], DType.FLOAT32)
    editor.replace(node, replace(node, operator="Dequantize", inputs=(source,), attributes=given))
    return True


def _zero_point(editor: GraphEditor, node: Node) -> int | None:
    """The constant that a Sub subtracts from every element, if it is a single number."""
    if declared(node).affine is not Affine.DIFFERENCE or node.epilogue is not None:
        return None
    data = editor.tensors[node.inputs[1]].data
    same = editor.tensors[node.inputs[0]].shape == editor.tensors[node.outputs[0]].shape
    return int(data.reshape(-1)[0]) if data is not None and data.size == 1 and same else None


def _check_pad(editor: GraphEditor, node: Node) -> None:
    """The pad value as an integer; minus infinity before MaxPool is the least one."""
    value = node.given(PadAttributes).value
    low, high = _range(editor.tensors[node.outputs[0]].dtype)
    if value != value or value in (float("inf"), float("-inf")) or not low <= value <= high:
        raise NoMeaning(f"pad value {value}")
    editor.replace(node, with_attributes(node, value=int(value)))


_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        **dict.fromkeys(("iGELU", "iHardswish"), _function),
        "iLeakyReLU": _same_type,
        **dict.fromkeys(("iLayerNorm", "iRMSNorm", "iNoNorm"), _norm),
        **dict.fromkeys(("iSoftmax", "ITAMax", "ITAPartialMax"), _probabilities),
        **dict.fromkeys(("IntegerSum", "IntegerDiv"), _word),
        **dict.fromkeys(("Max", "Min"), _moving),
        **dict.fromkeys("Gather GatherElements Expand Abs Neg Sign ReduceMax ReduceMin".split(), _selecting),
        "Clip": _clip,
        "IntegerMean": _mean,
    }
)
