"""Nodes whose operands contradict each other: sound nodes of every operator, and what is changed of one operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import onnx
from conformance.cases import node_cases
from onnx import helper, numpy_helper
from tilewright.graph import Array
from tilewright.importers.onnx.operands import PATTERNS

_MOST_BASES = 5
"""Sound nodes of one operator, each with other attributes or other ranks."""
_MOST_ELEMENTS = 4000
_VERSIONS = {"ai.onnx.ml": 3}
_NEWER = {"TreeEnsemble": 5}
_TYPES = (np.float32, np.int8, np.uint8, np.int32, np.int64, np.bool_)


@dataclass(frozen=True)
class OneNode:
    """One node with its operands by position; None is absent.

    Attributes:
        fixed: positions of operands that decide shapes, which are constants of the model.
        changed: what was changed of a sound node, in words.
    """

    node: onnx.NodeProto
    operands: tuple[Array | None, ...]
    fixed: frozenset[int]
    opset: int
    changed: str = ""

    @property
    def operator(self) -> str:
        return self.node.op_type

    def model(self) -> onnx.ModelProto:
        """A model that says nothing of its outputs, so that they are what the node gives."""
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        del node.input[:]
        names = ["" if array is None else f"i{at}" for at, array in enumerate(self.operands)]
        node.input.extend(names)
        inputs, constants = [], []
        for at, (name, array) in enumerate(zip(names, self.operands, strict=True)):
            if array is None:
                continue
            if at in self.fixed:
                constants.append(numpy_helper.from_array(array, name))
            else:
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "one", inputs, outputs, constants)
        opsets = [helper.make_opsetid("", self.opset)]
        version = _NEWER.get(node.op_type, _VERSIONS.get(node.domain, 1))
        opsets += [helper.make_opsetid(node.domain, version)] if node.domain else []
        return helper.make_model(graph, opset_imports=opsets, ir_version=min(10, onnx.IR_VERSION))

    def feeds(self) -> dict[str, Array]:
        """The operands that are inputs, by name."""
        pairs = enumerate(self.operands)
        return {f"i{at}": array for at, array in pairs if array is not None and at not in self.fixed}


@lru_cache(maxsize=1)
def sound_nodes() -> tuple[OneNode, ...]:
    """Nodes of ONNX's own cases, and nodes of com.microsoft."""
    chosen: dict[str, dict[object, OneNode]] = {}
    for case in node_cases():
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type not in PATTERNS:
            continue
        node = nodes[0]
        operands = tuple(case.inputs.get(name) for name in node.input)
        if sum(array.size for array in operands if array is not None) > _MOST_ELEMENTS:
            continue
        fixed = frozenset(at for at, name in enumerate(node.input) if name in case.frozen)
        one = OneNode(node, operands, fixed, case.model.opset_import[0].version)
        kind = (tuple(array if array is None else array.ndim for array in operands), str(node.attribute))
        of_operator = chosen.setdefault(node.op_type, {})
        if len(of_operator) < _MOST_BASES:
            of_operator.setdefault(kind, one)
    return (*(one for nodes in chosen.values() for one in nodes.values()), *_microsoft(), *_others())


