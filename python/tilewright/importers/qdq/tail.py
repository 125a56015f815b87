"""The nodes between a float operator and its quantised output, and the epilogue that computes the same."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import Epilogue, Node, Requantize, Rescale, Tensor
from tilewright.graph.edit import GraphEditor
from tilewright.importers.qdq.match import EIGHT_BIT, per_tensor, quantized_value, real_constant
from tilewright.operators.operator import Affine
from tilewright.operators.quantization import QuantizationAttributes
from tilewright.operators.unary import ClipAttributes


@dataclass
class Tail:
    """The nodes between an operator and its output: an added bias, clips, and Quantize if there is one."""

    output: Tensor
    absorbed: list[Node] = field(default_factory=list)
    bias: str = ""
    minimum: float = float("-inf")
    maximum: float = float("inf")
    quantize: Node | None = None

    def epilogue(self, multiplier: tuple[float, ...]) -> Epilogue:
        """The epilogue; ``multiplier`` takes the accumulator to real numbers."""
        if self.quantize is None:
            return Rescale(multiplier, self.minimum, self.maximum)
        given = self.quantize.given(QuantizationAttributes)
        scale, zero_point = self.scale, given.zero_point[0]
        limits = np.iinfo(self.output.dtype.numpy)
        low, high = int(limits.min), int(limits.max)
        if self.minimum != float("-inf"):
            low = quantized_value(self.minimum, scale, zero_point, self.output.dtype)
        if self.maximum != float("inf"):
            high = quantized_value(self.maximum, scale, zero_point, self.output.dtype)
        return Requantize(tuple(value / scale for value in multiplier), zero_point, low, high)

    def extend(self, editor: GraphEditor, node: Node) -> None:
        """Absorb the next node."""
        self.absorbed.append(node)
        self.output = editor.tensors[node.outputs[0]]

    @property
    def scale(self) -> float:
        """Scale of the quantised output."""
        if self.quantize is None:
            raise ValueError("the output is not quantised")
        return self.quantize.given(QuantizationAttributes).scale[0]


def follow(editor: GraphEditor, node: Node, bias_axis: int | None = None) -> Tail:
    """Follow single readers: one Add of a constant along ``bias_axis`` (if given), Clips, and one Quantize."""
    tail = Tail(editor.tensors[node.outputs[0]])
    while (reader := editor.sole_reader(tail.output.name)) is not None and reader.epilogue is None:
        if isinstance(reader.attributes, ClipAttributes):
            low, high = reader.attributes.minimum, reader.attributes.maximum
            tail.minimum, tail.maximum = min(max(tail.minimum, low), high), min(max(tail.maximum, low), high)
        elif reader.operator == "Quantize":
            if per_tensor(reader) and editor.tensors[reader.outputs[0]].dtype in EIGHT_BIT:
                tail.quantize = reader
                tail.extend(editor, reader)
            break
        elif bias_axis is not None and not tail.absorbed and (bias := _bias_of(editor, reader, tail, bias_axis)):
            tail.bias = bias
        else:
            break
        tail.extend(editor, reader)
    return tail


def _bias_of(editor: GraphEditor, node: Node, tail: Tail, axis: int) -> str:
    """The constant that an Add after the operator adds along one axis of the output; else empty."""
    if declared(node).affine is not Affine.SUM or node.inputs[0] == node.inputs[1]:
        return ""
    other = node.inputs[1] if node.inputs[0] == tail.output.name else node.inputs[0]
    if real_constant(editor, other) is None:
        return ""
    shape, output = editor.tensors[other].shape, tail.output.shape
    first = len(output) - len(shape)
    fits = first >= 0 and all(
        extent == 1 or (first + position == axis and extent == output[axis]) for position, extent in enumerate(shape)
    )
    return other if fits else ""
