"""Pooling of 8-bit tensors (runtime/kernels/pool_integer.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node, Requantize, RoundAway, Tensor
from tilewright.kernels.c_structs import PREFIX, CStruct, CType, Int32, Int32x4
from tilewright.kernels.integer import EIGHT_BIT, steps_product, stored_range
from tilewright.kernels.kernel import (
    HEIGHT,
    Backward,
    CyclesOf,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
    raster_over,
)
from tilewright.kernels.liked_orders import POOLING_ORDER
from tilewright.kernels.requantization import fixed_point
from tilewright.kernels.scalar.geometry import (
    PlaneWindows,
    channels_lie_innermost,
    is_plane,
    plane_view,
    plane_windows,
    rows_backward,
)
from tilewright.kernels.scalar.whole_averages import Average, WholeAverage, whole_average
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.pooling import nest as nest_of
from tilewright.operators.spatial import Windows

SOURCES = ("pool_integer.c",)

SHORT_TAPS = 128
"""Taps of which sums fit 16 bits: an element is at most 255 from its zero point."""

HALF_TAPS = 257
"""Taps whose bytes, without a sign, a sum of 16 bits holds."""

_SIDES = (2, 3)
"""Rows and columns of the square windows of MaxPool that C reads without a loop over their taps."""


@dataclass(frozen=True, slots=True)
class MaxPoolInteger(CStruct):
    """Operands: x and y [n, c, h, w] of 8 bits."""

    windows: PlaneWindows
    is_unsigned: Annotated[Int32, "1: x and y are uint8"]
    largest: Annotated[
        str, CType("tilewright_largest_bytes *", is_pointer=True), "for channels that lie side by side; may be NULL"
    ]


@dataclass(frozen=True, slots=True)
class AveragePoolInteger(CStruct):
    """y = round half even of (sum << left) * multiplier / 2^(32 + shift) / taps, + zero point. Operands: x and y
    [n, c, h, w] of 8 bits. Partial results, where rows of the only window are cut: a sum for each channel, int16 of
    windows of at most TILEWRIGHT_POOL_SHORT_TAPS taps, else int32.
    """

    windows: PlaneWindows
    counted: Annotated[Int32x4, "taps count in rows [0] to [1] and columns [2] to [3], ends excluded"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    x_zero_point: Int32
    multiplier: Int32
    left: Int32
    shift: Int32
    zero_point: Int32
    minimum: Int32
    maximum: Int32
    whole: WholeAverage


@dataclass(frozen=True, slots=True)
class AveragePoolAway(CStruct):
    """y = sum of the taps in x / their number, rounded half away from zero. Operands: x and y [n, c, h, w] of
    8 bits. Partial results as those of average_pool_integer.
    """

    windows: PlaneWindows
    counted: Annotated[Int32x4, "taps count in rows [0] to [1] and columns [2] to [3], ends excluded"]
    is_unsigned: Annotated[Int32, "1: x is uint8"]
    minimum: Int32
    maximum: Int32


def max_pool(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for MaxPool of 8-bit tensors without an epilogue."""
    return max_pool_beside(node, graph, _MAX_BESIDE) or max_pool_by(node, graph, MAX, SOURCES)


def max_pool_beside(node: Node, graph: Graph, kernel: Kernel) -> tuple[KernelChoice, ...]:
    """MAX with the price of ``kernel`` for MaxPool of tensors whose channels lie side by side."""
    if not channels_lie_innermost(graph, node.inputs[0]):
        return ()
    found = max_pool_by(node, graph, kernel, (*SOURCES, "largest_bytes.c"))
    return tuple(replace(choice, attributes=_beside(choice.given(MaxPoolInteger))) for choice in found)


