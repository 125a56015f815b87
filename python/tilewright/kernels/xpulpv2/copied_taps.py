"""Cycles in which C copies taps for convolutions of family xpulpv2, from planes of x or from x.

All were fitted to single layers on pulp-open with eight cores: 1 to 12 channels, kernels of 2 to 9 rows and columns.
"""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.integer import BLOCK, steps_product, words
from tilewright.kernels.kernel import TileSteps
from tilewright.kernels.scalar.geometry import PlaneWindows
from tilewright.kernels.scalar.spatial_integer import padded_extents
from tilewright.kernels.xpulpv2.family import WORD
from tilewright.operators.nest import Nest

_ACROSS = (0.0, 0.75, 0.5, 0.75)
"""Groups of four pixels for each row of y that reach into the next row, by the columns of y modulo four."""

_CORES = 8
"""Cores among which rows were divided when cycles were measured."""

_PLANES_CYCLES, _PLANE_COPY_CYCLES = 3700.0, 430.0
"""Cycles of a call that copies x into planes, and each time that it copies taps from these, of some fours of pixels."""

_TAPS_CYCLES, _RUNS_CYCLES = 2900.0, 4300.0
"""Cycles of a call that copies taps from x beside the copies: tap by tap, and row by row of the kernel."""

_APART_CYCLES = 550.0
"""Cycles that four pixels take longer whose taps are copied pixel by pixel, since windows leave x or the row ends."""

_PLANE_ROW_CYCLES = (18.0, 28.0)
"""Cycles to copy a row of the kernel of one channel for four pixels, by assembler: one of one word, and of two."""


@dataclass(frozen=True, slots=True)
class CopiedTaps:
    """Copies of taps for groups of four pixels.

    Attributes:
        is_beside: channels of x lie side by side, so that taps are copied in words where there are whole ones.
        is_run: the taps of a row of the kernel lie side by side too, and are copied together.
    """

    windows: PlaneWindows
    nest: Nest
    is_beside: bool
    is_run: bool

    def from_planes(self, steps: TileSteps, most: int) -> float:
        """Cycles of a call to copy x into planes, and taps from there, for at most ``most`` fours of pixels at once."""
        rows, columns = padded_extents(self.nest, self.windows, steps)
        planes = steps_product(self.nest, steps, "n", "group", "ic") * rows * (25.0 + 1.1 * columns)
        return _PLANES_CYCLES + planes + _PLANE_COPY_CYCLES * self._times(steps, most)

    def _times(self, steps: TileSteps, most: int) -> float:
        """How often C copies taps from planes: fours of one row only, where a core has a part of each row.

        A part is known by its width: cores that share columns have less than a quarter of them. The last pixels of a
        row and the first ones of the next, which make a four, are copied alone.
        """
        rows, columns = steps_product(self.nest, steps, "oh"), steps_product(self.nest, steps, "ow")
        images = steps_product(self.nest, steps, "n", "group")
        if BLOCK * columns > self.nest.dimension("ow").extent:
            return images * -(-rows * columns // (BLOCK * most))
        return images * rows * (-(-(columns // BLOCK) // most) + _ACROSS[columns % BLOCK])

    def of_planes(self, inputs: int) -> float:
        """Cycles to copy the taps of four pixels from planes of ``inputs`` channels."""
        rows, columns = self.windows.kernel
        row_words = words(columns) // WORD
        row = _PLANE_ROW_CYCLES[row_words - 1] if row_words <= len(_PLANE_ROW_CYCLES) else 65.0 + 31.0 * row_words
        return 183.0 + rows * inputs * row

    def from_x(self, steps: TileSteps) -> float:
        """Cycles of a call to copy taps from x, beside what all groups of four pixels take alike."""
        if not self.is_run:
            return _TAPS_CYCLES
        inputs, images = steps_product(self.nest, steps, "ic"), steps_product(self.nest, steps, "n", "group")
        beyond = 8.0 * self._moves(inputs) * self._beside(steps) + 16.0 * self._above(steps)
        return _RUNS_CYCLES + images * (beyond + _APART_CYCLES * self._apart(steps))

    def of_x(self, inputs: int) -> float:
        """Cycles to copy the taps of four pixels from x: row by row of the kernel, or tap by tap."""
        rows, columns = self.windows.kernel
        if not self.is_run:
            return 940.0 + 90.0 * rows + rows * columns * (70.0 + 28.0 * self._moves(inputs))
        run = columns * inputs
        return 40.0 + rows * (200.0 + 8.7 * (run // WORD) + 35.0 * (run % WORD))

    def _outside(self, steps: TileSteps) -> int:
        """Windows of a row of y that reach beyond the left and right end of x, which is padded alike on both.

        A part of the columns has one of both ends: the core that has one is the slowest.
        """
        pad, stride = self.windows.pads[1], self.windows.strides[1]
        width = steps_product(self.nest, steps, "ow")
        ends = 2 if stride == 1 and width == self.nest.dimension("ow").extent else 1
        return min(ends * -(-pad // stride), width)

    def _apart(self, steps: TileSteps) -> float:
        """Groups of four pixels that are copied pixel by pixel."""
        rows, columns = steps_product(self.nest, steps, "oh"), steps_product(self.nest, steps, "ow")
        return min(rows * (min(self._outside(steps), 2) + _ACROSS[columns % BLOCK]), -(-rows * columns // BLOCK))

    def _beside(self, steps: TileSteps) -> int:
        """Taps of windows that reach beyond the left and right end of x."""
        rows, columns = self.windows.kernel
        return steps_product(self.nest, steps, "oh") * self._outside(steps) * rows * columns

    def _above(self, steps: TileSteps) -> float:
        """Taps of rows of the kernel above x: the core that has these is the slowest, but in the first tile only."""
        pad, stride = self.windows.pads[0], self.windows.strides[0]
        extent = steps_product(self.nest, steps, "oh")
        missing = sum(max(0, pad - row * stride) for row in range(min(extent, pad)))
        first = min(1.0, _CORES * extent / self.nest.dimension("oh").extent)
        return first * missing * steps_product(self.nest, steps, "ow") * self.windows.kernel[1]

    def _moves(self, inputs: int) -> int:
        """Loads and stores for a tap of a pixel: words, or bytes."""
        return inputs // WORD if self.is_beside and inputs % WORD == 0 else inputs
