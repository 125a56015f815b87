"""Float32 pooling, largest and average; global pools are pools over the whole extent."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node, Tensor
from tilewright.kernels.c_structs import PREFIX, CStruct, Int32, Int32x2
from tilewright.kernels.float_common import CALL_CYCLES, ClampF32, all_float, clamp_attributes, clamp_of, points
from tilewright.kernels.kernel import (
    HEIGHT,
    WIDTH,
    CyclesOf,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
    raster_over,
    scratch_for_parts,
)
from tilewright.kernels.liked_orders import POOLING_ORDER
from tilewright.kernels.scalar.geometry import (
    PLANE,
    PlaneWindows,
    channels_lie_innermost,
    filled,
    is_plane,
    plane_view,
    plane_windows,
)
from tilewright.operators.nest import Iteration
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.pooling import nest as nest_of
from tilewright.operators.spatial import Windows

_TAP_CYCLES = 4.4
_OUTPUT_CYCLES = 40.0
_POSITION_CYCLES = 60.0
"""Cycles where channels lie apart, and of the last channels where their number is no multiple of four."""


@dataclass(frozen=True, slots=True)
class _FourBeside:
    """Cycles of an operator for channels that lie side by side, four at a time.

    ``position`` are cycles of each output position besides ``_POSITION_CYCLES``.
    """

    tap: float
    output: float
    position: float


_BESIDE = {"MaxPool": _FourBeside(5.3, 10.0, 75.0), "AveragePool": _FourBeside(2.95, 19.4, 20.0)}


@dataclass(frozen=True, slots=True)
class MaxPoolF32(CStruct):
    """Operands: x and y [n, c, h, w]."""

    windows: PlaneWindows
    clamp: ClampF32


@dataclass(frozen=True, slots=True)
class AveragePoolF32(CStruct):
    """Operands: x and y [n, c, h, w]."""

    windows: PlaneWindows
    include_pads: Annotated[Int32, "1: padding counts too, up to (and without) the input positions `limits`"]
    limits: Int32x2
    clamp: ClampF32


@dataclass(frozen=True, slots=True)
class AverageRowsF32(CStruct):
    """The mean of all rows and columns, a part at a time; `taps` is their number. Operands: x and y [n, c, h, w].
    Partial results: a float32 sum for each channel, so that sums have the order of average_pool_f32.
    """

    taps: Int32
    clamp: ClampF32


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for float32 MaxPool and AveragePool over one or two spatial axes."""
    clamp = clamp_of(node)
    if clamp is None or not all_float(graph, (*node.inputs, *node.outputs)):
        return ()
    nest = nest_of(node, graph)
    windows = node.given(Windows)
    if not is_plane(windows):
        return ()
    view = plane_view(windows.rank + 2)
    kernel = _KERNELS[node.operator, channels_lie_innermost(graph, node.inputs[0])]
    choice = KernelChoice(
        kernel=kernel,
        sources=_sources(kernel),
        nest=nest,
        reads=(TensorOperand(node.inputs[0], nest.reads[0], view),),
        writes=(TensorOperand(node.outputs[0], nest.writes[0], view),),
        attributes=_attributes(windows, graph.tensor(node.inputs[0]), clamp_attributes(clamp)),
        uncut=frozenset({"kh", "kw"}),
    )
    return choice, *_parts_of_mean(choice, windows, clamp_attributes(clamp))


def _sources(kernel: Kernel) -> tuple[str, ...]:
    return (f"{kernel.symbol.removeprefix(PREFIX)}.c",)


def _parts_of_mean(choice: KernelChoice, windows: Windows, clamp: ClampF32) -> tuple[KernelChoice, ...]:
    """The kernel that adds up parts of x, where one window without padding is all of it.

    In tiles, parts come in the order in which the whole is added, of one row or of whole rows; groups have some rows
    at a time.
    """
    extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
    is_mean = isinstance(windows, AveragePoolAttributes) and not any(windows.pads)
    if not is_mean or any(extents.get(name, 1) > 1 for name in ("oh", "ow")):
        return ()
    taps = choice.uncut

    def partial_bytes(steps: TileSteps) -> int:
        return 4 * points(choice.nest, steps, ("n", "c"))

    tiles = replace(
        choice,
        kernel=_ROWS,
        sources=_sources(_ROWS),
        nest=choice.nest.with_iteration(taps, Iteration.SEQUENTIAL),
        attributes=AverageRowsF32(prod(windows.kernel), clamp),
        uncut=frozenset(),
        partial_bytes=partial_bytes,
        called=choice.name,
    )
    rows = replace(tiles, nest=choice.nest, uncut=frozenset({"kw"}), in_groups=True, called="")
    return (tiles, rows) if "kh" in extents else (tiles,)


def _attributes(windows: Windows, x: Tensor, clamp: ClampF32) -> CStruct:
    plane = plane_windows(windows)
    if not isinstance(windows, AveragePoolAttributes):
        return MaxPoolF32(plane, clamp)
    limits = [extent + end for extent, end in zip(x.shape[2:], windows.pads_end, strict=True)]
    return AveragePoolF32(plane, int(windows.count_include_pad), filled(limits, PLANE, 1), clamp)


def _cycles(beside: _FourBeside | None) -> CyclesOf:
    """Cycles of a call; ``beside`` is None where channels lie apart."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        given = choice.attributes
        assert isinstance(given, MaxPoolF32 | AveragePoolF32)
        taps = prod(given.windows.kernel)
        channels = points(choice.nest, steps, ("c",))
        fours = 0 if beside is None else channels - channels % 4
        position = _POSITION_CYCLES + (channels - fours) * (taps * _TAP_CYCLES + _OUTPUT_CYCLES)
        if beside is not None and fours:
            position += beside.position + fours * (taps * beside.tap + beside.output)
        return CALL_CYCLES + points(choice.nest, steps, ("n", "oh", "ow")) * position

    return cycles


def _row_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    outputs = points(choice.nest, steps, ("n", "c"))
    return CALL_CYCLES + outputs * (points(choice.nest, steps, ("kh", "kw")) * _TAP_CYCLES + _OUTPUT_CYCLES)


_STORES = raster_over("n", "oh", "ow", rereads=True)
_KERNELS = {
    (operator, beside): Kernel(
        f"tilewright_{stem}",
        attributes,
        _cycles(_BESIDE[operator] if beside else None),
        _STORES,
        frozenset({HEIGHT, WIDTH}),
        likes=POOLING_ORDER,
    )
    for operator, stem, attributes in (
        ("MaxPool", "max_pool_f32", MaxPoolF32),
        ("AveragePool", "average_pool_f32", AveragePoolF32),
    )
    for beside in (False, True)
}
"""By operator, and by whether channels of x lie side by side."""

_ROWS = Kernel(
    "tilewright_average_rows_f32",
    AverageRowsF32,
    _row_cycles,
    ring_axes=frozenset({HEIGHT}),
    likes=POOLING_ORDER,
    scratch=scratch_for_parts,
)

DECLARATION = Declaration(operators=dict.fromkeys(_BESIDE, choices), kernels=(*_KERNELS.values(), _ROWS))
