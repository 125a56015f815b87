"""The graph between import and planning: frozen nodes and tensors with static shapes.

Node attributes are in normal form (docs/reference/graph.md): negative axes resolved,
``auto_pad`` turned into ``pads``. Importers and rewrites produce it; operators and kernels
read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from math import prod
from typing import Any, TypeVar, Union

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Quantization

Array = npt.NDArray[Any]


class DType(Enum):
    """Element types; the value is the NumPy name."""

    FLOAT32 = "float32"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    BOOL = "bool"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(self.value)

    @property
    def size_bytes(self) -> int:
        """Bytes of one element."""
        return int(self.numpy.itemsize)

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers (bool is not)."""
        return self.numpy.kind in "iu"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the graph.

    Attributes:
        name: unique name, the model's own where it has one.
        shape: extents of the logical axes.
        order: logical axes from outermost to innermost in memory; row-major when identity.
        data: the elements of a constant, else None. Treated as read-only.
        quantization: meaning of the stored integers, for headers and reports.
        required: of an input that the model was translated for one value of: its elements, row by row.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    order: tuple[int, ...]
    data: Array | None = field(default=None, compare=False, repr=False)
    quantization: Quantization | None = None
    required: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole tensor, packed."""
        return self.elements * self.dtype.size_bytes

    @property
    def strides_bytes(self) -> tuple[int, ...]:
        """Bytes between neighbours on each logical axis, packed in ``order``."""
        return packed_strides_bytes(self.shape, self.order, self.dtype.size_bytes)

    @property
    def is_constant(self) -> bool:
        """Whether the elements are known at compile time."""
        return self.data is not None


@dataclass(frozen=True, slots=True)
class Clamp:
    """Float epilogue: y = min(max(x, minimum), maximum)."""

    minimum: float
    maximum: float


@dataclass(frozen=True, slots=True)
class Requantize:
    """Integer epilogue: y = clip(round_half_even(acc * multiplier) + zero_point, minimum, maximum).

    ``multiplier`` has one element, or one for each output channel. QuantizeLinear of a
    dequantised accumulator, with the scales multiplied out in float64.
    """

    multiplier: tuple[float, ...]
    zero_point: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class RequantizeShift:
    """Deeploy's RequantShift: y = clip((acc * multiplier + addend + half) >> shift, minimum, maximum).

    half = 1 << (shift - 1) for shift > 0, else 0; ``>>`` is the arithmetic shift. One
    element, or one for each output channel.
    """

    multiplier: tuple[int, ...]
    addend: tuple[int, ...]
    shift: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class RequantizeTwice:
    """LiteRT's requantisation, which rounds twice: y = clip(away(up(acc * 2^s * q / 2^31)) + zero_point).

    ``up`` rounds to the nearest integer, halves up. For shift s > 0, ``away`` does nothing. For s <= 0 the
    factor 2^s stands behind ``up``: away(v) = v * 2^s to the nearest integer, halves away from zero.

    Attributes:
        multiplier: q, from 2^30 to 2^31 - 1, or 0. One value, or one for each output channel.
        shift: s, from -31 to 31; as many values as ``multiplier`` has.
    """

    multiplier: tuple[int, ...]
    shift: tuple[int, ...]
    zero_point: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class RoundAway:
    """Epilogue of real numbers: y = clip(acc to the nearest integer, halves away from zero)."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Rescale:
    """Integer accumulator to float32: y = acc * multiplier, then the clamp."""

    multiplier: tuple[float, ...]
    minimum: float = float("-inf")
    maximum: float = float("inf")


Epilogue = Union[Clamp, Requantize, RequantizeShift, RequantizeTwice, RoundAway, Rescale]


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a node is told besides its tensors.

    Each operator that is told something declares a subclass, frozen too, whose fields are the
    attributes in normal form (``Operator.attributes``). This class itself has none.
    """


AttributesOf = TypeVar("AttributesOf", bound=Attributes)


@dataclass(frozen=True, slots=True)
class Node:
    """An operator applied to tensors. An absent optional input is the empty string."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Attributes = Attributes()
    epilogue: Epilogue | None = None
    sources: tuple[str, ...] = ()
    """Names of the model's nodes that this node stands for."""

    def given(self, kind: type[AttributesOf]) -> AttributesOf:
        """The attributes, which are of that type; TypeError with the node's name where they are of another."""
        if not isinstance(self.attributes, kind):
            has = type(self.attributes).__name__
            raise TypeError(f"node '{self.name}' ({self.operator}) has {has}, not {kind.__name__}")
        return self.attributes