def _microsoft() -> Iterator[OneNode]:
    chance = np.random.default_rng(4)

    def real(*shape: int) -> Array:
        return chance.normal(size=shape).astype(np.float32)

    def stored(*shape: int) -> Array:
        return chance.integers(0, 100, shape).astype(np.uint8)

    scale, point = np.float32(0.1), np.uint8(3)
    one, line = (np.asarray(scale), np.asarray(point)), (np.full(5, scale), np.full(5, point))
    nodes: Mapping[str, tuple[tuple[Array | None, ...], dict[str, object]]] = {
        "BiasGelu": ((real(2, 3, 4), real(4)), {}),
        "FastGelu": ((real(2, 3, 4), real(4)), {}),
        "QuickGelu": ((real(2, 3),), {}),
        "SkipLayerNormalization": ((real(2, 3, 4), real(2, 3, 4), real(4), real(4), real(4)), {}),
        "SkipSimplifiedLayerNormalization": ((real(2, 3, 4), real(2, 3, 4), real(4), real(4)), {}),
        "FusedConv": ((real(1, 4, 5, 5), real(6, 2, 3, 3), real(6)), {"group": 2, "activation": "Relu"}),
        "FusedGemm": ((real(2, 3), real(3, 5), real(5)), {"activation": "Relu"}),
        "FusedMatMul": ((real(2, 3, 4), real(2, 5, 4)), {"transB": 1}),
        "MatMulIntegerToFloat": ((stored(2, 3), stored(3, 5), one[0], line[0], one[1], line[1], real(5)), {}),
        "DynamicQuantizeMatMul": ((real(2, 3), stored(3, 5), one[0], one[1], real(5)), {}),
        "QGemm": ((stored(2, 3), *one, stored(3, 5), *one, np.arange(5, dtype=np.int32), *one), {}),
        "QLinearAdd": ((stored(2, 3), *one, stored(1, 3), *one, *one), {}),
        "QLinearMul": ((stored(2, 3), *one, stored(3), *one, *one), {}),
        "QLinearSigmoid": ((stored(2, 3), *one, *one), {}),
        "QLinearLeakyRelu": ((stored(2, 3), *one, *one), {"alpha": 0.2}),
        "QLinearSoftmax": ((stored(2, 3), *one, *one), {"axis": 1, "opset": 13}),
        "QLinearAveragePool": ((stored(1, 2, 4, 4), *one, *one), {"kernel_shape": [2, 2]}),
        "QLinearGlobalAveragePool": ((stored(1, 2, 4, 4), *one, *one), {}),
        "QLinearConcat": ((*one, stored(2, 3), *one, stored(2, 4), *one), {"axis": 1}),
        "QLinearWhere": ((np.array([True, False]), stored(3, 2), *one, stored(2), *one, *one), {}),
    }
    for operator, (operands, attributes) in nodes.items():
        node = helper.make_node(operator, [""] * len(operands), ["y"], domain="com.microsoft", **attributes)
        parameters = {at for at, array in enumerate(operands) if array is not None and array.size in (1, 5)}
        yield OneNode(node, operands, frozenset(parameters - {0}), 17)


def _others() -> Iterator[OneNode]:
    """Nodes of operators of which ONNX has no case that can be changed, and nodes of ai.onnx.ml."""
    chance = np.random.default_rng(5)

    def real(*shape: int) -> Array:
        return chance.normal(size=shape).astype(np.float32)

    rows = np.abs(real(3, 4))
    line = {"coefficients": [0.5] * 8, "intercepts": [1.0, 2.0]}
    vectors = {"support_vectors": [0.5] * 12, "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 3.0], "rho": [0.5]}
    lists = {"nodeids": [0, 1, 2], "treeids": [0] * 3, "featureids": [1, 0, 0], "values": [0.5, 0.0, 0.0]}
    lists |= {"truenodeids": [1, 0, 0], "falsenodeids": [2, 0, 0]}
    tree = {f"nodes_{name}": value for name, value in lists.items()} | {"nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"]}
    leaves = {"treeids": [0, 0], "nodeids": [1, 2], "ids": [0, 1], "weights": [0.5, 1.5]}
    # Of two classes ONNX Runtime gives labels that the model does not have.
    classes = {"classlabels_int64s": [3, 5, 7]}
    learned: Mapping[str, dict[str, object]] = {
        "LinearRegressor": {**line, "targets": 2},
        "LinearClassifier": {**line, "classlabels_ints": [3, 5]},
        "Normalizer": {"norm": "L2"},
        "Scaler": {"offset": [0.5] * 4, "scale": [2.0] * 4},
        "SVMRegressor": {**vectors, "coefficients": [0.5, -0.5, 1.0], "n_supports": 3},
        "SVMClassifier": {
            **vectors, "coefficients": [0.5, -0.5, 1.0], "vectors_per_class": [1, 2], "classlabels_ints": [3, 5]
        },
        "LabelEncoder": {"keys_floats": [0.0, 1.0], "values_floats": [2.0, 3.0]},
        "Imputer": {"imputed_value_floats": [0.5] * 4, "replaced_value_float": 1.0},
        "OneHotEncoder": {"cats_int64s": [0, 1, 2], "zeros": 1},
        "TreeEnsembleRegressor": {**tree, "n_targets": 2, **{f"target_{k}": v for k, v in leaves.items()}},
        "TreeEnsembleClassifier": {**tree, **classes, **{f"class_{k}": v for k, v in leaves.items()}},
    }  # fmt: skip
    for operator, attributes in learned.items():
        outputs = ["y", "z"] if operator.endswith("Classifier") else ["y"]
        yield OneNode(
            helper.make_node(operator, [""], outputs, domain="ai.onnx.ml", **attributes), (rows,), frozenset(), 17
        )
    joined = helper.make_node("FeatureVectorizer", ["", ""], ["y"], domain="ai.onnx.ml", inputdimensions=[4, 2])
    yield OneNode(joined, (rows, real(3, 2)), frozenset(), 17)
    standard: Mapping[str, tuple[tuple[Array, ...], dict[str, object]]] = {
        "Cast": ((rows,), {"to": onnx.TensorProto.INT32}),
        "CastLike": ((rows, np.ones(2, np.int32)), {}),
        "Einsum": ((rows, real(4, 2)), {"equation": "ij,jk->ik"}),
        "GlobalLpPool": ((real(1, 2, 3, 3),), {}),
        "Mish": ((rows,), {}),
        "SimplifiedLayerNormalization": ((real(2, 3, 4), real(4)), {}),
    }
    for operator, (operands, attributes) in standard.items():
        yield OneNode(helper.make_node(operator, [""] * len(operands), ["y"], **attributes), operands, frozenset(), 18)
    stored, point = chance.integers(0, 100, (2, 3)).astype(np.uint8), np.asarray(3, np.uint8)
    parameters = (np.asarray(0.1, np.float32), point)
    mean = helper.make_node("QLinearReduceMean", [""] * 5, ["y"], domain="com.microsoft", axes=[1], keepdims=1)
    yield OneNode(mean, (stored, *parameters, *parameters), frozenset({1, 2, 3, 4}), 17)
    packed = helper.make_node("MatMulNBits", [""] * 3, ["y"], domain="com.microsoft", K=16, N=3, bits=4, block_size=16)
    yield OneNode(
        packed,
        (real(2, 16), chance.integers(0, 256, (3, 1, 8)).astype(np.uint8), np.abs(real(3))),
        frozenset({1, 2}),
        17,
    )
    weights = [chance.integers(0, 100, shape).astype(np.uint8) for shape in ((1, 4, 12), (1, 3, 12))]
    scales = [np.full(1, 0.02, np.float32), np.full(1, 3, np.uint8)] * 2
    operands = (real(2, 1, 4), *weights, real(1, 24), None, None, None, None, *scales)
    recurrence = helper.make_node(
        "DynamicQuantizeLSTM", [""] * len(operands), ["y"], domain="com.microsoft", hidden_size=3
    )
    yield OneNode(recurrence, operands, frozenset({1, 2, 3, *range(8, 12)}), 17)


