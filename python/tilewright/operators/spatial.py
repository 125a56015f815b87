"""What convolution and pooling share: windows over one to three spatial axes.

Output position o and tap k read input position o * stride + k * dilation - pad_begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from tilewright.graph import Array, Graph, Node
from tilewright.operators.nest import AxisMap, Dimension, Iteration
from tilewright.operators.operator import refuse

OUTPUT_NAMES = {1: ("ow",), 2: ("oh", "ow"), 3: ("od", "oh", "ow")}
TAP_NAMES = {1: ("kw",), 2: ("kh", "kw"), 3: ("kd", "kh", "kw")}


@dataclass(frozen=True, slots=True)
class Windows:
    """Geometry of the spatial axes, one entry for each."""

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    outputs: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]

    @property
    def output_dimensions(self) -> tuple[Dimension, ...]:
        """od, oh and ow, as many as there are."""
        names = OUTPUT_NAMES[len(self.outputs)]
        return tuple(Dimension(name, extent) for name, extent in zip(names, self.outputs, strict=True))

    @property
    def tap_dimensions(self) -> tuple[Dimension, ...]:
        """kd, kh and kw, as many as there are. A window is never cut."""
        names = TAP_NAMES[len(self.kernel)]
        return tuple(Dimension(name, extent, Iteration.WHOLE) for name, extent in zip(names, self.kernel, strict=True))

    @property
    def input_maps(self) -> tuple[AxisMap, ...]:
        """The input's spatial axes; taps in the padding lie outside [0, extent)."""
        return tuple(
            AxisMap(((out.name, stride), (tap.name, dilation)), -pad, -pad)
            for out, tap, stride, dilation, pad in zip(
                self.output_dimensions, self.tap_dimensions, self.strides, self.dilations, self.pads_begin, strict=True
            )
        )

    def taps(self, x: Array, fill: float) -> Iterator[tuple[tuple[int, ...], Array]]:
        """For each tap, its index and the view of x[N, C, s...] that it meets at every output position.

        ``fill`` stands in the padding.
        """
        reaches = [
            (out - 1) * stride + (taps - 1) * dilation + 1
            for out, stride, taps, dilation in zip(self.outputs, self.strides, self.kernel, self.dilations, strict=True)
        ]
        ends = [max(0, r - begin - e) for r, begin, e in zip(reaches, self.pads_begin, self.extents, strict=True)]
        padded = np.pad(x, [(0, 0), (0, 0), *zip(self.pads_begin, ends, strict=True)], constant_values=fill)
        for tap in product(*map(range, self.kernel)):
            starts = [index * dilation for index, dilation in zip(tap, self.dilations, strict=True)]
            cut = tuple(
                slice(start, start + (out - 1) * stride + 1, stride)
                for start, out, stride in zip(starts, self.outputs, self.strides, strict=True)
            )
            region = (slice(None), slice(None), *cut)
            yield tap, padded[region]

    def counts(self, include_pads: bool) -> Array:
        """Taps that count at each output position, int64[outputs]: those in the input, or in it and its pads."""
        total = np.ones((1,) * len(self.outputs), np.int64)
        for axis, out in enumerate(self.outputs):
            starts = np.arange(out) * self.strides[axis] - self.pads_begin[axis]
            positions = starts[:, None] + np.arange(self.kernel[axis]) * self.dilations[axis]
            lower = -self.pads_begin[axis] if include_pads else 0
            upper = self.extents[axis] + (self.pads_end[axis] if include_pads else 0)
            counted = ((positions >= lower) & (positions < upper)).sum(axis=1)
            total = total * counted.reshape([-1 if position == axis else 1 for position in range(len(self.outputs))])
        return total


def windows_of(node: Node, graph: Graph, kernel: tuple[int, ...]) -> Windows:
    """The geometry of a node whose first input and first output are [N, C, s...].

    Raises:
        TilewrightError (not supported): not 1 or 2 spatial axes.
    """
    extents = graph.tensor(node.inputs[0]).shape[2:]
    rank = len(extents)
    if rank not in OUTPUT_NAMES:
        raise refuse(node, "spatial-rank", f"has {rank} spatial axes; 1 to 3 are supported")
    pads = tuple(node.attributes["pads"])
    return Windows(
        extents,
        kernel,
        graph.tensor(node.outputs[0]).shape[2:],
        tuple(node.attributes["strides"]),
        tuple(node.attributes["dilations"]),
        pads[:rank],
        pads[rank:],
    )