@dataclass(frozen=True, slots=True)
class State:
    """What a model remembers from one run to the next: ``input`` holds what the run before left in ``output``.

    ``initial`` is what the input holds in the first run, an array of its shape and type; None for real zeros.
    """

    input: str
    output: str
    initial: Array | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A tensor of which only the first entries along ``axis`` are real, as many as the tensor ``count`` says.

    The bound of that number is the axis's extent.
    """

    axis: int
    count: str


@dataclass(frozen=True, slots=True)
class Slide:
    """A window over the fed input that slides: how far with each run, and of how many rows the graph is.

    The graph is that of a longer window, in which rows go on behind the last one as behind the one ``period`` before.

    Attributes:
        rows: new rows of the input in each run.
        output_rows: the rows that they complete, of each output.
        window: rows of the input as the model was written.
        period: rows of the input after which everything lies where it lay before.
    """

    rows: int
    output_rows: tuple[int, ...]
    window: int
    period: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in topological order, tensors by name, the interface in the model's order.

    ``extensions`` are declarations of operators that are not Tilewright's own, by ``Node.operator``. Inputs and
    outputs of ``states`` are the plan's and not the caller's. ``fed`` is the input that the caller gives row by row;
    empty for none. ``slide`` says that each run goes on where the run before ended. ``any_weights`` says that no
    decision (which kernel runs, which constants are stored once) may depend on values of constants or scales of
    tensors, because a file may bring other values. ``bounded`` names the outputs of which only the first entries are
    real; the outputs in ``counts`` say how many entries operators found.
    ``nominal_macs`` are the multiply-accumulates of the model's nodes before any rewriting, by name; empty if unknown.
    """

    name: str
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    extensions: Mapping[str, object] = field(default_factory=dict)
    states: tuple[State, ...] = ()
    fed: str = ""
    slide: Slide | None = None
    any_weights: bool = False
    bounded: Mapping[str, Bounded] = field(default_factory=dict)
    counts: tuple[str, ...] = ()
    nominal_macs: Mapping[str, int] = field(default_factory=dict)

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return self.tensors[name]

    def producers(self) -> dict[str, Node]:
        """The node that writes each tensor."""
        return {output: node for node in self.nodes for output in node.outputs}

    def consumers(self) -> dict[str, list[Node]]:
        """The nodes that read each tensor, in order; every tensor has an entry."""
        readers: dict[str, list[Node]] = {name: [] for name in self.tensors}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                if name:
                    readers[name].append(node)
        return readers

    def with_nodes(self, nodes: Iterable[Node], tensors: Mapping[str, Tensor] | None = None) -> Graph:
        """The same interface with other nodes; tensors that nothing mentions are dropped."""
        nodes = tuple(nodes)
        known = dict(self.tensors if tensors is None else tensors)
        used = set(self.inputs) | set(self.outputs)
        for node in nodes:
            used.update(name for name in (*node.inputs, *node.outputs) if name)
        return replace(self, nodes=nodes, tensors={k: v for k, v in known.items() if k in used})


def identity_order(rank: int) -> tuple[int, ...]:
    """Row-major order."""
    return tuple(range(rank))


def channels_last_order(rank: int) -> tuple[int, ...]:
    """Axis 1 innermost: N, spatial..., C."""
    return (0, *range(2, rank), 1) if rank > 2 else identity_order(rank)


def packed_strides_bytes(shape: tuple[int, ...], order: tuple[int, ...], element_bytes: int) -> tuple[int, ...]:
    """Strides of a packed array whose axes stand in memory in ``order``, outermost first."""
    strides = [0] * len(shape)
    step = element_bytes
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def constant(name: str, data: Array, quantization: Quantization | None = None) -> Tensor:
    """A constant tensor in row-major order; raises ValueError for an unknown element type."""
    array = np.ascontiguousarray(data).reshape(np.shape(data))
    array.flags.writeable = False
    return Tensor(name, DType(array.dtype.name), tuple(array.shape), identity_order(array.ndim), array, quantization)


def variable(name: str, dtype: DType, shape: Iterable[int], quantization: Quantization | None = None) -> Tensor:
    """A tensor computed at run time, in row-major order."""
    shape = tuple(int(extent) for extent in shape)
    return Tensor(name, dtype, shape, identity_order(len(shape)), None, quantization)
