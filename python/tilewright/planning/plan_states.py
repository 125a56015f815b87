"""The states of a plan, and what they hold before the first run."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from tilewright.graph import Array, Graph, State
from tilewright.plan import StateTensor
from tilewright.schedule.building import Schedule


def interface_inputs(graph: Graph) -> tuple[str, ...]:
    """The inputs that the caller gives: all but those of states."""
    found = {state.input for state in graph.states}
    return tuple(name for name in graph.inputs if name not in found)


def interface_outputs(graph: Graph) -> tuple[str, ...]:
    """The outputs that the caller gets: all but those of states."""
    left = {state.output for state in graph.states}
    return tuple(name for name in graph.outputs if name not in left)


def plan_states(graph: Graph, schedule: Schedule) -> tuple[StateTensor, ...]:
    """The states of the graph as it was imported, with the buffers of the schedule."""
    left = {old: new for new, old in schedule.left.items()}
    return tuple(
        StateTensor(
            input=state.input,
            output=state.output,
            found=state.input,
            left=left[state.input],
            fill=0 if state.initial is not None else _zero(graph, state),
            sha256=_content_hash(graph, state) if state.initial is not None else None,
        )
        for state in graph.states
    )


def initial_contents(graph: Graph) -> dict[str, Array]:
    """The content of each state that does not begin with zeros, by its hash."""
    return {
        _content_hash(graph, state): initial_content(graph, state)
        for state in graph.states
        if state.initial is not None
    }


def initial_content(graph: Graph, state: State) -> Array:
    """What a state holds before the first run: [shape] of the input's type."""
    tensor = graph.tensor(state.input)
    if state.initial is None:
        return np.full(tensor.shape, _zero(graph, state), tensor.dtype.numpy)
    quantization = tensor.quantization
    if state.initial.dtype.kind != "f" or quantization is None or len(quantization.scale) != 1:
        return np.ascontiguousarray(state.initial, tensor.dtype.numpy)
    limits = np.iinfo(tensor.dtype.numpy)
    steps = np.rint(state.initial / np.float32(quantization.scale[0])) + quantization.zero_point[0]
    stored: Array = np.clip(steps, limits.min, limits.max).astype(tensor.dtype.numpy)
    return stored


def _zero(graph: Graph, state: State) -> int:
    """The stored number that means zero."""
    quantization = graph.tensor(state.input).quantization
    return quantization.zero_point[0] if quantization is not None and len(quantization.zero_point) == 1 else 0


def _content_hash(graph: Graph, state: State) -> str:
    content = initial_content(graph, state)
    return sha256(content.tobytes() + content.dtype.str.encode()).hexdigest()
