"""What output positions of float32 convolutions cost: blocks of four, single ones, and taps that are gathered."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.work_parts import WorkParts


@dataclass(frozen=True, slots=True)
class Call:
    """What one call computes: output positions by fours and one by one, channels and taps of each, runs of taps."""

    fours: int
    lone: int
    outputs: int
    taps: float
    runs: float = 0.0


@dataclass(frozen=True, slots=True)
class Position:
    """Instructions of a core with an FPU, which reads most taps by unrolled loops, for an output position.

    Attributes:
        position: of the position, besides its outputs.
        mac: of each product.
        output: of each output.
        run: of each run of taps that lie side by side.
        output_run: of each run for each output.
    """

    position: float
    mac: float
    output: float
    run: float = 0.0
    output_run: float = 0.0

    def cycles(self, call: Call) -> float:
        """Cycles of one position of the call."""
        return self.position + call.outputs * call.taps * self.mac + self.loops_cycles(call)

    def loops_cycles(self, call: Call) -> float:
        """What inner loops take beside products."""
        return call.runs * self.run + call.outputs * (self.output + call.runs * self.output_run)


@dataclass(frozen=True, slots=True)
class Positions:
    """A position of four that are computed together, and one by itself."""

    of_four: Position
    lone: Position

    def cycles(self, call: Call) -> float:
        """Cycles of all positions of the call."""
        return call.fours * self.of_four.cycles(call) + call.lone * self.lone.cycles(call)

    def parts(self, call: Call, ring: float = 0.0) -> WorkParts:
        """Parts of these cycles, and ``ring`` beside them."""
        loops = call.fours * self.of_four.loops_cycles(call)
        return WorkParts(lone=call.lone * self.lone.cycles(call), loops=loops, ring=ring)


CONVOLUTION_CALL_CYCLES, IN_PLACE_CALL_CYCLES = 700.0, 200.0
"""Of a call: of a convolution that gathers taps or lists runs of them, and of one that does neither."""
GATHER_CYCLES, GATHER_RUN_CYCLES, GATHER_POSITION_CYCLES = 2.7, 34.0, 218.0
"""Of taps that are gathered: of a tap, of a run of taps at one distance, and of an output position."""
RING_RUN_CYCLES = 50.0
"""More for a run in a ring of columns."""

GATHERED = Positions(Position(0.0, 1.55, 9.3), Position(0.0, 2.6, 29.2))
IN_ROWS = Positions(Position(58.4, 1.596, 15.2, 24.6, 0.48), Position(27.2, 2.61, 12.8, 31.1))
IN_PLACE = Positions(Position(80.0, 1.57, 11.4), Position(80.0, 3.1, 17.3))
TRANSPOSED = Positions(IN_ROWS.of_four, Position(430.0, 2.61, 12.8, 31.1))
"""Of transposed convolutions, which divide to find the taps that an output meets."""
