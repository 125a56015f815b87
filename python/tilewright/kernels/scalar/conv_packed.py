"""Convolution of 8-bit tensors, two pixels with each multiplication (runtime/kernels/conv_packed.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.kernels.c_structs import PREFIX, BlockFinish, CStruct, CType, Int32, ScratchOffset
from tilewright.kernels.integer import BLOCK, is_wide, steps_product, words
from tilewright.kernels.kernel import ConstantOperand, Declaration, Kernel, KernelChoice, Packing, TileSteps
from tilewright.kernels.requantization import LayerLimits, Rule, rule_cycles
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.network_core import core_of_network, most_taps
from tilewright.kernels.scalar.packed import INLINED
from tilewright.kernels.scalar.pixel_product import OF_IMAGES, PixelNames, PixelProduct, pixel_kernel
from tilewright.kernels.scalar.rounds import COLUMNS, Blocks, Core, blocks_in_order, sorted_blocks
from tilewright.operators.nest import blocks, whole

TWO, FOUR, SIX = 2, 4, 6
"""Pixels that are computed together: six take fewer instructions for each, but a last group may be part empty. Two
take a sixth more than four and half their scratch.
"""

_MOST_TAPS_OF_SIX = 85
"""Taps of a network's largest convolution up to which six pixels are taken: their scratch is then below 1,024 bytes.
The limit is one for all layers, so that a network holds one core instead of two.
"""

_PAIR = 2
"""Pixels of a word."""

_CALLED_CYCLES = 28.0
"""Instructions for each element that a finish outside the core takes more than one inside."""

_OWN_CYCLES = MappingProxyType({Rule.TWICE: 4.5, Rule.AWAY: 2.3})
"""Instructions for each element that some rules take beyond the other ones inside."""

_FEW = 4
"""Channels below which C gathers one by one (FEW in conv_packed.c)."""


@dataclass(frozen=True, slots=True)
class ConvPacked(CStruct):
    """Convolution of 8-bit tensors, two pixels with a multiplication, any strides, dilations, pads and groups.
    Operands: x [n, c, h, w]; weights [group][block of two channels][5 bytes, then int8 kh, kw, c, 2], or, where they
    are wide, [6 bytes, then int16 kh, kw, c, 2]; constants [group][block][2][words of the rule]; y [n, c, h, w];
    scratch: 2 bytes for each tap and pixel, then c bytes of padding where there is any.
    """

    windows: PlaneWindows
    group_inputs: Annotated[Int32, "channels of x in one group"]
    group_outputs: Annotated[Int32, "channels of y in one group"]
    taps: Annotated[Int32, "of a channel of y"]
    pixels: Annotated[Int32, "that are computed together: 2, 4 or 6"]
    padding: Annotated[Int32, "the stored byte that stands for zero"]
    is_padded: Annotated[Int32, "1: taps may lie beside x"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    pack: Annotated[str, CType("tilewright_pack *", is_pointer=True)]
    products: Annotated[str, CType("tilewright_packed_products *", is_pointer=True)]
    few_pack: Annotated[str, CType("tilewright_pack *", is_pointer=True)]
    few_products: Annotated[
        str, CType("tilewright_packed_products *", is_pointer=True), "of the last pixels, where these are 4 or fewer"
    ]
    finish: Annotated[BlockFinish, "NULL: inside products"]
    unit: Annotated[Int32, "rounds of the core's loops that a byte of a block counts as one"]
    block_bytes: Annotated[Int32, "of two channels' weights, with what stands in front of them"]
    group_words: Annotated[Int32, "of a group's constants"]
    row_words: Annotated[Int32, "words of a row of the rule"]
    limits: LayerLimits
    padding_at: ScratchOffset = 0


def packed(product: PixelProduct, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernels, those with sorted channels first, which need all channels in a tile."""
    groups, group_outputs, window, group_inputs = map(int, product.weights.shape)
    if group_outputs < COLUMNS or product.finish.any_values:
        return ()
    weights = product.weights.reshape(groups, group_outputs, window * group_inputs)
    core = Core.WIDE if is_wide(weights) else core_of_network(graph)
    in_order = sorted_blocks(weights, core)
    has_all = core is not Core.WIDE and product.finish.rule in INLINED
    is_small = has_all and most_taps(graph) <= _MOST_TAPS_OF_SIX
    found = [_choice(product, pixels, in_order, "_sorted") for pixels in ((SIX, FOUR) if is_small else (FOUR,))]
    if is_small:
        found.append(_with_four(found[0]))
    if group_outputs > BLOCK:
        found.append(_choice(product, FOUR, blocks_in_order(weights, core), ""))
    if has_all:
        found.append(replace(_choice(product, TWO, in_order, "_sorted"), saves_scratch=True))
    return tuple(found)


