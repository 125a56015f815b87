"""The context of the translation of one ONNX node: its operands, its attributes, and the graph that it writes.

A translator gets a ``Call``: the node, its operands and the graph under construction. It
emits nodes of the normal form (docs/reference/graph.md) or raises ``Unsupported``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.catalogue.operators import attributes_for
from tilewright.graph import Array, Attributes, DType, Epilogue, Node, Tensor, variable
from tilewright.graph.edit import NO_ATTRIBUTES
from tilewright.importers.construction import MAX_BYTES, Construction, Unsupported, checked, constant_tensor
from tilewright.importers.onnx.remedies import to_freeze
from tilewright.importers.onnx.source import SourceNode

Given = Attributes | Mapping[str, Any]
"""The attributes that a translator gives a node: an object of the operator's type of attributes, or values by name."""


@dataclass(frozen=True)
class Call:
    """One node to translate."""

    node: SourceNode
    build: Construction

    def has(self, index: int) -> bool:
        """Whether an optional input is present."""
        return index < len(self.node.inputs) and self.node.inputs[index] != ""

    def input(self, index: int) -> Tensor:
        """An input tensor; Unsupported if it is absent."""
        return self.build.tensor(self.operand(index))

    def operand(self, index: int) -> str:
        """The name of an input; Unsupported if it is absent."""
        if not self.has(index):
            raise Unsupported(f"input {index} is missing", "export the model again")
        return self.node.inputs[index]

    def real(self, index: int) -> Tensor:
        """An input of float32, or of integers that stand for float32 in a dialect; Unsupported for other types."""
        tensor = self.input(index)
        if tensor.dtype is not DType.FLOAT32 and not self.build.integers_in_floats:
            raise Unsupported(
                f"input {index} has type {tensor.dtype.value}, float32 is supported",
                "quantise with QuantizeLinear and DequantizeLinear (QDQ)",
            )
        return tensor

    def known(self, index: int) -> Array | None:
        """The elements of an input as an array if they are constant, else None."""
        return self.build.constants.get(self.node.inputs[index]) if self.has(index) else None

    def constant(self, index: int, what: str) -> Array:
        """The elements of an input as an array; Unsupported if they are not constant."""
        array = self.known(index)
        if array is None:
            remedy = to_freeze(self.build.nodes, self.build.tensors, self.node.inputs[index : index + 1])
            raise Unsupported(f"{what} (input {index}) is computed at run time", remedy)
        return array

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute of the node.

        Unsupported if it is of another kind than the default: a number, a text or a list. ONNX says of which kind an
        attribute is, but only for its own operators, and of those only for what it knows.
        """
        value = self.node.attributes.get(name, default)
        if default is None or _kind(value) == _kind(default):
            return value
        if _kind(default) == "a number" and isinstance(value, np.ndarray) and value.size == 1:
            return self.number(name)
        raise Unsupported(f"attribute '{name}' is {_kind(value)}, not {_kind(default)}", "export the model again")

    def number(self, name: str) -> float:
        """An attribute that holds one finite number, as such or as a tensor; Unsupported if it does not."""
        value = self.node.attributes.get(name)
        listed = _numbers(value)
        if not listed or not np.isfinite(listed[0]):
            raise Unsupported(f"attribute '{name}' is {_kind(value)}, not a finite number", "export the model again")
        return float(listed[0])

    def numbers(self, name: str, default: Iterable[float]) -> tuple[float, ...]:
        """A list attribute; Unsupported if it does not hold numbers."""
        listed = _numbers(self.attribute(name, list(default)))
        if listed is None:
            raise Unsupported(f"attribute '{name}' is no list of numbers", "export the model again")
        return tuple(listed)

    def integers(self, name: str, default: Iterable[int]) -> tuple[int, ...]:
        """A list attribute; Unsupported if it does not hold numbers."""
        listed = self.numbers(name, default)
        if not np.isfinite(listed).all():
            raise Unsupported(f"attribute '{name}' is no list of integers", "export the model again")
        return tuple(int(value) for value in listed)

    def geometry(self, name: str, default: Iterable[int]) -> tuple[int, ...]:
        """A list attribute of sizes and distances; Unsupported beyond 32 bits.

        It is as long as the default is, unless that is empty.
        """
        usual = tuple(default)
        values = self.integers(name, usual)
        if usual and len(values) != len(usual):
            raise Unsupported(f"'{name}' has {len(values)} numbers, not {len(usual)}", "export the model again")
        if any(abs(value) > MAX_BYTES for value in values):
            raise Unsupported(f"'{name}' {list(values)} is beyond 32 bits")
        return values

    def axes(self, attribute: str, index: int, rank: int, default: Iterable[int] | None = None) -> tuple[int, ...]:
        """Axes from an attribute or, in newer opsets, from an input; negative ones resolved."""
        if self.has(index):
            listed = [int(axis) for axis in self.constant(index, attribute).reshape(-1)]
        elif self.attribute(attribute) is not None:
            listed = list(self.integers(attribute, ()))
        elif default is not None:
            listed = list(default)
        else:
            raise Unsupported(f"'{attribute}' is missing", "export the model again")
        axes = tuple(self.axis(axis, rank) for axis in listed)
        if len(set(axes)) != len(axes):
            raise Unsupported(f"'{attribute}' is {listed}: an axis stands there twice", "export the model again")
        return axes

    def axis(self, axis: int, rank: int) -> int:
        """An axis with negative numbers resolved."""
        if not -rank <= axis < rank:
            raise Unsupported(f"axis {axis} of a tensor with {rank} axes", "export the model again")
        return axis % rank

    def literal(self, array: Array, base: str) -> str:
        """A new constant tensor; its name is derived from ``base``."""
        name = self.build.fresh(base)
        self.build.take_bytes(array.nbytes)
        self.build.tensors[name] = checked(constant_tensor(name, array))
        self.build.constants[name] = array
        return name

    def emit(
        self,
        operator: str,
        inputs: Sequence[str],
        shape: Sequence[int],
        attributes: Given = NO_ATTRIBUTES,
        *,
        dtype: DType | None = None,
        part: str = "",
        output: int = 0,
        epilogue: Epilogue | None = None,
    ) -> str:
        """Add a node and give the name of its output.

        Args:
            attributes: the operator's own type, or its fields by name.
            dtype: of the output; that of the first input by default.
            part: empty for the node that writes the model's output, else a word for an intermediate.
        """
        if operator == "Reshape" and prod(shape) != self.build.tensor(inputs[0]).elements:
            raise Unsupported(f"{list(self.build.tensor(inputs[0]).shape)} cannot take shape {list(shape)}")
        target = self.node.outputs[output]
        name = self.build.fresh(f"{target}/{part}") if part else target
        dtype = self.build.tensor(inputs[0]).dtype if dtype is None else dtype
        if prod(shape) == 0:
            # Nothing has to run for a tensor without elements; its readers decide what it means.
            self.build.constants[name] = np.zeros(tuple(shape), dtype.numpy)
            return name
        self.build.tensors[name] = checked(variable(name, dtype, shape))
        label = self.build.fresh_node(f"{self.node.name or target}/{part}" if part else self.node.name or target)
        sources = (self.node.name or target,)
        given = _typed(operator, attributes)
        self.build.nodes.append(Node(label, operator, tuple(inputs), (name,), given, epilogue, sources))
        return name

    def emit_all(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[tuple[Sequence[int], DType]],
        attributes: Given = NO_ATTRIBUTES,
    ) -> None:
        """Add a node that gives all of the model's outputs, each a shape and an element type.

        An output that the model leaves out or does not name still exists, since the kernel writes it.
        """
        listed = [*self.node.outputs, *[""] * (len(outputs) - len(self.node.outputs))]
        names = []
        for target, (shape, dtype) in zip(listed, outputs, strict=True):
            name = target or self.build.fresh(f"{listed[0]}/unused")
            self.build.tensors[name] = checked(variable(name, dtype, shape))
            names.append(name)
        label = self.build.fresh_node(self.node.name or listed[0])
        sources = (self.node.name or listed[0],)
        given = _typed(operator, attributes)
        self.build.nodes.append(Node(label, operator, tuple(inputs), tuple(names), given, None, sources))

    def emit_parts(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[tuple[Sequence[int], DType]],
        attributes: Given = NO_ATTRIBUTES,
    ) -> tuple[str, ...]:
        """Add a node all of whose outputs are intermediates, and give their names."""
        base = next(name for name in self.node.outputs if name)
        names = []
        for number, (shape, dtype) in enumerate(outputs):
            name = self.build.fresh(f"{base}/part{number}")
            self.build.tensors[name] = checked(variable(name, dtype, shape))
            names.append(name)
        label = self.build.fresh_node(f"{self.node.name or base}/inner")
        sources = (self.node.name or base,)
        given = _typed(operator, attributes)
        self.build.nodes.append(Node(label, operator, tuple(inputs), tuple(names), given, None, sources))
        return tuple(names)


def _kind(value: Any) -> str:
    """The kind of an attribute's value, in words."""
    if isinstance(value, (bool, int, float, np.number)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, (list, tuple, range, np.ndarray)) else type(value).__name__


def _numbers(value: Any) -> list[float] | None:
    """The numbers in a value, one or several; None if it holds anything else."""
    if _kind(value) not in ("a number", "a list"):
        return None
    array = np.asarray(value)
    return array.reshape(-1).tolist() if array.dtype.kind in "biuf" or array.size == 0 else None


def _typed(operator: str, given: Given) -> Attributes:
    """The attributes in the operator's type: the one place where names become fields."""
    return given if isinstance(given, Attributes) else attributes_for(operator, given)
