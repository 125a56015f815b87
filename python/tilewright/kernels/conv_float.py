"""Float32 convolution: blocks of four output positions by four channels; depthwise on its own.

Before:  w[M, C/group, kh, kw], b[M]
After:   packed[group, M/group/4, 1 + kh*kw*C/group, 4], the four biases first; depthwise [M/4, 1 + kh*kw, 4]
"""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array, Clamp, Graph, Node
from tilewright.kernels.float_common import CALL_CYCLES, all_float, clamp_attributes, clamp_of, points, step_of
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, TensorOperand, TileSteps
from tilewright.kernels.spatial_float import geometry, spatial_view
from tilewright.operators.conv import CONV
from tilewright.operators.nest import Nest, along, blocks, whole

BLOCK = 4
"""Output channels that are packed side by side."""

LANES = 4
"""Output positions that are gathered side by side."""

_MAC_CYCLES = 1.9
_SINGLE_MAC_CYCLES = 2.8
_GATHER_CYCLES = 4.0
_OUTPUT_CYCLES = 8.0
_DEPTHWISE_MAC_CYCLES = 3.4
_DEPTHWISE_OUTPUT_CYCLES = 25.0
_POSITION_CYCLES = 150.0


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with constant float32 weights and bias over one or two spatial axes."""
    clamp = clamp_of(node)
    if clamp is None or not all_float(graph, (*node.inputs, *node.outputs)):
        return ()
    constants = [graph.tensor(name).data for name in node.inputs[1:] if name]
    if any(data is None for data in constants):
        return ()
    weights = np.asarray(constants[0])
    bias = np.asarray(constants[1]) if len(constants) > 1 else np.zeros(weights.shape[0], np.float32)
    if weights.ndim not in (3, 4):
        return ()
    nest = CONV.nest(node, graph)
    groups = node.attributes["group"]
    if groups > 1 and weights.shape[:2] == (groups, 1):
        return (_depthwise(node, nest, clamp, weights, bias),)
    lane_counts = (LANES, 1) if _gathers(node, weights) else (LANES,)
    return tuple(_convolution(node, nest, clamp, weights, bias, lanes) for lanes in lane_counts)


def pack(weights: Array, bias: Array, groups: int) -> Array:
    """Weights [M, C/group, k...] and bias [M] as float32 [group, ceil(M/group/4), 1 + taps, 4].

    Taps in the order k..., input channel; zeros behind the last channel of a group.
    """
    outputs = weights.shape[0] // groups
    count = -(-outputs // BLOCK)
    rows = np.moveaxis(weights, 1, -1).reshape(groups, outputs, -1)
    rows = np.concatenate([bias.reshape(groups, outputs, 1), rows], axis=2)
    padded = np.zeros((groups, count * BLOCK, rows.shape[2]), np.float32)
    padded[:, :outputs] = rows
    return np.ascontiguousarray(padded.reshape(groups, count, BLOCK, -1).transpose(0, 1, 3, 2))


def _convolution(node: Node, nest: Nest, clamp: Clamp, weights: Array, bias: Array, lanes: int) -> KernelChoice:
    """With one lane the scratch is a quarter and the kernel slower; sums are the same bit for bit."""
    groups = node.attributes["group"]
    packed = pack(weights, bias, groups)
    taps = int(packed.shape[2]) - 1
    gather = _gathers(node, weights)

    def cycles(steps: TileSteps) -> float:
        positions = points(nest, steps, ("n", "group", "oh", "ow"))
        outputs = -(-step_of(nest, steps, "oc") // BLOCK) * BLOCK
        gathered = taps * _GATHER_CYCLES if gather else 0.0
        per_mac = _MAC_CYCLES if lanes == LANES else _SINGLE_MAC_CYCLES
        per_position = _POSITION_CYCLES + gathered + outputs * (taps * per_mac + _OUTPUT_CYCLES)
        return CALL_CYCLES + positions * per_position

    attributes = (
        *geometry(node, weights.shape[2:]),
        ("group_inputs", int(weights.shape[1])),
        ("group_outputs", int(weights.shape[0]) // groups),
        ("gather", lanes if gather else 0),
        *clamp_attributes(clamp),
    )
    constant = ConstantOperand(
        "weights",
        packed,
        (along("group") if groups > 1 else whole(1), blocks("oc", BLOCK), whole(taps + 1), whole(BLOCK)),
    )
    scratch = 4 * lanes * taps if gather else 0
    return KernelChoice(
        symbol="tilewright_conv_f32",
        sources=("conv_f32.c",),
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], spatial_view(node)), constant),
        writes=(TensorOperand(node.outputs[0], nest.writes[0], spatial_view(node)),),
        attributes=attributes,
        cycles=cycles,
        scratch_bytes=lambda steps: scratch,
        multiples={"oc": BLOCK},
        uncut=frozenset({"ic", "kh", "kw"}),
    )


def _gathers(node: Node, weights: Array) -> bool:
    """Whether taps are gathered into scratch; a 1x1 kernel without padding reads them in place."""
    return any(extent != 1 for extent in weights.shape[2:]) or any(node.attributes["pads"])


def _depthwise(node: Node, nest: Nest, clamp: Clamp, weights: Array, bias: Array) -> KernelChoice:
    packed = pack(weights, bias, 1)[0]
    taps = int(packed.shape[1]) - 1

    def cycles(steps: TileSteps) -> float:
        outputs = points(nest, steps, ("n", "oh", "ow")) * -(-step_of(nest, steps, "group") // BLOCK) * BLOCK
        return CALL_CYCLES + outputs * (taps * _DEPTHWISE_MAC_CYCLES + _DEPTHWISE_OUTPUT_CYCLES)

    constant = ConstantOperand("weights", packed, (blocks("group", BLOCK), whole(taps + 1), whole(BLOCK)))
    return KernelChoice(
        symbol="tilewright_depthwise_f32",
        sources=("depthwise_f32.c",),
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], spatial_view(node)), constant),
        writes=(TensorOperand(node.outputs[0], nest.writes[0], spatial_view(node)),),
        attributes=(*geometry(node, weights.shape[2:]), *clamp_attributes(clamp)),
        cycles=cycles,
        multiples={"group": BLOCK},
        uncut=frozenset({"kh", "kw"}),
    )
