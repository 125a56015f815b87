"""Depthwise convolution of int8 tensors whose channels lie side by side (runtime/kernels/depthwise_beside.c)."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.kernels.c_structs import CStruct, Rule
from tilewright.kernels.integer import BLOCK, alternating, is_wide, steps_product
from tilewright.kernels.kernel import HEIGHT, ConstantOperand, Declaration, Kernel, KernelChoice, Packing, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, rule_cycles
from tilewright.kernels.scalar.geometry import PlaneWindows, channels_lie_beside, plane_windows
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.operators.nest import along, whole

SOURCES = ("depthwise_beside.c", "integer_core.c", "integer_finish.c")

_TAP_CYCLES, _BLOCK_CYCLES, _LINE_CYCLES = 20.0, 225.0, 8.0
"""Instructions of a tap of four channels, of four channels beside their taps, and of a line of taps."""

_OWN_CYCLES = MappingProxyType({"away": 8.5, "twice": 11.0})
"""By end of the rule's C name, for LiteRT's rounding: instructions for each element beyond those of ``rule_cycles``."""


@dataclass(frozen=True, slots=True)
class DepthwiseBeside(CStruct):
    """Depthwise convolution of int8 images without padding, four channels at a time: one input and one output
    channel in each group. The channels lie side by side in x, which is read in place. Made for few output positions
    with long windows, as networks have that hear one frame at a time. Operands: x [n, c, h, w]; weights int8
    [block][kernel][4], channels behind the last whole block [c][kernel]; constants [c][words of the rule]; y
    [n, c, h, w]. No scratch.
    """

    windows: PlaneWindows
    rule: Rule
    limits: LayerLimits


def beside(conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for int8 images without padding, and weights of 8 bits."""
    if not conv.is_depthwise or is_wide(conv.weights) or conv.is_unsigned or any(conv.windows.pads):
        return ()
    if not channels_lie_beside(graph, conv.node.inputs[0]):
        return ()
    shape = (int(conv.weights.shape[0]), int(conv.weights.shape[2]))
    packed = Packing(shape, np.dtype(np.int8), lambda _: alternating(conv.weights))
    x, y = conv.operands
    return (
        KernelChoice(
            kernel=_DEPTHWISE,
            called=f"{_DEPTHWISE.symbol}_{conv.finish.rule.value}",
            sources=SOURCES,
            nest=conv.nest,
            reads=(
                x,
                ConstantOperand("weights", packed, (along("group"), whole(shape[1]))),
                conv.constants_of_groups,
            ),
            writes=(y,),
            attributes=DepthwiseBeside(plane_windows(conv.windows), conv.finish.block_rule, conv.finish.layer_limits),
            multiples={"group": BLOCK},
            uncut=frozenset({"ic", "oc"} if shape[0] > BLOCK else {"group", "ic", "oc"}),
        ),
    )


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to RV32IMAC."""
    given, nest = choice.given(DepthwiseBeside), choice.nest
    rows, columns = given.windows.kernel
    lines = 1 if columns == 1 else rows
    blocks, lone = divmod(steps_product(nest, steps, "group"), BLOCK)
    taps = _TAP_CYCLES * rows * columns
    block = _BLOCK_CYCLES + _LINE_CYCLES * lines + taps
    single = 0.5 * _BLOCK_CYCLES + _LINE_CYCLES * lines + 0.35 * taps
    own = _OWN_CYCLES.get(given.rule.rpartition("_")[2], 0.0)
    finish = (rule_cycles(given.rule) + own) * (BLOCK * blocks + lone)
    return 150.0 + steps_product(nest, steps, "n", "oh", "ow") * (30.0 + blocks * block + lone * single + finish)


_DEPTHWISE = Kernel(
    "tilewright_depthwise_beside",
    DepthwiseBeside,
    _cycles,
    ring_axes=frozenset({HEIGHT}),
    likes=CONVOLUTION_ORDER,
)

DECLARATION = Declaration(kernels=(_DEPTHWISE,))
