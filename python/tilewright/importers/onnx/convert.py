"""From an ONNX model as read to a graph in normal form: shapes, constant folding, translation.

Quantize and Dequantize stay nodes; fusing them is the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tilewright.base.errors import TilewrightError, bad_input, not_supported
from tilewright.graph import Graph, Node
from tilewright.graph.edit import make_node, sorted_nodes
from tilewright.importers.construction import (
    COMPUTED_FACTOR,
    MAX_BYTES,
    Construction,
    Unsupported,
    checked,
    constant_tensor,
)
from tilewright.importers.deeploy.nodes import DIALECT, OF_DEEPLOY, REINTERPRETED, gather_one
from tilewright.importers.onnx.arithmetic import ARITHMETIC
from tilewright.importers.onnx.bounds import follow, require_known_extents, require_no_constants, require_used
from tilewright.importers.onnx.breadth import breadth
from tilewright.importers.onnx.categories import categories
from tilewright.importers.onnx.compositions import composed
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.contrib import contrib
from tilewright.importers.onnx.control import CONTROL, captured, expand_control
from tilewright.importers.onnx.few_bits import few_bits
from tilewright.importers.onnx.found import found
from tilewright.importers.onnx.guard import require_agreement
from tilewright.importers.onnx.integer_products import integer_products
from tilewright.importers.onnx.learned import learned
from tilewright.importers.onnx.model_inputs import add_inputs, for_each_dimension, without_empty_inputs
from tilewright.importers.onnx.movement import MOVEMENT
from tilewright.importers.onnx.operands import require_operands
from tilewright.importers.onnx.quantization import QUANTIZATION
from tilewright.importers.onnx.source import SourceModel, SourceNode
from tilewright.importers.onnx.spatial import SPATIAL
from tilewright.importers.onnx.support_vectors import support_vectors
from tilewright.importers.onnx.tree_ensembles import trees
from tilewright.importers.own import OwnOperators, own_operator, translate_own
from tilewright.importers.problems import Problem, untranslatable
from tilewright.importers.qoperator.nodes import qoperators

_EARLIER = MappingProxyType({**MOVEMENT, **SPATIAL, **ARITHMETIC, **QUANTIZATION})
_SINGLE = MappingProxyType({**_EARLIER, **breadth(_EARLIER)})
_STANDARD = MappingProxyType({**_SINGLE, **composed(_SINGLE), **found(_SINGLE)})
LEARNED = MappingProxyType(
    {**learned(_STANDARD), **trees(_STANDARD), **support_vectors(_STANDARD), **categories(_STANDARD)}
)
FOREIGN = MappingProxyType(
    {
        **qoperators(_STANDARD),
        **integer_products(_STANDARD),
        **contrib(_STANDARD),
        **few_bits(_STANDARD),
        **LEARNED,
    }
)
TRANSLATORS: Mapping[str, Callable[[Call], None]] = MappingProxyType({**_STANDARD, **FOREIGN})
_ANY_DOMAIN = frozenset("RequantShift QuantizeLinear DequantizeLinear Gelu RMSNorm".split()) | frozenset(FOREIGN)
_NOT_FOLDED = ("DequantizeLinear", "RequantShift", "Random", "Bernoulli", "Multinomial")
ALWAYS_FOLDED = frozenset(
    "Constant ConstantOfShape Range Shape Size BlackmanWindow HammingWindow HannWindow MelWeightMatrix".split()
)
KNOWN_OPERATORS = frozenset(TRANSLATORS) | ALWAYS_FOLDED | frozenset(CONTROL)
"""Operators that need no function body."""
# Operators that compute shapes are not reported if the shape that they start from is unknown.
_OFTEN_FOLDED = frozenset(
    (
        "Shape Size Gather Range ConstantOfShape Expand Where Equal Not And Or Less Greater Floor Ceil "
        "ReduceProd ReduceSum ReduceMax ReduceMin Min Max Mod Abs Neg Tile ScatterND"
    ).split()
)
_SCALAR_AXIS = ("CumSum", "CumProd")
"""Operators whose axis ONNX Runtime takes with an axis of its own, too, as PyTorch's older exporter writes it."""
_NONE: OwnOperators = MappingProxyType({})


