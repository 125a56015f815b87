"""If, Loop and Scan whose conditions and numbers of iterations are known at compile time.

Before:  Loop(3, true, s) { s, y = f(i, s) }
After:   s1, y1 = f(0, s);  s2, y2 = f(1, s1);  s3, y3 = f(2, s2);  y = stack(y1, y2, y3)

A Loop that is RNN, GRU or LSTM becomes that operator (``recurrent_loops``). Of If the branch that runs remains. The
nodes of a body get names of their own for each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.graph import Array
from tilewright.importers.construction import Construction, Unsupported
from tilewright.importers.onnx.remedies import to_freeze
from tilewright.importers.onnx.source import SourceGraph, SourceNode

MOST_NODES = 4096
"""The most nodes that all loops of a model together may become; more would fill a flash and take hours to plan."""

Visit = Callable[[SourceNode], None]


def expand_control(node: SourceNode, build: Construction, visit: Visit) -> None:
    """Translate the nodes to which a node with bodies expands, each by ``visit``.

    Raises:
        Unsupported: a condition, count or length is computed at run time, or there are too many
            iterations; of an inner node, with its name.
    """
    CONTROL[node.operator](_Control(node, build, visit))


def captured(node: SourceNode) -> set[str]:
    """Names from outside that the bodies of a node read."""
    return {name for graph in _bodies(node) for name in _read_from_outside(graph)}


class _Control:
    """One node with bodies, and how its parts are translated."""

    def __init__(self, node: SourceNode, build: Construction, visit: Visit) -> None:
        self.node, self.build, self.visit = node, build, visit

    def known(self, index: int) -> Array | None:
        """The elements of an input if they are constant."""
        return self.build.constants.get(self.node.inputs[index])

    def has(self, index: int) -> bool:
        """Whether an optional input is present."""
        return index < len(self.node.inputs) and self.node.inputs[index] != ""

    def body(self, name: str) -> SourceGraph:
        """A body of the node."""
        graph = self.node.attributes.get(name)
        if not isinstance(graph, SourceGraph):
            raise Unsupported(f"no body '{name}'", "export the model again")
        return graph

    def constant(self, array: Array, word: str) -> str:
        """A name for elements known at compile time."""
        name = self.build.reserve(f"{self._base}/{word}")
        self.build.constants[name] = array
        return name

    def emit(self, operator: str, inputs: Sequence[str], target: str = "", **attributes: int) -> str:
        """A node of ONNX around the bodies; gives the name of its output."""
        output = target or self.build.reserve(f"{self._base}/{operator}")
        name = f"{self.node.name or self._base}/{operator}"
        self.visit(SourceNode(name, operator, "", tuple(inputs), (output,), attributes))
        return output

    def give(self, index: int, name: str) -> None:
        """Output ``index`` of the node has the elements of ``name``."""
        if index < len(self.node.outputs) and self.node.outputs[index]:
            self.emit("Identity", [name], self.node.outputs[index])

    def stack(self, index: int, names: Sequence[str], axis: int = 0) -> None:
        """Output ``index`` of the node has one entry for each iteration along a new axis."""
        if index >= len(self.node.outputs) or not self.node.outputs[index]:
            return
        if not names:
            raise Unsupported(f"output {index} has no elements: there is no iteration", "leave the node out")
        axes = self.constant(np.asarray([axis], np.int64), "axis")
        parts = [self.emit("Unsqueeze", [name, axes]) for name in names]
        self.emit("Concat", parts, self.node.outputs[index], axis=axis)

    def inline(self, graph: SourceGraph, given: Sequence[str], iteration: int) -> list[str]:
        """Translate a body; gives the names of its outputs."""
        if len(given) != len(graph.inputs):
            raise Unsupported(f"a body with {len(graph.inputs)} inputs for {len(given)}", "export the model again")
        # An empty body counts too, or its loop would not end.
        self.build.unrolled += 1 + len(graph.nodes)
        if self.build.unrolled > MOST_NODES:
            raise Unsupported(f"more than {MOST_NODES} nodes when unrolled", "export without control flow")
        prefix = f"{self._base}/{iteration}/"
        names = dict(zip(graph.inputs, given, strict=True))
        for name, array in graph.constants.items():
            names[name] = self.build.reserve(f"{prefix}{name}")
            self.build.constants[names[name]] = array
        for node in graph.nodes:
            names.update((name, self.build.reserve(f"{prefix}{name}")) for name in node.outputs if name)
            self._translate(node, _renamed(node, names, prefix))
        return [names.get(name, name) for name in graph.outputs]

    def _translate(self, written: SourceNode, node: SourceNode) -> None:
        try:
            self.visit(node)
        except Unsupported as problem:
            raise Unsupported(f"in its body, {written.place}: {problem.reason}", problem.help) from None

    def remedy(self, name: str) -> str:
        """The remedy that makes a tensor known at compile time."""
        return f"{to_freeze(self.build.nodes, self.build.tensors, [name])}, or export without control flow"

    @property
    def _base(self) -> str:
        return next((name for name in self.node.outputs if name), self.node.name)


def _if(control: _Control) -> None:
    """Becomes the branch that runs. The condition is known at compile time."""
    condition = control.known(0)
    if condition is None:
        raise Unsupported("its condition is computed at run time", control.remedy(control.node.inputs[0]))
    branch = control.body("then_branch" if bool(_only(condition, "condition")) else "else_branch")
    for index, name in enumerate(control.inline(branch, (), 0)):
        control.give(index, name)


def _loop(control: _Control) -> None:
    """Becomes RNN, GRU or LSTM, or its body once for each iteration. Their number is known at compile time."""
    from tilewright.importers.onnx.recurrent_loops import became_recurrent  # five modules that few models need

    if became_recurrent(control.node, control.build, control.visit):
        return
    body = control.body("body")
    trips = _scalar(control, 0, "count")
    proceed = _scalar(control, 1, "condition")
    carried = list(control.node.inputs[2:])
    scanned: list[list[str]] = [[] for _ in body.outputs[1 + len(carried) :]]
    going = proceed is None or bool(proceed)
    for iteration in count():
        if not going or (trips is not None and iteration >= trips):
            break
        number = control.constant(np.asarray(iteration, np.int64), "iteration")
        outputs = control.inline(body, [number, control.constant(np.asarray(True), "going"), *carried], iteration)
        condition = control.build.constants.get(outputs[0])
        if condition is None:
            what = f"its condition behind iteration {iteration} is computed at run time"
            raise Unsupported(what, control.remedy(outputs[0]))
        going = bool(_only(condition, "condition"))
        carried = outputs[1 : 1 + len(carried)]
        for names, name in zip(scanned, outputs[1 + len(carried) :], strict=True):
            names.append(name)
    for index, name in enumerate(carried):
        control.give(index, name)
    for index, names in enumerate(scanned, start=len(carried)):
        control.stack(index, names)


def _scalar(control: _Control, index: int, what: str) -> int | None:
    """The value of an optional input that must be known."""
    if not control.has(index):
        return None
    value = control.known(index)
    if value is None:
        raise Unsupported(f"its {what} is computed at run time", control.remedy(control.node.inputs[index]))
    return int(_only(value, what))


def _only(values: Array, what: str) -> Any:
    """The element of a constant that has one. Raises Unsupported for fewer or more."""
    if values.size != 1:
        raise Unsupported(f"its {what} has {values.size} elements instead of one", "export the model again")
    return values.reshape(-1)[0]


def _scan(control: _Control) -> None:
    """Becomes its body, once for each element of the sequences."""
    if control.build.opset < 9:
        raise Unsupported("Scan of opset 8", "convert with onnx.version_converter")
    body, attributes = control.body("body"), control.node.attributes
    sequences = int(attributes.get("num_scan_inputs", 0))
    if not 0 < sequences <= len(control.node.inputs) or len(body.outputs) < len(control.node.inputs) - sequences:
        raise Unsupported(f"{sequences} sequences among {len(control.node.inputs)} inputs", "export the model again")
    states = list(control.node.inputs[: len(control.node.inputs) - sequences])
    scanned = control.node.inputs[len(states) :]
    shapes = [_shape(control, name) for name in scanned]
    if () in shapes:
        raise Unsupported("a sequence without axes", "export the model again")
    axes = [
        axis % len(shape) for axis, shape in zip(_listed(attributes, "scan_input_axes", sequences), shapes, strict=True)
    ]
    back = _listed(attributes, "scan_input_directions", sequences)
    lengths = {shape[axis] for shape, axis in zip(shapes, axes, strict=True)}
    if len(lengths) != 1:
        raise Unsupported(f"sequences of lengths {sorted(lengths)}", "export the model again")
    (length,) = lengths
    results = len(body.outputs) - len(states)
    stacked: list[list[str]] = [[] for _ in range(results)]
    for iteration in range(length):
        entries = [
            control.emit("Gather", [name, _index(control, length - 1 - iteration if flip else iteration)], axis=axis)
            for name, axis, flip in zip(scanned, axes, back, strict=True)
        ]
        outputs = control.inline(body, [*states, *entries], iteration)
        states = outputs[: len(states)]
        for names, name in zip(stacked, outputs[len(states) :], strict=True):
            names.append(name)
    for index, name in enumerate(states):
        control.give(index, name)
    places = zip(
        stacked,
        _listed(attributes, "scan_output_axes", results),
        _listed(attributes, "scan_output_directions", results),
        strict=True,
    )
    for index, (names, axis, flip) in enumerate(places, start=len(states)):
        rank = len(_shape(control, names[0])) + 1
        control.stack(index, names[::-1] if flip else names, axis % rank)


def _listed(attributes: Mapping[str, object], name: str, length: int) -> list[int]:
    values = attributes.get(name)
    listed = [int(value) for value in values] if isinstance(values, list) else [0] * length
    if len(listed) != length:
        raise Unsupported(f"'{name}' has {len(listed)} numbers, not {length}", "export the model again")
    return listed


def _index(control: _Control, position: int) -> str:
    return control.constant(np.asarray(position, np.int64), "index")


def _shape(control: _Control, name: str) -> tuple[int, ...]:
    known = control.build.constants.get(name)
    return known.shape if known is not None else control.build.tensor(name).shape


def _bodies(node: SourceNode) -> Iterator[SourceGraph]:
    return (value for value in node.attributes.values() if isinstance(value, SourceGraph))


def _read_from_outside(graph: SourceGraph) -> set[str]:
    own = {*graph.inputs, *graph.constants, *(name for node in graph.nodes for name in node.outputs)}
    read = {name for node in graph.nodes for name in (*node.inputs, *captured(node))}
    return ({*read, *graph.outputs}) - own - {""}


def _renamed(node: SourceNode, names: Mapping[str, str], prefix: str) -> SourceNode:
    """The node of a body with the names that this iteration has; the bodies in it read those too."""
    return replace(
        node,
        name=f"{prefix}{node.name or node.outputs[0]}",
        inputs=tuple(names.get(name, name) for name in node.inputs),
        outputs=tuple(names.get(name, name) for name in node.outputs),
        attributes={
            key: _with_captures(value, names) if isinstance(value, SourceGraph) else value
            for key, value in node.attributes.items()
        },
    )


def _with_captures(graph: SourceGraph, names: Mapping[str, str]) -> SourceGraph:
    outer = {name: names[name] for name in _read_from_outside(graph) if name in names}
    nodes = tuple(
        replace(
            node,
            inputs=tuple(outer.get(name, name) for name in node.inputs),
            attributes={
                key: _with_captures(value, outer) if isinstance(value, SourceGraph) else value
                for key, value in node.attributes.items()
            },
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, outputs=tuple(outer.get(name, name) for name in graph.outputs))


CONTROL: Mapping[str, Callable[[_Control], None]] = MappingProxyType({"If": _if, "Loop": _loop, "Scan": _scan})
"""The function that expands each operator with bodies."""
