"""What chains of elementwise float operators compute, as a polynomial of one tensor and of functions of it.

    x -> Div(sqrt 2) -> Erf -> Add(1) -> Mul(x) -> Mul(0.5)      is  0.5 x + 0.5 x Erf(0.7071 x)
    x -> Mul(0.5), Mul by (1 + Erf(x / sqrt 2))                  is the same formula

Exporters write one function in many ways; formulas of the same function are equal up to the rounding of constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Node
from tilewright.graph.edit import GraphEditor
from tilewright.operators.movement import TransposeAttributes
from tilewright.operators.unary import ClipAttributes, HardSigmoidAttributes

_MOST_TERMS = 8
"""Terms of a formula; activations have at most three, and a longer sum is none."""

_FUNCTIONS = frozenset("Add Sub Mul Div Pow Neg Reciprocal Tanh Erf Sigmoid Exp Softplus".split())
_WITH_ATTRIBUTES = (TransposeAttributes, ClipAttributes, HardSigmoidAttributes)
"""Operators, and attributes of others, that may take part in a formula."""

_MOST_NODES = 16
"""Operators of a chain that are looked at; the longest activation of the exporters has eleven."""

_CLOSE = 1e-5
"""Relative difference of two constants that are the same number, rounded to float32 in different steps."""


@dataclass(frozen=True, slots=True)
class Factor:
    """The tensor itself (``function`` is ""), or a function of a formula, such as Erf(0.7071 x)."""

    function: str = ""
    argument: Formula | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """``coefficient`` times the product of the factors; without factors a constant."""

    coefficient: float
    factors: tuple[Factor, ...] = ()


@dataclass(frozen=True, slots=True)
class Formula:
    """The sum of its terms, of which no two have the same factors."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """What operators compute of a tensor.

    Attributes:
        formula: what they compute for each element.
        perm: the axes of the result by the axes of the tensor, as of a Transpose.
        nodes: the operators.
    """

    formula: Formula
    perm: tuple[int, ...]
    nodes: tuple[Node, ...]


class NoFormula(Exception):
    """The tensor is no formula of the other tensor."""


TENSOR = Formula((Term(1.0, (Factor(),)),))
"""The tensor itself."""


def number(value: float) -> Formula:
    """A constant; raises NoFormula for one that is not finite."""
    if not math.isfinite(value):
        raise NoFormula
    return Formula((Term(value),) if value else ())


def total(formulas: Iterable[Formula]) -> Formula:
    """The sum of formulas; raises NoFormula for more than ``_MOST_TERMS`` terms."""
    sums: dict[tuple[Factor, ...], float] = {}
    for formula in formulas:
        for term in formula.terms:
            sums[term.factors] = sums.get(term.factors, 0.0) + term.coefficient
    terms = [Term(coefficient, factors) for factors, coefficient in sums.items() if coefficient]
    if len(terms) > _MOST_TERMS:
        raise NoFormula
    return Formula(tuple(sorted(terms, key=_name_of_term)))


def product(one: Formula, other: Formula) -> Formula:
    """The product of two formulas."""
    return total(
        Formula((Term(a.coefficient * b.coefficient, tuple(sorted((*a.factors, *b.factors), key=_name))),))
        for a in one.terms
        for b in other.terms
    )


def scaled(formula: Formula, factor: float) -> Formula:
    """The formula times a constant."""
    return product(formula, number(factor))


def function_of(function: str, argument: Formula) -> Formula:
    """A function of a formula."""
    return Formula((Term(1.0, (Factor(function, argument),)),))


def clipped(argument: Formula, minimum: float, maximum: float) -> Formula:
    """The formula between two bounds, as bounds 0 and 1 of another formula, or as Relu.

    Raises NoFormula for other bounds of which one is infinite.
    """
    if maximum == math.inf:
        return total((function_of("Relu", total((argument, number(-minimum)))), number(minimum)))
    height = maximum - minimum
    if not (math.isfinite(height) and height > 0.0):
        raise NoFormula
    unit = scaled(total((argument, number(-minimum))), 1.0 / height)
    return total((scaled(function_of("Unit", unit), height), number(minimum)))


def reciprocal(argument: Formula) -> Formula:
    """One over a formula; 1 / (1 + exp(-u)) is Sigmoid(u). Raises NoFormula for other sums."""
    constant = _constant(argument)
    if constant is not None:
        if not constant:
            raise NoFormula
        return number(1.0 / constant)
    rest = total((argument, number(-1.0)))
    if len(rest.terms) == 1 and rest.terms[0].coefficient == 1.0 and len(rest.terms[0].factors) == 1:
        (factor,) = rest.terms[0].factors
        if factor.function == "Exp" and factor.argument is not None:
            return function_of("Sigmoid", scaled(factor.argument, -1.0))
    return function_of("Reciprocal", argument)


def same(one: Formula, other: Formula) -> bool:
    """Whether two formulas are equal but for the rounding of their constants."""
    if len(one.terms) != len(other.terms):
        return False
    rest = list(other.terms)
    for term in one.terms:
        twin = next((candidate for candidate in rest if _same_term(term, candidate)), None)
        if twin is None:
            return False
        rest.remove(twin)
    return True


def _same_term(one: Term, other: Term) -> bool:
    if not math.isclose(one.coefficient, other.coefficient, rel_tol=_CLOSE) or len(one.factors) != len(other.factors):
        return False
    return all(_same_factor(a, b) for a, b in zip(one.factors, other.factors, strict=True))


def _same_factor(one: Factor, other: Factor) -> bool:
    if one.function != other.function or one.argument is None or other.argument is None:
        return one == other
    return same(one.argument, other.argument)


def formula_of(editor: GraphEditor, name: str, tensor: str) -> Formula:
    """What tensor ``name`` is as a function of ``tensor``, whose axes stand in the same order.

    Raises NoFormula where other tensors, or operators that are no elementwise functions, take part.
    """
    chain = chain_of(editor, name, tensor)
    if chain.perm != tuple(range(len(chain.perm))):
        raise NoFormula
    return chain.formula


def chain_of(editor: GraphEditor, name: str, tensor: str) -> Chain:
    """What tensor ``name`` is as a function of ``tensor``, with Transpose between the operators or without.

    Raises NoFormula where other tensors take part, operators that are no elementwise functions, or the tensor with its
    axes in two orders.
    """
    reading = _Reading(editor, tensor)
    formula = reading.of(name)
    perm = reading.perms[name]
    if perm is None:
        raise NoFormula
    return Chain(formula, perm, tuple(reading.nodes.values()))


class _Reading:
    """The formulas of the tensors that are computed from one tensor, each worked out once.

    ``perms`` has the order of their axes; None for constants.
    """

    def __init__(self, editor: GraphEditor, tensor: str) -> None:
        self._editor = editor
        self._known = {tensor: TENSOR}
        self.perms: dict[str, tuple[int, ...] | None] = {tensor: tuple(range(len(editor.tensors[tensor].shape)))}
        self.nodes: dict[str, Node] = {}

    def of(self, name: str) -> Formula:
        """The formula of a tensor."""
        if name not in self._known:
            self._known[name] = self._computed(name)
        return self._known[name]

    def _computed(self, name: str) -> Formula:
        tensor = self._editor.tensors[name]
        if tensor.data is not None:
            if tensor.elements != 1 or tensor.dtype is not DType.FLOAT32:
                raise NoFormula
            self.perms[name] = None
            return number(float(tensor.data.reshape(())))
        node = self._editor.producer(name)
        if node is None or node.epilogue is not None or tensor.dtype is not DType.FLOAT32:
            raise NoFormula
        # What stands behind an operator that is no function is not read: it may be a whole network.
        if node.operator not in _FUNCTIONS and not isinstance(node.attributes, _WITH_ATTRIBUTES):
            raise NoFormula
        self.nodes[node.name] = node
        if len(self.nodes) > _MOST_NODES:
            raise NoFormula
        formula = self.of(node.inputs[0]) if isinstance(node.attributes, TransposeAttributes) else self._result(node)
        self.perms[name] = self._perm(node)
        return formula

    def _perm(self, node: Node) -> tuple[int, ...] | None:
        """The order of the axes of a node's output, whose inputs are known."""
        perms = {self.perms[name] for name in node.inputs} - {None}
        if len(perms) > 1:
            raise NoFormula
        perm = perms.pop() if perms else None
        if perm is None or not isinstance(node.attributes, TransposeAttributes):
            return perm
        return tuple(perm[axis] for axis in node.attributes.perm)

    def _result(self, node: Node) -> Formula:
        given = node.attributes
        if node.operator == "Pow":
            return _power(self.of(node.inputs[0]), self.of(node.inputs[1]))
        operands = [self.of(name) for name in node.inputs]
        if isinstance(given, ClipAttributes):
            return clipped(operands[0], given.minimum, given.maximum)
        if isinstance(given, HardSigmoidAttributes):
            return clipped(total((scaled(operands[0], given.alpha), number(given.beta))), 0.0, 1.0)
        return _applied(node.operator, operands)


