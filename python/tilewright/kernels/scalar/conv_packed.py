"""Convolution of 8-bit tensors, two pixels with each multiplication (runtime/kernels/conv_packed.c)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Annotated

import numpy as np

from tilewright.graph import Array
from tilewright.kernels.c_structs import PREFIX, BlockFinish, CStruct, CType, Int32, ScratchOffset
from tilewright.kernels.integer import BLOCK, is_wide, packed_rows, packed_weights, steps_product, words
from tilewright.kernels.kernel import (
    HEIGHT,
    Backward,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TileSteps,
    raster_over,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import LayerLimits, rule_cycles
from tilewright.kernels.scalar.geometry import PlaneWindows, plane_windows, rows_backward
from tilewright.kernels.scalar.packed import (
    BY_NAME,
    INLINED,
    LONGER,
    SHORTER,
    Sorted,
    best_runs,
    name_of,
    runs_cycles,
    sorted_channels,
)
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.operators.nest import along, blocks, whole

SOURCES = ("conv_packed.c", "packed_core.c", "integer_finish.c")

_PAIR = 2
"""Pixels of a word."""

_TWO_RUNS = f"{name_of(SHORTER)}_{name_of(LONGER)}"
"""The end of the name of the C core with runs of two lengths."""

_CALLED_CYCLES = 28.0
"""Instructions for each element that a finish outside the core takes more than one inside."""

_CHANGE_CYCLES = 20.0
"""Instructions for a block of channels that the core with runs of two lengths takes beside its runs."""

_FEW = 4
"""Channels below which C gathers one by one (FEW in conv_packed.c)."""


@dataclass(frozen=True, slots=True)
class ConvPacked(CStruct):
    """Convolution of 8-bit tensors, two pixels at a time, any strides, dilations, pads and groups. Operands: x [n, c,
    h, w]; weights int8 [group][block][kh][kw][c][4], behind those of a block its channels' positions in y where runs
    have two lengths; constants [group][channel][words of the rule]; y [n, c, h, w]; scratch: 4 bytes for each tap,
    then c bytes of padding where there is any.
    """

    windows: PlaneWindows
    group_inputs: Annotated[Int32, "channels of x in one group"]
    group_outputs: Annotated[Int32, "channels of y in one group"]
    taps: Annotated[Int32, "of a channel of y"]
    padding: Annotated[Int32, "the stored byte that stands for zero"]
    is_padded: Annotated[Int32, "1: taps may lie beside x"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    pack: Annotated[str, CType("tilewright_pack *", is_pointer=True)]
    products: Annotated[str, CType("tilewright_block_products *", is_pointer=True)]
    finish: Annotated[BlockFinish, "NULL: inside products"]
    longer: Annotated[Int32, "channels whose runs are longer: cores of two runs"]
    row_words: Annotated[Int32, "words of a row of the rule"]
    limits: LayerLimits
    padding_at: ScratchOffset = 0


def packed(conv: IntegerConv) -> tuple[KernelChoice, ...]:
    """The kernels for weights of 8 bits of which at least two products fit a lane, runs of two lengths first."""
    groups, group_outputs, window, group_inputs = map(int, conv.weights.shape)
    flat = conv.weights.reshape(groups * group_outputs, window * group_inputs)
    depends = is_wide(conv.weights) or group_outputs < _PAIR or conv.finish.any_values
    runs = None if depends else best_runs(flat)
    if runs is None:
        return ()
    only = _choice(conv, name_of(runs), None)
    channels = sorted_channels(flat) if groups == 1 and conv.finish.rule in INLINED else None
    return (only,) if channels is None else (_choice(conv, _TWO_RUNS, channels), only)


def _choice(conv: IntegerConv, runs: str, channels: Sorted | None) -> KernelChoice:
    """The kernel with one core, whose name in C ends in ``runs``."""
    groups, group_outputs, window, group_inputs = map(int, conv.weights.shape)
    taps = window * group_inputs
    x, y = conv.operands
    finish = conv.finish
    inlined = finish.rule in INLINED
    windows = conv.windows
    constants = packed_rows(finish.rows if channels is None else finish.rows[list(channels.order)], groups)
    weights = _weights(conv.weights, channels)
    block = blocks("oc", BLOCK)
    is_whole = group_outputs <= BLOCK or channels is not None
    return KernelChoice(
        kernel=_CONV,
        called=f"{PREFIX}conv_packed_{runs}_{finish.rule.value}",
        sources=SOURCES,
        nest=conv.nest,
        reads=(
            x,
            ConstantOperand("weights", weights, (along("group"), block, whole(weights.shape[2]), whole(BLOCK))),
            ConstantOperand(
                "requantization", constants, (along("group"), block, whole(BLOCK), whole(constants.shape[3]))
            ),
        ),
        writes=(y,),
        attributes=ConvPacked(
            plane_windows(windows),
            group_inputs=group_inputs,
            group_outputs=group_outputs,
            taps=taps,
            padding=conv.padding,
            is_padded=int(any((*windows.pads_begin, *windows.pads_end))),
            is_unsigned=conv.is_unsigned,
            pack=f"{PREFIX}pack_{'unsigned' if conv.is_unsigned else 'signed'}",
            products=f"{PREFIX}packed_{finish.rule.value if inlined else 'any'}_{runs}",
            finish="NULL" if inlined else finish.block,
            longer=0 if channels is None else channels.longer,
            row_words=finish.row_words,
            limits=finish.layer_limits,
        ),
        multiples={"oc": BLOCK},
        uncut=frozenset({"ic", "oc"}) if is_whole else frozenset({"ic"}),
    )


def _weights(weights: Array, channels: Sorted | None) -> Packing:
    """int8[groups, blocks, taps, 4]; of sorted channels, whose positions stand behind the taps, a tap more."""
    groups, group_outputs, window, inputs = map(int, weights.shape)
    taps, count = window * inputs, -(-group_outputs // BLOCK)
    if channels is None:
        shape = (groups, count, taps, BLOCK)
        return Packing(shape, np.dtype(np.int8), lambda _: packed_weights(weights).reshape(shape))
    order = np.zeros(count * BLOCK, np.uint8)
    order[:group_outputs] = channels.order

    def pack(_: TileSteps) -> Array:
        taken = packed_weights(weights[:, list(channels.order)]).reshape(groups, count, taps, BLOCK)
        return np.concatenate([taken, order.view(np.int8).reshape(groups, count, 1, BLOCK)], axis=2)

    return Packing((groups, count, taps + 1, BLOCK), np.dtype(np.int8), pack)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile with these steps, fitted to measurements on RV32IMAC."""
    given, nest = choice.given(ConvPacked), choice.nest
    taps = prod(given.windows.kernel) * given.group_inputs
    pairs = steps_product(nest, steps, "n", "group") * -(-steps_product(nest, steps, "oh", "ow") // _PAIR)
    channels = steps_product(nest, steps, "oc")
    each = -(-channels // BLOCK) * (_core_cycles(given, taps, channels) + 20.0) + _output_cycles(given) * channels
    gather = 420.0 + 80.0 * given.windows.kernel[0] + 6.1 * taps
    if given.group_inputs < _FEW:
        gather += 15.0 * prod(given.windows.kernel) + 7.0 * taps
    return 200.0 + pairs * (gather + each)


def _output_cycles(given: ConvPacked) -> float:
    """Instructions to finish two pixels of a channel; a finish outside the core is called twice for four channels."""
    return 18.0 if given.finish == "NULL" else 18.0 + _PAIR * (_CALLED_CYCLES + rule_cycles(given.finish))


def _core_cycles(given: ConvPacked, taps: int, channels: int) -> float:
    """Instructions for a block of channels, the mean of those with shorter and those with longer runs."""
    name = given.products.rpartition("packed_")[2].partition("_")[2]
    if name != _TWO_RUNS:
        return runs_cycles(taps, BY_NAME[name])
    if given.longer == 0:
        return runs_cycles(taps, SHORTER)
    part = given.longer / channels
    return part * runs_cycles(taps, LONGER) + (1.0 - part) * runs_cycles(taps, SHORTER) + _CHANGE_CYCLES


def _backward(choice: KernelChoice, inputs: int) -> ConvPacked:
    given = choice.given(ConvPacked)
    return replace(given, windows=rows_backward(given.windows, choice.nest.dimension("oh").extent, inputs))


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """A word for each tap, and the channels of a pixel of padding."""
    given = choice.given(ConvPacked)
    padding = {"padding": words(given.group_inputs)} if given.is_padded else {}
    return {"pairs": 4 * given.taps, **padding}


_CONV = Kernel(
    "tilewright_conv_packed",
    ConvPacked,
    _cycles,
    scratch=_scratch,
    stores=raster_over("n", "group", "oh", "ow", block=_PAIR, restarts=("n", "group")),
    ring_axes=frozenset({HEIGHT}),
    backward=Backward("oh", _backward),
    likes=CONVOLUTION_ORDER,
)

DECLARATION = Declaration(
    kernels=(_CONV,),
    pointed={
        "tilewright_block_products": tuple(
            f"packed_{rule}_{name}" for rule in (*(rule.value for rule in INLINED), "any") for name in BY_NAME
        )
        + tuple(f"packed_{rule.value}_{_TWO_RUNS}" for rule in INLINED),
        "tilewright_pack": ("pack_signed", "pack_unsigned"),
    },
    stack_bytes={
        f"conv_packed_{name}_{rule}": size for name in BY_NAME for rule, size in (("long", 528), ("rescale", 576))
    },
    gcc_options={"conv_packed.c": ("-Os",), "packed_core.c": ("-fno-ssa-phiopt", "-fno-tree-reassoc")},
)
