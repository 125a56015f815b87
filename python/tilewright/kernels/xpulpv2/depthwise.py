"""Depthwise convolution of 8-bit tensors by words of a window (runtime/kernels/depthwise_xpulpv2.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.dataclass import dataclass
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
    sums: Annotated[str, CType("tilewright_xpulpv2_column *", is_pointer=True), "computes 4 bytes for each output"]
    finished: Annotated[str, CType("tilewright_xpulpv2_column *", is_pointer=True), "NULL: sums go to the rule"]
    limits: LayerLimits


_COLUMNS = "tilewright_xpulpv2_"
_SHAPES = {(3, 1): "plane", (5, 2): "five", (7, 2): "seven"}
"""(Rows of a window, words of a row) to the end of the name of the assembler function that multiplies."""
_CHANNELS = 4
"""Channels whose windows are loaded together."""
_WORD = 4
_BY_ASSEMBLER = {Rule.FOLDED: "folded", Rule.HIGH: "high", Rule.LAYER: "high"}
"""Rule to the name, without prefix, of the assembler function that finishes sums; LAYER and HIGH share one."""

_OUTPUT_CYCLES = {"folded": 10.0, "high": 15.0}
"""Name of the assembler function that finishes to cycles of an output beside the words of its window."""
_OUTPUT_BY_LINE = 34.0
_WORD_CYCLES = 2.0


def depthwise(conv: IntegerConv) -> tuple[KernelChoice, ...]:
    """The kernel for one input and one output channel in each group, and windows of a shape that assembler knows."""
    groups, (rows, columns) = len(conv.weights), conv.windows.kernel
    row_bytes = words(columns)
    shape = _SHAPES.get((rows, row_bytes // _WORD))
    if not conv.is_depthwise or shape is None or conv.windows.dilations[1] != 1:
        return ()
    x, y = conv.operands
    weights = ConstantOperand(
        "weights",
        Packing(
            (groups, rows, row_bytes),
            np.dtype(np.int8),
            lambda _: _packed(conv.weights.reshape(groups, rows, columns), row_bytes),
        ),
        (along("group"), whole(rows), whole(row_bytes)),
    )
    sign = "unsigned" if conv.is_unsigned else "signed"
    rule = _BY_ASSEMBLER.get(conv.finish.rule)
    return (
        KernelChoice(
            kernel=_DEPTHWISE,
            called=f"tilewright_depthwise_xpulpv2_{conv.finish.rule.value}",
            sources=SOURCES,
            nest=conv.nest,
            reads=(x, weights, conv.constants_of_groups),
            writes=(y,),
            attributes=DepthwiseXpulpv2(
                conv.padded_input,
                conv.finish.line_rule,
                f"{_COLUMNS}{shape}_sums_{sign}",
                "NULL" if rule is None else f"{_COLUMNS}{shape}_{rule}_{sign}",
                conv.finish.layer_limits,
            ),
            multiples={"group": _CHANNELS} if groups > _CHANNELS else {},
            uncut=frozenset({"ic", "oc"}),
        ),
    )


_LEAST_SLIDE = 6
"""Rows of y from which on C walks down a tile wider than high, as LEAST_SLIDE in the C file."""

_KEPT_CYCLES = 5.4
"""Cycles for an output that keeps two of the three rows of its window from the one above."""


def _packed(weights: Array, row_bytes: int) -> Array:
    """int8[groups, rows, row_bytes], zeros behind the last tap of a row."""
    padded = np.zeros((*weights.shape[:2], row_bytes), np.int8)
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
    kernel_rows, kernel_columns = given.x.windows.kernel
    ends = next((cycles for rule, cycles in _OUTPUT_CYCLES.items() if f"_{rule}_" in given.finished), _OUTPUT_BY_LINE)
    output = ends + _WORD_CYCLES * kernel_rows * (words(kernel_columns) // _WORD)
    window = _window(nest, given.x.windows, steps)
    by_line = ends == _OUTPUT_BY_LINE
    slides = kernel_rows == 3 and given.x.windows.strides[0] == given.x.windows.dilations[0]
    if slides and (by_line or rows >= min(columns, _LEAST_SLIDE)):
        output -= _KEPT_CYCLES
        runs = columns
    else:
        runs = columns if by_line else min(rows, columns)
    channel = 2.5 * window + 25.0 * runs + output * rows * columns + 90.0
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
            f"xpulpv2_{shape}_{kind}_{sign}"
            for shape in _SHAPES.values()
            for kind in ("sums", "folded", "high")
            for sign in ("signed", "unsigned")
        )
    },
)
