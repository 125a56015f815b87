"""Depthwise convolution of 8-bit tensors by words of a window (runtime/kernels/depthwise_xpulpv2.c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tilewright.graph import Array
from tilewright.kernels.c_structs import CStruct, CType, LineRule
from tilewright.kernels.integer import steps_product, words
from tilewright.kernels.kernel import ConstantOperand, Declaration, Kernel, KernelChoice, Packing, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, Rule
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.spatial_integer import IntegerConv, PaddedInput, padded_extents
from tilewright.operators.nest import Nest, along, whole

SOURCES = ("depthwise_xpulpv2.c", "xpulpv2_plane.c", "integer_core.c", "integer_finish.c")


@dataclass(frozen=True, slots=True)
class DepthwiseXpulpv2(CStruct):
    """Depthwise convolution of 8-bit tensors by words of a window."""

    x: PaddedInput
    rule: LineRule
    finished: Annotated[str, CType("tilewright_xpulpv2_column *", is_pointer=True), "NULL: sums go to the rule"]
    limits: LayerLimits


_PLANE = "tilewright_xpulpv2_plane_"
_CHANNELS = 4
"""Channels whose windows are loaded together."""
_ROWS = 3
_WORD = 4
_BY_ASSEMBLER = {Rule.FOLDED: "folded", Rule.HIGH: "high", Rule.LAYER: "high"}
"""By rule, what the assembler function that finishes sums is called; LAYER shares HIGH's."""

_OUTPUT_CYCLES = {"folded": 16.0, "high": 21.0}
_OUTPUT_BY_LINE = 40.0


def depthwise(conv: IntegerConv) -> tuple[KernelChoice, ...]:
    """The kernel for one input and one output channel in each group, three rows of at most four taps."""
    groups, (rows, columns) = len(conv.weights), conv.windows.kernel
    if not conv.is_depthwise or rows != _ROWS or columns > _WORD or conv.windows.dilations[1] != 1:
        return ()
    x, y = conv.operands
    weights = ConstantOperand(
        "weights",
        Packing(
            (groups, rows, _WORD), np.dtype(np.int8), lambda _: _packed(conv.weights.reshape(groups, rows, columns))
        ),
        (along("group"), whole(_ROWS), whole(_WORD)),
    )
    return (
        KernelChoice(
            kernel=_DEPTHWISE,
            called=f"tilewright_depthwise_xpulpv2_{conv.finish.rule.value}",
            sources=SOURCES,
            nest=conv.nest,
            reads=(x, weights, conv.constants_of_groups),
            writes=(y,),
            attributes=DepthwiseXpulpv2(
                conv.padded_input, conv.finish.line_rule, _finished(conv), conv.finish.layer_limits
            ),
            multiples={"group": _CHANNELS} if groups > _CHANNELS else {},
            uncut=frozenset({"ic", "oc"}),
        ),
    )


def _finished(conv: IntegerConv) -> str:
    """The assembler function that finishes by the rule; NULL if the rule has none."""
    rule = _BY_ASSEMBLER.get(conv.finish.rule)
    sign = "unsigned" if conv.is_unsigned else "signed"
    return "NULL" if rule is None else f"{_PLANE}{rule}_{sign}"


def _packed(weights: Array) -> Array:
    """int8[groups, 3, 4], zeros behind the last tap of a row."""
    padded = np.zeros((*weights.shape[:2], _WORD), np.int8)
    padded[:, :, : weights.shape[2]] = weights
    return padded


def _window(nest: Nest, windows: PlaneWindows, steps: TileSteps) -> int:
    """Bytes of scratch for the padded rows of one channel of x that a tile reads."""
    rows, columns = padded_extents(nest, windows, steps)
    return rows * (words(columns) + 4) + 8


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Cycles of a call on a tile with these steps, fitted to measurements on pulp-open."""
    given, nest = choice.given(DepthwiseXpulpv2), choice.nest
    rows, columns = steps_product(nest, steps, "oh"), steps_product(nest, steps, "ow")
    output = _OUTPUT_CYCLES.get(given.finished.removeprefix(_PLANE).partition("_")[0], _OUTPUT_BY_LINE)
    window = _window(nest, given.x.windows, steps)
    channel = 2.5 * window + columns * (25.0 + output * rows) + 90.0
    return 700.0 + window + steps_product(nest, steps, "n", "group") * channel


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """The padded windows of some channels, and the sums of a column."""
    window = _window(choice.nest, choice.given(DepthwiseXpulpv2).x.windows, steps)
    return {"windows": _CHANNELS * window, "sums": 4 * steps_product(choice.nest, steps, "oh")}


_DEPTHWISE = Kernel(
    "tilewright_depthwise_xpulpv2", DepthwiseXpulpv2, _cycles, scratch=_scratch, likes=CONVOLUTION_ORDER
)


DECLARATION = Declaration(
    kernels=(_DEPTHWISE,),
    pointed={
        "tilewright_xpulpv2_column": tuple(
            f"xpulpv2_plane_{rule}_{sign}" for rule in ("folded", "high") for sign in ("signed", "unsigned")
        )
    },
)
