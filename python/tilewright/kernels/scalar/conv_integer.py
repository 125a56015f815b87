"""Convolution of 8-bit tensors (runtime/kernels/conv_integer.c)."""

from __future__ import annotations

from math import prod
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.kernels.c_structs import PREFIX, Core, CStruct, Int32, ScratchOffset
from tilewright.kernels.c_structs import Rule as RulePointer
from tilewright.kernels.integer import BLOCK, block_sums_bytes, is_wide, packed_operands, steps_product, words
from tilewright.kernels.kernel import CyclesOf, Declaration, KernelChoice, ScratchOf, TileSteps
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
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.pixel_product import (
    OF_IMAGES,
    OF_ROWS,
    PixelNames,
    PixelProduct,
    pixel_kernel,
    product_of_images,
)
from tilewright.kernels.scalar.spatial_integer import integer_conv

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
    return (*special, *of_pixels(product_of_images(conv), graph))


def of_pixels(product: PixelProduct, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels of several pixels, the general one last."""
    return (*conv_packed.packed(product, graph), _general(product))


def _core_of(weights: Array, width: int) -> str:
    """Address of the C core that multiplies ``weights``, which have no zero point, by rows of ``width`` pixels."""
    narrow = f"&{PREFIX}core_narrow" if width % BLOCK == 0 else _FEW_TOO
    return f"&{PREFIX}core_wide" if is_wide(weights) else narrow


def _name_of(weights: Array, finish: Finish) -> str:
    """The kernel's name in reports, by the width of the weights and the rule."""
    return f"{PREFIX}conv_{'wide' if is_wide(weights) else 'integer'}_{finish.rule.value}"


def _general(product: PixelProduct) -> KernelChoice:
    groups, group_outputs, _, group_inputs = map(int, product.weights.shape)
    nest, names = product.nest, product.names

    def partial_bytes(steps: TileSteps) -> int:
        pixels, channels = steps_product(nest, steps, *names.pixel), steps_product(nest, steps, names.channel)
        return steps_product(nest, steps, *names.outer) * block_sums_bytes(pixels, channels, BLOCK)

    return KernelChoice(
        kernel=_KERNELS[names],
        called=_name_of(product.weights, product.finish),
        sources=("conv_integer.c", "integer_core.c", "integer_finish.c"),
        nest=nest,
        reads=(
            product.x,
            *packed_operands(product.weights, product.finish.rows, product.group, names.channel, names.reduction),
        ),
        writes=(product.y,),
        attributes=ConvInteger(
            product.windows,
            group_inputs=group_inputs,
            group_outputs=group_outputs,
            padding=product.padding,
            is_unsigned=product.is_unsigned,
            core=_core_of(product.weights, product.width),
            rule=product.finish.block_rule,
            limits=product.finish.layer_limits,
        ),
        # With several groups, C could not tell which group's channels a cut tile has.
        partial_bytes=partial_bytes if groups == 1 else None,
        multiples={names.channel: BLOCK, names.reduction: BLOCK},
        uncut=frozenset() if group_outputs > BLOCK else frozenset({names.channel}),
    )


def _cycles_of(names: PixelNames) -> CyclesOf:
    """Instructions of the 4x4 core and of its gather on a tile, fitted to measurements on RV32IMAC.

    Few pixels behind whole blocks take less than a block.
    """

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        nest = choice.nest
        inputs, whole_inputs = steps_product(nest, steps, names.reduction), nest.dimension(names.reduction).extent
        given = choice.given(ConvInteger)
        taps = prod(given.windows.kernel) * inputs
        images, pixels = steps_product(nest, steps, *names.outer), steps_product(nest, steps, *names.pixel)
        pixel_blocks, few = divmod(pixels, BLOCK)
        if few > _FEW or given.core != _FEW_TOO or inputs < whole_inputs:
            pixel_blocks, few = -(-pixels // BLOCK), 0
        channel_blocks = -(-steps_product(nest, steps, names.channel) // BLOCK)
        # Of few channels each tap is gathered on its own.
        gather = (75.0 if inputs < BLOCK else 11.0) * taps + 410.0
        # Each part of a reduction loads and stores partial results; the last part alone finishes them.
        finish = 160.0 + (120.0 + BLOCK * BLOCK * rule_cycles(given.rule)) * inputs / whole_inputs
        blocks = pixel_blocks * (gather + channel_blocks * (43.0 * taps + finish))
        behind = gather + channel_blocks * ((9.0 + 7.0 * few) * taps + 80.0 * few) if few else 0.0
        return 150.0 + images * (blocks + behind)

    return cycles


def _scratch_of(names: PixelNames) -> ScratchOf:
    """Four bytes for each tap, and the padding beside a row of the kernel."""

    def scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
        rows, columns = choice.given(ConvInteger).windows.kernel
        inputs = steps_product(choice.nest, steps, names.reduction)
        return {"columns": BLOCK * rows * columns * inputs, "padding_row": words(columns * inputs)}

    return scratch


_KERNELS = {
    names: pixel_kernel("tilewright_conv_integer", ConvInteger, _cycles_of(names), _scratch_of(names), BLOCK, names)
    for names in (OF_IMAGES, OF_ROWS)
}

DECLARATION = Declaration(
    operators={"Conv": choices},
    kernels=tuple(_KERNELS.values()),
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
