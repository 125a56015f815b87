"""What a user can do about a value that has to be known at compile time: which inputs to freeze."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.graph import Node, Tensor

_MOST_NAMED = 3


def to_freeze(nodes: Sequence[Node], tensors: Mapping[str, Tensor], names: Iterable[str]) -> str:
    """Which inputs of the model decide the tensors ``names``, and how to fix their values."""
    inputs = _inputs_behind(nodes, tensors, names)
    if not inputs:
        return "make it a constant in the model"
    if len(inputs) > _MOST_NAMED:
        return f"make it a constant in the model; it depends on {len(inputs)} inputs"
    listed = " and ".join(f"'{name}'" for name in inputs)
    return f'freeze {listed} (freeze = "<file.npz>" in the options file), or make it a constant in the model'


def _inputs_behind(nodes: Sequence[Node], tensors: Mapping[str, Tensor], names: Iterable[str]) -> list[str]:
    producers = {output: node for node in nodes for output in node.outputs}
    waiting, seen, inputs = list(names), set[str](), []
    while waiting:
        name = waiting.pop()
        if name in seen or name not in tensors or tensors[name].data is not None:
            continue
        seen.add(name)
        if name in producers:
            waiting += producers[name].inputs
        else:
            inputs.append(name)
    return sorted(inputs)
