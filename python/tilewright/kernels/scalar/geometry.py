"""Geometry of windows as the C structs of convolution and pooling have it, and the views that fit them.

Before:  Windows(kernel=(5,), strides=(2,), dilations=(1,), pads=(1, 3))
After:   PlaneWindows(kernel=(1, 5), strides=(1, 2), dilations=(1, 1), pads=(0, 1)): one row of an image
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tilewright.kernels.attributes import CStruct, Int32x2, Int32x3
from tilewright.operators.spatial import Windows

PLANE = 2
"""Axes of kernels of rows and columns: (h, w)."""

VOLUME = 3
"""Axes of kernels of up to three spatial axes: (d, h, w)."""


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


def is_plane(windows: Windows) -> bool:
    """Whether the windows are over one or two axes, as kernels of rows and columns need them."""
    return windows.rank <= PLANE


def plane_windows(windows: Windows) -> PlaneWindows:
    """Windows over one or two axes."""
    lifted = windows.lifted(PLANE)
    return PlaneWindows(lifted.kernel, lifted.strides, lifted.dilations, lifted.pads_begin)


def volume_windows(windows: Windows) -> VolumeWindows:
    """Windows over up to three axes."""
    lifted = windows.lifted(VOLUME)
    return VolumeWindows(lifted.kernel, lifted.strides, lifted.dilations, lifted.pads_begin)


def filled(values: Sequence[int], axes: int, fill: int) -> tuple[int, ...]:
    """Values of the spatial axes; ``fill`` for the axes in front that are not there."""
    return (fill,) * (axes - len(values)) + tuple(values)


def plane_view(rank: int) -> tuple[int, ...]:
    """Axes n, c, h, w of a tensor of that rank, 3 or 4; a single spatial axis is w."""
    return (0, 1, 2, 3) if rank == 4 else (0, 1, -1, 2)


def volume_view(rank: int) -> tuple[int, ...]:
    """Axes n, c, none, d, h, w of a tensor of that rank, 3 to 5."""
    return (0, 1, -1) + (-1,) * (5 - rank) + tuple(range(2, rank))
