"""The node cases of the installed onnx package, and which of their operands decide shapes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from support.onnx_models import runtime_outputs
from tilewright.graph import Array

ELEMENT_TYPES = frozenset(
    getattr(onnx.TensorProto, name) for name in ("FLOAT", "INT8", "UINT8", "INT32", "INT64", "BOOL")
)

# Inputs that decide shapes, or along which axis an operator works, by operator.
_DECIDING: Mapping[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "If": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}

_OVERRULED = frozenset(
    {"test_resize_downsample_scales_linear_align_corners", "test_resize_downsample_scales_cubic_align_corners"}
)
"""Cases made by ONNX's reference evaluator where the specification and ONNX Runtime agree against it."""


_NOISY = frozenset({"test_dft_inverse", "test_dft_inverse_opset19"})
"""Cases whose stored outputs have 2e-7 where 0 is right: the noise of a transform in float32."""


@dataclass(frozen=True)
class NodeCase:
    """One case: a model, its inputs and outputs by name, and ONNX's tolerances.

    Attributes:
        stored: the outputs as ONNX stores them; ``outputs`` are ONNX Runtime's where it is followed instead
            (docs/reference/judges.md).
        frozen: the inputs whose values decide shapes; a user gives them with ``freeze``.
        bounds: how many entries an output has that holds what is found at run time; a user gives them with ``BOUND``.
        empty: the extents 0 of inputs, as ``DIMS`` names them; a user confirms that there are no elements.
    """

    name: str
    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    frozen: Mapping[str, Array]
    rtol: float
    atol: float
    stored: Mapping[str, Array]
    empty: tuple[str, ...] = ()
    bounds: Mapping[str, int] = field(default_factory=dict)


@lru_cache(maxsize=1)
def node_cases() -> tuple[NodeCase, ...]:
    """Every case of known element types; with more than one data set only the first counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = {case.name: case for case in load_model_tests(kind="node")}
    return tuple(_case(case, loaded) for case in loaded.values() if case.model is not None and _types_known(case.model))


def _types_known(model: onnx.ModelProto) -> bool:
    return all(kind in ELEMENT_TYPES for kind in _types(model))


def _types(model: onnx.ModelProto) -> Iterator[int]:
    for value in (*model.graph.input, *model.graph.output):
        yield value.type.tensor_type.elem_type if value.type.WhichOneof("value") == "tensor_type" else 0
    yield from _stored_types(model.graph)


def _stored_types(graph: onnx.GraphProto) -> Iterator[int]:
    for tensor in graph.initializer:
        yield tensor.data_type
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t.data_type
            if attribute.HasField("g"):
                yield from _stored_types(attribute.g)


def _case(case: object, loaded: Mapping[str, object]) -> NodeCase:
    model: onnx.ModelProto = case.model  # type: ignore[attr-defined]
    arrays_in, arrays_out = case.data_sets[0]  # type: ignore[attr-defined]
    inputs = _named(model.graph.input, arrays_in)
    deciding = _deciding(_unexpanded(case, loaded))
    name: str = case.name  # type: ignore[attr-defined]
    stored = _named(model.graph.output, arrays_out)
    return NodeCase(
        name,
        model,
        inputs,
        runtime_outputs(model, inputs) if name in _OVERRULED else stored,
        {name: array for name, array in inputs.items() if name in deciding},
        float(case.rtol),  # type: ignore[attr-defined]
        1e-6 if name in _NOISY else float(case.atol),  # type: ignore[attr-defined]
        stored,
        _empty(model, deciding),
        _bounds(model, stored),
    )


def _bounds(model: onnx.ModelProto, stored: Mapping[str, Array]) -> dict[str, int]:
    """As many entries as there are, of operators that find some."""
    found = {}
    for node in model.graph.node:
        if node.op_type == "NonZero":
            found[node.output[0]] = stored[node.output[0]].shape[1]
        if node.op_type == "NonMaxSuppression":
            found[node.output[0]] = stored[node.output[0]].shape[0]
        if node.op_type == "Unique":
            found[node.output[1]] = stored[node.output[1]].shape[0]
    return found


def _empty(model: onnx.ModelProto, frozen: set[str]) -> tuple[str, ...]:
    given = (value for value in model.graph.input if value.name not in frozen)
    shapes = {value.name: value.type.tensor_type.shape.dim for value in given}
    return tuple(
        f"{name}.{axis}"
        for name, shape in shapes.items()
        for axis, dim in enumerate(shape)
        if dim.HasField("dim_value") and dim.dim_value == 0
    )


def _named(values: object, arrays: object) -> dict[str, Array]:
    return {value.name: np.asarray(array) for value, array in zip(values, arrays, strict=True)}  # type: ignore[call-overload]


def _unexpanded(case: object, loaded: Mapping[str, object]) -> onnx.ModelProto:
    """The model with the operator itself, for a case with the body of its function."""
    name: str = case.name  # type: ignore[attr-defined]
    stem, expanded, _ = name.partition("_expanded")
    return loaded.get(stem, case).model if expanded else case.model  # type: ignore[attr-defined,no-any-return]


def _deciding(model: onnx.ModelProto) -> set[str]:
    names = set()
    for node in model.graph.node:
        positions = _DECIDING.get(node.op_type, ())
        if node.op_type.startswith("Reduce"):
            positions = (1,)
        names.update(node.input[position] for position in positions if position < len(node.input))
    return names - {""}
