"""Depthwise convolution of 8-bit tensors by words of a window (runtime/kernels/depthwise_xpulpv2.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.c_structs import CStruct, CType, LineRule
from tilewright.kernels.integer import steps_product, words
from tilewright.kernels.kernel import HEIGHT, ConstantOperand, Declaration, Kernel, KernelChoice, Packing, TileSteps
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import ROUNDS_EVEN, Finish, LayerLimits, Rule
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.spatial_integer import IntegerConv, PaddedInput, padded_extents
from tilewright.operators.nest import Nest, along, whole

SOURCES = ("depthwise_xpulpv2.c", "xpulpv2_plane.c", "xpulpv2_spread.c", "integer_core.c", "integer_finish.c")


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
_BY_ASSEMBLER = {Rule.FOLDED: "folded", Rule.HIGH: "high", Rule.LAYER: "high", Rule.EVEN: "even"}
"""Rule to the name, without prefix, of the function that finishes sums; assembler but for marked channels of EVEN."""

_MOST_MARKED = 4
"""One of so many channels may be one that rule HIGH does not finish exactly, for assembler to finish the others."""

_SUM_CYCLES = {3: 12.4, 5: 33.4, 7: 45.7}
"""Rows of a window to cycles of an output whose sum ``folded`` finishes, without the clamp's second instruction."""
_FINISH_CYCLES = {"folded": 0.0, "high": 4.2, "even": 4.2}
"""Name of the function that finishes to its cycles for an output beyond those of ``folded``."""
_CLIPS = {"both": 1.0, "around": 0.0, "above": 0.0}
"""Clamps by p.max and p.min, by p.clipr to [-maximum - 1, maximum], by p.clipur to [0, maximum]; cycles as above."""
_BY_LINE_CYCLES = 25.6
"""The same where the rule's C function finishes the sums of a column."""
_RUN_CYCLES, _RUN_BY_LINE_CYCLES = 22.0, 130.0
"""Cycles for the beginning of a row or column of outputs."""
_LEAST_SLIDE = 6
"""Rows of y from which on C walks down a tile wider than high, as LEAST_SLIDE in the C file."""
_SLIDE_CYCLES, _PAIR_CYCLES = 9.75, 17.5
"""Cycles of an output that keeps two rows of its window from the one above, and of two such neighbours in a row."""
_CALL_CYCLES, _CHANNEL_CYCLES = 2400.0, 270.0
"""Cycles of a call beside its channels, and of a channel beside its outputs and its window."""
_ACROSS_CALL_CYCLES, _ACROSS_CHANNEL_CYCLES = 1400.0, 190.0
"""The same where each output loads all rows of its window: less code, which cores wait for less."""
_SPREAD_CYCLES, _ROW_CYCLES = 5.9, 2.5
"""Cycles of four pixels of a channel that are copied to its window, and of a row beside them."""
_BORDERED = 32
"""Bytes of a window's row up to which padding is written over all of it, as LEAST_BORDERED in the C file."""


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
    rule = _finisher(conv.finish)
    return (
        KernelChoice(
            kernel=_DEPTHWISE,
            called=f"tilewright_depthwise_xpulpv2_{conv.finish.rule.value}",
            sources=(*SOURCES, "xpulpv2_marked.c") if rule == "even" else SOURCES,
            nest=conv.nest,
            reads=(x, weights, conv.constants_of_groups),
            writes=(y,),
            attributes=DepthwiseXpulpv2(
                conv.padded_input,
                conv.finish.line_rule,
                f"{_COLUMNS}{shape}_sums_{sign}",
                "NULL" if rule is None else f"{_COLUMNS}{shape}_{rule}_{_clip(conv.finish)}_{sign}",
                conv.finish.layer_limits,
            ),
            multiples={"group": _CHANNELS} if groups > _CHANNELS else {},
            uncut=frozenset({"ic", "oc"}),
        ),
    )


def _finisher(finish: Finish) -> str | None:
    """The rule in the name of the function that finishes sums; None if the rule's own function does, by columns."""
    marked = np.count_nonzero(finish.rows[:, 3] & ROUNDS_EVEN) if finish.rule is Rule.EVEN else 0
    return _BY_ASSEMBLER.get(finish.rule) if _MOST_MARKED * marked <= len(finish.rows) else None


