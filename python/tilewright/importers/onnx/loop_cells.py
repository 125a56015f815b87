"""The recurrent cell that an iteration of a loop computes: RNN, GRU or LSTM, with or without a mask of steps.

GRU:  z * h + (1 - z) * tanh(x W + b + r * (h R + d))     or with (r * h) R, as Keras without ``reset_after``
LSTM: c' = f * c + i * tanh(..), h' = o * tanh(c')
mask: m * h' + (1 - m) * h, the same for each state
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tilewright.graph import Array
from tilewright.importers.onnx.loop_values import LEAF, PRODUCT, Atom, Atoms, NoCell, Sum, complement

FUNCTIONS = frozenset("Sigmoid Tanh Relu Softsign Softplus".split())
"""Functions without parameters that recurrent operators apply."""
STATE = "\0state"
"""The beginning of the names of leaves that are states."""


@dataclass(frozen=True)
class Cell:
    """A recurrent operator for one direction.

    Attributes:
        x: the name of the leaf that is its input.
        weights, recurrence: [gates * units, inputs] and [gates * units, units], gates in ONNX's order.
        bias: [2 * gates * units], for the input and for the state.
        activations: three of ``FUNCTIONS``.
        mask: the name of the leaf that says which steps count; empty if all do.
        steps: what the states become in an iteration that counts.
    """

    operator: str
    x: str
    weights: Array
    recurrence: Array
    bias: Array
    activations: tuple[str, ...]
    linear_before_reset: bool
    mask: str
    steps: tuple[Sum, ...]


@dataclass(frozen=True)
class _Gate:
    """A function of the input's and the state's products."""

    function: str
    weights: Array
    recurrence: Array
    bias: Array
    state_bias: Array
    late: bool = False


def cell_of(atoms: Atoms, states: Sequence[Sum], updates: Sequence[Sum]) -> Cell:
    """The cell that updates these states, h first. Raises NoCell where no operator does."""
    mask, steps = _unmasked(atoms, states, updates)
    if len(states) == 2:
        return _lstm(atoms, states, steps, mask)
    if len(states) != 1:
        raise NoCell
    new = atoms.alone(steps[0])
    if new is not None and new.operator in FUNCTIONS:
        gate = _gate(atoms, new, states[0])
        return _cell("RNN", atoms, (gate,), (new.operator,) * 3, mask, steps)
    return _gru(atoms, states[0], steps, mask)


def zero_where_masked(atoms: Atoms, cell: Cell) -> Sum:
    """The value of a Keras output whose masked steps are zeros: m * h'."""
    return atoms.product(atoms.leaf(cell.mask, 1), cell.steps[0])


def _unmasked(atoms: Atoms, states: Sequence[Sum], updates: Sequence[Sum]) -> tuple[str, tuple[Sum, ...]]:
    """The mask's leaf, and the updates without it."""
    found = [_mask_of(atoms, state, update) for state, update in zip(states, updates, strict=True)]
    masks = {mask for mask, _ in found}
    if len(masks) != 1:
        raise NoCell
    return masks.pop(), tuple(step for _, step in found)


def _mask_of(atoms: Atoms, state: Sum, update: Sum) -> tuple[str, Sum]:
    """m and n of m * n + (1 - m) * state; no mask and the update itself where it has another form."""
    pair = _pair(atoms, update)
    for kept, taken in () if pair is None else (pair, pair[::-1]):
        skip = _other(kept, state)
        if skip is None or skip.width != 1:
            continue
        mask = complement(skip)
        leaf, step = atoms.alone(mask), _other(taken, mask)
        if leaf is not None and leaf.operator == LEAF and step is not None:
            return leaf.name, step
    return "", update


def _gru(atoms: Atoms, state: Sum, steps: tuple[Sum, ...], mask: str) -> Cell:
    pair = _pair(atoms, steps[0])
    for kept, taken in () if pair is None else (pair, pair[::-1]):
        update = _other(kept, state)
        hidden = None if update is None else _other(taken, complement(update))
        if update is None or hidden is None:
            continue
        gates = (_function(atoms, update), _function(atoms, hidden))
        z = _gate(atoms, gates[0], state)
        reset, last = _reset_gates(atoms, gates[1], state)
        if z.function != reset.function:
            raise NoCell
        names = (z.function, last.function, "Sigmoid")
        return _cell("GRU", atoms, (z, reset, last), names, mask, steps)
    raise NoCell


