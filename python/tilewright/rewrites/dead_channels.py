"""Channels that are constant, or that nobody reads, vanish with what computed them.

Before:  Conv(x, w[64, 16, 1, 1]) -> depthwise Conv -> Conv(w[32, 64, 1, 1]), where 30 channels between are constant or
         meet weights of zero
After:   Conv(x, w[36, 16, 1, 1]) -> depthwise Conv -> Conv(w[32, 36, 1, 1]), constants added to the last bias

Tensors that share channels (of depthwise convolutions, sums, poolings, tables, views of vectors, and parts of a
Concat) lose a channel together, or not at all. Channels that a convolution or a product makes stay in fours, which
kernels compute together; dead ones that fill them up are zeros. A part of a Concat that has no other reader and no
live channel vanishes with what computed it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Epilogue, Graph, Node
from tilewright.graph.edit import GraphEditor, with_attributes
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
from tilewright.rewrites.channel_ties import (
    Flags,
    Role,
    Tie,
    channels_that_stay,
    held_tensors,
    is_join,
    role_of,
    settle,
    ties_of,
)
from tilewright.rewrites.fold import fold_constants

_MOST = (1 << 31) - 1


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
    ranges, ties = ranges_of_channels(graph), ties_of(graph)
    dead = _dead(graph, ranges, ties)
    stays = channels_that_stay(graph, dead, ties)
    kept = {name: _Kept(np.flatnonzero(flags), dead[name]) for name, flags in stays.items() if not flags.all()}
    return _edited(graph, kept, ranges) if kept else None


def _dead(graph: Graph, ranges: Mapping[str, Range], ties: list[Tie]) -> Flags:
    """The channels that every reader can do without."""
    held, parts = held_tensors(graph), {tie.part for tie in ties}
    dead = {}
    for name, tensor in graph.tensors.items():
        if has_channels(tensor) or name in parts:
            dead[name] = np.full(tensor.shape[CHANNEL], name not in held)
    for node in graph.nodes:
        if role_of(node, graph) is Role.SUMS:
            dead[node.inputs[0]] &= _needless(node, graph, ranges[node.inputs[0]])
    settle(dead, ties, np.logical_and)
    return dead


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
    computed = {name: channels for name, channels in kept.items() if not graph.tensor(name).is_constant}
    renamed = {}
    for name, channels in computed.items():
        if len(channels.alive):
            tensor = graph.tensor(name)
            shape = (*tensor.shape[:CHANNEL], len(channels.alive), *tensor.shape[CHANNEL + 1 :])
            renamed[name] = editor.variable(tensor, f"{name}/live", shape=shape).name
    for node in graph.nodes:
        output = node.outputs[0]
        # What computes a tensor without channels is read by nothing any more, and goes with it.
        is_gone = output in computed and output not in renamed
        if is_gone or computed.keys().isdisjoint((*node.inputs, *node.outputs)):
            continue
        edited = node
        if isinstance(node.attributes, (ConvAttributes, MatMulAttributes)):
            edited = _with_fewer(editor, node, graph, kept, ranges)
        elif is_join(node, graph):
            edited = replace(node, inputs=_live_parts(editor, node, graph, kept))
        elif output in kept:
            edited = replace(node, epilogue=_of_channels(node.epilogue, kept[output].alive))
        inputs = tuple(renamed.get(name, name) for name in edited.inputs)
        editor.replace(node, replace(edited, inputs=inputs, outputs=tuple(renamed.get(n, n) for n in node.outputs)))
    _bypass_single_parts(editor, renamed.values())
    return fold_constants(editor.graph())


def _bypass_single_parts(editor: GraphEditor, renamed: Collection[str]) -> None:
    """Leaves out each Concat of one part. That part may be of a Concat which was left out before."""
    for listed in editor.nodes():
        node = editor.current(listed)
        if node is not None and node.operator == "Concat" and len(node.inputs) == 1 and node.outputs[0] in renamed:
            editor.bypass(node)


def _live_parts(editor: GraphEditor, node: Node, graph: Graph, kept: Mapping[str, _Kept]) -> tuple[str, ...]:
    """The inputs of a Concat that have channels left; of constants those channels."""
    parts = []
    for name in node.inputs:
        data, alive = graph.tensor(name).data, kept[name].alive if name in kept else None
        if alive is None or (data is None and len(alive)):
            parts.append(name)
        elif data is not None and len(alive):
            parts.append(editor.constant(f"{name}/live", np.take(data, alive, CHANNEL)).name)
    return tuple(parts)


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
