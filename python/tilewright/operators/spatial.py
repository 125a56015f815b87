"""Windows over one to three spatial axes: their geometry, shared by importers, operators and kernels.

Output position o and tap k read input position o * stride + k * dilation - pad. A MaxPool of
3x3 with stride 2 on 112x112 elements, padded by one element in front and behind:

    Windows(kernel=(3, 3), strides=(2, 2), dilations=(1, 1), pads=(1, 1, 1, 1))   gives 56x56
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.nest import AxisMap, Dimension, Iteration
from tilewright.operators.operator import refuse

Extents = tuple[int, ...]
"""Extents of the spatial axes, outermost first."""

OUTPUT_NAMES = {1: ("ow",), 2: ("oh", "ow"), 3: ("od", "oh", "ow")}
TAP_NAMES = {1: ("kw",), 2: ("kh", "kw"), 3: ("kd", "kh", "kw")}


@dataclass(frozen=True, slots=True)
class Windows(Attributes):
    """Geometry of windows, one entry for each spatial axis.

    Attributes:
        kernel: taps of a window.
        strides: input positions from one window to the next.
        dilations: input positions from one tap to the next.
        pads: positions in front of each axis, then behind each axis.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.strides)

    @property
    def pads_begin(self) -> tuple[int, ...]:
        """Positions in front of each axis."""
        return self.pads[: self.rank]

    @property
    def pads_end(self) -> tuple[int, ...]:
        """Positions behind each axis. With ``ceil_mode`` the last window may end behind them."""
        return self.pads[self.rank :]

    @property
    def reach(self) -> tuple[int, ...]:
        """Input positions from the first to the last tap of a window."""
        return tuple((taps - 1) * step + 1 for taps, step in zip(self.kernel, self.dilations, strict=True))

    @property
    def tap_dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions (kd, kh, kw), (kh, kw) or (kw), by rank. A window is never cut."""
        names = TAP_NAMES[self.rank]
        return tuple(Dimension(name, extent, Iteration.WHOLE) for name, extent in zip(names, self.kernel, strict=True))

    @property
    def input_maps(self) -> tuple[AxisMap, ...]:
        """The maps of the input's spatial axes; taps in the padding lie outside [0, extent)."""
        names = zip(OUTPUT_NAMES[self.rank], TAP_NAMES[self.rank], strict=True)
        steps = zip(self.strides, self.dilations, self.pads_begin, strict=True)
        return tuple(
            AxisMap(((out, stride), (tap, dilation)), -pad, -pad)
            for (out, tap), (stride, dilation, pad) in zip(names, steps, strict=True)
        )

    def lifted(self, rank: int) -> Windows:
        """The same windows over ``rank`` axes; axes added in front have one tap, stride 1 and no pads."""
        more = rank - self.rank
        ones, zeros = (1,) * more, (0,) * more
        pads = (*zeros, *self.pads_begin, *zeros, *self.pads_end)
        return Windows(ones + self.kernel, ones + self.strides, ones + self.dilations, pads)

    def taps(self, x: Array, outputs: Extents, fill: float) -> Iterator[tuple[tuple[int, ...], Array]]:
        """For each tap, its index and the elements of x[N, C, s...] under the tap at all output positions.

        The elements are [N, C, *outputs]; padding has the value ``fill``.
        """
        spans = [
            (out - 1) * stride + reach for out, stride, reach in zip(outputs, self.strides, self.reach, strict=True)
        ]
        ends = [max(0, s - begin - e) for s, begin, e in zip(spans, self.pads_begin, x.shape[2:], strict=True)]
        padded = np.pad(x, [(0, 0), (0, 0), *zip(self.pads_begin, ends, strict=True)], constant_values=fill)
        for tap in product(*map(range, self.kernel)):
            starts = [index * dilation for index, dilation in zip(tap, self.dilations, strict=True)]
            cut = tuple(
                slice(start, start + (out - 1) * stride + 1, stride)
                for start, out, stride in zip(starts, outputs, self.strides, strict=True)
            )
            region = (slice(None), slice(None), *cut)
            yield tap, padded[region]

    def counts(self, extents: Extents, outputs: Extents, *, include_pads: bool) -> Array:
        """Number of taps inside the input (``include_pads``: or its pads) at each output position, int64[outputs]."""
        total = np.ones((1,) * self.rank, np.int64)
        for axis, out in enumerate(outputs):
            starts = np.arange(out) * self.strides[axis] - self.pads_begin[axis]
            positions = starts[:, None] + np.arange(self.kernel[axis]) * self.dilations[axis]
            lower = -self.pads_begin[axis] if include_pads else 0
            upper = extents[axis] + (self.pads_end[axis] if include_pads else 0)
            counted = ((positions >= lower) & (positions < upper)).sum(axis=1)
            total = total * counted.reshape([-1 if position == axis else 1 for position in range(self.rank)])
        return total


def output_dimensions(outputs: Extents) -> tuple[Dimension, ...]:
    """The dimensions (od, oh, ow), (oh, ow) or (ow), by the number of spatial axes."""
    names = OUTPUT_NAMES[len(outputs)]
    return tuple(Dimension(name, extent) for name, extent in zip(names, outputs, strict=True))


def spatial_extents(node: Node, graph: Graph) -> tuple[Extents, Extents]:
    """The spatial extents of the first input and of the first output of a node, both [N, C, s...].

    Raises:
        TilewrightError (not supported): the input has no spatial axes, or more than 3.
    """
    extents = graph.tensor(node.inputs[0]).shape[2:]
    if len(extents) not in OUTPUT_NAMES:
        raise refuse(node, "spatial-rank", f"has {len(extents)} spatial axes; 1 to 3 are supported")
    return extents, graph.tensor(node.outputs[0]).shape[2:]
