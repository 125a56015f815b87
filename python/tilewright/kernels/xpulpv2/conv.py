"""Convolution of 8-bit tensors, four products per instruction (runtime/kernels/conv_xpulpv2.c)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.integer import BLOCK, block_sums_bytes, steps_product, words
from tilewright.kernels.kernel import (
    HEIGHT,
    ConstantOperand,
    CyclesOf,
    Declaration,
    Kernel,
    KernelChoice,
    ScratchOf,
    TileSteps,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.requantization import Rule
from tilewright.kernels.scalar.geometry import PlaneWindows, channels_lie_beside, plane_windows
from tilewright.kernels.scalar.spatial_integer import IntegerConv, integer_conv, padded_extents
from tilewright.kernels.xpulpv2 import depthwise as depthwise_xpulpv2
from tilewright.kernels.xpulpv2 import family as xpulpv2
from tilewright.kernels.xpulpv2.copied_taps import CopiedTaps
from tilewright.kernels.xpulpv2.vectors import pointwise
from tilewright.operators.nest import Nest, along
from tilewright.plan import Core

SOURCES = ("conv_xpulpv2.c", "xpulpv2_taps_planar.c", "xpulpv2_taps.c", "xpulpv2_taps_copied.c", *xpulpv2.SOURCES)


@dataclass(frozen=True, slots=True)
class ConvXpulpv2(CStruct):
    """Convolution of 8-bit tensors, four products per instruction."""

    windows: PlaneWindows
    group_inputs: Annotated[Int32, "channels of x in one group"]
    group_outputs: Annotated[Int32, "channels of y in one group"]
    padding: Annotated[Int32, "the stored byte that stands for zero; -1: taps never leave x"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    is_planar: Annotated[Int32, "1: weights are [c][kh][kw]; columns of x lie side by side"]
    is_direct: Annotated[Int32, "1: c is a multiple of 4 and its elements lie side by side in x"]
    finishing: xpulpv2.Finishing


_TAPS_BYTES = 64
"""Bytes that C's ``struct tilewright_xpulpv2_taps`` has at the beginning of scratch, besides its pointers."""

_TAPS_POINTERS = 4
"""Pointers in that struct."""

_RUN_POINTERS = 5
"""Pointer-sized words of a run: the addresses of four pixels, and the step to the next four pixels."""

PIXEL_SCRATCH_POINTERS = _TAPS_POINTERS + _RUN_POINTERS + 1
"""Pointers in the scratch of a 1x1 convolution: in the struct, in one run, and in one row of the kernel."""

_PLANES_BYTES = 448
"""Most bytes of scratch into which C copies the words of more than four pixels at once (planar convolutions)."""

_DIRECT_CYCLES = 2000.0
"""Cycles of a call beside what it computes, where taps are read in x."""

_COPIED_BLOCK_CYCLES, _FOLDED_BLOCK_CYCLES = 14.0, 40.0
"""Cycles that a block takes longer where taps are copied from x, and by rule folded where they are copied at all."""

_PARTIAL_CYCLES, _SINGLE_CYCLES = 200.0, 240.0
"""Cycles that a block of fewer than four channels takes more than a whole one, and each of its channels: C finishes
their sums one by one.
"""

_MOST_FOURS = 4
"""The most groups of four pixels that C copies at once."""

POINTER_BYTES = (4, 8)
"""Bytes of a pointer that cores may have."""

LEAST_RUN = 16
"""The fewest channels of x for which a core reads taps in x itself, for kernels larger than 1x1.

With fewer channels, copying all taps is faster.
"""

_MOST_PLANES = 4
"""The most channels of x for which a word holds four columns of one channel: with more, four channels are faster."""

NO_PADDING = -1
"""Attribute ``padding`` where no tap lies beyond x."""

_MOST_IN_SHORT = 2**15 - 1
"""Largest extent, stride and dilation that fit the struct's fields of 16 bits."""


