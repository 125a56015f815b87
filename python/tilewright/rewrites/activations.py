"""Activations that exporters write as chains of elementwise operators become the operator that they are.

Before:  a = Sigmoid(x), y = Mul(x, a)                                          (Keras, PyTorch: SiLU)
After:   y = Swish(x)
Before:  a = Div(x, sqrt 2), b = Erf(a), c = Add(b, 1), d = Mul(x, c), y = Mul(d, 0.5)
After:   y = Gelu(x)
Before:  a = Transpose(Mul(x, 0.5)), b = Transpose(Mul(Neg(x), sqrt 0.5)), y = Mul(a, Sub(1, Erf(b)))           (Keras)
After:   y = Transpose(Gelu(x))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import pi, sqrt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.operators import declared
from tilewright.graph import Attributes, DType, Graph, Node
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, joined_sources, make_node
from tilewright.kernels.scalar.gelu import GeluAttributes
from tilewright.operators.movement import TransposeAttributes
from tilewright.operators.unary import AlphaAttributes
from tilewright.rewrites.formula import (
    TENSOR,
    Chain,
    Formula,
    NoFormula,
    Term,
    chain_of,
    clipped,
    formula_of,
    function_of,
    number,
    product,
    same,
    scaled,
    total,
)


@dataclass(frozen=True, slots=True)
class Activation:
    """An operator of one tensor with its attributes."""

    operator: str
    attributes: Attributes = NO_ATTRIBUTES


def _gelu() -> Formula:
    """x / 2 * (1 + erf(x / sqrt(2)))."""
    return product(scaled(TENSOR, 0.5), total((number(1.0), function_of("Erf", scaled(TENSOR, sqrt(0.5))))))


def _gelu_by_tanh() -> Formula:
    """x / 2 * (1 + tanh(u)) = x * sigmoid(2 u), u = sqrt(2 / pi) * (x + 0.044715 x^3)."""
    cube = product(product(TENSOR, TENSOR), TENSOR)
    twice = scaled(total((TENSOR, scaled(cube, 0.044715))), 2.0 * sqrt(2.0 / pi))
    return product(TENSOR, function_of("Sigmoid", twice))


def _mish() -> Formula:
    """x * tanh(softplus(x)), tanh(u) = 2 * sigmoid(2 u) - 1."""
    twice = scaled(function_of("Softplus", TENSOR), 2.0)
    return product(TENSOR, total((scaled(function_of("Sigmoid", twice), 2.0), number(-1.0))))


_FORMULAS = (
    (product(TENSOR, clipped(total((scaled(TENSOR, 1.0 / 6.0), number(0.5))), 0.0, 1.0)), Activation("HardSwish")),
    (_gelu(), Activation("Gelu", GeluAttributes(by_tanh=False))),
    (_gelu_by_tanh(), Activation("Gelu", GeluAttributes(by_tanh=True))),
    (_mish(), Activation("Mish")),
)


_LAST = frozenset({"Mul", "Div", "Add", "Sub"})
"""Operators that can end a chain: each of the activations is a product or a sum."""

_MOST_SOURCES = 24
"""Tensors behind the last operator that are tried as the source of its chain."""


def name_activations(graph: Graph) -> Graph:
    """One node for each chain of float32 operators that is an activation of one tensor.

    Activations are HardSwish, Gelu, Mish, Swish, LeakyRelu and PRelu.

    A chain stays where something else reads a tensor in it. Results change by less than float32 rounding of the
    chain's own steps: the operator rounds once.
    """
    editor = GraphEditor(graph)
    for listed in reversed(editor.nodes()):
        if editor.has(listed) and listed.epilogue is None and listed.operator in _LAST:
            _name_activation(editor, listed)
        if editor.has(listed) and listed.epilogue is None and listed.operator == "Add":
            _name_prelu(editor, listed)
    return editor.graph()


def _name_activation(editor: GraphEditor, last: Node) -> None:
    output = editor.tensors[last.outputs[0]]
    if output.dtype is not DType.FLOAT32:
        return
    for tensor in _sources(editor, last):
        try:
            chain = chain_of(editor, output.name, tensor)
        except NoFormula:
            continue
        found = activation_of(chain.formula)
        shape = tuple(editor.tensors[tensor].shape[axis] for axis in chain.perm)
        if found is not None and shape == output.shape and _closed(editor, last, chain.nodes):
            _put(editor, last, found, chain, tensor)
            return


def _put(editor: GraphEditor, last: Node, found: Activation, chain: Chain, tensor: str) -> None:
    """The activation of a tensor in the place of a chain that ends with ``last``, and behind it its Transpose."""
    for node in chain.nodes:
        if node is not last:
            editor.remove(node)
    sources = joined_sources(*sorted(chain.nodes, key=lambda node: node is last))
    named = make_node(
        found.operator, [tensor], last.outputs, name=last.name, attributes=found.attributes, sources=sources
    )
    if chain.perm == tuple(range(len(chain.perm))):
        editor.replace(last, named)
        return
    output = editor.tensors[last.outputs[0]]
    inner = editor.variable(output, f"{output.name}/untransposed", shape=editor.tensors[tensor].shape)
    editor.remove(last)
    editor.add(replace(named, outputs=(inner.name,)))
    attributes = TransposeAttributes(chain.perm)
    editor.add(make_node("Transpose", [inner.name], last.outputs, attributes=attributes, sources=sources))


def _sources(editor: GraphEditor, last: Node) -> Iterator[str]:
    """The tensors of which the chain may be a function: those that its operators read, nearest first."""
    seen: dict[str, None] = {}
    front = [last]
    while front and len(seen) < _MOST_SOURCES:
        behind: list[Node] = []
        for node in front:
            for name in node.inputs:
                if name in seen or not name or editor.tensors[name].data is not None:
                    continue
                seen[name] = None
                before = editor.producer(name)
                if before is not None and _is_in_chains(editor, before):
                    behind.append(before)
        front = behind
    yield from seen


def _is_in_chains(editor: GraphEditor, node: Node) -> bool:
    """Whether a node can stand between the operators of a chain: an elementwise function, or a Transpose."""
    return declared(node, editor.extensions).function is not None or isinstance(node.attributes, TransposeAttributes)


def activation_of(formula: Formula) -> Activation | None:
    """The operator that computes a formula of its input; None if no operator does."""
    for known, activation in _FORMULAS:
        if same(formula, known):
            return activation
    alpha = _swish_factor(formula)
    if alpha is not None:
        return Activation("Swish", AlphaAttributes(alpha))
    slope = _leaky_slope(formula)
    return None if slope is None else Activation("LeakyRelu", AlphaAttributes(slope))


def _swish_factor(formula: Formula) -> float | None:
    """The a of x * sigmoid(a * x)."""
    if len(formula.terms) != 1:
        return None
    arguments = [factor.argument for factor in formula.terms[0].factors if factor.argument is not None]
    if len(arguments) != 1 or arguments[0] is None or len(arguments[0].terms) != 1:
        return None
    alpha = arguments[0].terms[0].coefficient
    wanted = product(TENSOR, function_of("Sigmoid", scaled(TENSOR, alpha)))
    return alpha if same(formula, wanted) else None


def _leaky_slope(formula: Formula) -> float | None:
    """The a of relu(x) - a * relu(-x)."""
    relu, mirrored = function_of("Relu", TENSOR), function_of("Relu", scaled(TENSOR, -1.0))
    slopes = [-term.coefficient for term in formula.terms if _is(term, mirrored)]
    if len(slopes) != 1:
        return None
    return slopes[0] if same(formula, total((relu, scaled(mirrored, -slopes[0])))) else None


def _is(term: Term, function: Formula) -> bool:
    return same(Formula((Term(1.0, term.factors),)), function)


def _name_prelu(editor: GraphEditor, last: Node) -> None:
    """relu(x) + c * relu(-x), c a constant of any shape, becomes PRelu(x, -c)."""
    for positive, negative in (last.inputs, last.inputs[::-1]):
        product = editor.producer(negative)
        if product is None or product.operator != "Mul" or product.epilogue is not None:
            continue
        for mirrored, factors in (product.inputs, product.inputs[::-1]):
            data = editor.tensors[factors].data
            x = _source_of_relus(editor, positive, mirrored)
            if data is None or x is None or editor.tensors[x].shape != editor.tensors[last.outputs[0]].shape:
                continue
            if not _closed(editor, last, (last, product)):
                continue
            slopes = editor.constant(f"{last.outputs[0]}/slopes", -data)
            editor.remove(product)
            editor.replace(last, replace(last, operator="PRelu", inputs=(x, slopes.name), attributes=NO_ATTRIBUTES))
            return


def _source_of_relus(editor: GraphEditor, positive: str, mirrored: str) -> str | None:
    """The x of which the first tensor is relu(x) and the second relu(-x)."""
    relu = editor.producer(positive)
    if relu is None or not relu.inputs:
        return None
    x = relu.inputs[0]
    try:
        one, other = formula_of(editor, positive, x), formula_of(editor, mirrored, x)
    except NoFormula:
        return None
    wanted = (function_of("Relu", TENSOR), function_of("Relu", scaled(TENSOR, -1.0)))
    return x if same(one, wanted[0]) and same(other, wanted[1]) else None


def _closed(editor: GraphEditor, last: Node, nodes: tuple[Node, ...]) -> bool:
    """Whether nothing but the chain reads the tensors between its source and its result."""
    inside = {node.name for node in nodes}
    between = [name for node in nodes if node is not last for name in node.outputs]
    if any(name in editor.outputs for name in between):
        return False
    return all(reader.name in inside for name in between for reader in editor.readers(name))
