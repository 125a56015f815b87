"""The declaration of an operator: its loop nest and its reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from tilewright.base.errors import TilewrightError, not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.nest import Nest

Arrays = Sequence["Array | None"]
"""The node's inputs in order; None stands for an absent optional input."""

NestOf = Callable[[Node, Graph], Nest]
Reference = Callable[[Node, Graph, Arrays], "list[Array]"]


class Multipliers(Enum):
    """How many multipliers the integer epilogue of an operator may have.

    NONE: the operator takes no integer epilogue. ONE: one multiplier for the tensor. EACH: one for each channel.
    """

    NONE = "none"
    ONE = "one"
    EACH = "each"


class Affine(Enum):
    """How a constant operand c changes the other operand x, element by element.

    FACTOR: x * c. SUM: x + c. DIFFERENCE: x - c. NONE: in another way.
    """

    NONE = "none"
    FACTOR = "factor"
    SUM = "sum"
    DIFFERENCE = "difference"


class Integers(Enum):
    """The computation on stored integers that can replace an operator with dequantised inputs.

    NONE: nothing; it stays float. WEIGHTED: sums of products of its first input with constant weights.
    MATRICES: sums of products of its first two inputs. SUM, DIFFERENCE, PRODUCT: of its two inputs, element by
    element. MEAN: means of its input, less ``x_zero_point``. RATIO: numbers without a unit, which need ``x_scale``.
    NEIGHBOURS: weighted means of its input's elements along an axis.
    """

    NONE = "none"
    WEIGHTED = "weighted"
    MATRICES = "matrices"
    SUM = "sum"
    DIFFERENCE = "difference"
    PRODUCT = "product"
    MEAN = "mean"
    RATIO = "ratio"
    NEIGHBOURS = "neighbours"


@dataclass(frozen=True, slots=True)
class OnIntegers:
    """How an operator with dequantised inputs runs on the stored integers.

    Attributes:
        computes: what it computes.
        operator: name of the operator on integers, empty if it is the same one.
        channel_axis: the axis of constant weights that their scales and the output's channels follow.
        over_volumes: whether kernels of integers take windows over three axes.
    """

    computes: Integers
    operator: str = ""
    channel_axis: int = 0
    over_volumes: bool = False


STAYS_FLOAT = OnIntegers(Integers.NONE)
"""The value for operators that need real numbers."""


class Joins(Enum):
    """Which tensors of an operator can lie inside another tensor, so that the operator moves nothing.

    PARTS: the inputs lie one behind the other in the output (Concat).
    PART: the output lies in the first input (Slice).
    """

    NONE = "none"
    PARTS = "parts"
    PART = "part"


Function = Callable[..., Array]
"""``function(node, *operands)``: the output's elements, from float64 operands that broadcast."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator as docs/reference/graph.md defines it.

    The first four fields say what the operator computes. All others tell importers, rewrites and storage
    what they may do with its nodes; with the defaults they do nothing, which is right for a new operator.

    Attributes:
        name: ``Node.operator`` of the operator's nodes.
        nest: iteration space and accesses of a node, from the shapes of its tensors alone.
        reference: the outputs of a node, in their tensors' dtypes and logical shapes.
        attributes: type of ``Node.attributes``; its fields are the operator's attributes.
        function: for operators whose output element depends on one element of each input: the
            arithmetic in float64. Where all inputs are one quantised tensor of 8 bits, the node
            becomes a table of its 256 results.
        channel_axis: output axis that per-channel values of an epilogue follow, negative from the
            last one; a ``channel_axis`` among the node's attributes takes its place.
        takes_clamp: whether kernels of float nodes apply a ``Clamp`` epilogue.
        multipliers: how many multipliers a ``RequantizeShift`` epilogue may have.
        affine: how a constant operand changes the other; behind an operator with weights the constant is
            folded into weights and bias.
        on_integers: how the operator runs on the stored integers of dequantised inputs.
        weights_axis: for operators whose second input is weights, and whose third, if there is one, is a bias:
            the axis of the weights that the output's channels follow, negative from the last one; None for a
            node whose weights have no such axis.
        keeps_values: whether each output element is an element of an input, or a padding value, chosen
            by position, by order or by integer indices. A Dequantize in front of such an operator may be moved
            behind it.
        is_view: whether the output has the input's elements under another shape or axis order, so
            that no byte need move.
        joins: which tensors can lie inside another one.
        is_alike: whether the operator does the same at every position of an axis from 2 on that its nest reads some
            positions at a time, but for padding, which ``pads`` among its attributes say. So some of these positions
            can be computed from some of the inputs' (``rewrites/strips.py``).
    """

    name: str
    nest: NestOf
    reference: Reference
    attributes: type[Attributes] = Attributes
    function: Function | None = None
    channel_axis: int = 1
    takes_clamp: bool = False
    multipliers: Multipliers = Multipliers.NONE
    affine: Affine = Affine.NONE
    on_integers: OnIntegers = STAYS_FLOAT
    weights_axis: Callable[[Node], int | None] | None = None
    keeps_values: bool = False
    is_view: bool = False
    joins: Joins = Joins.NONE
    is_alike: bool = False


def operand(arrays: Arrays, index: int) -> Array:
    """An input that every node of the operator has; ValueError if it is absent."""
    array = optional_operand(arrays, index)
    if array is None:
        raise ValueError(f"input {index} is absent")
    return array


def optional_operand(arrays: Arrays, index: int) -> Array | None:
    """An input that a node may leave out."""
    return arrays[index] if index < len(arrays) else None


def refuse(node: Node, code: str, reason: str, help: str | tuple[str, ...] = ()) -> TilewrightError:
    """A not_supported error that names the node and its operator."""
    return not_supported(code, f"{node.operator} {reason}", at=f"node '{node.name}' ({node.operator})", help=help)
