"""Products of the windows of pixels with constant weights, in the form from which kernels of several pixels are made.

A convolution is one, and so is a matrix product whose rows are pixels: x [m, k] times weights [n, k] is a 1x1
convolution of k channels over m pixels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.c_structs import CStruct
from tilewright.kernels.kernel import (
    HEIGHT,
    Backward,
    CyclesOf,
    Kernel,
    KernelChoice,
    ScratchOf,
    TensorOperand,
    raster_over,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER, MATRIX_ORDER
from tilewright.kernels.requantization import Finish
from tilewright.kernels.scalar.geometry import PlaneWindows, plane_windows, rows_backward
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.operators.nest import AxisMap, Nest, along


@dataclass(frozen=True, slots=True)
class PixelNames:
    """Dimensions of a nest.

    Attributes:
        outer: images, and groups of channels.
        pixel: rows and columns of an image of y.
        channel, reduction: channels of y and of x.
    """

    outer: tuple[str, ...]
    pixel: tuple[str, str]
    channel: str
    reduction: str


OF_IMAGES = PixelNames(("n", "group"), ("oh", "ow"), "oc", "ic")
OF_ROWS = PixelNames(("b0",), ("b1", "m"), "n", "k")
"""Those of convolutions, and of matrix products."""


@dataclass(frozen=True, slots=True)
class PixelProduct:
    """A product on views [n, c, h, w].

    Attributes:
        nest: the node's nest.
        x, y: the views.
        weights: int64[groups, channels of a group, window, channels of x], zero point removed.
        finish: rule and constants; the zero point of x is folded into the biases, for x - 128 where x is uint8.
        is_padded: whether windows may lie beside x.
        padding: the stored byte that stands for zero.
        is_unsigned: 1 if x is uint8, else 0.
        names: ``OF_IMAGES`` or ``OF_ROWS``.
        group: map of the axis of groups.
    """

    nest: Nest
    x: TensorOperand
    y: TensorOperand
    weights: Array
    finish: Finish
    windows: PlaneWindows
    is_padded: bool
    padding: int
    is_unsigned: int
    names: PixelNames
    group: AxisMap

    @property
    def width(self) -> int:
        """Pixels of a row of y."""
        return self.nest.dimension(self.names.pixel[1]).extent


def product_of_images(conv: IntegerConv) -> PixelProduct:
    """A convolution as such a product."""
    x, y = conv.operands
    return PixelProduct(
        conv.nest,
        x,
        y,
        conv.weights,
        conv.finish,
        windows=plane_windows(conv.windows),
        is_padded=any(conv.windows.pads),
        padding=conv.padding,
        is_unsigned=conv.is_unsigned,
        names=OF_IMAGES,
        group=along("group"),
    )


def pixel_kernel(
    symbol: str, attributes: type[CStruct], cycles: CyclesOf, scratch: ScratchOf, block: int, names: PixelNames
) -> Kernel:
    """A kernel that computes ``block`` pixels together; its attributes have ``windows``."""
    of_images = names == OF_IMAGES
    return Kernel(
        symbol,
        attributes,
        cycles,
        raster_over(*names.outer, *names.pixel, block=block, restarts=names.outer),
        scratch=scratch,
        ring_axes=frozenset({HEIGHT} if of_images else ()),
        backward=_IMAGES_BACKWARD if of_images else _ROWS_BACKWARD,
        likes=CONVOLUTION_ORDER if of_images else MATRIX_ORDER,
    )


def _windows_backward(choice: KernelChoice, inputs: int) -> CStruct:
    given: Any = choice.given(CStruct)
    outputs = choice.nest.dimension(OF_IMAGES.pixel[0]).extent
    turned: CStruct = replace(given, windows=rows_backward(given.windows, outputs, inputs))
    return turned


_IMAGES_BACKWARD = Backward(OF_IMAGES.pixel[0], _windows_backward)
_ROWS_BACKWARD = Backward(OF_ROWS.pixel[1], lambda choice, _: choice.given(CStruct))
