"""Composition of a node of simpler operators: ``Steps`` translates them one by one and names their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Tensor
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.source import SourceNode

Translate = Callable[[Call], None]
Translators = Mapping[str, Translate]


@dataclass(frozen=True, slots=True)
class Steps:
    """Writes operators of ONNX into the graph in the place of a node. Tensors are passed by name."""

    call: Call
    known: Translators

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Translate an operator, and give the name of its only output."""
        output = self.call.build.reserve(f"{self.call.node.outputs[0]}/{operator}")
        node = SourceNode(self.call.node.name, operator, "", inputs, (output,), attributes)
        self.known[operator](Call(node, self.call.build))
        return output

    def constant(self, values: npt.ArrayLike, dtype: type[np.generic] = np.float32) -> str:
        """A constant by its values."""
        return self.call.literal(np.asarray(values, dtype), f"{self.call.node.outputs[0]}/constant")

    def reshape(self, name: str, *shape: int) -> str:
        """The elements of a tensor in another shape."""
        known = self.call.build.constants.get(name)
        if known is not None:
            if known.size != prod(shape):
                raise Unsupported(f"{list(known.shape)} cannot take shape {list(shape)}", "export the model again")
            return self.call.literal(known.reshape(shape), f"{name}/shaped")
        return self.call.emit("Reshape", [name], shape, part="shaped")

    def cast(self, name: str, dtype: DType) -> str:
        """The elements of a tensor in another type."""
        tensor = self.tensor(name)
        return name if tensor.dtype is dtype else self.call.emit("Cast", [name], tensor.shape, dtype=dtype, part="cast")

    def tensor(self, name: str) -> Tensor:
        """Shape and type of a tensor."""
        return self.call.build.tensor(name)

    def finish(self, name: str, output: int = 0) -> None:
        """Make a tensor an output of the node, unless the node leaves it out."""
        outputs = self.call.node.outputs
        if output < len(outputs) and outputs[output]:
            self.call.emit("Reshape", [name], self.tensor(name).shape, output=output)


def with_steps(earlier: Translators, composed: Mapping[str, Callable[[Call, Steps], None]]) -> dict[str, Translate]:
    """Translators by operator of those that consist of others; ``earlier`` has the translators of the others."""

    def of(translate: Callable[[Call, Steps], None]) -> Translate:
        def both(call: Call) -> None:
            translate(call, Steps(call, earlier))

        both.__doc__ = translate.__doc__
        return both

    return {name: of(translate) for name, translate in composed.items()}