def _applied(operator: str, operands: list[Formula]) -> Formula:
    """An operator without attributes."""
    match operator, operands:
        case "Add", [a, b]:
            return total((a, b))
        case "Sub", [a, b]:
            return total((a, scaled(b, -1.0)))
        case "Mul", [a, b]:
            return product(a, b)
        case "Div", [a, b]:
            return product(a, reciprocal(b))
        case "Neg", [a]:
            return scaled(a, -1.0)
        case "Reciprocal", [a]:
            return reciprocal(a)
        case "Tanh", [a]:
            # tanh(u) = 2 sigmoid(2 u) - 1, so that both ways to write one function have one formula.
            return total((scaled(function_of("Sigmoid", scaled(a, 2.0)), 2.0), number(-1.0)))
        case "Erf", [a] if len(a.terms) == 1 and a.terms[0].coefficient < 0.0:
            # erf(-u) = -erf(u).
            return scaled(function_of("Erf", scaled(a, -1.0)), -1.0)
        case (("Erf" | "Sigmoid" | "Exp" | "Softplus"), [a]):
            return function_of(operator, a)
    raise NoFormula


def _power(base: Formula, exponent: Formula) -> Formula:
    times = _constant(exponent)
    if times not in (2.0, 3.0):
        raise NoFormula
    square = product(base, base)
    return square if times == 2.0 else product(square, base)


def _constant(formula: Formula) -> float | None:
    """The value of a formula without factors; None for others."""
    if not formula.terms:
        return 0.0
    return formula.terms[0].coefficient if len(formula.terms) == 1 and not formula.terms[0].factors else None


def _name_of_term(term: Term) -> tuple[str, ...]:
    return tuple(_name(factor) for factor in term.factors)


def _name(factor: Factor) -> str:
    """A factor as text without its constants, to sort factors and terms by."""
    if factor.argument is None:
        return factor.function
    inner = "+".join("*".join(_name_of_term(term)) for term in factor.argument.terms)
    return f"{factor.function}({inner})"
