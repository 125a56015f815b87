"""What the three judges say of a model: ONNX Runtime, ONNX's reference evaluator, and ONNX's shape inference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.reference
import onnx.shape_inference
from tilewright.graph import Array

from support.onnx_models import runtime_outputs

Outputs = Mapping[str, Array] | str
"""Arrays by name, or why a judge has none."""


@dataclass(frozen=True)
class Verdicts:
    """The judges' outputs by name, or their words where they refuse; extents that inference leaves open are None."""

    runtime: Outputs
    reference: Outputs
    inferred: Mapping[str, tuple[int | None, ...]] | str


def verdicts(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Verdicts:
    """Ask all three."""
    return Verdicts(_runtime(model, feeds), _reference(model, feeds), inferred_shapes(model))


def _runtime(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Outputs:
    try:
        outputs: Mapping[str, Array] = runtime_outputs(model, feeds)
        return outputs
    except Exception as error:  # whatever ONNX Runtime raises, it has no outputs
        return str(error) or type(error).__name__


def _reference(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Outputs:
    try:
        with np.errstate(all="ignore"):
            arrays = onnx.reference.ReferenceEvaluator(model).run(None, dict(feeds))
    except Exception as error:  # whatever the reference evaluator raises, it has no outputs
        return str(error) or type(error).__name__
    return {output.name: np.asarray(array) for output, array in zip(model.graph.output, arrays, strict=True)}


def inferred_shapes(model: onnx.ModelProto) -> Mapping[str, tuple[int | None, ...]] | str:
    """Shapes of the outputs as ONNX infers them from the nodes alone; words where they contradict each other."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for output in bare.graph.output:
        output.ClearField("type")
    del bare.graph.value_info[:]
    try:
        result = onnx.shape_inference.infer_shapes(bare, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        return str(error)
    return {
        output.name: tuple(
            int(dim.dim_value) if dim.HasField("dim_value") else None for dim in output.type.tensor_type.shape.dim
        )
        for output in result.graph.output
        if output.type.tensor_type.HasField("shape")
    }
