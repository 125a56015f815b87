"""Normalisations that exporters write out become LayerNormalization and RMSNormalization.

Before:  m = ReduceMean(x), c = Sub(x, m), v = ReduceMean(Mul(c, c)), s = Sqrt(Add(v, epsilon)), y = Div(c, s)
After:   y = LayerNormalization(x), over the axes of the means
Before:  k = Mul(Reciprocal(s), gamma), y = Add(Mul(x, k), Sub(beta, Mul(m, k)))       (Keras)
After:   y = Add(Mul(LayerNormalization(x), gamma), beta)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tilewright.graph import Array, DType, Graph, Node, Tensor
from tilewright.graph.edit import GraphEditor, joined_sources, make_node
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.norm import NormAttributes
from tilewright.operators.reduction import ReductionAttributes
from tilewright.operators.spatial import Windows


@dataclass(frozen=True, slots=True)
class _Deviation:
    """The square root of a mean of squares.

    Attributes:
        of: the tensor whose squares are taken.
        axes: the axes of the mean.
        epsilon: the constant that is added to the mean.
    """

    of: str
    axes: tuple[int, ...]
    epsilon: float


def name_normalizations(graph: Graph) -> Graph:
    """One operator for each normalisation of float32 tensors over their last axes that is written out.

    Scale and bias stay operators of their own where they follow other axes than the normalised one. Results change by
    less than the roundings of the steps that vanish.
    """
    editor = GraphEditor(graph)
    for listed in editor.nodes():
        if not editor.has(listed) or editor.tensors[listed.outputs[0]].dtype is not DType.FLOAT32:
            continue
        if listed.epilogue is None and not _name_centred(editor, listed):
            _name_affine(editor, listed)
    for listed in editor.nodes():
        if editor.has(listed):
            _take_scale_and_bias(editor, listed)
    return editor.graph()


def _name_centred(editor: GraphEditor, node: Node) -> bool:
    """x or x - mean, divided by its deviation."""
    parts = _quotient(editor, node)
    if parts is None:
        return False
    numerator, denominator = parts
    deviation = _deviation(editor, denominator)
    if deviation is None or not _equal(editor, numerator, deviation.of):
        return False
    centred = _centred(editor, deviation.of)
    operator, x = ("RMSNormalization", deviation.of)
    if centred is not None and centred[1] == deviation.axes:
        operator, x = ("LayerNormalization", centred[0])
    return _normalise(editor, node, operator, x, deviation)


def _name_affine(editor: GraphEditor, node: Node) -> bool:
    """x * k + (beta - mean * k) with k = gamma / deviation, as Keras writes it."""
    if node.operator != "Add":
        return False
    for scaled, offset in (node.inputs, node.inputs[::-1]):
        product, difference = _made_by(editor, scaled, "Mul"), _made_by(editor, offset, "Sub")
        shift = None if difference is None else _made_by(editor, difference.inputs[1], "Mul")
        if product is None or difference is None or shift is None:
            continue
        common = [name for name in product.inputs if name in shift.inputs]
        if len(common) != 1:
            continue
        x, mean = _other(product, common[0]), _other(shift, common[0])
        factors = _factors(editor, common[0])
        if factors is None:
            continue
        deviation, gamma = factors
        centred = _centred(editor, deviation.of)
        if centred is None or centred != (x, deviation.axes) or _mean(editor, mean) != (x, deviation.axes):
            continue
        return _normalise(editor, node, "LayerNormalization", x, deviation, gamma, difference.inputs[0])
    return False


def _factors(editor: GraphEditor, name: str) -> tuple[_Deviation, str] | None:
    """Of a factor gamma / deviation: the deviation, and the tensor gamma ("" for 1)."""
    alone = _made_by(editor, name, "Reciprocal")
    if alone is not None:
        deviation = _deviation(editor, alone.inputs[0])
        return None if deviation is None else (deviation, "")
    product = _made_by(editor, name, "Mul")
    for inverse, gamma in () if product is None else (product.inputs, product.inputs[::-1]):
        node = _made_by(editor, inverse, "Reciprocal")
        deviation = None if node is None else _deviation(editor, node.inputs[0])
        if deviation is not None and editor.tensors[gamma].data is not None:
            return deviation, gamma
    return None


def _quotient(editor: GraphEditor, node: Node) -> tuple[str, str] | None:
    """Numerator and denominator of a Div, or of a Mul by a Reciprocal."""
    if node.operator == "Div":
        return node.inputs[0], node.inputs[1]
    if node.operator != "Mul":
        return None
    for numerator, inverse in (node.inputs, node.inputs[::-1]):
        reciprocal = _made_by(editor, inverse, "Reciprocal")
        if reciprocal is not None:
            return numerator, reciprocal.inputs[0]
    return None


def _deviation(editor: GraphEditor, name: str) -> _Deviation | None:
    """Sqrt(mean of squares + epsilon)."""
    root = _made_by(editor, name, "Sqrt")
    total = None if root is None else _made_by(editor, root.inputs[0], "Add")
    for mean, added in () if total is None else (total.inputs, total.inputs[::-1]):
        epsilon, found = editor.tensors[added], _mean(editor, mean)
        if epsilon.data is None or epsilon.elements != 1 or found is None:
            continue
        square = _made_by(editor, found[0], "Mul")
        if square is not None and _equal(editor, square.inputs[0], square.inputs[1]):
            return _Deviation(square.inputs[0], found[1], float(epsilon.data.reshape(())))
    return None


def _centred(editor: GraphEditor, name: str) -> tuple[str, tuple[int, ...]] | None:
    """(x, axes of the mean) if the tensor is x - mean(x)."""
    difference = _made_by(editor, name, "Sub")
    found = None if difference is None else _mean(editor, difference.inputs[1])
    return found if difference is not None and found is not None and found[0] == difference.inputs[0] else None


def _mean(editor: GraphEditor, name: str) -> tuple[str, tuple[int, ...]] | None:
    """The tensor and the axes of a mean that keeps its axes."""
    node = editor.producer(name)
    if node is None or node.epilogue is not None:
        return None
    x, given = editor.tensors[node.inputs[0]], node.attributes
    if node.operator == "ReduceMean" and isinstance(given, ReductionAttributes):
        kept = given.keepdims or not given.axes
        return (x.name, given.axes) if kept else None
    if node.operator == "AveragePool" and isinstance(given, Windows) and given.kernel == x.shape[2:]:
        return None if any(given.pads) else (x.name, tuple(range(2, len(x.shape))))
    return None


def _made_by(editor: GraphEditor, name: str, operator: str) -> Node | None:
    node = editor.producer(name)
    return node if node is not None and node.operator == operator and node.epilogue is None else None


def _equal(editor: GraphEditor, one: str, other: str) -> bool:
    """Whether two tensors are the same, or computed by equal nodes of the same tensors."""
    if one == other:
        return True
    a, b = editor.producer(one), editor.producer(other)
    if a is None or b is None:
        return False
    return (a.operator, a.inputs, a.attributes, a.epilogue) == (b.operator, b.inputs, b.attributes, b.epilogue)


def _other(node: Node, name: str) -> str:
    return node.inputs[1] if node.inputs[0] == name else node.inputs[0]


def _normalise(
    editor: GraphEditor, last: Node, operator: str, x: str, deviation: _Deviation, gamma: str = "", beta: str = ""
) -> bool:
    """Put the normalisation of x in the place of a node, with scale and bias as operators behind it."""
    source, output = editor.tensors[x], editor.tensors[last.outputs[0]]
    rank = len(source.shape)
    axes = tuple(sorted(axis % rank for axis in deviation.axes))
    if source.shape != output.shape or not axes or axes != tuple(range(axes[0], rank)):
        return False
    lines = (*source.shape[: axes[0]], prod(source.shape[axes[0] :]))
    steps = [("Mul", gamma)] * bool(gamma) + [("Add", beta)] * bool(beta)
    name = x
    if lines != source.shape:
        name = _emit(editor, last, "Reshape", (x,), editor.variable(source, f"{output.name}/lines", shape=lines))
    one = editor.constant(f"{output.name}/one", np.ones(1, np.float32)).name
    editor.remove(last)
    if not steps and lines == source.shape:
        node = make_node(operator, [name, one], [output.name], attributes=NormAttributes(deviation.epsilon))
        editor.add(replace(node, name=last.name, sources=last.sources))
        return True
    normal = editor.variable(output, f"{output.name}/normal", shape=lines)
    name = _emit(editor, last, operator, (name, one), normal, NormAttributes(deviation.epsilon))
    if lines != source.shape:
        target = output if not steps else editor.variable(output, f"{output.name}/shaped")
        name = _emit(editor, last, "Reshape", (name,), target)
    for number, (step, parameter) in enumerate(steps, start=1):
        target = output if number == len(steps) else editor.variable(output, f"{output.name}/scaled")
        name = _emit(editor, last, step, (name, parameter), target, BinaryAttributes())
    return True


def _emit(
    editor: GraphEditor, last: Node, operator: str, inputs: tuple[str, ...], output: Tensor, attributes: object = None
) -> str:
    """Add a node that stands for the model's node ``last``; gives the name of its output."""
    node = make_node(operator, inputs, [output.name], sources=last.sources)
    if isinstance(attributes, (NormAttributes, BinaryAttributes)):
        node = replace(node, attributes=attributes)
    editor.add(node)
    return output.name


