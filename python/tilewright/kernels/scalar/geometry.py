"""Geometry of windows as the C structs of convolution and pooling have it."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.operators.spatial import Windows
from tilewright.plan import AttributeValue

Fields = tuple[tuple[str, AttributeValue], ...]

PLANE = 2
"""Axes of kernels of rows and columns: (h, w)."""

VOLUME = 3
"""Axes of kernels of up to three spatial axes: (d, h, w)."""


def geometry(windows: Windows, axes: int = PLANE) -> Fields:
    """Fields kernel, strides, dilations, pads (those in front), each of so many axes."""
    lifted = windows.lifted(axes)
    return (
        ("kernel", lifted.kernel),
        ("strides", lifted.strides),
        ("dilations", lifted.dilations),
        ("pads", lifted.pads_begin),
    )


def filled(values: Sequence[int], axes: int, fill: int) -> tuple[int, ...]:
    """Values of the spatial axes; ``fill`` for the axes in front that are not there."""
    return (fill,) * (axes - len(values)) + tuple(values)


def plane_view(rank: int) -> tuple[int, ...]:
    """Axes n, c, h, w of a tensor of that rank, 3 or 4; a single spatial axis is w."""
    return (0, 1, 2, 3) if rank == 4 else (0, 1, -1, 2)


def volume_view(rank: int) -> tuple[int, ...]:
    """Axes n, c, none, d, h, w of a tensor of that rank, 3 to 5."""
    return (0, 1, -1) + (-1,) * (5 - rank) + tuple(range(2, rank))
