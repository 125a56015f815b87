"""Tensors that a model keeps from run to run: variables with handles, and those that an operator's inputs name.

Before:  h = VAR_HANDLE "v"; a = READ_VARIABLE h; ...; ASSIGN_VARIABLE h, b
After:   an input that stands for a, and an output that stands for b: State(a, b) of the graph
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, State
from tilewright.importers.construction import Construction, Unsupported, checked
from tilewright.importers.tflite.context import LiteCall, Shared, one_type, per_tensor, same_scale
from tilewright.importers.tflite.records import LiteModel, SubgraphRecord
from tilewright.importers.tflite.schema import CIRCULAR_BUFFER


def initial_values(model: LiteModel) -> dict[str, Array]:
    """Variable to the constant that a subgraph which runs once assigns to it."""
    once = [
        node.options["init_subgraph_index"] for node in model.subgraphs[0].operators if node.operator == "CALL_ONCE"
    ]
    values: dict[str, Array] = {}
    for index in once:
        if isinstance(index, int) and 0 < index < len(model.subgraphs):
            values.update(_assigned(model.subgraphs[index]))
    return values


def _assigned(subgraph: SubgraphRecord) -> dict[str, Array]:
    """Constants that a subgraph assigns; other assignments are missing, so that reading such a variable is refused."""
    handles: dict[int, str] = {}
    values: dict[str, Array] = {}
    for node in subgraph.operators:
        if node.operator == "VAR_HANDLE" and node.outputs:
            handles[node.outputs[0]] = _key(str(node.options["container"]), str(node.options["shared_name"]))
        if node.operator == "ASSIGN_VARIABLE" and len(node.inputs) == 2 and node.inputs[0] in handles:
            data = subgraph.tensors[node.inputs[1]].data
            if data is not None:
                values[handles[node.inputs[0]]] = data
    return values


def _key(container: str, name: str) -> str:
    return f"{container}/{name}" if container else name


def call_once(call: LiteCall) -> None:
    """A subgraph that assigns constants to variables: their content in the first run."""
    index = call.integer("init_subgraph_index")
    others = {node.operator for node in call.shared.subgraph_operators(index)} - {"VAR_HANDLE", "ASSIGN_VARIABLE"}
    if others:
        raise Unsupported(f"subgraph {index} computes ({', '.join(sorted(others))})", "assign constants to variables")


def var_handle(call: LiteCall) -> None:
    """The name of a variable; no code."""
    call.shared.handles[call.node.outputs[0]] = _key(call.text("container"), call.text("shared_name"))


def read_variable(call: LiteCall) -> None:
    """What the variable holds: from the run before, or assigned in this one."""
    held = call.state(_handle(call), call.output(), call.output().quantization)
    call.emit("Reshape", [held], call.output().shape)


def assign_variable(call: LiteCall) -> None:
    """The variable's value from here on, and in the next run."""
    call.shared.held[_handle(call)] = call.input(1).name


_PLAIN_SLOTS = (5, 13, 25)
"""Slots of buffers without options that TensorFlow Lite Micro runs in every cycle."""


def circular_buffer(call: LiteCall) -> None:
    """The newest inputs on axis 1, the last one of this run; int8. Buffers that skip runs are refused."""
    x, y = call.record(0), call.output()
    if one_type(call, 0) != "int8" or len(y.shape) != 4 or x.shape != (y.shape[0], 1, *y.shape[2:]):
        raise Unsupported(f"{x.type}{list(x.shape)} into {y.type}{list(y.shape)}", "int8 with four axes is supported")
    if y.shape[0] != 1 or not y.is_variable:
        raise Unsupported("a buffer of several batches, or one that is no variable", "convert the model again")
    cycles = call.integer("cycles") if "cycles" in call.node.options else 0
    if cycles != 1 and (cycles > 1 or y.shape[1] not in _PLAIN_SLOTS):
        raise Unsupported("a buffer that ends a run before the operators behind it", "use a stride of 1 in time")
    per_tensor(y)
    same_scale(call, x)
    key = call.names[call.node.outputs[0]]
    call.shared.initial.setdefault(key, np.full(y.shape, y.zero, np.int8))
    held, parts = call.state(key, y, y.quantization), [call.input(0).name]
    if y.shape[1] > 1:
        given = {"starts": (0, 1, 0, 0), "steps": (1, 1, 1, 1)}
        newer = call.emit("Slice", [held], (1, y.shape[1] - 1, *y.shape[2:]), given, part="newer")
        parts = [newer, *parts]
        call.emit("Concat", parts, y.shape, {"axis": 1})
    else:
        call.emit("Reshape", parts, y.shape)
    call.shared.held[key] = key


def _handle(call: LiteCall) -> str:
    call.record(0)
    handle = call.shared.handles.get(call.node.inputs[0])
    if handle is None:
        raise Unsupported("a variable without VAR_HANDLE in the same subgraph", "convert the model again")
    return handle


def states_of(shared: Shared, build: Construction, copied: Callable[[str], str], taken: list[str]) -> list[State]:
    """The states of the graph; each output is a tensor of its own, beside those ``taken``.

    Args:
        copied: makes a tensor with the elements of a named one, and gives its name.
    """
    states: list[State] = []
    for key, first in shared.first.items():
        output = shared.held[key]
        if output in (*taken, first) or output in build.constants or output in shared.first.values():
            output = copied(output)
        taken.append(output)
        _meet(build, first, output)
        states.append(State(first, output, shared.initial[key]))
    return states


def _meet(build: Construction, first: str, output: str) -> None:
    """Make both ends of a state say the same of its integers."""
    old, new = build.tensor(first), build.tensor(output)
    if (old.shape, old.dtype) != (new.shape, new.dtype):
        what = f"{old.dtype.value}{list(old.shape)} becomes {new.dtype.value}{list(new.shape)}"
        raise Unsupported(f"a variable changes from run to run: {what}", "keep its shape and type")
    build.tensors[first] = checked(replace(old, quantization=new.quantization))


VARIABLES: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        "CALL_ONCE": call_once,
        "VAR_HANDLE": var_handle,
        "READ_VARIABLE": read_variable,
        "ASSIGN_VARIABLE": assign_variable,
        CIRCULAR_BUFFER: circular_buffer,
    }
)
