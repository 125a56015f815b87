"""Geometry of windows for the C structs of convolution and pooling, and the views of their tensors.

Before:  Windows(kernel=(5,), strides=(2,), dilations=(1,), pads=(1, 3))
After:   PlaneWindows(kernel=(1, 5), strides=(1, 2), dilations=(1, 1), pads=(0, 1)): one row of an image
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.kernels.c_structs import CStruct, Int32x2, Int32x3
from tilewright.operators.spatial import Windows

PLANE = 2
"""Number of spatial axes of kernels for planes: (h, w)."""

VOLUME = 3
"""Number of spatial axes of kernels for volumes: (d, h, w)."""

SPATIAL_AXES = frozenset({3, 4, 5})
"""Positions of the axes d, h and w in the view [n, c, -, d, h, w] of kernels for volumes."""


@dataclass(frozen=True, slots=True)
class PlaneWindows(CStruct):
    """Windows over rows and columns."""

    kernel: Int32x2
    strides: Int32x2
    dilations: Int32x2
    pads: Annotated[Int32x2, "above and to the left"]


@dataclass(frozen=True, slots=True)
class VolumeWindows(CStruct):
    """Windows over planes, rows and columns."""

    kernel: Int32x3
    strides: Int32x3
    dilations: Int32x3
    pads: Annotated[Int32x3, "in front, above and to the left"]


SINGLE_PIXELS = PlaneWindows((1, 1), (1, 1), (1, 1), (0, 0))
"""Windows of one pixel, side by side."""


def rows_backward(windows: PlaneWindows, outputs: int, inputs: int, *, symmetric: bool = False) -> PlaneWindows:
    """The windows for rows that are counted from the last to the first: ``outputs`` rows of y, ``inputs`` of x.

    Taps keep their order, so they are read from rows that descend; of ``symmetric`` kernels the order is free.
    """
    (taps, _), (dilation, across) = windows.kernel, windows.dilations
    pad = (outputs - 1) * windows.strides[0] - windows.pads[0] - (inputs - 1)
    if symmetric or taps == 1:
        return replace(windows, pads=(pad + (taps - 1) * dilation, windows.pads[1]))
    return replace(windows, pads=(pad, windows.pads[1]), dilations=(-dilation, across))


def is_plane(windows: Windows) -> bool:
    """Whether the windows are over one or two axes, as kernels for planes need."""
    return windows.rank <= PLANE


def plane_windows(windows: Windows) -> PlaneWindows:
    """The C struct's windows (h, w) for windows over one or two axes."""
    lifted = windows.lifted(PLANE)
    return PlaneWindows(lifted.kernel, lifted.strides, lifted.dilations, lifted.pads_begin)


def volume_windows(windows: Windows) -> VolumeWindows:
    """The C struct's windows (d, h, w) for windows over one to three axes."""
    lifted = windows.lifted(VOLUME)
    return VolumeWindows(lifted.kernel, lifted.strides, lifted.dilations, lifted.pads_begin)


def filled(values: Sequence[int], axes: int, fill: int) -> tuple[int, ...]:
    """``values`` of the spatial axes, with ``fill`` in front for the axes that are missing from ``axes``."""
    return (fill,) * (axes - len(values)) + tuple(values)


def channels_lie_innermost(graph: Graph, name: str) -> bool:
    """Whether a tensor's channels lie side by side in memory."""
    order = graph.tensor(name).order
    return len(order) > 2 and order[-1] == 1


def channels_lie_beside(graph: Graph, name: str) -> bool:
    """Whether no other axis of more than one element lies inside a tensor's channels: also true of single pixels."""
    tensor = graph.tensor(name)
    return all(tensor.shape[axis] == 1 for axis in tensor.order[tensor.order.index(1) + 1 :])


def plane_view(rank: int) -> tuple[int, ...]:
    """The view [n, c, h, w] of a tensor of rank 3 or 4; a single spatial axis is w."""
    return (0, 1, 2, 3) if rank == 4 else (0, 1, -1, 2)


def volume_view(rank: int) -> tuple[int, ...]:
    """The view [n, c, -, d, h, w] of a tensor of rank 3 to 5; its last axis is w."""
    return (0, 1, -1) + (-1,) * (5 - rank) + tuple(range(2, rank))
