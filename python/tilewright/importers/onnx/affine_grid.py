"""AffineGrid: the places of an affine transformation of a regular grid, as one product of matrices."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.graph import Array
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps
from tilewright.importers.onnx.context import Call


def affine_grid(call: Call, steps: Steps) -> None:
    """For each position of an image of ``size`` [n, c, ...] the place to which theta moves it, from -1 to 1."""
    theta = call.real(0)
    size = [int(extent) for extent in call.constant(1, "the size").reshape(-1)]
    axes = len(size) - 2
    if axes not in (2, 3) or theta.shape != (size[0], axes, axes + 1):
        raise Unsupported(f"theta of shape {list(theta.shape)} for the size {size}", "export the model again")
    if min(size) < 1:
        raise Unsupported(f"the size {size}", "export the model again")
    corners = bool(call.attribute("align_corners", 0))
    if corners and 1 in size[2:]:
        raise Unsupported("align_corners with an extent of 1, which has no place", "use align_corners = 0")
    call.build.take_bytes(8 * prod(size[2:]) * (axes + 1))
    positions = steps.constant(_positions(tuple(size[2:]), corners))
    places = steps("MatMul", positions, steps("Transpose", theta.name, perm=[0, 2, 1]))
    steps.finish(steps.reshape(places, size[0], *size[2:], axes))


def _positions(extents: tuple[int, ...], corners: bool) -> Array:
    """[positions, axes + 1]: where each position lies from -1 to 1, its column first, and a 1."""
    lines = [
        np.linspace(-1.0, 1.0, extent) if corners else (2 * np.arange(extent) + 1) / extent - 1 for extent in extents
    ]
    places = [axis.reshape(-1) for axis in np.meshgrid(*lines, indexing="ij")]
    return np.stack([*reversed(places), np.ones(prod(extents))], axis=1)
