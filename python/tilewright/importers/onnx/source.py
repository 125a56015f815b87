"""An ONNX model as plain data: the content of the file, before its operators are translated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Tensor


@dataclass(frozen=True, slots=True)
class SourceNode:
    """A node of the file. Attribute values are int, float, str, lists of them, arrays, or graphs (bodies)."""

    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def is_standard(self) -> bool:
        """Whether the operator is one of ONNX itself."""
        return self.domain in ("", "ai.onnx")

    @property
    def place(self) -> str:
        """The node as messages name it."""
        name = f"'{self.name}'" if self.name else f"of '{self.outputs[0]}'"
        return f"node {name} ({self.operator})"


@dataclass(frozen=True, slots=True)
class SourceGraph:
    """The body of a control-flow node. Its nodes may read names from outside."""

    nodes: tuple[SourceNode, ...]
    constants: Mapping[str, Array]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


NO_CLAIM = "any type"
"""The element type of a value of which the file does not say one."""


@dataclass(frozen=True, slots=True)
class SourceValue:
    """A tensor as the file declares it: element type by its ONNX name in lower case, and for each axis the extent.

    An extent is a number, a symbol, or None for an unnamed one.

    An extent of 0 is what the file says: the tensor is empty, or the exporter did not know the extent.
    """

    name: str
    element_type: str
    shape: tuple[int | str | None, ...] | None


Evaluate = Callable[[SourceNode, Sequence["Array | None"], int], "list[Array]"]
"""A function that runs one node on constants, with results of at most so many bytes; raises ValueError if that is not
possible."""

Infer = Callable[[Mapping[str, Tensor], Mapping[str, Array], bool], "tuple[SourceValue, ...]"]
"""Types and shapes by ONNX's inference, given tensors and constants of the translation; if the last is true,
ValueError tells of operands that contradict each other."""


@dataclass(frozen=True, slots=True)
class SourceModel:
    """A model file. ``inputs`` leaves out initializers that are listed as inputs.

    ``declared`` is what the file says of outputs and of tensors between nodes, ``initialised`` are those inputs.
    """

    name: str
    file: str
    opset: int
    nodes: tuple[SourceNode, ...]
    constants: Mapping[str, Array]
    inputs: tuple[SourceValue, ...]
    outputs: tuple[str, ...]
    evaluate: Evaluate
    declared: tuple[SourceValue, ...]
    infer: Infer
    initialised: tuple[SourceValue, ...] = ()