def convert(
    model: SourceModel,
    dims: Mapping[str, int],
    *,
    integers_in_floats: bool = False,
    own: OwnOperators = _NONE,
    bounds: Mapping[str, int] = MappingProxyType({}),
) -> Graph:
    """The model as a graph in normal form, float32 where it is quantised with Q and DQ nodes.

    Args:
        dims: a value for each symbol of a dynamic dimension; ``<input>.<axis>`` names one without symbol, ``*`` all
            that have no value of their own.
        integers_in_floats: read the Deeploy dialect; float32 tensors then may hold integers.
        own: operators that the firmware project brings along.
        bounds: how many entries tensors have whose number is known at run time only.

    Raises:
        TilewrightError (bad input): the graph is inconsistent, ``dims`` names no dimension, or ``bounds`` no such
            tensor.
        TilewrightError (not supported): every node and dimension that cannot be translated.
    """
    dims = for_each_dimension(model, dims)
    model = without_empty_inputs(model, dims)
    build = _begun(model, bounds, integers_in_floats=integers_in_floats)

    def visit(node: SourceNode) -> None:
        first = len(build.nodes)
        brought = own_operator(node, own)
        if brought is not None:
            translate_own(Call(node, build), brought)
        elif node.operator in CONTROL and node.is_standard:
            expand_control(node, build, visit)
        else:
            _translate(node, model, build)
        follow(build, first)
        require_no_constants(node.inputs, node.outputs, build)

    problems: list[Problem] = []
    unknown = add_inputs(model, dims, build, problems)
    _visit_all(_in_order(model), visit, unknown, problems)
    for name in model.outputs:
        if name not in unknown and name not in build.tensors and name not in build.constants:
            problems.append(Problem(f"output '{name}'", "its node does not give it at inference", "leave it out"))
    if problems:
        raise untranslatable(model.file, problems)
    require_used(build, model.file)
    require_agreement(model, build, dims)
    return _finished(model, build)


def _begun(model: SourceModel, bounds: Mapping[str, int], *, integers_in_floats: bool) -> Construction:
    """A construction without nodes, which knows the model's constants and the names that the model takes."""
    of_deeploy = any(node.operator in OF_DEEPLOY for node in model.nodes)
    build = Construction(
        model.opset, integers_in_floats, dict(model.constants), last_axis_softmax=of_deeploy, bounds=bounds
    )
    build.computed_bytes += COMPUTED_FACTOR * _given_bytes(model)
    build.reserved.update(name for node in model.nodes for name in node.outputs)
    build.reserved.update(value.name for value in model.inputs)
    return build


def _visit_all(
    nodes: Sequence[SourceNode], visit: Callable[[SourceNode], None], unknown: set[str], problems: list[Problem]
) -> None:
    """Translate the nodes; refused nodes are added to ``problems``, tensors that depend on them to ``unknown``."""
    for node in nodes:
        if unknown.intersection({*node.inputs, *captured(node)}) and (
            _known_operator(node) or node.operator in _OFTEN_FOLDED
        ):
            unknown.update(node.outputs)
            continue
        try:
            visit(node)
        except Unsupported as problem:
            problems.append(Problem(node.place, problem.reason, problem.help))
            unknown.update(node.outputs)
        except TilewrightError:
            raise
        except MemoryError as error:
            problems.append(Problem(node.place, f"more memory than there is: {error}", "a smaller model"))
            unknown.update(node.outputs)
        except Exception as error:  # a defect of the importer: the report is of use only if it names the node
            raise RuntimeError(f"{node.place}: {type(error).__name__}: {error}") from error


def _known_operator(node: SourceNode) -> bool:
    if node.operator in DIALECT or node.operator in CONTROL:
        return True
    return node.operator in TRANSLATORS and (node.is_standard or node.operator in _ANY_DOMAIN)


def _in_order(model: SourceModel) -> list[SourceNode]:
    """Nodes so that producers come first; files exist that are not sorted."""
    _require_consistent_names(model)
    numbered = [
        make_node(str(i), (*node.inputs, *sorted(captured(node))), node.outputs, name=str(i))
        for i, node in enumerate(model.nodes)
    ]
    try:
        return [model.nodes[int(node.name)] for node in sorted_nodes(numbered)]
    except ValueError:
        raise _inconsistent(model, "the graph has a cycle") from None


def _require_consistent_names(model: SourceModel) -> None:
    """Each name is written once, and what nodes and outputs read is written."""
    known = {"", *model.constants, *(value.name for value in model.inputs)}
    written: set[str] = set()
    for node in model.nodes:
        for name in node.outputs:
            if name and (name in written or name in known):
                raise _inconsistent(model, f"'{name}' is written twice")
            written.add(name)
    for node in model.nodes:
        for name in node.inputs:
            if name not in known and name not in written:
                raise _inconsistent(model, f"{node.place} reads '{name}', which nothing writes")
    for name in model.outputs:
        if name not in known and name not in written:
            raise _inconsistent(model, f"output '{name}' is written by no node")
    if len(set(model.outputs)) != len(model.outputs):
        raise _inconsistent(model, "an output is listed twice")


def _inconsistent(model: SourceModel, what: str) -> TilewrightError:
    return bad_input("model-broken", what, at=model.file, help="export the model again")


