"""Which channels of which tensors stay or go together.

Before:  a = Conv(..)[8 channels], b = Lookup(Conv(..))[4], c = Concat(a, b), y = Conv(c, w)
After:   channels 0 to 7 of c are those of a, 8 to 11 those of b and of what the Lookup reads
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.matmul import MatMulAttributes
from tilewright.rewrites.channel_ranges import CHANNEL, bias_of, has_channels, is_joined_constant, weights_of

_TOGETHER = 4
"""Channels that kernels compute together."""

Flags = dict[str, Array]
"""By name of a tensor: bool[channels]."""


class Role(Enum):
    """What a node does with channels: sums over all, keeps each apart, puts them in a row, or something else."""

    SUMS = "sums"
    KEEPS = "keeps"
    JOINS = "joins"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Tie:
    """The channels of ``part`` are those of ``whole`` from ``first`` on."""

    part: str
    whole: str
    first: int = 0


def role_of(node: Node, graph: Graph) -> Role:
    """What a node does with the channels of its inputs."""
    given, output = node.attributes, graph.tensor(node.outputs[0])
    if is_join(node, graph):
        return Role.JOINS
    x = graph.tensor(node.inputs[0]) if node.inputs else output
    if not has_channels(x):
        return Role.OTHER
    if isinstance(given, (ConvAttributes, MatMulAttributes)):
        weights, bias = weights_of(node, graph), bias_of(node, graph)
        if weights is None or bias is None or len(node.inputs) > 3:
            return Role.OTHER
        if isinstance(given, MatMulAttributes):
            return Role.SUMS if len(x.shape) == len(output.shape) == CHANNEL + 1 else Role.OTHER
        if given.group == 1:
            return Role.SUMS
        is_depthwise = given.group == x.shape[CHANNEL] == output.shape[CHANNEL]
        return Role.KEEPS if is_depthwise and has_channels(output) else Role.OTHER
    return Role.KEEPS if has_channels(output) and _keeps(node, graph) else Role.OTHER


def is_join(node: Node, graph: Graph) -> bool:
    """Whether a node puts channels of tensors behind one another."""
    if node.operator != "Concat" or node.given(AxisAttributes).axis != CHANNEL or node.epilogue is not None:
        return False
    parts = [graph.tensor(name) for name in node.inputs]
    return has_channels(graph.tensor(node.outputs[0])) and all(has_channels(x) or is_joined_constant(x) for x in parts)


def _keeps(node: Node, graph: Graph) -> bool:
    """Whether a node without weights computes each channel from the same channel of its inputs."""
    x, output = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    if node.operator in ("AveragePool", "MaxPool"):
        return True
    if node.operator == "Lookup":
        return graph.tensor(node.inputs[1]).is_constant
    if node.operator == "Reshape":
        vectors = all(tensor.elements == tensor.shape[CHANNEL] for tensor in (x, output))
        return vectors and len(node.inputs) == 1
    if node.operator in ("Add", "Sub") and isinstance(node.attributes, BinaryAttributes):
        operands = [graph.tensor(name) for name in node.inputs]
        return all(has_channels(each) and each.shape == output.shape for each in operands)
    return False


def ties_of(graph: Graph) -> list[Tie]:
    """The ties between the tensors of each node that keeps or joins channels."""
    ties = []
    for node in graph.nodes:
        role, whole = role_of(node, graph), node.outputs[0]
        if role is Role.KEEPS:
            ties += [Tie(name, whole) for name in node.inputs if name and has_channels(graph.tensor(name))]
        elif role is Role.JOINS:
            first = 0
            for name in node.inputs:
                ties.append(Tie(name, whole, first))
                first += graph.tensor(name).shape[CHANNEL]
    return ties


def settle(flags: Flags, ties: list[Tie], together: Callable[[Array, Array], Array]) -> None:
    """Gives channels that are tied to each other the same flag: of both, what ``together`` makes."""
    rounds, is_settled = (*ties, *reversed(ties)), False
    while not is_settled:
        is_settled = True
        for tie in rounds:
            part = flags[tie.part]
            span = flags[tie.whole][tie.first : tie.first + len(part)]
            if not np.array_equal(part, span):
                part[:] = span[:] = together(part, span)
                is_settled = False


def held_tensors(graph: Graph) -> set[str]:
    """The tensors that keep all channels, whatever these are."""
    written = {name for node in graph.nodes for name in node.outputs}
    computed = {name for name, tensor in graph.tensors.items() if not tensor.is_constant}
    held = (computed - written) | {*graph.inputs, *graph.outputs, *graph.bounded}
    for node in graph.nodes:
        if role_of(node, graph) is Role.OTHER:
            held.update(computed.intersection((*node.inputs, *node.outputs)))
    return held


def channels_that_stay(graph: Graph, dead: Mapping[str, Array], ties: list[Tie]) -> Flags:
    """The channels that are not dead, and dead ones that fill up fours of those that sums make.

    A tensor has none if nothing reads it any more: a part of a Concat that vanishes with what computed it.
    """
    stays = {name: ~flags for name, flags in dead.items()}
    sums = {node.outputs[0] for node in graph.nodes if role_of(node, graph) is Role.SUMS}
    missing = True
    while missing:
        gone, missing = gone_tensors(graph, stays), False
        for name, flags in stays.items():
            if name in gone or graph.tensor(name).is_constant:
                continue
            count, channels = int(flags.sum()), len(flags)
            wanted = max(-(-count // _TOGETHER) * _TOGETHER, _TOGETHER) if name in sums or not count else count
            if min(wanted, channels) > count:
                flags[np.flatnonzero(~flags)[: min(wanted, channels) - count]] = True
                settle(stays, ties, np.logical_or)
                missing = True
    return stays


def gone_tensors(graph: Graph, stays: Mapping[str, Array]) -> set[str]:
    """The tensors without a channel that stays which no node that stays reads, except as a part of a Concat."""
    gone = {name for name, flags in stays.items() if not flags.any()}
    is_settled = False
    while not is_settled:
        is_settled = True
        for node in reversed(graph.nodes):
            output = node.outputs[0]
            read = gone.intersection(node.inputs)
            if read and output not in gone and not is_join(node, graph):
                gone -= read
                is_settled = False
    return gone
