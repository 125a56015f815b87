"""Convolution of 8-bit tensors (runtime/kernels/conv_integer.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.kernels.c_structs import PREFIX, Core, CStruct, Int32, ScratchOffset
from tilewright.kernels.c_structs import Rule as RulePointer
from tilewright.kernels.integer import BLOCK, block_sums_bytes, is_wide, packed_operands, steps_product, words
from tilewright.kernels.kernel import (
    HEIGHT,
    Backward,
    CyclesOf,
    Declaration,
    Kernel,
    KernelChoice,
    ScratchOf,
    TileSteps,
    raster_over,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import (
    CHANNEL_RULES,
    ROUNDS_EVEN,
    ROW_WORDS,
    WORDS,
    Finish,
    LayerLimits,
    Rule,
    rule_cycles,
)
from tilewright.kernels.scalar import (
    conv_packed,
    depthwise_along,
    depthwise_beside,
    depthwise_integer,
    depthwise_rows,
    fully_connected_integer,
)
from tilewright.kernels.scalar.geometry import PlaneWindows, plane_windows, rows_backward
from tilewright.kernels.scalar.spatial_integer import IntegerConv, integer_conv
from tilewright.operators.nest import along

SOURCES = ("conv_integer.c", "integer_core.c", "integer_finish.c")

_FEW = 2
"""The most pixels behind whole blocks that C computes one by one: more take as long as a block."""

_FEW_TOO = f"&{PREFIX}core_few"
"""The core with a form for few pixels, which is not linked where all rows are whole blocks."""


@dataclass(frozen=True, slots=True)
class ConvInteger(CStruct):
    """Convolution of 8-bit tensors, any strides, dilations, pads and groups. Operands: x [n, c, h, w]; weights
    [group][block][kh][kw][c][4]; constants [group][channel][words of the rule]; y [n, c, h, w]; scratch: 4 bytes
    for each tap, then a row of kernel[1] * c bytes of padding. Partial results, where
    channels of the only group are cut: 64 bytes for 4 pixels of 4 channels.
    """

    windows: PlaneWindows
    group_inputs: Annotated[Int32, "channels of x in one group"]
    group_outputs: Annotated[Int32, "channels of y in one group"]
    padding: Annotated[Int32, "the stored byte that stands for zero"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    core: Core
    rule: RulePointer
    limits: LayerLimits
    padding_row_at: ScratchOffset = 0


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with 8-bit x and constant weights and bias."""
    conv = integer_conv(node, graph)
    if conv is None:
        return ()
    pointwise = fully_connected_integer.pointwise(conv, graph)
    rows = depthwise_along.along_rows(conv, graph) or depthwise_rows.rows_of_windows(conv, graph)
    channels = (*depthwise_integer.depthwise(conv), *depthwise_beside.beside(conv, graph))
    special = (*pointwise, *channels, *rows)
    return (*special, *conv_packed.packed(conv, graph), _general(conv))


def core_of(weights: Array, width: int) -> str:
    """Address of the C core that multiplies ``weights``, which have no zero point, by rows of ``width`` pixels."""
    narrow = f"&{PREFIX}core_narrow" if width % BLOCK == 0 else _FEW_TOO
    return f"&{PREFIX}core_wide" if is_wide(weights) else narrow


def name_of(weights: Array, finish: Finish) -> str:
    """The kernel's name in reports, by the width of the weights and the rule."""
    return f"{PREFIX}conv_{'wide' if is_wide(weights) else 'integer'}_{finish.rule.value}"


def _general(conv: IntegerConv) -> KernelChoice:
    groups, group_outputs, _, group_inputs = map(int, conv.weights.shape)
    x, y = conv.operands
    nest = conv.nest

    def partial_bytes(steps: TileSteps) -> int:
        pixels = steps_product(nest, steps, "oh", "ow")
        return steps_product(nest, steps, "n") * block_sums_bytes(pixels, steps_product(nest, steps, "oc"), BLOCK)

    return KernelChoice(
        kernel=_CONV,
        called=name_of(conv.weights, conv.finish),
        sources=SOURCES,
        nest=nest,
        reads=(x, *packed_operands(conv.weights, conv.finish.rows, along("group"), "oc", "ic")),
        writes=(y,),
        attributes=ConvInteger(
            plane_windows(conv.windows),
            group_inputs=group_inputs,
            group_outputs=group_outputs,
            padding=conv.padding,
            is_unsigned=conv.is_unsigned,
            core=core_of(conv.weights, nest.dimension("ow").extent),
            rule=conv.finish.block_rule,
            limits=conv.finish.layer_limits,
        ),
        # With several groups, C could not tell which group's channels a cut tile has.
        partial_bytes=partial_bytes if groups == 1 else None,
        multiples={"oc": BLOCK, "ic": BLOCK},
        uncut=frozenset() if group_outputs > BLOCK else frozenset({"oc"}),
    )