def _reset_gates(atoms: Atoms, hidden: Atom, state: Sum) -> tuple[_Gate, _Gate]:
    """The reset gate and the last one: of x W + b + r * (h R + d), or of x W + b + (r * h) R."""
    (argument,) = hidden.operands
    products = atoms.products(argument)
    if len(products) != 1:
        raise NoCell
    rest, matrix = atoms.without(argument, products[0])
    weights, none = _parts(atoms, rest, state)
    if none is not None or matrix is None:
        raise NoCell
    for gate, other in (products[0].operands, products[0].operands[::-1]):
        reset = atoms.alone(gate)
        if reset is None or reset.operator not in FUNCTIONS:
            continue
        if other.key == state.key:
            last = _Gate(hidden.operator, weights, matrix, rest.bias, np.zeros(rest.width))
            return _gate(atoms, reset, state), last
        named = atoms.by_name(other)
        if (
            named is None
            or list(named) != [_leaf_name(atoms, state)]
            or not np.array_equal(matrix, np.eye(len(matrix)))
        ):
            continue
        recurrence = named[_leaf_name(atoms, state)]
        last = _Gate(hidden.operator, weights, recurrence, rest.bias, other.bias, late=True)
        return _gate(atoms, reset, state), last
    raise NoCell


def _lstm(atoms: Atoms, states: Sequence[Sum], steps: tuple[Sum, ...], mask: str) -> Cell:
    hidden, cell = states
    new = atoms.alone(steps[0])
    pair = _pair(atoms, steps[1])
    if new is None or new.operator != PRODUCT or pair is None:
        raise NoCell
    for forget, output, squashed, entered, fresh in _lstm_roles(pair, new, cell):
        last = atoms.alone(squashed)
        if last is None or last.operator not in FUNCTIONS or last.operands[0].key != steps[1].key:
            continue
        gates = [_function(atoms, value) for value in (entered, output, forget, fresh)]
        if len({gate.operator for gate in gates[:3]}) != 1:
            continue
        read = tuple(_gate(atoms, gate, hidden) for gate in gates)
        names = (gates[0].operator, gates[3].operator, last.operator)
        return _cell("LSTM", atoms, read, names, mask, steps)
    raise NoCell


def _lstm_roles(pair: tuple[Atom, Atom], new: Atom, cell: Sum) -> Iterator[tuple[Sum, ...]]:
    """Ways to read f * c + i * g and o * tanh(c'): f, o, tanh(c'), i and g."""
    for first, second in (pair, pair[::-1]):
        forget = _other(first, cell)
        if forget is None:
            continue
        for hidden, entering in product((new.operands, new.operands[::-1]), (second.operands, second.operands[::-1])):
            yield (forget, *hidden, *entering)


def _cell(
    operator: str, atoms: Atoms, gates: Sequence[_Gate], names: tuple[str, ...], mask: str, steps: tuple[Sum, ...]
) -> Cell:
    """Gates one below the other, each with its rows transposed."""
    inputs = {name for step in steps for name in _inputs(atoms, step)} - {mask}
    if len(inputs) != 1 or len({gate.weights.shape for gate in gates}) != 1:
        raise NoCell
    bias = [gate.bias for gate in gates] + [gate.state_bias for gate in gates]
    return Cell(
        operator=operator,
        x=inputs.pop(),
        weights=np.concatenate([gate.weights.T for gate in gates]).astype(np.float32),
        recurrence=np.concatenate([gate.recurrence.T for gate in gates]).astype(np.float32),
        bias=np.concatenate(bias).astype(np.float32),
        activations=names,
        linear_before_reset=any(gate.late for gate in gates),
        mask=mask,
        steps=steps,
    )


def _inputs(atoms: Atoms, value: Sum) -> set[str]:
    """Names of the leaves in a sum that are no states."""
    return {name for name in atoms.leaves(value) if not name.startswith(STATE)}


def _gate(atoms: Atoms, function: Atom, state: Sum) -> _Gate:
    (argument,) = function.operands
    weights, recurrence = _parts(atoms, argument, state)
    if recurrence is None:
        raise NoCell
    return _Gate(function.operator, weights, recurrence, argument.bias, np.zeros(argument.width))


def _parts(atoms: Atoms, argument: Sum, state: Sum) -> tuple[Array, Array | None]:
    """The matrices of the one input in a sum, and of the state if it is in the sum."""
    named = atoms.by_name(argument)
    if named is None:
        raise NoCell
    recurrence = named.pop(_leaf_name(atoms, state), None)
    if len(named) != 1 or next(iter(named)).startswith(STATE):
        raise NoCell
    return next(iter(named.values())), recurrence


def _leaf_name(atoms: Atoms, state: Sum) -> str:
    leaf = atoms.alone(state)
    if leaf is None:
        raise NoCell
    return leaf.name


def _function(atoms: Atoms, value: Sum) -> Atom:
    atom = atoms.alone(value)
    if atom is None or atom.operator not in FUNCTIONS:
        raise NoCell
    return atom


def _pair(atoms: Atoms, value: Sum) -> tuple[Atom, Atom] | None:
    """The two products that a sum adds up."""
    found = atoms.added(value)
    if len(found) != 2 or any(atom.operator != PRODUCT for atom in found):
        return None
    return found[0], found[1]


def _other(product: Atom, factor: Sum) -> Sum | None:
    """The other operand of a product of ``factor``."""
    one, other = product.operands
    if one.key == factor.key and one.width == factor.width:
        return other
    return one if other.key == factor.key and other.width == factor.width else None