def _with_four(six: KernelChoice) -> KernelChoice:
    """The kernel of six pixels that computes up to four last ones of a call by the core of four pixels.

    It is for calls of few pixels: a row of ten is a call of six and one of four. A network then holds two cores.
    """
    given = six.given(ConvPacked)
    pack, products = (name.replace(f"_{SIX}", f"_{FOUR}") for name in (given.pack, given.products))
    name = six.called.replace(f"conv_packed_{SIX}_", f"conv_packed_{SIX}_{FOUR}_")
    return replace(six, called=name, attributes=replace(given, few_pack=pack, few_products=products), in_groups=True)


def _choice(product: PixelProduct, pixels: int, found: Blocks, name: str) -> KernelChoice:
    """The kernel for channels in an order, whose name ends in ``name`` and the rule."""
    _, group_outputs, window, group_inputs = map(int, product.weights.shape)
    taps, core = window * group_inputs, found.core.value
    finish, names = product.finish, product.names
    inlined = finish.rule in INLINED
    weights, constants = _packings(product, found)
    block = blocks(names.channel, COLUMNS)
    sign = "unsigned" if product.is_unsigned else "signed"
    return KernelChoice(
        kernel=_kernel(pixels, found.runs, found.turns, names),
        called=f"{PREFIX}conv_packed_{pixels}_{core}{name}_{finish.rule.value}",
        sources=("conv_packed.c", _core_source(finish.rule, found.core), "integer_finish.c"),
        nest=product.nest,
        reads=(
            product.x,
            ConstantOperand("weights", weights, (product.group, block, whole(weights.shape[2]))),
            ConstantOperand(
                "requantization", constants, (product.group, block, whole(COLUMNS), whole(finish.row_words))
            ),
        ),
        writes=(product.y,),
        attributes=ConvPacked(
            product.windows,
            group_inputs=group_inputs,
            group_outputs=group_outputs,
            taps=taps,
            pixels=pixels,
            padding=product.padding,
            is_padded=int(product.is_padded),
            is_unsigned=product.is_unsigned,
            pack=f"{PREFIX}pack_{sign}_{pixels}",
            products=f"{PREFIX}packed_{finish.rule.value if inlined else 'any'}_{pixels}_{core}",
            few_pack="NULL",
            few_products="NULL",
            finish="NULL" if inlined else finish.block,
            unit=found.unit,
            block_bytes=weights.shape[2] * found.core.weight_dtype.itemsize,
            group_words=prod(constants.shape[1:]),
            row_words=finish.row_words,
            limits=finish.layer_limits,
        ),
        multiples={names.channel: BLOCK},
        uncut=frozenset({names.reduction, *([names.channel] if name or group_outputs <= BLOCK else [])}),
    )


def _core_source(rule: Rule, core: Core) -> str:
    """The C file of a core that finishes by a rule."""
    if rule not in INLINED:
        return "packed_any.c"
    return "packed_wide.c" if core is Core.WIDE else f"packed_{rule.value}_{core.value}.c"


def _packings(product: PixelProduct, found: Blocks) -> tuple[Packing, Packing]:
    """Weights [groups, blocks, head and 2 * taps], and constants int32[groups, blocks, 2, words of the rule]."""
    groups, group_outputs, window, group_inputs = map(int, product.weights.shape)
    taps, count = window * group_inputs, int(found.order.shape[1])
    rows = product.finish.rows.reshape(groups, group_outputs, -1)
    taken = np.stack([rows[group, found.order[group]] for group in range(groups)]).astype(np.int32)
    weights = Packing(
        (groups, count, found.core.head + COLUMNS * taps),
        found.core.weight_dtype,
        lambda _: found.packed(product.weights.reshape(groups, group_outputs, taps)),
    )
    return weights, Packing(tuple(taken.shape), np.dtype(np.int32), lambda _: taken)


