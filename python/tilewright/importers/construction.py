"""The graph while an importer translates a model, and the exception for what it cannot translate.

All importers share both: ONNX and .tflite files become the same normal form (docs/reference/graph.md).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from tilewright.graph import Array, Bounded, DType, Node, Tensor, constant

MAX_RANK = 6
MAX_BYTES = 1 << 30
"""The most bytes of a tensor: kernels have signed offsets and strides of 32 bits, and plans are checked that far."""
LEAST_COMPUTED_BYTES = 16 * 2**20
COMPUTED_FACTOR = 4
"""Constants computed at compile time may take LEAST_COMPUTED_BYTES + COMPUTED_FACTOR * bytes of the model's own."""
_DTYPES = {dtype.value: dtype for dtype in DType}


class Unsupported(Exception):
    """A node that cannot be translated: the reason, and what would work."""

    def __init__(self, reason: str, help: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.help = help


@dataclass
class Construction:
    """The graph as far as it is translated.

    Attributes:
        constants: arrays known at compile time, by the model's names; tensors are made of those
            that a node reads.
        integers_in_floats: whether float tensors may hold integers (the Deeploy dialect).
        computed_bytes: how many bytes more the constants that are computed may take.
        unrolled: how many nodes the bodies of control flow have become.
        bounds: by output of an operator that finds entries, the most entries, as the user declares.
        bounded: by name, the tensors of which only the first entries are real.
        counts: the tensors that say how many entries were found; they become outputs of the model.
        reserved: names of tensors that the model has, or that are taken for tensors to come.
        numbers: by base of a tensor's name, the number from which a free name is looked for: bodies of loops take
            thousands of names of one base.
        node_numbers: the same for names of nodes.
        last_axis_softmax: whether Softmax without an axis runs over the last one, whatever the opset.
    """

    opset: int
    integers_in_floats: bool
    constants: dict[str, Array]
    last_axis_softmax: bool = False
    computed_bytes: int = LEAST_COMPUTED_BYTES
    unrolled: int = 0
    bounds: Mapping[str, int] = field(default_factory=dict)
    bounded: dict[str, Bounded] = field(default_factory=dict)
    counts: list[str] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    reserved: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    node_names: set[str] = field(default_factory=set)
    node_numbers: dict[str, int] = field(default_factory=dict)

    def take_bytes(self, size_bytes: int) -> None:
        """Take bytes for a constant that is computed; Unsupported if the model has had its share."""
        self.require_room(size_bytes)
        self.computed_bytes -= size_bytes

    def require_room(self, size_bytes: int) -> None:
        """Unsupported if an array of so many bytes is larger than what the model may still take for constants.

        It is asked before an array is made whose size a number of the model decides.
        """
        if size_bytes > self.computed_bytes:
            what = f"a constant of {size_bytes:,} bytes, of which {self.computed_bytes:,} are left for this model"
            raise Unsupported(what, "compute it in the firmware, and make it an input of the model")

    def fresh(self, base: str) -> str:
        """A tensor name that neither the model nor the graph uses."""
        return _free(base, self.numbers, (self.reserved, self.tensors, self.constants))

    def reserve(self, base: str) -> str:
        """A tensor name that neither the model nor the graph uses, taken from now on."""
        name = self.fresh(base)
        self.reserved.add(name)
        return name

    def fresh_node(self, base: str) -> str:
        """A node name that is not taken."""
        name = _free(base, self.node_numbers, (self.node_names,))
        self.node_names.add(name)
        return name

    def tensor(self, name: str) -> Tensor:
        """A tensor that a translated node may read; constants are taken over on first use."""
        if name not in self.tensors and name not in self.constants:
            raise Unsupported(f"'{name}' is an output that its node does not give at inference", "do not use it")
        if name not in self.tensors:
            self.tensors[name] = checked(constant_tensor(name, self.constants[name]))
        return self.tensors[name]


def _free(base: str, numbers: dict[str, int], taken: Sequence[Container[str]]) -> str:
    """``base``, or the first of ``base_2``, ``base_3`` ... that is not taken, from the remembered number on."""
    number = numbers.get(base, 1)
    name = base if number == 1 else f"{base}_{number}"
    while any(name in names for names in taken):
        number += 1
        name = f"{base}_{number}"
    numbers[base] = number
    return name


def computed_type(element_type: str) -> str:
    """The element type in which kernels compute what a model has in ``element_type``."""
    return "float32" if element_type == "float64" else element_type


def constant_tensor(name: str, array: Array) -> Tensor:
    """A constant, float64 as float32; Unsupported for an element type that the graph does not know."""
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
    if array.dtype.name not in _DTYPES:
        raise Unsupported(f"'{name}' has element type {array.dtype.name}", "convert the model to float32")
    return constant(name, array)


def dtype_named(name: str) -> DType:
    """An element type by its NumPy name; Unsupported if the graph does not know it."""
    if name not in _DTYPES:
        raise Unsupported(f"element type {name}", "convert the model to float32")
    return _DTYPES[name]


def checked(tensor: Tensor) -> Tensor:
    """The tensor itself; Unsupported if its shape is beyond what kernels take."""
    if len(tensor.shape) > MAX_RANK:
        raise Unsupported(f"'{tensor.name}' has {len(tensor.shape)} axes; at most {MAX_RANK} are supported")
    if tensor.size_bytes > MAX_BYTES:
        raise Unsupported(f"'{tensor.name}' takes {tensor.size_bytes:,} bytes; at most {MAX_BYTES:,} are supported")
    if prod(tensor.shape) == 0:
        raise Unsupported(f"'{tensor.name}' has no elements (shape {list(tensor.shape)})", "remove empty tensors")
    return tensor


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an elementwise result; Unsupported if the shapes do not broadcast."""
    try:
        return tuple(int(extent) for extent in np.broadcast_shapes(*shapes))
    except ValueError:
        raise Unsupported(f"shapes {' and '.join(str(list(s)) for s in shapes)} do not broadcast") from None
