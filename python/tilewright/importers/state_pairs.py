"""What a model remembers from run to run: an input and the output that becomes the input of the next run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilewright.base.errors import bad_input, suggestion
from tilewright.graph import Array, Graph, State
from tilewright.importers.onnx.source import SourceModel

Pairs = Sequence[tuple[str, str]]
"""(input, output) of each state, as the user says."""


def with_initial_inputs(model: SourceModel, pairs: Pairs) -> tuple[SourceModel, dict[str, Array]]:
    """The model with its states as inputs where the file gives them values, and those values by name."""
    names = [name for name, _ in pairs]
    given = {value.name: value for value in model.initialised if value.name in names}
    initial = {name: model.constants[name] for name in given}
    constants = {name: array for name, array in model.constants.items() if name not in given}
    return replace(model, inputs=(*model.inputs, *given.values()), constants=constants), initial


def with_states(graph: Graph, pairs: Pairs, initial: dict[str, Array]) -> Graph:
    """The graph with states beside those that the file itself has.

    Raises bad_input ``state``: no such input or output, one that is in two states, or two that are not alike.
    """
    states = list(graph.states)
    for name, output in pairs:
        _check_known(name, graph.inputs, "input")
        _check_known(output, graph.outputs, "output")
        states.append(State(name, output, initial.get(name)))
    found = replace(graph, states=tuple(states))
    _check_once([state.output for state in states])
    _check_once([state.input for state in states])
    for state in states:
        _check_alike(found, state)
    return found


def _check_known(name: str, names: Iterable[str], side: str) -> None:
    if name not in names:
        raise bad_input(
            "state", f"STATE names '{name}', which is no {side} of the model", help=suggestion(name, tuple(names))
        )


def _check_once(names: Sequence[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise bad_input(
            "state", f"'{twice}' is in two states", help="give each state an input and an output of its own"
        )


def _check_alike(graph: Graph, state: State) -> None:
    old, new = graph.tensor(state.input), graph.tensor(state.output)
    for what, one, other in (
        ("shape", list(old.shape), list(new.shape)),
        ("type", old.dtype.value, new.dtype.value),
        ("scale and zero point", old.quantization, new.quantization),
    ):
        if one != other:
            said = "" if what.startswith("scale") else f": {one} and {other}"
            raise bad_input(
                "state",
                f"input '{state.input}' and output '{state.output}' have not the same {what}{said}",
                help="export the model so that the output can be the next run's input",
            )
    if state.initial is not None and state.initial.shape != old.shape:
        what = f"the initial value of '{state.input}' has shape {list(state.initial.shape)}, not {list(old.shape)}"
        raise bad_input("state", what, help="export the model with an initial value of the input's shape")
