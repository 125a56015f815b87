"""Normalisations that exporters write out become LayerNormalization and RMSNormalization.

Before:  m = ReduceMean(x), c = Sub(x, m), v = ReduceMean(Mul(c, c)), s = Sqrt(Add(v, epsilon)), y = Div(c, s)
After:   y = LayerNormalization(x), over the axes of the means
Before:  k = Mul(Reciprocal(s), gamma), y = Add(Mul(x, k), Sub(beta, Mul(m, k)))       (Keras)
After:   y = Add(Mul(LayerNormalization(x), gamma), beta)
Before:  x = Reshape(Transpose(z)) of shape [n, h, w, groups, c], means over h, w and c                      (Keras)
After:   y = Reshape(Transpose(LayerNormalization(z))), where z has the elements of a mean side by side
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node, Tensor
from tilewright.graph.edit import GraphEditor, joined_sources, make_node
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.movement import TransposeAttributes
from tilewright.operators.norm import NormAttributes
from tilewright.operators.reduction import ReductionAttributes
from tilewright.operators.spatial import Windows
from tilewright.rewrites.normalized_lines import Lines, lines_behind_views


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
    """x * k + offset with k = gamma / deviation and offset = beta - mean * k, as Keras writes it."""
    if node.operator != "Add":
        return False
    for scaled, offset in (node.inputs, node.inputs[::-1]):
        product = _made_by(editor, scaled, "Mul")
        for mean, factor, beta in () if product is None else _offsets(editor, offset):
            factors = _factors(editor, factor)
            if product is None or factors is None or factor not in product.inputs:
                continue
            x, (deviation, gamma) = _other(product, factor), factors
            found = (x, deviation.axes)
            if _centred(editor, deviation.of) == found and _mean(editor, mean) == found:
                return _normalise(editor, node, "LayerNormalization", x, deviation, gamma, beta)
    return False


def _offsets(editor: GraphEditor, name: str) -> Iterator[tuple[str, str, str]]:
    """The (mean, k, beta) of which a tensor may be beta - mean * k, or beta + (-mean) * k."""
    difference, total = _made_by(editor, name, "Sub"), _made_by(editor, name, "Add")
    if difference is not None:
        shift = _made_by(editor, difference.inputs[1], "Mul")
        for mean, factor in () if shift is None else (shift.inputs, shift.inputs[::-1]):
            yield mean, factor, difference.inputs[0]
    for shifted, beta in () if total is None else (total.inputs, total.inputs[::-1]):
        shift = _made_by(editor, shifted, "Mul")
        for negated, factor in () if shift is None else (shift.inputs, shift.inputs[::-1]):
            negation = _made_by(editor, negated, "Neg")
            if negation is not None:
                yield negation.inputs[0], factor, beta


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
    if _is_global_pool(editor, node):
        return x.name, tuple(range(2, len(x.shape)))
    return _mean_of_last_channels(editor, node) if node.operator == "Reshape" else None


def _is_global_pool(editor: GraphEditor, node: Node) -> bool:
    """Whether a node is the mean over all axes but the first two."""
    if node.operator != "AveragePool" or node.epilogue is not None or not isinstance(node.attributes, Windows):
        return False
    return node.attributes.kernel == editor.tensors[node.inputs[0]].shape[2:] and not any(node.attributes.pads)


def _mean_of_last_channels(editor: GraphEditor, reshape: Node) -> tuple[str, tuple[int, ...]] | None:
    """The tensor and the axes of a mean over all axes but the first and the last, written as a global pool."""
    pool = editor.producer(reshape.inputs[0])
    if pool is None or not _is_global_pool(editor, pool):
        return None
    rank = len(editor.tensors[pool.inputs[0]].shape)
    axes = tuple(range(1, rank - 1))
    turned = editor.producer(pool.inputs[0])
    name = turned.inputs[0] if turned is not None and _permutes(turned, (0, rank - 1, *axes)) else ""
    # Where the tensor is itself a Transpose of what the pool reads, both have vanished between them.
    behind = [node.outputs[0] for node in editor.readers(pool.inputs[0]) if _permutes(node, (0, *range(2, rank), 1))]
    name = name or next(iter(behind), "")
    if not name:
        return None
    shape = editor.tensors[name].shape
    kept = (shape[0], *(1 for _ in axes), shape[-1])
    return (name, axes) if editor.tensors[reshape.outputs[0]].shape == kept else None


def _permutes(node: Node, perm: tuple[int, ...]) -> bool:
    return isinstance(node.attributes, TransposeAttributes) and node.attributes.perm == perm


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
    if source.shape != output.shape or not axes:
        return False
    if axes != tuple(range(axes[0], rank)):
        made = lines_behind_views(editor, x, axes)
        return made is not None and _normalise_lines(editor, last, operator, made, deviation, gamma, beta)
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


def _normalise_lines(
    editor: GraphEditor, last: Node, operator: str, made: Lines, deviation: _Deviation, gamma: str, beta: str
) -> bool:
    """Put the normalisation of what views were made of in the place of a node, and behind it the views."""
    steps = [("Mul", gamma)] * bool(gamma) + [("Add", beta)] * bool(beta)
    if any(editor.tensors[parameter].data is None for _, parameter in steps):
        return False
    source, output = editor.tensors[made.source], editor.tensors[last.outputs[0]]
    editor.remove(last)
    flat = editor.variable(output, f"{output.name}/lines", shape=made.lines)
    name = _emit(editor, last, "Reshape", (source.name,), flat)
    one = editor.constant(f"{output.name}/one", np.ones(1, np.float32)).name
    normal = editor.variable(output, f"{output.name}/normal", shape=made.lines)
    name = _emit(editor, last, operator, (name, one), normal, NormAttributes(deviation.epsilon))
    inner = tuple(output.shape[axis] for axis in made.perm)
    name = _emit(editor, last, "Reshape", (name,), editor.variable(output, f"{output.name}/split", shape=inner))
    for step, parameter in steps:
        turned = editor.constant(f"{output.name}/turned", made.turned(editor.tensors[parameter])).name
        target = editor.variable(output, f"{output.name}/scaled", shape=inner)
        name = _emit(editor, last, step, (name, turned), target, BinaryAttributes())
    shaped = editor.variable(output, f"{output.name}/shaped", shape=source.shape)
    name = _emit(editor, last, "Reshape", (name,), shaped)
    for number, view in enumerate(made.views, start=1):
        like = editor.tensors[view.outputs[0]]
        target = (
            output if number == len(made.views) else editor.variable(output, f"{output.name}/view", shape=like.shape)
        )
        name = _emit(editor, last, view.operator, (name,), target, view.attributes)
    return True


def _emit(
    editor: GraphEditor, last: Node, operator: str, inputs: tuple[str, ...], output: Tensor, attributes: object = None
) -> str:
    """Add a node that stands for the model's node ``last``; gives the name of its output."""
    node = make_node(operator, inputs, [output.name], sources=last.sources)
    if isinstance(attributes, (NormAttributes, BinaryAttributes, TransposeAttributes)):
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
        if values.data is None or not (values.elements == 1 or values.elements == length == values.shape[-1]):
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
