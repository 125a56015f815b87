"""What an iteration of a loop computes, as matrices and functions of what the iteration reads.

    Slice(Add(MatMul(x, W), MatMul(h, R)), columns 24 to 48)    is    x * W[:, 24:48] + h * R[:, 24:48]

Equal values are equal here however the nodes that compute them are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array

PRODUCT, LEAF = "*", ""


class NoCell(Exception):
    """The loop is not one recurrent cell, step by step."""


@dataclass(frozen=True)
class Sum:
    """A row for each entry of the batch: the bias, and atoms times matrices.

    Attributes:
        terms: by number of an atom: [elements of the atom, elements of the row], float64.
        bias: as many elements as the row has, float64.
    """

    terms: Mapping[int, Array]
    bias: Array

    @property
    def width(self) -> int:
        """Elements of the row."""
        return int(self.bias.size)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Equal for equal sums."""
        return (*((atom, self.terms[atom].tobytes()) for atom in sorted(self.terms)), self.bias.tobytes())


@dataclass(frozen=True)
class Atom:
    """What a matrix multiplies: a tensor that the iteration reads, a function of a sum, or the product of two sums.

    Attributes:
        operator: ONNX's name of the function, ``PRODUCT`` or ``LEAF``.
        name: of a leaf.
    """

    operator: str
    name: str
    operands: tuple[Sum, ...]


class Atoms:
    """All atoms of one loop, each once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._listed: list[Atom] = []

    def leaf(self, name: str, width: int) -> Sum:
        """A tensor that the iteration reads."""
        return self._sum(Atom(LEAF, name, ()), width)

    def function(self, operator: str, argument: Sum) -> Sum:
        """An elementwise function of a sum."""
        return self._sum(Atom(operator, "", (argument,)), argument.width)

    def product(self, one: Sum, other: Sum) -> Sum:
        """The elementwise product; a row of one element multiplies each element of the other."""
        for constant, value in ((one, other), (other, one)):
            if not constant.terms:
                return scaled(value, constant.bias)
        ordered = sorted((one, other), key=lambda operand: (operand.width, repr(operand.key)))
        return self._sum(Atom(PRODUCT, "", tuple(ordered)), _common_width(one, other))

    def alone(self, value: Sum) -> Atom | None:
        """The atom of a sum that is one atom and nothing else."""
        atoms = self.added(value)
        return atoms[0] if len(atoms) == 1 else None

    def added(self, value: Sum) -> list[Atom]:
        """The atoms of a sum that only adds them up, element by element; none for any other sum."""
        is_plain = all(_is_identity(matrix) for matrix in value.terms.values()) and not value.bias.any()
        return [self._listed[number] for number in sorted(value.terms)] if is_plain else []

    def by_name(self, value: Sum) -> dict[str, Array] | None:
        """The matrices of a sum of leaves, by their names; None where another atom is in it."""
        atoms = {number: self._listed[number] for number in value.terms}
        if any(atom.operator != LEAF for atom in atoms.values()):
            return None
        return {atom.name: value.terms[number] for number, atom in atoms.items()}

    def without(self, value: Sum, atom: Atom) -> tuple[Sum, Array | None]:
        """The sum without an atom, and the matrix that the atom had."""
        number = self._numbers[_key(atom)]
        rest = {other: matrix for other, matrix in value.terms.items() if other != number}
        return Sum(MappingProxyType(rest), value.bias), value.terms.get(number)

    def products(self, value: Sum) -> list[Atom]:
        """The products in a sum, whatever matrices they have."""
        return [self._listed[number] for number in sorted(value.terms) if self._listed[number].operator == PRODUCT]

    def leaves(self, value: Sum) -> set[str]:
        """Names of all leaves that a sum is made of."""
        found: set[str] = set()
        front, seen = list(value.terms), set(value.terms)
        while front:
            atom = self._listed[front.pop()]
            if atom.operator == LEAF:
                found.add(atom.name)
            behind = {number for operand in atom.operands for number in operand.terms} - seen
            seen |= behind
            front += behind
        return found

    def _sum(self, atom: Atom, width: int) -> Sum:
        number = self._numbers.setdefault(_key(atom), len(self._listed))
        if number == len(self._listed):
            self._listed.append(atom)
        return Sum(MappingProxyType({number: np.eye(width)}), np.zeros(width))


def _key(atom: Atom) -> tuple[object, ...]:
    return (atom.operator, atom.name, *(operand.key for operand in atom.operands))


def constant_row(array: Array, width: int | None) -> Sum:
    """A constant that is the same for each entry of the batch. Raises NoCell for any other."""
    if array.size != 1 and (array.size != array.shape[-1] or width not in (None, array.size)):
        raise NoCell
    return Sum(MappingProxyType({}), array.reshape(-1).astype(np.float64))


def added(one: Sum, other: Sum, sign: float = 1.0) -> Sum:
    """one + sign * other. Raises NoCell where a row of one element that is no constant stands beside a wider one."""
    width = _common_width(one, other)
    if any(value.terms and value.width != width for value in (one, other)):
        raise NoCell
    terms = dict(one.terms)
    for atom, matrix in other.terms.items():
        terms[atom] = terms[atom] + sign * matrix if atom in terms else sign * matrix
    return _summed(terms, np.broadcast_to(one.bias + sign * other.bias, (width,)))


def scaled(value: Sum, factors: Array) -> Sum:
    """Each element of the row times its factor; one factor multiplies all. Raises NoCell if the numbers differ."""
    if factors.size not in (1, value.width):
        raise NoCell
    return _summed({atom: matrix * factors for atom, matrix in value.terms.items()}, value.bias * factors)


def times(value: Sum, matrix: Array) -> Sum:
    """The row times a matrix. Raises NoCell if the matrix has other rows than the row has elements."""
    if matrix.ndim != 2 or len(matrix) != value.width:
        raise NoCell
    wide = matrix.astype(np.float64)
    return _summed({atom: before @ wide for atom, before in value.terms.items()}, value.bias @ wide)


def columns(value: Sum, first: int, end: int) -> Sum:
    """The elements from ``first`` up to ``end``."""
    return _summed({atom: matrix[:, first:end] for atom, matrix in value.terms.items()}, value.bias[first:end])


def joined(values: Sequence[Sum]) -> Sum:
    """Rows side by side."""
    width = sum(value.width for value in values)
    terms: dict[int, Array] = {}
    first = 0
    for value in values:
        for atom, matrix in value.terms.items():
            wide = terms.setdefault(atom, np.zeros((len(matrix), width)))
            wide[:, first : first + value.width] = matrix
        first += value.width
    return _summed(terms, np.concatenate([value.bias for value in values]))


def complement(value: Sum) -> Sum:
    """1 - value."""
    return added(Sum(MappingProxyType({}), np.ones(1)), value, -1.0)


def _summed(terms: Mapping[int, Array], bias: Array) -> Sum:
    kept = {atom: np.ascontiguousarray(matrix) + 0.0 for atom, matrix in terms.items() if matrix.any()}
    return Sum(MappingProxyType(kept), np.ascontiguousarray(bias) + 0.0)


def _common_width(one: Sum, other: Sum) -> int:
    widths = {one.width, other.width} - {1}
    if len(widths) > 1:
        raise NoCell
    return max(widths, default=1)


def _is_identity(matrix: Array) -> bool:
    return matrix.shape[0] == matrix.shape[1] and bool(np.array_equal(matrix, np.eye(len(matrix))))