def choices(node: Node, graph: Graph, core: Core) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with 8-bit x, constant weights of 8 bits, and constant bias."""
    conv = integer_conv(node, graph, as_stored=True)
    if conv is None or not xpulpv2.fits(conv.weights):
        return ()
    if max(*conv.windows.kernel, *conv.windows.strides, *conv.windows.dilations) > _MOST_IN_SHORT:
        return ()
    _, group_outputs, _, group_inputs = conv.weights.shape
    if group_outputs == 1 and group_inputs == 1:
        return depthwise_xpulpv2.depthwise(conv)
    beside = channels_lie_beside(graph, node.inputs[0])
    least = xpulpv2.WORD if conv.windows.kernel == (1, 1) else LEAST_RUN
    direct = group_inputs % xpulpv2.WORD == 0 and group_inputs >= least and beside
    vectors = pointwise(conv, graph) if direct else ()
    return *vectors, _choice(conv, _is_planar(conv, graph), direct, _CONVS[core.pointer_bytes, beside])


def _is_planar(conv: IntegerConv, graph: Graph) -> bool:
    """Whether words hold adjacent columns of one channel: x has few channels, and its columns lie side by side."""
    inputs = int(conv.weights.shape[3])
    x = graph.tensor(conv.node.inputs[0])
    columns = len(x.order) - 1
    beside = all(x.shape[axis] == 1 for axis in x.order[x.order.index(columns) + 1 :])
    return beside and inputs <= _MOST_PLANES and conv.windows.dilations[1] == 1 and conv.windows.kernel[1] > 1


def pixel_scratch_bytes(inputs: int, direct: bool, pointer_bytes: int) -> int:
    """Bytes of scratch of a 1x1 convolution of ``inputs`` channels, without padding."""
    return PIXEL_SCRATCH_POINTERS * pointer_bytes + _TAPS_BYTES + (0 if direct else BLOCK * words(inputs))


def _choice(conv: IntegerConv, planar: bool, direct: bool, kernel: Kernel) -> KernelChoice:
    """The kernel for a convolution whose taps are read in words of four: of channels, or (``planar``) of columns.

    ``direct``: the kernel reads words in x itself; else it copies words to scratch first.
    """
    groups, group_outputs, _, group_inputs = map(int, conv.weights.shape)
    # Taps of a kernel larger than 1x1 may lie beyond x.
    has_padding = conv.windows.kernel != (1, 1) or any(conv.windows.pads)
    can_cut = not planar and group_inputs % xpulpv2.WORD == 0
    attributes = ConvXpulpv2(
        plane_windows(conv.windows),
        group_inputs=group_inputs,
        group_outputs=group_outputs,
        padding=conv.padding if has_padding else NO_PADDING,
        is_unsigned=conv.is_unsigned,
        is_planar=int(planar),
        is_direct=int(direct),
        finishing=xpulpv2.finishing(conv.finish, conv.is_unsigned),
    )
    taps = _Words(attributes, conv.nest)
    x, y = conv.operands
    return KernelChoice(
        kernel=kernel,
        called=f"tilewright_conv_xpulpv2_{conv.finish.rule.value}",
        sources=SOURCES,
        nest=conv.nest,
        reads=(x, *(_planes(conv) if planar else _channels(conv))),
        writes=(y,),
        attributes=attributes,
        # With several groups, C could not tell which group's channels a cut tile has.
        partial_bytes=taps.partial_bytes if groups == 1 and can_cut else None,
        multiples={"oc": BLOCK, "ic": xpulpv2.WORD},
        uncut=frozenset(({"oc"} if group_outputs <= BLOCK else set()) | (set() if can_cut else {"ic"})),
    )


def _channels(conv: IntegerConv) -> tuple[ConstantOperand, ConstantOperand]:
    """The operands ``weights``, in words of four channels, and ``requantization`` (constants of each channel)."""
    return xpulpv2.packed_operands(conv.weights, conv.finish, along("group"), "oc", "ic")


def _planes(conv: IntegerConv) -> tuple[ConstantOperand, ConstantOperand]:
    """The operands ``weights``, in words of four columns, and ``requantization`` (constants of each channel)."""
    groups, channels, _, inputs = map(int, conv.weights.shape)
    rows, columns = conv.windows.kernel
    # The last row of the kernel is read in whole words.
    shape = (groups, channels, (inputs * rows - 1) * columns + words(columns))

    def planes() -> Array:
        padded = np.zeros(shape, np.int64)
        moved = np.moveaxis(conv.weights.reshape(groups, channels, rows, columns, inputs), -1, 2)
        padded[..., : inputs * rows * columns] = moved.reshape(groups, channels, -1)
        return padded

    constants = xpulpv2.packed_constants(conv.finish, groups, along("group"), "oc")
    return xpulpv2.uncut_weights(shape, planes, along("group"), "oc"), constants


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of four in which a convolution with these attributes reads its taps.

    ``is_beside``: channels of x lie side by side, so that taps are copied in words where there are whole ones.
    """

    given: ConvXpulpv2
    nest: Nest
    is_beside: bool = False

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of a window."""
        rows, columns = self.given.windows.kernel
        return rows, columns

    def slot_bytes(self, steps: TileSteps) -> int:
        """Bytes of the words for all taps of one output pixel."""
        inputs = steps_product(self.nest, steps, "ic")
        rows, columns = self.kernel
        if self.given.is_planar:
            return words((inputs * rows - 1) * columns + words(columns))
        return words(rows * columns * inputs)

    def scratch_bytes(self, steps: TileSteps, pointer_bytes: int) -> int:
        """Bytes of C's struct for the call, its runs, rows of the kernel, padding and copied words of pixels."""
        rows, columns = self.kernel
        runs = rows * columns if self.given.is_direct else 1
        pointers = _TAPS_POINTERS + _RUN_POINTERS * runs + rows
        return pointer_bytes * pointers + self._plain_bytes(steps)

    def _plain_bytes(self, steps: TileSteps) -> int:
        inputs, columns = steps_product(self.nest, steps, "ic"), self.kernel[1]
        has_padding = self.given.padding != NO_PADDING
        if self.given.is_direct:
            return _TAPS_BYTES + (columns * inputs if has_padding else 0)
        copies = self._fours(steps) * BLOCK * self.slot_bytes(steps)
        if self.given.is_planar:
            return _TAPS_BYTES + inputs * self._plane_bytes(steps) + copies
        return _TAPS_BYTES + (words(inputs) if has_padding else 0) + copies

    def _plane_bytes(self, steps: TileSteps) -> int:
        """Bytes of the padded rows of one channel of x that a tile reads."""
        rows, columns = padded_extents(self.nest, self.given.windows, steps)
        taps = self.kernel[1]
        return rows * words(columns - taps + words(taps))

    def _fours(self, steps: TileSteps) -> int:
        """Groups of four pixels that are copied at once."""
        if not self.given.is_planar:
            return 1
        return max(1, min(_MOST_FOURS, _PLANES_BYTES // (BLOCK * self.slot_bytes(steps))))

    def partial_bytes(self, steps: TileSteps) -> int:
        """Bytes of the sums of all blocks of a tile."""
        pixels = steps_product(self.nest, steps, "oh", "ow")
        blocks_bytes = block_sums_bytes(pixels, steps_product(self.nest, steps, "oc"), BLOCK)
        return steps_product(self.nest, steps, "n") * blocks_bytes

    def cycles(self, steps: TileSteps) -> float:
        """Cycles of a call on a tile with these steps, fitted to measurements on pulp-open."""
        nest, (rows, columns), direct = self.nest, self.kernel, self.given.is_direct
        slot_words = self.slot_bytes(steps) // 4
        images = steps_product(nest, steps, "n", "group")
        fours = images * -(-steps_product(nest, steps, "oh", "ow") // BLOCK)
        share = steps_product(nest, steps, "ic") / nest.dimension("ic").extent
        runs = rows * (1 if self._is_dense else columns) if direct else 1
        block = xpulpv2.block_cycles(self.given.finishing.rule, slot_words, runs, share) + self._copied_cycles
        together = self._together_cycles(steps)
        channel_blocks = xpulpv2.channel_blocks(nest, steps, "oc")
        single = steps_product(nest, steps, "oc") % BLOCK
        partial = _PARTIAL_CYCLES + _SINGLE_CYCLES * single if single else 0.0
        apart = self._apart_cycles(steps, fours) if direct else 0.0
        return self._begin_cycles(steps) + fours * (channel_blocks * block + partial + together) + apart

    @property
    def _copied_cycles(self) -> float:
        """Cycles that a block of copied taps takes more than one whose taps are read in x."""
        if self.given.is_direct:
            return 0.0
        folded = _FOLDED_BLOCK_CYCLES if self.given.finishing.rule is Rule.FOLDED else 0.0
        return folded + (0.0 if self.given.is_planar else _COPIED_BLOCK_CYCLES)

    @property
    def _copies(self) -> CopiedTaps:
        is_run = self.is_beside and self._is_dense and self.nest.dimension("group").extent == 1
        return CopiedTaps(self.given.windows, self.nest, self.is_beside, is_run)

    def _begin_cycles(self, steps: TileSteps) -> float:
        """Cycles that do not depend on how many pixels a block has."""
        if self.given.is_direct:
            return _DIRECT_CYCLES
        if self.given.is_planar:
            return self._copies.from_planes(steps, self._fours(steps))
        return self._copies.from_x(steps)

    def _together_cycles(self, steps: TileSteps) -> float:
        """Cycles of four pixels beside their blocks."""
        if self.given.is_direct:
            return 50.0 + 20.0 * self.kernel[0]
        inputs = steps_product(self.nest, steps, "ic")
        return self._copies.of_planes(inputs) if self.given.is_planar else self._copies.of_x(inputs)

    @property
    def _is_dense(self) -> bool:
        """Whether the taps of a row of the kernel lie side by side in x."""
        return self.kernel[1] == 1 or self.given.windows.dilations[1] == 1

    def _apart_cycles(self, steps: TileSteps, fours: int) -> float:
        """Cycles of all groups of four pixels, of ``fours``, for which C computes each address."""
        images = steps_product(self.nest, steps, "n", "group")
        across, beside = (min(fours, images * count) for count in self._fours_apart(steps))
        rows, columns = self.kernel
        one_by_one = 300.0 + 60.0 * (rows * columns) + (440.0 if rows * columns == 1 else 0.0)
        if not self._is_dense:
            return across * one_by_one + (fours - across) * (600.0 + 35.0 * rows * columns)
        runs = 16.0 * rows * (columns - 1) * xpulpv2.channel_blocks(self.nest, steps, "oc")
        return across * (one_by_one + runs) + beside * (150.0 + 30.0 * (rows * columns) + runs)

    def _fours_apart(self, steps: TileSteps) -> tuple[int, int]:
        """Groups of four pixels of an image for which C computes each address: across rows, and beside padding."""
        rows, columns = steps_product(self.nest, steps, "oh"), steps_product(self.nest, steps, "ow")
        flat = self.kernel == (1, 1) and tuple(self.given.windows.strides) == (1, 1)
        if flat and columns == self.nest.dimension("ow").extent:
            return 1, 0
        return rows * (1 if columns % BLOCK else 0), rows * (2 if self.kernel[1] > 1 else 0)


def _scratch(pointer_bytes: int) -> ScratchOf:
    """C's struct for the call with all that stands behind it."""
    return lambda choice, steps: {
        "taps": _Words(choice.given(ConvXpulpv2), choice.nest).scratch_bytes(steps, pointer_bytes)
    }


def _cycles(is_beside: bool) -> CyclesOf:
    return lambda choice, steps: _Words(choice.given(ConvXpulpv2), choice.nest, is_beside).cycles(steps)


_CONVS = {
    (width, beside): Kernel(
        "tilewright_conv_xpulpv2",
        ConvXpulpv2,
        _cycles(beside),
        group_ring_axes=frozenset({HEIGHT}),
        likes=CONVOLUTION_ORDER,
        scratch=_scratch(width),
    )
    for width in POINTER_BYTES
    for beside in (False, True)
}
"""By the bytes of a pointer, and by whether channels of x lie side by side."""

DECLARATION = Declaration(
    on_core={"Conv": choices},
    kernels=tuple(_CONVS.values()),
    numbers={
        "XPULPV2_TAPS_PLAIN_BYTES": _TAPS_BYTES,
        "XPULPV2_TAPS_POINTERS": _TAPS_POINTERS,
        "XPULPV2_PLANES_BYTES": _PLANES_BYTES,
    },
    pointed={
        "tilewright_xpulpv2_block": tuple(
            f"xpulpv2_{rule.value}_{sign}" for rule in xpulpv2.FINISHED for sign in ("signed", "unsigned")
        )
    },
    gcc_options={"conv_xpulpv2.c": ("-Os",)},
)
