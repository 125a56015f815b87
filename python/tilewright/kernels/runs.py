"""Convolution and products of 8-bit tensors by runs of taps, for families with wide instructions.

A run is taps of a window whose elements lie side by side in x: a row of the kernel where channels lie innermost, or
a single tap beside padding. runtime/kernels/conv_runs.c lists the runs of a few pixels, and a function of the family
multiplies them where they lie, without a copy. Weights stand as [block of channels][tap][channel of the block].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.c_structs import BlockFinish, CStruct, CType, Int32, ScratchOffset
from tilewright.kernels.integer import as_signed, is_wide, largest_sums, steps_product, words
from tilewright.kernels.kernel import (
    HEIGHT,
    Backward,
    ConstantOperand,
    CyclesOf,
    Kernel,
    KernelChoice,
    Packing,
    ScratchOf,
    StoresOf,
    TensorOperand,
    TileSteps,
    unknown_stores,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER, MATRIX_ORDER
from tilewright.kernels.requantization import Finish, LayerLimits, Rule, finish_of
from tilewright.kernels.scalar.compact import compact
from tilewright.kernels.scalar.geometry import SINGLE_PIXELS, PlaneWindows, plane_windows, rows_backward
from tilewright.kernels.scalar.matmul_integer import product_of
from tilewright.kernels.scalar.spatial_integer import IntegerConv, integer_conv
from tilewright.operators.nest import along, whole
from tilewright.plan import UNKNOWN_STORES, Stores, WriteOrder

PIXELS = 3
"""Pixels of y whose runs stand in one entry of C's table."""

POINTER_BYTES = (4, 8)
"""Bytes of a pointer that cores may have."""

MOST_APART = 4
"""The most channels of x that may lie apart where products read runs: the taps of each pixel are gathered then."""

AS_ONE_RUN = 2
"""``gathers`` of convolutions whose channels of x lie apart, for families that read runs: gathered taps are one run."""


@dataclass(frozen=True, slots=True)
class Finishing(CStruct):
    """The C functions that finish sums, and the rule's constants for them."""

    finished: Annotated[str, CType("tilewright_runs_products *", is_pointer=True), "how products finish sums"]
    finish: Annotated[BlockFinish, "NULL: products finish"]
    biased: Annotated[Int32, "1: rows of the rule begin with the bias"]
    row_words: Annotated[Int32, "words of a row of the rule"]
    limits: LayerLimits


@dataclass(frozen=True, slots=True)
class ConvRuns(CStruct):
    """Convolution of 8-bit tensors by runs of taps. Operands: x [n, c, h, w]; weights int8 [group][block][tap][channel
    of the block], of depthwise ones [block][tap][channel of the block]; constants [channel][words of the rule]; y [n,
    c, h, w]; scratch: the table of runs, a pixel of padding, and sums where the family does not finish them.
    """

    windows: PlaneWindows
    group_inputs: Annotated[Int32, "channels of x in one group"]
    group_outputs: Annotated[Int32, "channels of y in one group; all of a depthwise convolution"]
    padding: Annotated[Int32, "the stored byte that stands for zero; -1: taps never leave x"]
    is_depthwise: Annotated[Int32, "1: each channel of y has its own channel of x"]
    block: Annotated[Int32, "channels of a block of weights"]
    pixels: Annotated[Int32, "pixels that are multiplied together"]
    gathers: Annotated[Int32, "1: products gather taps, and need no table of runs; 2: gathered taps are one run"]
    taps: Annotated[Int32, "weights of a channel"]
    products: Annotated[str, CType("tilewright_runs_products *", is_pointer=True)]
    finishing: Finishing
    padding_at: ScratchOffset = 0
    gathered_at: ScratchOffset = 0
    sums_at: ScratchOffset = 0


def in_blocks(weights: Array, block: int) -> Array:
    """int8[channels, taps], whose bytes are [block of channels][tap][channel]; the last block may be short."""
    parts = [weights[at : at + block].T.reshape(-1) for at in range(0, len(weights), block)]
    return np.concatenate(parts).astype(np.int8).reshape(weights.shape)