def block_cycles(channel: str, reduction: str, outer: tuple[str, ...], pixel: tuple[str, ...]) -> CyclesOf:
    """Instructions of the 4x4 core and of its gather on a tile, fitted to measurements on RV32IMAC.

    Few pixels behind whole blocks take less than a block.

    Args:
        channel, reduction: the dimensions of output channels and of input channels.
        outer, pixel: those of images, and of the pixels of an image.
    """

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        nest = choice.nest
        inputs = steps_product(nest, steps, reduction)
        given = choice.given(ConvInteger)
        taps = prod(given.windows.kernel) * inputs
        images, pixels = steps_product(nest, steps, *outer), steps_product(nest, steps, *pixel)
        pixel_blocks, few = divmod(pixels, BLOCK)
        if few > _FEW or given.core != _FEW_TOO or inputs < nest.dimension(reduction).extent:
            pixel_blocks, few = -(-pixels // BLOCK), 0
        channel_blocks = -(-steps_product(nest, steps, channel) // BLOCK)
        # Of few channels each tap is gathered on its own.
        gather = (75.0 if inputs < BLOCK else 11.0) * taps + 410.0
        # Each part of a reduction loads and stores partial results; the last part alone finishes them.
        finish = 160.0 + (120.0 + BLOCK * BLOCK * rule_cycles(given.rule)) * inputs / nest.dimension(reduction).extent
        blocks = pixel_blocks * (gather + channel_blocks * (43.0 * taps + finish))
        behind = gather + channel_blocks * ((9.0 + 7.0 * few) * taps + 80.0 * few) if few else 0.0
        return 150.0 + images * (blocks + behind)

    return cycles


def _backward(choice: KernelChoice, inputs: int) -> ConvInteger:
    given = choice.given(ConvInteger)
    return replace(given, windows=rows_backward(given.windows, choice.nest.dimension("oh").extent, inputs))


def block_scratch(reduction: str) -> ScratchOf:
    """Four bytes for each tap, and the padding beside a row of the kernel; ``reduction`` is the input channels."""

    def scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
        rows, columns = choice.given(ConvInteger).windows.kernel
        inputs = steps_product(choice.nest, steps, reduction)
        return {"columns": BLOCK * rows * columns * inputs, "padding_row": words(columns * inputs)}

    return scratch


_CONV = Kernel(
    "tilewright_conv_integer",
    ConvInteger,
    block_cycles("oc", "ic", ("n", "group"), ("oh", "ow")),
    scratch=block_scratch("ic"),
    stores=raster_over("n", "group", "oh", "ow", block=BLOCK, restarts=("n", "group")),
    ring_axes=frozenset({HEIGHT}),
    backward=Backward("oh", _backward),
    likes=CONVOLUTION_ORDER,
)

DECLARATION = Declaration(
    operators={"Conv": choices},
    kernels=(_CONV,),
    pointed={
        "const struct tilewright_core": ("core_few", "core_narrow", "core_wide"),
        "const struct tilewright_rule": tuple(f"rule_{rule.value}" for rule in CHANNEL_RULES),
        "const struct tilewright_line_rule": tuple(f"line_rule_{rule.value}" for rule in CHANNEL_RULES),
        "tilewright_block_finish": tuple(f"block_{rule.value}" for rule in Rule),
        "tilewright_line_finish": tuple(f"line_{rule.value}" for rule in Rule),
        "tilewright_block_products": ("products_wide",),
    },
    numbers={
        "BLOCK": BLOCK,
        "ROW_WORDS": ROW_WORDS,
        "ROUNDS_EVEN": ROUNDS_EVEN,
        **{f"WORDS_{rule.value.upper()}": length for rule, length in WORDS.items()},
    },
    gcc_options={
        "conv_integer.c": ("-Os",),
        # As a minimum and a maximum, a clamp is compiled to two more moves than as two branches.
        "integer_finish.c": ("-fno-ssa-phiopt",),
    },
)
