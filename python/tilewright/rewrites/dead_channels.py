"""Channels that are constant, or that nobody reads, vanish with what computed them.

Before:  Conv(x, w[64, 16, 1, 1]) -> depthwise Conv -> Conv(w[32, 64, 1, 1]), where 30 channels between are constant or
         meet weights of zero
After:   Conv(x, w[36, 16, 1, 1]) -> depthwise Conv -> Conv(w[32, 36, 1, 1]), constants added to the last bias

Tensors that share channels (of depthwise convolutions, sums, poolings and views of vectors) lose a channel together,
or not at all. Channels stay in fours, which kernels compute together; dead ones that fill them up are zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from enum import Enum
from typing import Any

import numpy as np

from tilewright.base.dataclass import dataclass
from tilewright.graph import Array, Epilogue, Graph, Node
from tilewright.graph.edit import GraphEditor, with_attributes
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.matmul import MatMulAttributes
from tilewright.rewrites.channel_ranges import (
    CHANNEL,
    Range,
    bias_of,
    has_channels,
    has_pads,
    ranges_of_channels,
    weighted,
    weights_of,
    zero_of,
)

_TOGETHER = 4
"""Channels that kernels compute together."""

_MOST = (1 << 31) - 1


class _Role(Enum):
    """What a node does with channels: sums over all, keeps each apart, or something else."""

    SUMS = "sums"
    KEEPS = "keeps"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class _Kept:
    """Indices of the channels that stay, and bool[channels]: which are dead. A dead one that stays is all zeros."""

    alive: Array
    dead: Array

    @property
    def needless(self) -> Array:
        """bool[channels that stay]: the dead ones."""
        result: Array = self.dead[self.alive]
        return result


def _all(channels: int) -> _Kept:
    return _Kept(np.arange(channels), np.zeros(channels, bool))


def drop_dead_channels(graph: Graph) -> Graph:
    """Leaves out dead channels of 8-bit networks until there are none. Integer results do not change.

    A graph whose weights may become others (``any_weights``) stays as it is.
    """
    if graph.any_weights:
        return graph
    while (edited := _one_round(graph)) is not None:
        graph = edited
    return graph


def _one_round(graph: Graph) -> Graph | None:
    """None if no channel is dead."""
    ranges = ranges_of_channels(graph)
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    kept: dict[str, _Kept] = {}
    for group in _groups(graph):
        dead = np.ones(graph.tensor(group[0]).shape[CHANNEL], bool)
        for name in group:
            for reader in readers.get(name, ()):
                if _role(reader, graph) is _Role.SUMS:
                    dead &= _needless(reader, graph, ranges[name])
        alive = _in_fours(dead)
        if len(alive) < len(dead):
            kept.update(dict.fromkeys(group, _Kept(alive, dead)))
    return _edited(graph, kept, ranges) if kept else None


def _in_fours(dead: Array) -> Array:
    """Indices of the channels that stay: those that are not dead, and the first dead ones that fill up a four."""
    channels = len(dead)
    count = max(int((~dead).sum()), 1)
    missing = min(-(-count // _TOGETHER) * _TOGETHER, channels) - int((~dead).sum())
    stays = ~dead
    stays[np.flatnonzero(dead)[:missing]] = True
    return np.flatnonzero(stays)


def _role(node: Node, graph: Graph) -> _Role:
    given, output = node.attributes, graph.tensor(node.outputs[0])
    x = graph.tensor(node.inputs[0]) if node.inputs else output
    if not has_channels(x):
        return _Role.OTHER
    if isinstance(given, (ConvAttributes, MatMulAttributes)):
        weights, bias = weights_of(node, graph), bias_of(node, graph)
        if weights is None or bias is None or len(node.inputs) > 3:
            return _Role.OTHER
        if isinstance(given, MatMulAttributes):
            return _Role.SUMS if len(x.shape) == len(output.shape) == CHANNEL + 1 else _Role.OTHER
        if given.group == 1:
            return _Role.SUMS
        is_depthwise = given.group == x.shape[CHANNEL] == output.shape[CHANNEL]
        return _Role.KEEPS if is_depthwise and has_channels(output) else _Role.OTHER
    return _Role.KEEPS if has_channels(output) and _keeps(node, graph) else _Role.OTHER


def _keeps(node: Node, graph: Graph) -> bool:
    """Whether a node without weights computes each channel from the same channel of its inputs."""
    x, output = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if node.operator in ("AveragePool", "MaxPool"):
        return True
    if node.operator == "Reshape":
        vectors = all(tensor.elements == tensor.shape[CHANNEL] for tensor in (x, output))
        return vectors and len(node.inputs) == 1
    if node.operator in ("Add", "Sub") and isinstance(node.attributes, BinaryAttributes):
        operands = [graph.tensor(name) for name in node.inputs]
        return all(has_channels(each) and each.shape == output.shape for each in operands)
    return False


def _groups(graph: Graph) -> list[list[str]]:
    """Tensors that lose a channel together, of those that may lose any."""
    joined = {name: name for name in graph.tensors if has_channels(graph.tensor(name))}

    def root(name: str) -> str:
        while joined[name] != name:
            name = joined[name]
        return name

    written = {name for node in graph.nodes for name in node.outputs}
    interface = {*graph.inputs, *graph.outputs, *graph.bounded}
    fixed = {name for name in joined if name not in written or name in interface}
    for node in graph.nodes:
        role = _role(node, graph)
        names = [name for name in (*node.inputs, *node.outputs) if name in joined]
        if role is _Role.OTHER:
            fixed.update(names)
        elif role is _Role.KEEPS:
            for name in names[1:]:
                joined[root(name)] = root(names[0])
    held = {root(name) for name in fixed}
    groups: dict[str, list[str]] = {}
    for name in joined:
        if root(name) not in held:
            groups.setdefault(root(name), []).append(name)
    return list(groups.values())


def _needless(node: Node, graph: Graph, x: Range) -> Array:
    """bool[channels of x]: those that the node can do without, as nothing or as a part of its bias."""
    weights, bias = weights_of(node, graph), bias_of(node, graph)
    assert weights is not None
    assert bias is not None
    unread = ~weights.any(axis=(0, 2))
    value = x.lowest - zero_of(node)
    # Beside x stands the padding, so that another constant than it is none at the edge.
    folds = x.constant & ((value == 0) | (not has_pads(node)))
    added = weighted(weights, np.where(folds, np.abs(value), 0), magnitudes=True)
    if int((np.abs(bias) + added).max()) > _MOST:
        folds &= value == 0
    result: Array = unread | folds
    return result


def _edited(graph: Graph, kept: Mapping[str, _Kept], ranges: Mapping[str, Range]) -> Graph:
    editor = GraphEditor(graph)
    renamed = {}
    for name, channels in kept.items():
        tensor = graph.tensor(name)
        shape = tuple(len(channels.alive) if axis == CHANNEL else extent for axis, extent in enumerate(tensor.shape))
        renamed[name] = editor.variable(tensor, f"{name}/live", shape=shape).name
    for node in graph.nodes:
        if not any(name in kept for name in (*node.inputs, *node.outputs)):
            continue
        edited = node
        if isinstance(node.attributes, (ConvAttributes, MatMulAttributes)):
            edited = _with_fewer(editor, node, graph, kept, ranges)
        elif node.outputs[0] in kept:
            edited = replace(node, epilogue=_of_channels(node.epilogue, kept[node.outputs[0]].alive))
        inputs = tuple(renamed.get(name, name) for name in edited.inputs)
        editor.replace(node, replace(edited, inputs=inputs, outputs=tuple(renamed.get(n, n) for n in node.outputs)))
    return editor.graph()


def _with_fewer(
    editor: GraphEditor, node: Node, graph: Graph, kept: Mapping[str, _Kept], ranges: Mapping[str, Range]
) -> Node:
    """The node with the weights and the bias of the channels that stay."""
    given, x, y = node.attributes, node.inputs[0], node.outputs[0]
    data, bias, weights = graph.tensor(node.inputs[1]).data, bias_of(node, graph), weights_of(node, graph)
    assert data is not None
    assert bias is not None
    assert weights is not None
    outputs, inputs = kept.get(y, _all(len(bias))), kept.get(x, _all(weights.shape[1]))
    is_turned = isinstance(given, MatMulAttributes) and not given.transpose_b
    if isinstance(given, ConvAttributes) and given.group > 1:
        node = with_attributes(node, group=len(outputs.alive), w_zero_point=(0,))
        data = data[outputs.alive]
    else:
        bias = bias + _folded(node, weights, inputs.dead, ranges[x])
        is_conv = isinstance(given, ConvAttributes)
        node = with_attributes(node, **{"w_zero_point" if is_conv else "b_zero_point": (0,)})
        data = (data.T if is_turned else data)[outputs.alive][:, inputs.alive]
        data[:, inputs.needless] = 0
    data[outputs.needless] = 0
    bias = np.where(outputs.needless, 0, bias[outputs.alive])
    names = [x, editor.constant(f"{y}/live weights", data.T if is_turned else data).name]
    if (len(node.inputs) > 2 and node.inputs[2]) or bias.any():
        names.append(editor.constant(f"{y}/live bias", bias.astype(np.int32)).name)
    return replace(node, inputs=tuple(names), epilogue=_of_channels(node.epilogue, outputs.alive))


def _folded(node: Node, weights: Array, dead: Array, x: Range) -> Array:
    """int64 [output channels]: what the dead channels that are constant add to each sum."""
    value = np.where(x.constant & dead, x.lowest - zero_of(node), 0)
    return weighted(weights, value)


def _of_channels(epilogue: Epilogue | None, alive: Iterable[int]) -> Epilogue | None:
    """The epilogue of the channels that stay."""
    if epilogue is None:
        return None
    taken = [int(channel) for channel in alive]
    changes: dict[str, Any] = {}
    for each in fields(epilogue):
        values = getattr(epilogue, each.name)
        if isinstance(values, tuple) and len(values) > 1:
            changes[each.name] = tuple(values[channel] for channel in taken)
    return replace(epilogue, **changes)