@dataclass(frozen=True, slots=True)
class Family:
    """The names, block sizes and weights that the kernels of a family share.

    Attributes:
        name: begins the names of the C functions.
        sources: C files of the functions.
        finished: rules that the family's own functions finish.
        block: channels of a block of weights.
        pixels: pixels that are multiplied together, at most ``PIXELS``.
        kernels: by what the kernel runs and by bytes of a pointer, the declarations.
        packed: from int8[channels, taps] and the channels of a block to the same bytes as C reads them.
        packed_channels: the same for depthwise convolutions, whose channels have no taps in common.
        as_stored: whether uint8 elements are multiplied as stored; else less 128, as int8.
        is_depthwise: whether the family has functions for depthwise convolutions.
        multiple: of the taps of a channel of weights; zeros stand behind the last tap.
        gathers: whether products gather the taps of a few pixels; depthwise ones read runs in any case.
    """

    name: str
    sources: tuple[str, ...]
    finished: tuple[Rule, ...]
    block: int
    pixels: int
    kernels: Mapping[tuple[str, int], Kernel]
    packed: Callable[[Array, int], Array] = in_blocks
    is_depthwise: bool = True
    gathers: bool = False
    multiple: int = 1
    packed_channels: Callable[[Array, int], Array] = in_blocks
    as_stored: bool = True

    def padded(self, taps: int) -> int:
        """Taps of a channel, padded as C reads them."""
        return -(-taps // self.multiple) * self.multiple

    def weights(self, weights: Array, *, is_depthwise: bool = False) -> Packing:
        """The weights as C reads them, from integers [..., channels, taps] that fit int8."""
        packed = self.packed_channels if is_depthwise else self.packed
        *outer, channels, taps = map(int, weights.shape)
        shape = (*outer, channels, self.padded(taps))

        def pack(_: TileSteps) -> Array:
            whole = np.zeros((*outer, channels, shape[-1]), np.int8)
            whole[..., :taps] = weights
            parts = [packed(part, self.block) for part in whole.reshape(-1, channels, shape[-1])]
            return np.stack(parts).reshape(shape)

        return Packing(shape, np.dtype(np.int8), pack)

    def products(self, *, is_depthwise: bool, is_unsigned: bool) -> str:
        """Name of the C function that multiplies."""
        sign = "unsigned" if is_unsigned else "signed"
        return f"tilewright_{self.name}_{'channels' if is_depthwise else 'products'}_{sign}"

    def finish(self, finish: Finish) -> str:
        """Name of the C function that finishes sums by a rule, or keeps the sums."""
        return f"tilewright_{self.name}_{finish.rule.value if finish.rule in self.finished else 'sums'}"

    def pointed(self) -> dict[str, tuple[str, ...]]:
        """The C functions to which attributes point."""
        kinds = ("products", "channels") if self.is_depthwise else ("products",)
        products = [f"{self.name}_{what}_{sign}" for what in kinds for sign in ("signed", "unsigned")]
        finishes = [f"{self.name}_{rule.value}" for rule in self.finished]
        return {"tilewright_runs_products": (*products, *finishes, f"{self.name}_sums")}


def kernels_of(cycles: CyclesOf, gathered_bytes: Callable[[int], int] | None = None) -> dict[tuple[str, int], Kernel]:
    """The declarations for a family whose calls take ``cycles``, by what the kernel runs and bytes of a pointer.

    ``gathered_bytes`` is for a family that gathers the taps of a few pixels first: their bytes for the taps of one.
    """
    likes = {"Conv": CONVOLUTION_ORDER, "MatMul": MATRIX_ORDER}
    return {
        (operator, width): Kernel(
            "tilewright_conv_runs",
            ConvRuns,
            cycles,
            scratch=_scratch(width, gathered_bytes),
            stores=_stores(rereads=gathered_bytes is None) if operator == "Conv" else unknown_stores,
            ring_axes=frozenset({HEIGHT}) if operator == "Conv" else frozenset(),
            backward=Backward("oh", _backward) if operator == "Conv" else None,
            likes=order,
        )
        for operator, order in likes.items()
        for width in POINTER_BYTES
    }


def conv_choices(node: Node, graph: Graph, family: Family, pointer_bytes: int) -> tuple[KernelChoice, ...]:
    """The kernel for Conv with 8-bit x, constant weights of 8 bits, and constant bias."""
    conv = integer_conv(node, graph, as_stored=family.as_stored)
    if conv is None or is_wide(conv.weights):
        return ()
    group_inputs = int(conv.weights.shape[3])
    order = graph.tensor(node.inputs[0]).order
    is_beside = order[-1] == 1 or graph.tensor(node.inputs[0]).shape[1] == 1
    if conv.is_depthwise and not family.is_depthwise:
        return ()
    if not is_beside and (conv.is_depthwise or (group_inputs > MOST_APART and not family.gathers)):
        return ()
    kernel = family.kernels["Conv", pointer_bytes]
    if conv.is_depthwise:
        return (_of_channels(conv, family, kernel),)
    choice = _of_groups(conv, family, kernel)
    if is_beside or family.gathers:
        return (choice,)
    return (replace(choice, attributes=replace(choice.given(ConvRuns), gathers=AS_ONE_RUN)),)


def _of_groups(conv: IntegerConv, family: Family, kernel: Kernel) -> KernelChoice:
    groups, group_outputs, window, group_inputs = map(int, conv.weights.shape)
    taps = window * group_inputs
    flat = conv.weights.reshape(groups, group_outputs, taps)
    weights = family.weights(flat)
    rows = conv.finish.rows.reshape(groups, group_outputs, -1)
    x, y = conv.operands
    return KernelChoice(
        kernel=kernel,
        called=_called(family, conv.finish),
        sources=_sources(family),
        nest=conv.nest,
        reads=(
            x,
            ConstantOperand("weights", weights, (along("group"), along("oc"), whole(weights.shape[-1]))),
            ConstantOperand("requantization", rows, (along("group"), along("oc"), whole(conv.finish.row_words))),
        ),
        writes=(y,),
        attributes=_attributes(conv, family, group_inputs, group_outputs),
        multiples={"oc": family.block},
        uncut=frozenset({"ic"}) if group_outputs > family.block else frozenset({"ic", "oc"}),
    )


def _of_channels(conv: IntegerConv, family: Family, kernel: Kernel) -> KernelChoice:
    groups, _, window, _ = map(int, conv.weights.shape)
    flat = conv.weights.reshape(groups, window)
    weights = family.weights(flat, is_depthwise=True)
    x, y = conv.operands
    return KernelChoice(
        kernel=kernel,
        called=_called(family, conv.finish),
        sources=_sources(family),
        nest=conv.nest,
        reads=(
            x,
            ConstantOperand("weights", weights, (along("group"), whole(weights.shape[-1]))),
            conv.constants_of_groups,
        ),
        writes=(y,),
        attributes=replace(_attributes(conv, family, 1, groups), is_depthwise=1),
        multiples={"group": family.block},
        uncut=frozenset({"ic", "oc"}) | (frozenset() if groups > family.block else frozenset({"group"})),
    )


def product_choices(node: Node, graph: Graph, family: Family, pointer_bytes: int) -> tuple[KernelChoice, ...]:
    """The kernel for MatMul of 8 bits with a constant matrix of 8 bits and constant bias, as a 1x1 convolution."""
    product = product_of(node, graph)
    weights = None if product is None else product.matrix
    if product is None or weights is None or is_wide(weights):
        return ()
    views, nest = product.views, product.nest
    if product.a.order[-1] != views[0][1]:
        return ()
    largest = largest_sums(weights, product.bias, product.a.dtype, product.a_zero_point)
    offset = product.a_zero_point if family.as_stored else as_signed(product.a_zero_point, product.a.dtype)
    folded = product.bias - offset * weights.sum(axis=1)
    found = finish_of(node.epilogue, product.y.dtype, folded, largest, any_values=product.any_values)
    if found is None:
        return ()
    finish = compact(found, largest)
    channels, taps = map(int, weights.shape)
    packed = family.weights(weights)
    attributes = ConvRuns(
        SINGLE_PIXELS,
        group_inputs=taps,
        group_outputs=channels,
        padding=-1,
        is_depthwise=0,
        block=family.block,
        pixels=family.pixels,
        gathers=int(family.gathers),
        taps=family.padded(taps),
        products=family.products(is_depthwise=False, is_unsigned=product.a.dtype is DType.UINT8),
        finishing=_finishing(family, finish),
    )
    return (
        KernelChoice(
            kernel=family.kernels["MatMul", pointer_bytes],
            called=_called(family, finish),
            sources=_sources(family),
            nest=nest,
            reads=(
                TensorOperand(product.a.name, nest.reads[0], views[0]),
                ConstantOperand("weights", packed, (along("n"), whole(packed.shape[-1]))),
                ConstantOperand("requantization", finish.rows, (along("n"), whole(finish.row_words))),
            ),
            writes=(TensorOperand(product.y.name, nest.writes[0], views[1]),),
            attributes=attributes,
            multiples={"n": family.block},
            uncut=frozenset({"k"}) if channels > family.block else frozenset({"k", "n"}),
        ),
    )


def _attributes(conv: IntegerConv, family: Family, inputs: int, outputs: int) -> ConvRuns:
    taps = prod(conv.windows.kernel) * inputs
    has_padding = any((*conv.windows.pads_begin, *conv.windows.pads_end))
    return ConvRuns(
        plane_windows(conv.windows),
        group_inputs=inputs,
        group_outputs=outputs,
        padding=conv.padding if has_padding else -1,
        is_depthwise=0,
        block=family.block,
        pixels=family.pixels,
        gathers=int(family.gathers and not conv.is_depthwise),
        taps=family.padded(taps),
        products=family.products(is_depthwise=conv.is_depthwise, is_unsigned=bool(conv.is_unsigned)),
        finishing=_finishing(family, conv.finish),
    )


def _finishing(family: Family, finish: Finish) -> Finishing:
    return Finishing(
        family.finish(finish),
        finish="NULL" if finish.rule in family.finished else finish.block,
        biased=int(finish.rule is not Rule.FOLDED),
        row_words=finish.row_words,
        limits=finish.layer_limits,
    )


def _called(family: Family, finish: Finish) -> str:
    return f"tilewright_conv_{family.name}_{finish.rule.value}"


def _sources(family: Family) -> tuple[str, ...]:
    return ("conv_runs.c", "gather_runs.c", *family.sources, "integer_finish.c")


def _backward(choice: KernelChoice, inputs: int) -> ConvRuns:
    given = choice.given(ConvRuns)
    return replace(given, windows=rows_backward(given.windows, choice.nest.dimension("oh").extent, inputs))


def _stores(*, rereads: bool) -> StoresOf:
    """Blocks of pixels in raster order; channels of a block are stored before the next ones are multiplied."""

    def stores(choice: KernelChoice) -> Stores:
        extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
        given = choice.given(ConvRuns)
        if extents.get("n", 1) > 1 or (extents.get("group", 1) > 1 and not given.is_depthwise):
            return UNKNOWN_STORES
        walk = tuple(name for name in ("n", "oh", "ow") if name in extents)
        return Stores(WriteOrder.RASTER, (0,), walk, given.pixels, rereads=rereads)

    return stores


def _scratch(pointer_bytes: int, gathered_bytes: Callable[[int], int] | None) -> ScratchOf:
    """C's table of runs, the padding of a pixel, and the sums of a block of pixels and channels."""

    def scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
        given = choice.given(ConvRuns)
        entry = -(-(PIXELS * pointer_bytes + 4) // pointer_bytes) * pointer_bytes
        areas = {} if given.gathers else {"runs": entry * prod(given.windows.kernel)}
        if given.padding >= 0 and not given.gathers:
            held = steps_product(choice.nest, steps, "group") if given.is_depthwise else given.group_inputs
            areas["padding"] = words(held)
        if given.gathers == AS_ONE_RUN:
            areas = {"runs": entry, "gathered": words(PIXELS * given.taps)}
        elif gathered_bytes is not None and given.gathers:
            areas["gathered"] = gathered_bytes(given.taps)
        if given.finishing.finish != "NULL":
            areas["sums"] = 4 * given.pixels * min(given.block, given.group_outputs)
        return areas

    return scratch
