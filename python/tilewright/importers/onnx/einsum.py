"""Einsum as transpositions, sums and matrix products, two operands at a time.

Before:  Einsum("bij,bjk->bik", a, b, ...)
After:   a as [b, i, j], b as [b, j, k] -> MatMul -> [b, i, k] -> the next operand

A letter that only one operand has, and that the result lacks, is summed away before the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import typed

_FLOAT = frozenset({DType.FLOAT32})
_OFFSETS = {"a_zero_point": 0, "b_zero_point": 0}
_PRODUCT = {"transpose_a": False, "transpose_b": False, "a_zero_point": 0, "b_zero_point": (0,)}


@dataclass(frozen=True, slots=True)
class _Term:
    """A tensor whose axes have letters; axes under an ellipsis have numbers."""

    name: str
    letters: tuple[str, ...]
    shape: tuple[int, ...]

    def extent(self, letter: str) -> int:
        return self.shape[self.letters.index(letter)]


def einsum(call: Call) -> None:
    """Einsum of float32 tensors; letters may repeat in an operand, ellipses broadcast."""
    equation = str(call.attribute("equation", "")).replace(" ", "")
    operands, arrow, result = equation.partition("->")
    terms = [_term(call, index, text) for index, text in enumerate(operands.split(","))]
    if len(terms) != len(call.node.inputs):
        raise Unsupported(f"equation '{equation}' for {len(call.node.inputs)} inputs", "export the model again")
    wanted = _result(equation, result if arrow else None, terms)
    terms = [_diagonal(call, term, number) for number, term in enumerate(terms)]
    total = terms[0]
    for number, term in enumerate(terms[1:], start=1):
        later = {letter for other in terms[number + 1 :] for letter in other.letters} | set(wanted)
        total = _contracted(call, total, term, later, number)
    total = _summed(call, total, set(wanted), "sum")
    perm = tuple(total.letters.index(letter) for letter in wanted)
    ordered = _transposed(call, total, perm, "ordered")
    call.emit("Reshape", [ordered.name], ordered.shape)


def _term(call: Call, index: int, text: str) -> _Term:
    x = typed(call, index, _FLOAT)
    before, dots, behind = text.partition("...")
    hidden = len(x.shape) - len(before) - len(behind)
    if hidden < 0 or (hidden and not dots) or not all(letter.isalpha() for letter in before + behind):
        raise Unsupported(f"'{text}' for input {index} of shape {list(x.shape)}", "export the model again")
    letters = (*before, *(str(hidden - axis) for axis in range(hidden)), *behind)
    return _Term(x.name, letters, x.shape)


def _result(equation: str, text: str | None, terms: Sequence[_Term]) -> tuple[str, ...]:
    """The letters of the result; without an arrow those that occur once, in order, behind the ellipsis."""
    listed = [letter for term in terms for letter in term.letters]
    dots = sorted({letter for letter in listed if letter.isdigit()}, key=int, reverse=True)
    if text is None:
        return (*dots, *sorted(letter for letter in set(listed) if listed.count(letter) == 1 and letter.isalpha()))
    before, ellipsis, behind = text.partition("...")
    wanted = (*before, *(dots if ellipsis else ()), *behind)
    if len(set(wanted)) != len(wanted) or not set(wanted) <= set(listed):
        raise Unsupported(f"equation '{equation}'", "export the model again")
    return wanted


def _diagonal(call: Call, term: _Term, number: int) -> _Term:
    """The term without repeated letters: the positions at which their indices are equal."""
    for letter in dict.fromkeys(term.letters):
        while term.letters.count(letter) > 1:
            term = _one_diagonal(call, term, letter, f"{number}_{letter}")
    return term


def _one_diagonal(call: Call, term: _Term, letter: str, part: str) -> _Term:
    first, second = [axis for axis, other in enumerate(term.letters) if other == letter][:2]
    extent = term.shape[first]
    if term.shape[second] != extent:
        raise Unsupported(f"extents {extent} and {term.shape[second]} of '{letter}'", "export the model again")
    rest = tuple(axis for axis in range(len(term.shape)) if axis not in (first, second))
    moved = _transposed(call, term, (*rest, first, second), f"diagonal_{part}")
    flat = call.emit("Reshape", [moved.name], (*moved.shape[:-2], extent * extent), part=f"flat_{part}")
    positions = call.literal(np.arange(extent, dtype=np.int64) * (extent + 1), f"{call.node.outputs[0]}/diagonal")
    shape = (*moved.shape[:-2], extent)
    attributes = {"axis": len(shape) - 1, "batch_dims": 0}
    name = call.emit("Gather", [flat, positions], shape, attributes, part=f"chosen_{part}")
    return _Term(name, moved.letters[:-1], shape)


def _contracted(call: Call, a: _Term, b: _Term, later: set[str], number: int) -> _Term:
    """The product of two terms, summed over letters that nothing needs later."""
    a = _summed(call, a, later | set(b.letters), f"left_{number}")
    b = _summed(call, b, later | set(a.letters), f"right_{number}")
    shared = [letter for letter in a.letters if letter in b.letters]
    for letter in shared:
        if a.extent(letter) != b.extent(letter) and 1 not in (a.extent(letter), b.extent(letter)):
            raise Unsupported(f"extents {a.extent(letter)} and {b.extent(letter)} of '{letter}'", "export again")
    gone = [letter for letter in shared if letter not in later]
    batch = [letter for letter in shared if letter in later]
    left = [letter for letter in a.letters if letter not in shared]
    right = [letter for letter in b.letters if letter not in shared]
    gone_shape = tuple(max(a.extent(letter), b.extent(letter)) for letter in gone)
    a, b = (_stretched(call, term, gone, gone_shape, f"{word}_{number}") for term, word in ((a, "a"), (b, "b")))
    rows = _matrix(call, a, batch, left, gone, f"rows_{number}")
    columns = _matrix(call, b, batch, gone, right, f"columns_{number}")
    extents = tuple(max(pair) for pair in zip(rows.shape[:-2], columns.shape[:-2], strict=True))
    shape = (*extents, rows.shape[-2], columns.shape[-1])
    name = _product(call, rows, columns, shape, bool(gone), number)
    spread = (*extents, *(a.extent(letter) for letter in left), *(b.extent(letter) for letter in right))
    return _Term(call.emit("Reshape", [name], spread, part=f"spread_{number}"), (*batch, *left, *right), spread)


def _product(call: Call, a: _Term, b: _Term, shape: tuple[int, ...], summed: bool, number: int) -> str:
    """MatMul, or Mul where nothing is summed: a column times a row."""
    if summed:
        return call.emit("MatMul", [a.name, b.name], shape, _PRODUCT, part=f"product_{number}")
    return call.emit("Mul", [a.name, b.name], shape, _OFFSETS, part=f"product_{number}")


def _matrix(
    call: Call, term: _Term, batch: Sequence[str], rows: Sequence[str], columns: Sequence[str], part: str
) -> _Term:
    """The term as [batch..., rows, columns], letters of rows and of columns merged."""
    letters = (*batch, *rows, *columns)
    moved = _transposed(call, term, tuple(term.letters.index(letter) for letter in letters), f"moved_{part}")
    cut = len(batch) + len(rows)
    shape = (*moved.shape[: len(batch)], prod(moved.shape[len(batch) : cut]), prod(moved.shape[cut:]))
    return _Term(call.emit("Reshape", [moved.name], shape, part=part), letters, shape)


def _stretched(call: Call, term: _Term, letters: Sequence[str], extents: Sequence[int], part: str) -> _Term:
    """The term with the extents that letters have in the other operand, where it has 1."""
    wanted = dict(zip(letters, extents, strict=True))
    shape = tuple(wanted.get(letter, extent) for letter, extent in zip(term.letters, term.shape, strict=True))
    if shape == term.shape:
        return term
    return replace(term, name=call.emit("Expand", [term.name], shape, part=f"stretched_{part}"), shape=shape)


def _summed(call: Call, term: _Term, kept: set[str], part: str) -> _Term:
    axes = tuple(axis for axis, letter in enumerate(term.letters) if letter not in kept)
    if not axes:
        return term
    letters, shape = zip(*_without(term, axes), strict=True) if len(axes) < len(term.shape) else ((), ())
    name = call.emit("ReduceSum", [term.name], shape, {"axes": axes, "keepdims": False}, part=part)
    return _Term(name, tuple(letters), tuple(shape))


def _without(term: _Term, axes: Sequence[int]) -> Iterator[tuple[str, int]]:
    for axis, pair in enumerate(zip(term.letters, term.shape, strict=True)):
        if axis not in axes:
            yield pair


def _transposed(call: Call, term: _Term, perm: tuple[int, ...], part: str) -> _Term:
    shape = tuple(term.shape[axis] for axis in perm)
    letters = tuple(term.letters[axis] for axis in perm)
    if perm == tuple(range(len(perm))):
        return replace(term, letters=letters, shape=shape)
    return _Term(call.emit("Transpose", [term.name], shape, {"perm": perm}, part=part), letters, shape)
