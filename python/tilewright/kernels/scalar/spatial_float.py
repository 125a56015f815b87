"""Geometry of windows as the C structs of convolution and pooling have it."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph import Node

Geometry = tuple[tuple[str, tuple[int, ...]], ...]


def spatial_view(node: Node) -> tuple[int, ...]:
    """Axes n, c, h, w; a single spatial axis is w."""
    return (0, 1, 2, 3) if len(node.attributes["strides"]) == 2 else (0, 1, -1, 2)


def geometry(node: Node, kernel: Sequence[int]) -> Geometry:
    """Fields kernel, strides, dilations, pads (those in front), as (h, w)."""
    attributes = node.attributes
    spatial = len(kernel)
    return (
        ("kernel", pair(kernel, 1)),
        ("strides", pair(attributes["strides"], 1)),
        ("dilations", pair(attributes["dilations"], 1)),
        ("pads", pair(attributes["pads"][:spatial], 0)),
    )


def pair(values: Sequence[int], fill: int) -> tuple[int, int]:
    """(h, w); ``fill`` for the h that one spatial axis lacks."""
    return (fill, int(values[0])) if len(values) == 1 else (int(values[0]), int(values[1]))
