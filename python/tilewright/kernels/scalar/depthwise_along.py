"""Depthwise convolution of 8-bit images, along rows (runtime/kernels/depthwise_along.c)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.kernels.c_structs import PREFIX, CStruct, CType, Int32
from tilewright.kernels.integer import BLOCK, is_wide, steps_product
from tilewright.kernels.kernel import (
    HEIGHT,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, Rule
from tilewright.kernels.scalar.depthwise_rows import taps_of_channels
from tilewright.kernels.scalar.geometry import PLANE, channels_lie_innermost
from tilewright.kernels.scalar.spatial_integer import IntegerConv, PaddedInput
from tilewright.operators.nest import Iteration, along

SOURCES = ("depthwise_along.c", "move_row.c")

_SIDE = 3
"""Rows and columns of a window."""

_ROWS = 4
"""Rows of y for which C loads the weights of a channel once (TILEWRIGHT_ALONG_ROWS)."""

_STEPS = (1, 2)
"""Columns from one window to the next that C knows."""

_INSIDE = (Rule.FOLDED, Rule.LAYER, Rule.HIGH)
"""Rules that C has inside."""


@dataclass(frozen=True, slots=True)
class DepthwiseAlong(CStruct):
    """Depthwise convolution of int8 images by windows of 3x3 taps side by side, with at most a row and a column of
    padding on each side. The channels lie side by side in x and in y, and rows of y have 4 pixels or more. A channel
    is computed along the rows, sums in registers; nothing is copied, so that a row is nearly as fast as an image.
    Operands: x [n, c, h, w]; weights int8 [c][kernel]; constants [c][words of the rule]; y [n, c, h, w]. Where calls
    follow each other from the first row to the last, x may have new rows alone: the last two rows are kept as partial
    results are. Pixels of x then lie side by side.
    """

    x: PaddedInput
    along: Annotated[str, CType("tilewright_depthwise_rows_along *", is_pointer=True)]
    kept_bytes: Annotated[Int32, "of a row that is kept; 0: x has all rows of the windows"]
    limits: LayerLimits


def along_rows(conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for 3x3 depthwise convolutions of int8 images with channels last, and rules that C has inside."""
    width = conv.nest.dimension("ow").extent
    if not conv.is_depthwise or is_wide(conv.weights) or conv.is_unsigned or conv.finish.rule not in _INSIDE:
        return ()
    if not _has_windows(conv, graph) or width < BLOCK:
        return ()
    if any(not channels_lie_innermost(graph, name) for name in (conv.node.inputs[0], conv.node.outputs[0])):
        return ()
    x, y = conv.operands
    rule, step = conv.finish.rule.value, conv.windows.strides[1]
    plain = KernelChoice(
        kernel=_ALONG,
        called=f"{_ALONG.symbol}_{rule}",
        sources=SOURCES,
        nest=conv.nest,
        reads=(x, taps_of_channels(conv), conv.constants_of_groups),
        writes=(y,),
        attributes=DepthwiseAlong(conv.padded_input, f"{PREFIX}along_{step}_{rule}", 0, conv.finish.layer_limits),
        uncut=frozenset({"group", "ic", "oc", "ow"}),
        in_groups=True,
    )
    return (plain, *_keeping(plain, conv, graph))


def _keeping(plain: KernelChoice, conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The same kernel, which gets each row of x once and keeps two; for rows one apart, and one image.

    Dimension ``oh`` then counts rows of x, those of padding at the bottom too: with the window's last row comes the
    row of y.
    """
    windows = conv.windows
    late = _SIDE - 1 - windows.pads_begin[0]
    images, _, rows, columns = graph.tensor(conv.node.inputs[0]).shape
    if images > 1 or windows.strides[0] > 1 or rows <= _SIDE:
        return ()
    nest = conv.nest
    given = [
        replace(item, extent=item.extent + late, iteration=Iteration.SEQUENTIAL) if item.name == "oh" else item
        for item in nest.dimensions
    ]
    x, *constants = plain.reads
    (y,) = plain.writes
    assert isinstance(x, TensorOperand)
    row_bytes = int(conv.weights.shape[0]) * columns
    return (
        replace(
            plain,
            called=f"{PREFIX}depthwise_keeping_{conv.finish.rule.value}",
            nest=replace(nest, dimensions=tuple(given), idle_points=nest.points // nest.dimension("oh").extent * late),
            reads=(_along_rows(x, 0), *constants),
            writes=(_along_rows(y, -late),),
            attributes=replace(plain.given(DepthwiseAlong), kept_bytes=row_bytes),
            partial_bytes=lambda _: (_SIDE - 1) * row_bytes,
        ),
    )


def _along_rows(operand: TensorOperand, offset: int) -> TensorOperand:
    """The operand, whose rows follow dimension ``oh`` one by one."""
    axes = list(operand.axes)
    axes[operand.view[HEIGHT]] = along("oh", offset=offset)
    return replace(operand, axes=tuple(axes))


def _has_windows(conv: IntegerConv, graph: Graph) -> bool:
    """Whether windows are those that C walks over: the row in their middle is never padding."""
    windows = conv.windows
    if (windows.kernel, windows.dilations) != ((_SIDE, _SIDE), (1, 1)) or windows.strides[1] not in _STEPS:
        return False
    inputs = graph.tensor(conv.node.inputs[0]).shape[-PLANE:]
    outputs = (conv.nest.dimension("oh").extent, conv.nest.dimension("ow").extent)
    axes = zip(inputs, outputs, windows.strides, windows.pads_begin, strict=True)
    return all(pad <= 1 and (count - 1) * stride - pad + 2 <= extent for extent, count, stride, pad in axes)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements on RV32IMAC."""
    given, nest = choice.given(DepthwiseAlong), choice.nest
    channels, rows = steps_product(nest, steps, "group"), steps_product(nest, steps, "n", "oh")
    strided = given.x.windows.strides[1] == 2
    column = 42.0 if strided else 35.0
    row = (60.0 if strided else 68.0) + column * (steps_product(nest, steps, "ow") - 1)
    kept = min(rows, _SIDE - 1) * (60.0 + 0.7 * given.kept_bytes) if given.kept_bytes else 0.0
    return 200.0 + rows * 120.0 + channels * (-(-rows // _ROWS) * 42.0 + rows * row) + kept


_ALONG = Kernel(
    "tilewright_depthwise_along",
    DepthwiseAlong,
    _cycles,
    ring_axes=frozenset({HEIGHT}),
    likes=CONVOLUTION_ORDER,
)

DECLARATION = Declaration(
    kernels=(_ALONG,),
    pointed={
        "tilewright_depthwise_rows_along": tuple(f"along_{step}_{rule.value}" for rule in _INSIDE for step in _STEPS)
    },
    gcc_options={"depthwise_along.c": ("-fno-ssa-phiopt",)},
)