def max_pool_by(node: Node, graph: Graph, kernel: Kernel, sources: tuple[str, ...]) -> tuple[KernelChoice, ...]:
    """``kernel``, of ``sources``, for MaxPool of 8-bit tensors without an epilogue."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    windows = node.given(Windows)
    if x.dtype not in EIGHT_BIT or y.dtype is not x.dtype or node.epilogue is not None or not is_plane(windows):
        return ()
    attributes = MaxPoolInteger(plane_windows(windows), int(x.dtype is DType.UINT8), largest="NULL")
    return (replace(_choice(kernel, node, attributes, graph), sources=sources),)


def _beside(given: MaxPoolInteger) -> MaxPoolInteger:
    """With the C function that reads windows of this kind where channels lie side by side."""
    kind = "uint8" if given.is_unsigned else "int8"
    square = f"_{_side(given)}x{_side(given)}" if _side(given) else ""
    return replace(given, largest=f"{PREFIX}largest_{kind}{square}")


def _side(given: MaxPoolInteger) -> int:
    """Rows and columns of square windows without a loop over their taps in C; 0 for other windows."""
    return next((side for side in _SIDES if given.windows.kernel == (side, side)), 0)


def average_pool(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for AveragePool of 8-bit tensors with one multiplier for all channels, or of stored integers."""
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    epilogue = node.epilogue
    if isinstance(epilogue, RoundAway):
        return _away(node, graph, epilogue)
    if x.dtype not in EIGHT_BIT or y.dtype not in EIGHT_BIT or not isinstance(epilogue, Requantize):
        return ()
    windows = node.given(AveragePoolAttributes)
    taps = prod(windows.kernel)
    scaled = _scaled(epilogue.multiplier[0], 255 * taps)
    if len(set(epilogue.multiplier)) != 1 or scaled is None or not is_plane(windows):
        return ()
    rounded = Average(taps, *scaled, epilogue.zero_point, (epilogue.minimum, epilogue.maximum))
    least, most = (taps * (bound - windows.x_zero_point) for bound in stored_range(x.dtype))
    attributes = AveragePoolInteger(
        plane_windows(windows),
        counted=_counted(windows, x),
        is_unsigned=int(x.dtype is DType.UINT8),
        x_zero_point=windows.x_zero_point,
        multiplier=scaled[0],
        left=scaled[1],
        shift=scaled[2],
        zero_point=epilogue.zero_point,
        minimum=epilogue.minimum,
        maximum=epilogue.maximum,
        whole=whole_average(rounded, least, most),
    )
    kernel = _AVERAGE_WORDS if _are_words(graph, node) else AVERAGE
    return (_in_parts(_choice(kernel, node, attributes, graph)),)


def _away(node: Node, graph: Graph, epilogue: RoundAway) -> tuple[KernelChoice, ...]:
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    windows = node.given(AveragePoolAttributes)
    stored = windows.x_zero_point == 0 and not windows.count_include_pad
    if x.dtype not in EIGHT_BIT or y.dtype is not x.dtype or not is_plane(windows) or not stored:
        return ()
    unsigned = int(x.dtype is DType.UINT8)
    attributes = AveragePoolAway(
        plane_windows(windows), _counted(windows, x), unsigned, epilogue.minimum, epilogue.maximum
    )
    kernel = _AWAY_WORDS if _are_words(graph, node) else _AWAY
    return (_in_parts(_choice(kernel, node, attributes, graph)),)


def _are_words(graph: Graph, node: Node) -> bool:
    """Whether C adds up four channels of an average at a time: words, whose sums fit 16 bits."""
    taps = prod(node.given(AveragePoolAttributes).kernel)
    channels = graph.tensor(node.inputs[0]).shape[1]
    return channels_lie_innermost(graph, node.inputs[0]) and channels % 4 == 0 and taps <= HALF_TAPS


def _scaled(multiplier: float, largest: int) -> tuple[int, int, int] | None:
    """(m, left, right) with multiplier = m * 2^left / 2^(32 + right); None if C's 32 bits do not suffice."""
    pair = fixed_point(multiplier)
    if pair is None:
        return None
    left = max(0, 33 - pair[1])
    right = pair[1] + left - 32
    return (pair[0], left, right) if right <= 30 and largest << left < 1 << 31 else None


def _choice(kernel: Kernel, node: Node, attributes: CStruct, graph: Graph) -> KernelChoice:
    nest = nest_of(node, graph)
    view = plane_view(len(nest.writes[0]))
    return KernelChoice(
        kernel=kernel,
        sources=SOURCES,
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], view),),
        writes=(TensorOperand(node.outputs[0], nest.writes[0], view),),
        attributes=attributes,
    )


def _in_parts(choice: KernelChoice) -> KernelChoice:
    """The choice, which sums up some rows of a window at a time if there is one window for each channel."""
    extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
    if "kh" not in extents or (extents["oh"], extents["ow"]) != (1, 1):
        return choice

    given = choice.attributes
    assert isinstance(given, AveragePoolInteger | AveragePoolAway)
    sum_bytes = 2 if prod(given.windows.kernel) <= SHORT_TAPS else 4

    def partial_bytes(steps: TileSteps) -> int:
        return sum_bytes * steps_product(choice.nest, steps, "n", "c")

    return replace(choice, partial_bytes=partial_bytes, uncut=frozenset({"kw"}))


def _counted(given: AveragePoolAttributes, x: Tensor) -> tuple[int, ...]:
    """Begin and end (half-open) of the rows, then of the columns, whose taps count as elements of a window."""
    bounds: tuple[int, ...] = () if given.rank == 2 else (0, 1)
    for extent, before, after in zip(x.shape[2:], given.pads_begin, given.pads_end, strict=True):
        bounds += (-before, extent + after) if given.count_include_pad else (0, extent)
    return bounds


