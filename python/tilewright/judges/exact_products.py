"""Models whose products of uint8 and int8 ONNX Runtime computes exactly on every processor.

On x86 processors with AVX2 but without VNNI, ONNX Runtime adds such products in pairs that saturate at 16 bits.
Products of uint8 and uint8 are exact everywhere, and 128 added to weights and to their zero point changes no result:

Before:  QLinearConv(x: uint8, w: int8, w_zero_point: 0)
After:   QLinearConv(x: uint8, w + 128: uint8, w_zero_point: 128)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.base.lazy_dataclass import dataclass

_OFFSET = 128


@dataclass(frozen=True, slots=True)
class _Places:
    """The positions of a product's operands among a node's inputs.

    Attributes:
        x: of the inputs and their zero point; empty where the node itself quantises the inputs to uint8.
    """

    x: tuple[int, ...]
    weights: int
    weights_zero_point: int


_PRODUCTS: Mapping[str, _Places] = {
    "QLinearConv": _Places((0, 2), 3, 5),
    "QLinearMatMul": _Places((0, 2), 3, 5),
    "QGemm": _Places((0, 2), 3, 5),
    "MatMulInteger": _Places((0, 2), 1, 3),
    "ConvInteger": _Places((0, 2), 1, 3),
    "MatMulIntegerToFloat": _Places((0, 4), 1, 5),
    "DynamicQuantizeMatMul": _Places((), 1, 3),
}


def load_exact(path: Path) -> onnx.ModelProto:
    """The model of a file, with exact products."""
    return with_exact_products(onnx.load(str(path)))


def with_exact_products(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model that computes the same; weights of int8 behind inputs of uint8 are uint8 in the main graph."""
    types = _element_types(model)
    mixed = [node for node in model.graph.node if node.op_type in _PRODUCTS and _is_mixed(node, types)]
    if not mixed:
        return model
    exact = onnx.ModelProto()
    exact.CopyFrom(model)
    writer = _Writer(exact.graph, {tensor.name: tensor for tensor in model.graph.initializer})
    nodes = list(exact.graph.node)
    del exact.graph.node[:]
    for node in nodes:
        if node.op_type in _PRODUCTS and _is_mixed(node, types):
            _shift(node, writer)
        exact.graph.node.append(node)
    return exact


def _element_types(model: onnx.ModelProto) -> dict[str, int]:
    """Element types by tensor, of those that ONNX's inference knows."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    values = (*inferred.input, *inferred.value_info, *inferred.output)
    types = {value.name: value.type.tensor_type.elem_type for value in values if value.type.tensor_type.elem_type}
    types.update({tensor.name: tensor.data_type for tensor in inferred.initializer})
    return types


def _is_mixed(node: onnx.NodeProto, types: Mapping[str, int]) -> bool:
    """Whether a product has inputs of uint8 and weights of int8; a zero point has its operand's type."""
    places = _PRODUCTS[node.op_type]
    weights = _type_of(node, (places.weights, places.weights_zero_point), types)
    if weights != TensorProto.INT8:
        return False
    return not places.x or _type_of(node, places.x, types) == TensorProto.UINT8


def _type_of(node: onnx.NodeProto, indices: tuple[int, ...], types: Mapping[str, int]) -> int | None:
    names = [node.input[index] for index in indices if index < len(node.input)]
    return next((types[name] for name in names if name in types), None)


def _shift(node: onnx.NodeProto, writer: _Writer) -> None:
    """Give a node weights and a zero point that are 128 larger."""
    places = _PRODUCTS[node.op_type]
    zero = places.weights_zero_point
    node.input.extend([""] * (zero + 1 - len(node.input)))
    node.input[places.weights] = writer.shifted(node.input[places.weights])
    node.input[zero] = writer.shifted(node.input[zero]) if node.input[zero] else writer.constant(np.uint8(_OFFSET))


class _Writer:
    """Adds tensors, and nodes in front of the next one, to a graph."""

    def __init__(self, graph: onnx.GraphProto, constants: Mapping[str, TensorProto]) -> None:
        self._graph = graph
        self._constants = constants
        self._written: dict[str, str] = {}

    def constant(self, array: np.ndarray | np.generic) -> str:
        """The name of a new constant."""
        name = f"tilewright/exact_{len(self._graph.initializer)}"
        self._graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def shifted(self, name: str) -> str:
        """The name of a tensor of int8 plus 128, as uint8."""
        if name not in self._written:
            constant = self._constants.get(name)
            self._written[name] = self._computed(name) if constant is None else self._known(constant)
        return self._written[name]

    def _known(self, tensor: TensorProto) -> str:
        return self.constant((numpy_helper.to_array(tensor).astype(np.int16) + _OFFSET).astype(np.uint8))

    def _computed(self, name: str) -> str:
        wide, sum_, narrow = (f"{name}/exact_{part}" for part in ("wide", "sum", "narrow"))
        self._graph.node.append(helper.make_node("Cast", [name], [wide], to=TensorProto.INT32))
        self._graph.node.append(helper.make_node("Add", [wide, self.constant(np.int32(_OFFSET))], [sum_]))
        self._graph.node.append(helper.make_node("Cast", [sum_], [narrow], to=TensorProto.UINT8))
        return narrow
