"""Depthwise convolution of 8-bit tensors (runtime/kernels/depthwise_integer.c)."""

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.c_structs import CStruct, CType, Int32, LineRule, ScratchOffset
from tilewright.kernels.integer import is_wide, steps_product, weights_type, words
from tilewright.kernels.kernel import (
    HEIGHT,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TileSteps,
    raster_over,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, Rule, rule_cycles
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.spatial_integer import IntegerConv, PaddedInput, padded_extents
from tilewright.operators.nest import Nest, along, whole

SOURCES = ("depthwise_integer.c", "depthwise_slide.c", "integer_core.c", "integer_finish.c")

_STORED = (Rule.FOLDED, Rule.LAYER, Rule.HIGH)
"""Rules that functions for 3x3 taps, rows not strided, have inside."""

_SUMS = "tilewright_depthwise_"
"""The beginning of the names of the C functions that add up the products."""

_WIDE = "wide_"
_STORING = ("slide", f"{_WIDE}slide")
"""What begins the names of loops over weights of int16, and loops that store elements by these rules."""

_TALL = MappingProxyType({5: "five", 7: "seven"})
"""Rows of kernels to the function that adds up one column of their weights after the other."""

_SMALL_PLANE = 128
"""The most outputs of one channel for which C keeps all sums of the channel."""


@dataclass(frozen=True, slots=True)
class DepthwiseInteger(CStruct):
    """Depthwise convolution of 8-bit tensors: one input and one output channel in each group. `slide`: 3x3 taps,
    rows not strided; `stride`: 3x3 taps; `five` and `seven`: so many rows of taps, not dilated; `any`: every kernel;
    `wide`: weights of int16. Operands: x [n, c, h, w]; weights int8 or int16 [c][kernel];
    constants [c][words of the rule]; y [n, c, h, w]; scratch: the padded window of one channel, rounded up to
    words, then, unless elements are stored at once, 4 bytes for each output of a channel if a channel has at most
    TILEWRIGHT_DEPTHWISE_PLANE outputs, else for each row of y, at least for TILEWRIGHT_DEPTHWISE_PLANE rows.
    """

    x: PaddedInput
    sums: Annotated[str, CType("tilewright_depthwise_sums *", is_pointer=True)]
    stores: Annotated[Int32, "1: sums become elements at once"]
    weight_bytes: Annotated[Int32, "of a weight: 1, or 2 where it is wide"]
    rule: LineRule
    limits: LayerLimits
    sums_at: ScratchOffset = 0


def depthwise(conv: IntegerConv) -> tuple[KernelChoice, ...]:
    """The kernel for one input and one output channel in each group."""
    groups, _, window, _ = map(int, conv.weights.shape)
    if not conv.is_depthwise:
        return ()
    x, y = conv.operands
    variant, rule = _variant(conv), conv.finish.rule
    sums, stores = f"{_SUMS}{variant}", int(variant in _STORING and rule in _STORED)
    dtype = weights_type(conv.weights)
    packed = Packing((groups, window), dtype, lambda _: conv.weights.reshape(groups, window).astype(dtype))
    weights = ConstantOperand("weights", packed, (along("group"), whole(window)))
    return (
        KernelChoice(
            kernel=_DEPTHWISE,
            called=f"{sums}_{rule.value}",
            sources=(*SOURCES, "depthwise_tall.c") if variant in _TALL.values() else SOURCES,
            nest=conv.nest,
            reads=(x, weights, conv.constants_of_groups),
            writes=(y,),
            attributes=DepthwiseInteger(
                conv.padded_input,
                f"{sums}_{rule.value}" if stores else sums,
                stores,
                dtype.itemsize,
                conv.finish.line_rule,
                conv.finish.layer_limits,
            ),
            uncut=frozenset({"ic", "oc"}),
        ),
    )


def _variant(conv: IntegerConv) -> str:
    """The middle of the symbol, which names the loop that multiplies, of int8 or of wide weights."""
    if is_wide(conv.weights):
        narrow = _narrow_variant(conv)
        has_loop = narrow == "stride" or (narrow == "slide" and conv.finish.rule in _STORED)
        return f"{_WIDE}{narrow if has_loop else 'any'}"
    return _narrow_variant(conv)


def _narrow_variant(conv: IntegerConv) -> str:
    """The loop for weights of int8: slide, stride, five, seven or any."""
    if conv.windows.dilations[0] == 1 and conv.windows.kernel[0] in _TALL:
        return _TALL[conv.windows.kernel[0]]
    if conv.windows.kernel != (3, 3) or conv.windows.dilations != (1, 1):
        return "any"
    return "slide" if conv.windows.strides[0] == 1 else "stride"


def window_bytes(nest: Nest, windows: PlaneWindows, steps: TileSteps) -> int:
    """Bytes of scratch for the padded rows of one channel of x that a tile reads."""
    return prod(padded_extents(nest, windows, steps))


def _sums(nest: Nest, steps: TileSteps) -> int:
    """Number of sums that C keeps for a tile of these steps, or smaller: a small plane's, or a column's."""
    rows = steps_product(nest, steps, "oh")
    return max(rows, min(_SMALL_PLANE, rows * steps_product(nest, steps, "ow")))


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements on RV32IMAC."""
    given, nest = choice.given(DepthwiseInteger), choice.nest
    rows, columns = steps_product(nest, steps, "oh"), steps_product(nest, steps, "ow")
    if given.stores:
        channel = 4.5 * window_bytes(nest, given.x.windows, steps) + columns * (60.0 + 29.5 * rows) + 150.0
        return 200.0 + steps_product(nest, steps, "n", "group") * channel
    output = _output_cycles(given, rows) + rule_cycles(given.rule)
    calls = 1 if rows * columns <= _SMALL_PLANE else columns
    channel = (
        4.5 * window_bytes(nest, given.x.windows, steps) + calls * 130.0 + columns * (20.0 + output * rows) + 100.0
    )
    return 200.0 + steps_product(nest, steps, "n", "group") * channel


def _output_cycles(given: DepthwiseInteger, rows: int) -> float:
    """Instructions for an element of one of so many rows."""
    windows, way = given.x.windows, given.sums.removeprefix(_SUMS).removeprefix(_WIDE)
    if way not in _TALL.values():
        return {"slide": 36.0, "stride": 47.0}.get(way, 18.0 + 8.0 * prod(windows.kernel))
    height, width = windows.kernel
    product = 0.6 + 3.0 * height if windows.strides[0] == 1 else 3.0 + 4.0 * height
    return 17.0 + width * (product + (12.0 + 3.0 * height) / rows)


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """The padded window of a channel, and the sums of a small plane or a column."""
    window = window_bytes(choice.nest, choice.given(DepthwiseInteger).x.windows, steps)
    if choice.given(DepthwiseInteger).stores:
        return {"window": words(window)}
    return {"window": window, "sums": 4 * _sums(choice.nest, steps)}


_DEPTHWISE = Kernel(
    "tilewright_depthwise_integer",
    DepthwiseInteger,
    _cycles,
    scratch=_scratch,
    # The window of a channel is copied whole before the channel's first store.
    stores=raster_over("n", apart=("group",)),
    ring_axes=frozenset({HEIGHT}),
    likes=CONVOLUTION_ORDER,
)


DECLARATION = Declaration(
    kernels=(_DEPTHWISE,),
    pointed={
        "tilewright_depthwise_sums": (
            "depthwise_slide",
            "depthwise_stride",
            "depthwise_any",
            *(f"depthwise_{name}" for name in _TALL.values()),
            "depthwise_wide_stride",
            "depthwise_wide_any",
            *(f"depthwise_{name}_{rule.value}" for name in _STORING for rule in _STORED),
        )
    },
    numbers={"DEPTHWISE_PLANE": _SMALL_PLANE},
    gcc_options={"depthwise_slide.c": ("-fno-ssa-phiopt",)},
)
