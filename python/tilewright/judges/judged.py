"""The outputs of a model by somebody else's code where that takes the model, else by our references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Bounded, Graph
from tilewright.judges.exact_products import load_exact

Runs = Sequence[Sequence[Array]]
"""For each run an array for each tensor of the interface."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Outputs for each run, and who computed them.

    Attributes:
        passed_over: judges that are installed but did not take the model, each with the reason.
    """

    judge: str
    outputs: list[list[Array]]
    passed_over: tuple[str, ...]


def judged(model: Path, graph: Graph, feeds: Runs, initial: dict[str, Array]) -> Judgement:
    """What a model computes in runs that follow each other.

    Args:
        model: the file.
        graph: the model as it is planned; its interface is that of ``feeds``, without states.
        feeds: for each run the inputs of the graph that are no states, in order.
        initial: what each state holds before the first run, by its input's name.
    """
    passed_over = []
    for name, compute in _others(model, graph, feeds):
        try:
            outputs = compute()
            _require_interface(graph, outputs)
        # Whatever another package raises for a model that it does not take: the next judge is asked.
        except Exception as problem:
            passed_over.append(
                f"{name}: {str(problem).strip().splitlines()[0] if str(problem) else type(problem).__name__}"
            )
            continue
        return Judgement(name, outputs, tuple(passed_over))
    return Judgement("Tilewright's references in NumPy", _own(graph, feeds, initial), tuple(passed_over))


def _others(model: Path, graph: Graph, feeds: Runs) -> Iterator[tuple[str, Callable[[], list[list[Array]]]]]:
    """Judges that are installed, the best first. Those of ONNX keep nothing from run to run."""
    with model.open("rb") as file:
        is_lite = file.read(8)[4:] == b"TFL3"
    if is_lite:
        found = _version("tflite-micro")
        if found:
            yield f"TensorFlow Lite Micro {found}", lambda: _tflm(model, len(graph.outputs) - len(graph.states), feeds)
        return
    if graph.states:
        return
    found = _version("onnxruntime")
    if found:
        yield f"ONNX Runtime {found}", lambda: _onnxruntime(model, graph, feeds)
    found = _version("onnx")
    if found:
        yield f"onnx.reference {found}", lambda: _onnx_reference(model, graph, feeds)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _tflm(model: Path, count: int, feeds: Runs) -> list[list[Array]]:
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_file(str(model))
    outputs = []
    for run in feeds:
        for number, array in enumerate(run):
            interpreter.set_input(array, number)
        interpreter.invoke()
        outputs.append([np.array(interpreter.get_output(number)) for number in range(count)])
    return outputs


def _onnxruntime(model: Path, graph: Graph, feeds: Runs) -> list[list[Array]]:
    """ONNX Runtime without its rewrites of the graph, which change some quantised results by one step."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    exact = load_exact(model).SerializeToString()
    session: Any = onnxruntime.InferenceSession(exact, options, providers=["CPUExecutionProvider"])
    labels = _labels_of_maps(model)

    def compute(names: list[str], feed: dict[str, Array]) -> list[Array]:
        outputs = zip(names, session.run(names, feed), strict=True)
        return [_columns(value, labels[name]) if name in labels else value for name, value in outputs]

    return _fitted(graph, feeds, compute)


def _labels_of_maps(model: Path) -> dict[str, list[int | str]]:
    """The labels of each ZipMap by the name of its output, in the order of the columns that Tilewright gives."""
    import onnx

    found: dict[str, list[int | str]] = {}
    for node in onnx.load(str(model), load_external_data=False).graph.node:
        for attribute in node.attribute if node.op_type == "ZipMap" else ():
            found[node.output[0]] = [*attribute.ints, *(text.decode() for text in attribute.strings)]
    return found


def _columns(rows: list[dict[int | str, float]], labels: Sequence[int | str]) -> Array:
    """Maps from labels to scores as a row of scores each."""
    return np.array([[row[label] for label in labels] for row in rows], np.float32)


def _onnx_reference(model: Path, graph: Graph, feeds: Runs) -> list[list[Array]]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    evaluator: Any = ReferenceEvaluator(onnx.load(str(model)))
    return _fitted(graph, feeds, lambda names, feed: evaluator.run(names, feed))


def _fitted(
    graph: Graph, feeds: Runs, compute: Callable[[list[str], dict[str, Array]], list[Array]]
) -> list[list[Array]]:
    """The outputs of a judge of ONNX, brought to the graph's bounds (``Graph.bounded``).

    In ONNX such a tensor has as many entries as were found. Entries behind these, and counts of tensors that are no
    outputs, come from Tilewright's references.
    """
    names = [name for name in graph.outputs if name not in graph.counts]
    runs = []
    for run in feeds:
        feed = dict(zip(graph.inputs, run, strict=True))
        found = dict(zip(names, compute(names, feed), strict=True))
        if graph.counts:
            values = evaluate(graph, feed)
            for name in names:
                if name in graph.bounded:
                    _fit(found, values, name, graph.bounded[name])
            found = {**{name: values[name] for name in graph.counts}, **found}
        runs.append([found[name] for name in graph.outputs])
    return runs


def _fit(found: dict[str, Array], values: Mapping[str, Array], name: str, bounded: Bounded) -> None:
    """Bring an output to its bound, and count its entries."""
    own, other = values[name], found[name]
    extent = other.shape[bounded.axis]
    kept = tuple(
        slice(min(extent, own.shape[bounded.axis])) if at == bounded.axis else slice(None) for at in range(own.ndim)
    )
    fitted = own.astype(other.dtype)
    fitted[kept] = other[kept]
    found[name], found[bounded.count] = fitted, np.array([extent], np.int32)


def _require_interface(graph: Graph, outputs: Runs) -> None:
    """ValueError unless the outputs of each run have the shapes and types of the graph's."""
    kept = {state.output for state in graph.states}
    names = [name for name in graph.outputs if name not in kept]
    for run in outputs:
        for name, array in zip(names, run, strict=False):
            tensor = graph.tensor(name)
            if array.shape != tensor.shape or array.dtype != tensor.dtype.numpy:
                raise ValueError(f"'{name}' is {array.dtype}{list(array.shape)} there")


def _own(graph: Graph, feeds: Runs, initial: dict[str, Array]) -> list[list[Array]]:
    old, new = {state.input for state in graph.states}, {state.output for state in graph.states}
    inputs = [name for name in graph.inputs if name not in old]
    held, outputs = dict(initial), []
    for run in feeds:
        values = evaluate(graph, dict(zip(inputs, run, strict=True)) | held)
        held = {state.input: values[state.output] for state in graph.states}
        outputs.append([values[name] for name in graph.outputs if name not in new])
    return outputs
