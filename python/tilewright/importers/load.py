"""From a model file to a graph in normal form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tilewright.base.errors import bad_input
from tilewright.graph import Array, DType, Graph
from tilewright.importers.behind_views import biases_before_views
from tilewright.importers.deeploy.dialect import is_dialect, read_integers
from tilewright.importers.float_interface import float_interface
from tilewright.importers.freeze import frozen
from tilewright.importers.kinds import FileKind, kind_of
from tilewright.importers.onnx.convert import KNOWN_OPERATORS, convert
from tilewright.importers.onnx.reading import read_model
from tilewright.importers.onnx.source import SourceModel
from tilewright.importers.own import OwnOperators
from tilewright.importers.qdq.fusion import fuse_quantized, quantized_interface
from tilewright.importers.state_pairs import Pairs, with_initial_inputs, with_states

# Element types that the Deeploy dialect stores narrower integers in.
_HOLD_INTEGERS = frozenset({"float32", "int64", "int32"})


def import_model(
    path: Path,
    *,
    types: Mapping[str, DType] | None = None,
    dims: Mapping[str, int] | None = None,
    freeze: Mapping[str, Array] | None = None,
    quantized_io: bool = False,
    float_io: bool = False,
    own: OwnOperators | None = None,
    states: Pairs = (),
    bounds: Mapping[str, int] | None = None,
) -> Graph:
    """Read a model: ONNX (float32, QDQ quantised, or in the Deeploy dialect), or .tflite, told apart by content.

    Args:
        types: element types of graph inputs; an integer type for a float input says that the
            model is in the Deeploy dialect, which stores integers in float tensors.
        dims: a value for each symbol of a dynamic dimension; ``<input>.<axis>`` names one without symbol.
        freeze: values of graph inputs that become constants, so that they may decide shapes.
        quantized_io: leave out Quantize at inputs and Dequantize at outputs: the interface holds stored integers.
        float_io: the interface holds real numbers where the model stores quantised integers.
        own: operators that the firmware project brings along.
        states: (input, output) of what the model remembers. Where the file gives such an input a value, that is
            what it holds in the first run.
        bounds: how many entries tensors have whose number is known at run time only: outputs of NonMaxSuppression,
            NonZero, Unique and Compress.

    Returns:
        The graph in normal form (docs/reference/graph.md), tensors in row-major order, quantised operators fused.

    Raises:
        TilewrightError (bad input): no such file, broken file; types, dims, values or bounds that fit no tensor.
        TilewrightError (not supported): lists every node and dimension that cannot be translated.
    """
    types, dims, bounds, own = types or {}, dims or {}, bounds or {}, own or {}
    initial: dict[str, Array] = {}
    if kind_of(path) is FileKind.LITE:
        graph = _lite(path, {"TYPES": types, "DIMS": dims, "freeze": freeze or {}, "BOUND": bounds})
    else:
        known = KNOWN_OPERATORS | {name for _, name in own}
        model, initial = with_initial_inputs(frozen(read_model(path, known), freeze or {}), states)
        _check_types(model, types)
        if is_dialect(model, types):
            graph = read_integers(convert(model, dims, integers_in_floats=True, own=own, bounds=bounds), types)
            return with_states(graph, states, initial)
        graph = fuse_quantized(biases_before_views(convert(model, dims, own=own, bounds=bounds)))
    graph = quantized_interface(graph) if quantized_io else graph
    graph = float_interface(graph, {name for pair in states for name in pair}) if float_io else graph
    return with_states(graph, states, initial)


def _lite(path: Path, options: Mapping[str, Mapping[str, object]]) -> Graph:
    """The graph of a .tflite file, whose types and shapes are all known; ``options`` would say more of tensors."""
    for keyword, given in options.items():
        if given:
            what = f"{keyword} names '{next(iter(given))}'; a .tflite model has no open types, shapes or values"
            raise bad_input("unknown-tensor", what, at=str(path), help=f"leave {keyword} out")
    from tilewright.importers.tflite.convert import convert_lite
    from tilewright.importers.tflite.reading import read_lite

    return convert_lite(read_lite(path))


def _check_types(model: SourceModel, types: Mapping[str, DType]) -> None:
    inputs = {value.name: value for value in model.inputs}
    for name, dtype in types.items():
        if name not in inputs:
            raise bad_input(
                "unknown-tensor",
                f"TYPES names '{name}', which is no input of the model",
                at=model.file,
                help="inputs: " + ", ".join(inputs),
            )
        stored = inputs[name].element_type
        holds_integers = dtype.is_integer and stored in _HOLD_INTEGERS
        if dtype.value != stored and not holds_integers:
            raise bad_input(
                "input-type",
                f"TYPES gives '{name}' {dtype.value}, the model {stored}",
                at=model.file,
                help=f"TYPES {name}={stored}, or leave it out",
            )