def _take_scale_and_bias(editor: GraphEditor, node: Node) -> None:
    """A Mul, then an Add, of constants along the last axis become scale and bias of the normalisation before them."""
    if not isinstance(node.attributes, NormAttributes):
        return
    length = editor.tensors[node.inputs[0]].shape[-1]
    for step in ("Mul", "Add"):
        reader = editor.sole_reader(node.outputs[0])
        if reader is None or reader.operator != step or reader.epilogue is not None:
            continue
        values = editor.tensors[_other(reader, node.outputs[0])]
        if values.data is None or values.elements not in (1, length) or values.shape[-1:] not in ((length,), (1,), ()):
            continue
        if editor.tensors[reader.outputs[0]].shape != editor.tensors[node.outputs[0]].shape:
            continue
        folded = _with_step(editor, node, step, np.broadcast_to(values.data.reshape(-1), (length,)))
        if folded is None:
            continue
        editor.remove(reader)
        node = editor.replace(node, replace(folded, outputs=reader.outputs, sources=joined_sources(node, reader)))


def _with_step(editor: GraphEditor, node: Node, step: str, values: Array) -> Node | None:
    """The normalisation with its scale times the values, or its bias plus them; None where that cannot be."""
    scale, bias = editor.tensors[node.inputs[1]].data, node.inputs[2] if len(node.inputs) > 2 else ""
    if step == "Mul" and scale is not None and not bias:
        factors = (scale.astype(np.float64) * values).astype(np.float32)
        return replace(node, inputs=(node.inputs[0], editor.constant(f"{node.outputs[0]}/scale", factors).name))
    if step == "Add" and node.operator == "LayerNormalization" and not bias:
        return replace(node, inputs=(*node.inputs[:2], editor.constant(f"{node.outputs[0]}/bias", values.copy()).name))
    return None
