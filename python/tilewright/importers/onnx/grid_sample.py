"""GridSample: elements at places that are computed at run time, gathered and weighed."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from tilewright.graph import DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.indexing import emit_gather

_CUBIC = -0.75
_TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
_OLD_NAMES = {"bilinear": "linear", "bicubic": "cubic"}


def grid_sample(call: Call, steps: Steps) -> None:
    """The elements of X at the places of the grid, from their neighbours."""
    x, grid = call.real(0), call.real(1)
    axes = len(x.shape) - 2
    mode = str(call.attribute("mode", "linear"))
    mode = _OLD_NAMES.get(mode, mode)
    padding = str(call.attribute("padding_mode", "zeros"))
    if mode not in _TAPS or padding not in ("zeros", "border", "reflection"):
        raise Unsupported(f"mode '{mode}', padding '{padding}'", "export the model again")
    fits = axes in (2, 3) and len(grid.shape) == len(x.shape) and grid.shape[-1] == axes
    if not fits or grid.shape[0] != x.shape[0]:
        raise Unsupported(f"a grid of shape {list(grid.shape)} for {list(x.shape)}")
    sampler = Sampler(steps, padding, bool(call.attribute("align_corners", 0)))
    points = (x.shape[0], prod(grid.shape[1:-1]))
    flat = steps.reshape(grid.name, *points, axes)
    # The grid has x first, X has its columns last.
    taps = []
    for axis, extent in enumerate(x.shape[2:]):
        column = steps("Gather", flat, steps.constant([axes - 1 - axis], np.int64), axis=2)
        taps.append(sampler.taps(steps.reshape(column, *points), extent, mode))
    total = weighed(call, steps, steps.reshape(x.name, *x.shape[:2], prod(x.shape[2:])), taps, x.shape[2:])
    steps.finish(steps.reshape(total, *x.shape[:2], *grid.shape[1:-1]))


def weighed(
    call: Call, steps: Steps, elements: str, taps: list[list[tuple[str, str]]], extents: tuple[int, ...]
) -> str:
    """[batch, channels, points]: of elements [batch, channels, places] the sum of those that the taps choose.

    Args:
        taps: for each axis of the places, the neighbours: index and weight of each point, [batch, points].
        extents: of the axes of the places.
    """
    total = ""
    for chosen in product(*taps):
        weight = chosen[0][1]
        for _, other in chosen[1:]:
            weight = steps("Mul", weight, other)
        index = _flat_index(steps, [place for place, _ in chosen], extents)
        values = emit_gather(call, elements, index, 2, batch_dims=1, part="taken")
        batch, points = steps.tensor(weight).shape
        term = steps("Mul", values, steps.reshape(weight, batch, 1, points))
        total = steps("Add", total, term) if total else term
    return total


def _flat_index(steps: Steps, places: list[str], extents: tuple[int, ...]) -> str:
    total = places[0]
    for place, extent in zip(places[1:], extents[1:], strict=True):
        total = steps("Add", steps("Mul", total, steps.constant(extent, np.int32)), place)
    return total


class Sampler:
    """Neighbours of places along one axis: (index, weight) of each; those outside follow the padding mode."""

    def __init__(self, steps: Steps, padding: str, corners: bool) -> None:
        self.steps, self.padding, self.corners = steps, padding, corners

    def taps(self, grid: str, extent: int, mode: str) -> list[tuple[str, str]]:
        """Names of index (int32) and weight (float32) of each neighbour, for places of the grid, from -1 to 1."""
        steps = self.steps
        raised = steps("Add", grid, steps.constant(1.0))
        factor = (extent - 1) / 2 if self.corners else extent / 2
        place = steps("Mul", raised, steps.constant(factor))
        if not self.corners:
            place = steps("Sub", place, steps.constant(0.5))
        return self.around(place, extent, mode)

    def around(self, place: str, extent: int, mode: str) -> list[tuple[str, str]]:
        """As ``taps``, for places that are counted in elements."""
        steps = self.steps
        # With cubic interpolation, border and reflection move the neighbours alone, not the place.
        place = place if mode == "cubic" else self._moved_inside(place, extent)
        if mode == "nearest":
            return [self._tap(steps("Round", place), extent, steps.constant(1.0), place)]
        low = steps("Floor", place)
        share = steps("Sub", place, low)
        weights = self._linear(share) if mode == "linear" else self._cubic(share)
        neighbours = [steps("Add", low, steps.constant(float(offset))) for offset in _TAPS[mode]]
        return [self._tap(at, extent, weight, place) for at, weight in zip(neighbours, weights, strict=True)]

    def _linear(self, share: str) -> list[str]:
        return [self.steps("Sub", self.steps.constant(1.0), share), share]

    def _cubic(self, share: str) -> list[str]:
        """Weights of the neighbours at distances share + 1, share, 1 - share and 2 - share."""
        steps = self.steps
        away = steps("Sub", steps.constant(1.0), share)
        far, near = ((_CUBIC, -5 * _CUBIC, 8 * _CUBIC, -4 * _CUBIC), (_CUBIC + 2, -_CUBIC - 3, 0.0, 1.0))
        one = steps.constant(1.0)
        distances = ((steps("Add", share, one), far), (share, near), (away, near), (steps("Add", away, one), far))
        return [self._polynomial(distance, factors) for distance, factors in distances]

    def _polynomial(self, value: str, factors: tuple[float, ...]) -> str:
        steps = self.steps
        total = steps("Mul", value, steps.constant(factors[0]))
        for factor in factors[1:-1]:
            total = steps("Mul", steps("Add", total, steps.constant(factor)), value)
        return steps("Add", total, steps.constant(factors[-1]))

    def _moved_inside(self, place: str, extent: int) -> str:
        """Places moved inside by border or reflection, before their neighbours are taken."""
        if self.padding == "border":
            return self._clipped(place, extent)
        return self._reflected(place, extent) if self.padding == "reflection" else place

    def _tap(self, at: str, extent: int, weight: str, like: str) -> tuple[str, str]:
        steps = self.steps
        inside = at
        if self.padding == "reflection":
            inside = self._reflected(at, extent)
        if self.padding == "zeros":
            above = steps("GreaterOrEqual", at, steps.constant(0.0))
            below = steps("LessOrEqual", at, steps.constant(float(extent - 1)))
            weight = steps("Mul", weight, steps.cast(steps("And", above, below), DType.FLOAT32))
        elif steps.tensor(weight).shape != steps.tensor(like).shape:
            weight = steps("Expand", weight, steps.constant(steps.tensor(like).shape, np.int64))
        return steps.cast(self._clipped(inside, extent), DType.INT32), weight

    def _clipped(self, place: str, extent: int) -> str:
        bounds = (self.steps.constant(0.0), self.steps.constant(float(extent - 1)))
        return self.steps("Min", self.steps("Max", place, bounds[0]), bounds[1])

    def _reflected(self, place: str, extent: int) -> str:
        """Places mirrored at both ends until they lie inside."""
        steps = self.steps
        low, high = (0.0, extent - 1.0) if self.corners else (-0.5, extent - 0.5)
        span = high - low
        if span == 0.0:
            return steps("Mul", place, steps.constant(0.0))
        distance = steps("Abs", steps("Sub", place, steps.constant(low)))
        turned = steps("Mod", distance, steps.constant(2.0 * span), fmod=1)
        back = steps("Abs", steps("Sub", turned, steps.constant(span)))
        return steps("Sub", steps.constant(low + span), back)