def pooling_cycles(per_tap: float, finish: float, of_pixel: float = 120.0) -> CyclesOf:
    """Instructions of a call on a tile; ``finish`` those for an element beside its taps."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        pixels = steps_product(choice.nest, steps, "n", "oh", "ow")
        element = window_cycles(choice, steps, finish, 14.0, per_tap)
        return 100.0 + pixels * (of_pixel + steps_product(choice.nest, steps, "c") * element)

    return cycles


def window_cycles(choice: KernelChoice, steps: TileSteps, finish: float, per_row: float, per_tap: float) -> float:
    """Instructions for the rows and taps of a window, and ``finish`` beside them."""
    given = choice.attributes
    assert isinstance(given, MaxPoolInteger | AveragePoolInteger | AveragePoolAway)
    return finish + steps_product(choice.nest, steps, "kh") * (per_row + per_tap * given.windows.kernel[1])


def _words_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call of an average on a tile, four channels at a time."""
    given = choice.attributes
    has_product = not isinstance(given, AveragePoolInteger) or given.whole.whole_shift != 0
    four = window_cycles(choice, steps, 178.0 if has_product else 420.0, 13.0, 9.5)
    fours = -(-steps_product(choice.nest, steps, "c") // 4)
    return 100.0 + steps_product(choice.nest, steps, "n", "oh", "ow") * (295.0 + fours * four)


@dataclass(frozen=True, slots=True)
class BesidePrice:
    """Instructions of a MaxPool whose channels lie side by side.

    Attributes:
        pixel: of a pixel, beside its channels.
        square: of four channels of a window of 2x2 or 3x3, beside its taps, and of each tap.
        window: of four channels of another window, beside its rows; of each row beside its taps; and of each tap.
    """

    pixel: float
    square: tuple[float, float]
    window: tuple[float, float, float]

    def kernel(self) -> Kernel:
        """MAX at this price."""
        return replace(MAX, cycles=self._cycles)

    def _cycles(self, choice: KernelChoice, steps: TileSteps) -> float:
        fours, single = divmod(steps_product(choice.nest, steps, "c"), 4)
        side = _side(choice.given(MaxPoolInteger))
        square = self.square[0] + self.square[1] * side * side
        four = square if side else window_cycles(choice, steps, *self.window)
        one = window_cycles(choice, steps, 44.0, 14.0, 6.0)
        pixels = steps_product(choice.nest, steps, "n", "oh", "ow")
        return 100.0 + pixels * (self.pixel + fours * four + single * one)


def _backward(choice: KernelChoice, inputs: int) -> CStruct:
    given = choice.attributes
    assert isinstance(given, MaxPoolInteger | AveragePoolInteger)
    windows = rows_backward(given.windows, choice.nest.dimension("oh").extent, inputs, symmetric=True)
    if isinstance(given, MaxPoolInteger):
        return replace(given, windows=windows)
    top, bottom, *columns = given.counted
    return replace(given, windows=windows, counted=(inputs - bottom, inputs - top, *columns))


_RINGS = frozenset({HEIGHT})
_STORES = raster_over("n", "oh", "ow", rereads=True)
_BACKWARD = Backward("oh", _backward)
MAX = Kernel(
    "tilewright_max_pool_integer",
    MaxPoolInteger,
    pooling_cycles(6.0, 40.0),
    _STORES,
    _RINGS,
    backward=_BACKWARD,
    likes=POOLING_ORDER,
)
_MAX_BESIDE = BesidePrice(108.0, (4.0, 9.95), (20.0, 11.1, 10.6)).kernel()
AVERAGE = Kernel(
    "tilewright_average_pool_integer",
    AveragePoolInteger,
    pooling_cycles(4.5, 85.0, 295.0),
    _STORES,
    _RINGS,
    backward=_BACKWARD,
    likes=POOLING_ORDER,
)
_AVERAGE_WORDS = replace(AVERAGE, cycles=_words_cycles)
_AWAY = Kernel(
    "tilewright_average_pool_away",
    AveragePoolAway,
    pooling_cycles(4.5, 85.0, 295.0),
    ring_axes=_RINGS,
    likes=POOLING_ORDER,
)
_AWAY_WORDS = replace(_AWAY, cycles=_words_cycles)

DECLARATION = Declaration(
    operators={"MaxPool": max_pool, "AveragePool": average_pool},
    kernels=(MAX, _MAX_BESIDE, AVERAGE, _AVERAGE_WORDS, _AWAY, _AWAY_WORDS),
    pointed={
        "tilewright_largest_bytes": tuple(
            f"largest_{kind}{square}" for kind in ("int8", "uint8") for square in ("", "_2x2", "_3x3")
        )
    },
    numbers={"POOL_SHORT_TAPS": SHORT_TAPS, "POOL_HALF_TAPS": HALF_TAPS},
    # Smaller glue around loops that run as fast; with -Os the loops take a third more instructions.
    gcc_options={"pool_integer.c": ("-fno-inline-small-functions", "-fno-ivopts")},
)