def changed(one: OneNode) -> Iterator[OneNode]:
    """The node with one operand of another shape or type, or one more operand; each also with all but x constant."""
    for other in _changed(one):
        yield other
        known = frozenset(at for at, array in enumerate(other.operands) if at and array is not None)
        if known != other.fixed:
            yield replace(other, fixed=known, changed=f"{other.changed}, constant")


def _changed(one: OneNode) -> Iterator[OneNode]:
    for at, array in enumerate(one.operands):
        if array is None:
            continue
        for what, other in (*_other_shapes(array), *_other_types(array)):
            operands = (*one.operands[:at], other, *one.operands[at + 1 :])
            yield replace(one, operands=operands, changed=f"input {at}: {what}")
    # Where the operator has optional inputs left, one more operand may be sound.
    if not one.operands:
        return
    operands = (*one.operands, one.operands[0])
    fixed = one.fixed | ({len(one.operands)} if 0 in one.fixed else set())
    yield replace(one, operands=operands, fixed=fixed, changed="one more input")


def _other_shapes(array: Array) -> Iterator[tuple[str, Array]]:
    shape = array.shape
    shapes = [(2, *shape), (*shape, 2), (1, *shape)]
    for axis, extent in enumerate(shape):
        shapes += [(*shape[:axis], other, *shape[axis + 1 :]) for other in (extent + 1, extent - 1, 1)]
        shapes += [(*shape[:axis], *shape[axis + 1 :])]
    for other in dict.fromkeys(shapes):
        if other != shape and np.prod(other) > 0:
            yield f"{list(other)} for {list(shape)}", np.resize(array, other)


def _other_types(array: Array) -> Iterator[tuple[str, Array]]:
    for dtype in _TYPES:
        if dtype != array.dtype:
            yield (
                f"{np.dtype(dtype).name} for {array.dtype.name}",
                np.asarray(np.clip(np.nan_to_num(array), 0, 100), dtype),
            )