def _clip(finish: Finish) -> str:
    """How assembler clamps (one of ``_CLIPS``): by one instruction where the limits allow it."""
    if finish.minimum == 0:
        return "above"
    return "around" if finish.minimum == -finish.maximum - 1 else "both"


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
    """Cycles of a call on a tile with these steps, fitted to micro-benchmarks on pulp-open."""
    given, nest = choice.given(DepthwiseXpulpv2), choice.nest
    windows = given.x.windows
    rows_of_x, columns_of_x = _held(nest, windows, steps)
    spread = rows_of_x * (_ROW_CYCLES + _SPREAD_CYCLES * -(-columns_of_x // _WORD))
    if columns_of_x < _WORD:
        spread = rows_of_x * (19.4 + 1.5 * columns_of_x)
    loads_all = given.finished != "NULL" and not _slides(nest, windows, steps)
    call, begin = (_ACROSS_CALL_CYCLES, _ACROSS_CHANNEL_CYCLES) if loads_all else (_CALL_CYCLES, _CHANNEL_CYCLES)
    channel = spread + _plane_cycles(given, nest, steps) + begin
    padded, columns = padded_extents(nest, windows, steps)
    border = _window(nest, windows, steps) if words(columns) + _WORD <= _BORDERED else 112.0 * padded
    return call + border + steps_product(nest, steps, "n", "group") * channel


def _plane_cycles(given: DepthwiseXpulpv2, nest: Nest, steps: TileSteps) -> float:
    """Cycles of the outputs of a channel."""
    windows = given.x.windows
    rows, columns = steps_product(nest, steps, "oh"), steps_product(nest, steps, "ow")
    if given.finished == "NULL":
        output = _SUM_CYCLES[windows.kernel[0]] + _BY_LINE_CYCLES
        return _RUN_BY_LINE_CYCLES * columns + output * rows * columns
    finish = sum(cycles for rule, cycles in _FINISH_CYCLES.items() if f"_{rule}_" in given.finished)
    finish += sum(cycles for clip, cycles in _CLIPS.items() if f"_{clip}_" in given.finished)
    if not _slides(nest, windows, steps):
        return _RUN_CYCLES * min(rows, columns) + (_SUM_CYCLES[windows.kernel[0]] + finish) * rows * columns
    pairs = columns // 2 if windows.strides[1] == 1 and windows.kernel[1] < _WORD else 0
    pair = _RUN_CYCLES + (_PAIR_CYCLES + 2.0 * finish) * rows
    return pairs * pair + (columns - 2 * pairs) * (_RUN_CYCLES + (_SLIDE_CYCLES + finish) * rows)


def _slides(nest: Nest, windows: PlaneWindows, steps: TileSteps) -> bool:
    """Whether outputs, walking down, keep two rows of the window of the one above."""
    rows, columns = steps_product(nest, steps, "oh"), steps_product(nest, steps, "ow")
    is_neighbour = windows.kernel[0] == 3 and windows.strides[0] == windows.dilations[0]
    return is_neighbour and rows >= min(columns, _LEAST_SLIDE)


def _held(nest: Nest, windows: PlaneWindows, steps: TileSteps) -> tuple[int, int]:
    """Rows and columns of x that a tile of these steps has: where an axis is cut, most tiles reach no padding."""
    whole = {dimension.name for dimension in nest.dimensions if steps.get(dimension.name) == dimension.extent}
    rows, columns = (
        max(extent - 2 * pad * (name in whole), 1)
        for name, extent, pad in zip(("oh", "ow"), padded_extents(nest, windows, steps), windows.pads, strict=True)
    )
    return rows, columns


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """The padded windows of some channels, and the sums of a column."""
    window = _window(choice.nest, choice.given(DepthwiseXpulpv2).x.windows, steps)
    return {"windows": _CHANNELS * window, "sums": 4 * steps_product(choice.nest, steps, "oh")}


_DEPTHWISE = Kernel(
    "tilewright_depthwise_xpulpv2",
    DepthwiseXpulpv2,
    _cycles,
    group_ring_axes=frozenset({HEIGHT}),
    likes=CONVOLUTION_ORDER,
    scratch=_scratch,
)


DECLARATION = Declaration(
    kernels=(_DEPTHWISE,),
    pointed={
        "tilewright_xpulpv2_column": tuple(
            f"xpulpv2_{shape}_{kind}_{sign}"
            for shape in _SHAPES.values()
            for kind in ("sums", *(f"{rule}_{clip}" for rule in _FINISH_CYCLES for clip in _CLIPS))
            for sign in ("signed", "unsigned")
        )
    },
)
