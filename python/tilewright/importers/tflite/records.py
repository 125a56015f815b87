"""A .tflite file as plain data, before its operators are translated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.plan import Quantization

OptionValue = int | float | str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor of a subgraph.

    Attributes:
        type: element type by its name in the schema.
        data: the elements of a constant, else None.
        scale, zero_point: one value for the tensor, or one for each index of ``axis``; empty if not quantised.
        is_variable: whether the tensor keeps its elements from run to run.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    data: Array | None
    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int
    is_variable: bool

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are integers that stand for real numbers."""
        return bool(self.scale)

    @property
    def unit(self) -> np.floating[Any]:
        """The one scale of a tensor that is quantised as a whole."""
        unit: np.floating[Any] = np.float32(self.scale[0])
        return unit

    @property
    def zero(self) -> int:
        """The one zero point of a tensor that is quantised as a whole."""
        return self.zero_point[0]

    @property
    def quantization(self) -> Quantization | None:
        """The meaning of the integers, for headers and reports."""
        if not self.scale:
            return None
        return Quantization(self.scale, self.zero_point, self.axis if len(self.scale) > 1 else None)


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """An operator. Inputs and outputs are numbers of tensors; an input of -1 is absent."""

    index: int
    operator: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, OptionValue]


@dataclass(frozen=True, slots=True)
class SubgraphRecord:
    """Tensors, and operators in the order in which they run."""

    name: str
    tensors: tuple[TensorRecord, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[OperatorRecord, ...]


@dataclass(frozen=True, slots=True)
class LiteModel:
    """A .tflite file; the first subgraph is the model."""

    file: str
    subgraphs: tuple[SubgraphRecord, ...]