def _translate(node: SourceNode, model: SourceModel, build: Construction) -> None:
    if node.operator in ("Shape", "Size") and node.is_standard:
        _fold_shape(node, build)
        return
    dialect = _of_dialect(node, build)
    if dialect is None and (node.is_standard or node.operator in _ANY_DOMAIN):
        require_operands(node, build)
    if dialect is None and _foldable(node, build):
        _fold(node, model, build)
        return
    if dialect is not None:
        dialect(Call(node, build))
        return
    if node.operator == "Gather" and gather_one(Call(node, build)):
        return
    if not _known_operator(node) or node.operator not in TRANSLATORS:
        domain = "" if node.is_standard else f" of domain '{node.domain}'"
        raise Unsupported(f"operator {node.operator}{domain} is not supported", _way_out(node.operator))
    TRANSLATORS[node.operator](Call(node, build))


def _of_dialect(node: SourceNode, build: Construction) -> Callable[[Call], None] | None:
    """The translator of an operator that only the dialect has, or that computes on integers in floats."""
    if node.operator in DIALECT or not build.integers_in_floats:
        return DIALECT.get(node.operator)
    constant = all(name in build.constants for name in node.inputs if name)
    return None if constant else REINTERPRETED.get(node.operator)


def _way_out(operator: str) -> str:
    if operator.startswith("QLinear") or operator.endswith("Integer"):
        return "quantise in QDQ format"
    return (
        "bring it along as an operator of your own, with OPERATORS (docs/how-to/add-an-operator.md), "
        "or replace it by supported ones (docs/reference/operators.md)"
    )


def _given_bytes(model: SourceModel) -> int:
    """The bytes of the constants that the file holds."""
    of_nodes = (value for node in model.nodes for value in node.attributes.values() if isinstance(value, np.ndarray))
    return sum(array.nbytes for array in (*model.constants.values(), *of_nodes))


def _foldable(node: SourceNode, build: Construction) -> bool:
    if node.operator.startswith(_NOT_FOLDED) or not node.is_standard:
        return False
    if not any(node.inputs):
        return node.operator == "Constant"
    return all(name in build.constants for name in node.inputs if name)


def _fold(node: SourceNode, model: SourceModel, build: Construction) -> None:
    arrays = [build.constants[name] if name else None for name in node.inputs]
    if node.operator in _SCALAR_AXIS and len(arrays) > 1 and arrays[1] is not None and arrays[1].size == 1:
        arrays[1] = arrays[1].reshape(())
    given = node.operator == "Constant"
    try:
        results = model.evaluate(node, arrays, MAX_BYTES if given else build.computed_bytes)
    except ValueError as error:
        raise Unsupported(f"cannot be computed at compile time: {error}", "fold constants at export") from None
    for name, result in zip(node.outputs, results, strict=True):
        if name:
            build.take_bytes(0 if given else result.nbytes)
            build.constants[name] = result


def _fold_shape(node: SourceNode, build: Construction) -> None:
    name = node.inputs[0]
    if not name:
        raise Unsupported("input 0 is missing", "export the model again")
    shape = build.constants[name].shape if name in build.constants else build.tensor(name).shape
    first, last = node.attributes.get("start", 0), node.attributes.get("end")
    every = range(len(shape))
    require_known_extents(name, every if node.operator == "Size" else every[first:last], build)
    if node.operator == "Size":
        build.constants[node.outputs[0]] = np.asarray(np.prod(shape, dtype=np.int64))
        return
    build.constants[node.outputs[0]] = np.asarray(shape[first:last], np.int64)


def _finished(model: SourceModel, build: Construction) -> Graph:
    """The graph; outputs that are inputs or constants become copies of them."""
    outputs = []
    for name in model.outputs:
        if name in build.constants or any(name == value.name for value in model.inputs):
            outputs.append(_copied_output(name, build))
        else:
            outputs.append(name)
    outputs += build.counts
    inputs = tuple(value.name for value in model.inputs if value.name in build.tensors)
    bounded = {name: build.bounded[name] for name in outputs if name in build.bounded}
    graph = Graph(model.name, (), build.tensors, inputs, tuple(outputs), bounded=bounded, counts=tuple(build.counts))
    return graph.with_nodes(_needed(build, outputs), build.tensors)


def _copied_output(name: str, build: Construction) -> str:
    if name in build.constants:
        source = build.fresh(f"{name}/constant")
        try:
            tensor = checked(constant_tensor(source, build.constants[name]))
        except Unsupported as problem:
            raise not_supported("output", f"output '{name}': {problem.reason}", help=problem.help) from None
        build.tensors[source] = tensor
        output = name
    else:
        source, tensor = name, build.tensors[name]
        output = build.fresh(f"{name}/output")
    build.tensors[output] = replace(tensor, name=output, data=None)
    build.nodes.append(make_node("Copy", [source], [output], name=build.fresh_node(output)))
    return output


def _needed(build: Construction, outputs: list[str]) -> list[Node]:
    needed = set(outputs)
    kept = []
    for node in reversed(build.nodes):
        if needed.intersection(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    return kept[::-1]