@dataclass(frozen=True, slots=True)
class _Cycles:
    """Instructions of a call on a tile, fitted to measurements on RV32IMAC.

    Attributes:
        runs, turns: means of a block of two channels: runs of taps, and rounds of the loops over them.
        names: dimensions of the nest.
    """

    runs: float
    turns: float
    names: PixelNames

    def __call__(self, choice: KernelChoice, steps: TileSteps) -> float:
        given, nest = choice.given(ConvPacked), choice.nest
        channels = steps_product(nest, steps, self.names.channel)
        whole, rest = divmod(steps_product(nest, steps, *self.names.pixel), given.pixels)
        last = FOUR if given.few_products != "NULL" and rest <= FOUR else given.pixels
        calls = whole * self._pixels(given, given.pixels, channels)
        calls += self._pixels(given, last, channels) if rest else 0.0
        return 250.0 + steps_product(nest, steps, *self.names.outer) * calls

    def _pixels(self, given: ConvPacked, pixels: int, channels: int) -> float:
        """Instructions for some pixels that are computed together."""
        count = pixels // _PAIR
        block = product_cycles(pixels, given.taps, self.runs) + 3.0 * self.turns + 60.0 + 20.0 * count
        each = -(-channels // COLUMNS) * block + channels * pixels * _output_cycles(given)
        kernel = given.windows.kernel
        gather = 100.0 + 30.0 * pixels + kernel[0] * count * 60.0 + 6.2 * count * given.taps
        if given.group_inputs < _FEW:
            gather += count * (15.0 * prod(kernel) + 7.0 * given.taps)
        return gather + each


def product_cycles(pixels: int, taps: int, runs: float) -> float:
    """Instructions of the taps and runs of two channels for some pixels (RV32IMAC, GCC 12.2, -O2)."""
    count = pixels // _PAIR
    return (COLUMNS + 5.0 * count) * taps + 6.0 * count * runs


def _output_cycles(given: ConvPacked) -> float:
    """Instructions to finish an element."""
    if given.finish != "NULL":
        return 9.5 + _CALLED_CYCLES + rule_cycles(given.finish)
    return 9.5 + next((cycles for rule, cycles in _OWN_CYCLES.items() if f"_{rule.value}_" in given.products), 0.0)


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """A word for each tap and pair of pixels, and the channels of a pixel of padding."""
    given = choice.given(ConvPacked)
    padding = {"padding": words(given.group_inputs)} if given.is_padded else {}
    return {"pairs": 4 * given.taps * given.pixels // _PAIR, **padding}


def _kernel(pixels: int, runs: float, turns: float, names: PixelNames) -> Kernel:
    return pixel_kernel("tilewright_conv_packed", ConvPacked, _Cycles(runs, turns, names), _scratch, pixels, names)


CORES = tuple(core.value for core in Core)
"""The ends of the names of C cores."""

CORE_SOURCES = tuple(dict.fromkeys(_core_source(rule, core) for rule in Rule for core in Core))
"""The C files of all cores."""

_STACK_BYTES = {
    "exact": 544,
    "even": 560,
    "layer_even": 560,
    "twice_any": 560,
    "long": 576,
    "rescale": 592,
}
"""Bytes of stack of kernels whose rule a function finishes, by rule."""

DECLARATION = Declaration(
    kernels=tuple(_kernel(pixels, 0.0, 0.0, OF_IMAGES) for pixels in (FOUR, SIX, TWO)),
    pointed={
        "tilewright_packed_products": tuple(
            f"packed_{rule.value}_{pixels}_{core}"
            for rule in INLINED
            for pixels in (TWO, FOUR, SIX)
            for core in CORES
            if pixels == FOUR or core != Core.WIDE.value
        )
        + tuple(f"packed_any_{FOUR}_{core}" for core in CORES),
        "tilewright_pack": tuple(
            f"pack_{sign}_{pixels}" for sign in ("signed", "unsigned") for pixels in (TWO, FOUR, SIX)
        ),
    },
    stack_bytes={
        f"conv_packed_{FOUR}_{core}{name}_{rule}": size
        for core in CORES
        for name in ("", "_sorted")
        for rule, size in _STACK_BYTES.items()
    },
    gcc_options={
        "conv_packed.c": ("-Os", "-fno-tree-scev-cprop"),
        **dict.fromkeys(CORE_SOURCES, ("-fno-ssa-phiopt", "-fno-tree-reassoc", "-fno-tree-scev-cprop")),
    },
)
