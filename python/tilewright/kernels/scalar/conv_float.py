"""Float32 convolution: blocks of four output positions by four channels; depthwise in depthwise_float.py.

Before:  w[M, C/group, kh, kw], b[M]
After:   packed[group, M/group/4, kh*kw, C/group, 4] and biases[group, M/group/4, 4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Clamp, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import (
    ClampF32,
    all_float,
    clamp_attributes,
    clamp_of,
    points,
    step_of,
)
from tilewright.kernels.kernel import (
    HEIGHT,
    WIDTH,
    Backward,
    ConstantOperand,
    Declaration,
    Kernel,
    KernelChoice,
    Packing,
    TensorOperand,
    TileSteps,
    raster_over,
)
from tilewright.kernels.liked_orders import CONVOLUTION_ORDER
from tilewright.kernels.scalar.depthwise_float import depthwise
from tilewright.kernels.scalar.float_blocks import BLOCK, block_count, packed_bias, packed_weights
from tilewright.kernels.scalar.float_prices import (
    CONVOLUTION_CALL_CYCLES,
    GATHER_CYCLES,
    GATHER_POSITION_CYCLES,
    GATHER_RUN_CYCLES,
    GATHERED,
    IN_PLACE,
    IN_PLACE_CALL_CYCLES,
    IN_ROWS,
    RING_RUN_CYCLES,
    Call,
)
from tilewright.kernels.scalar.geometry import (
    PlaneWindows,
    channels_lie_innermost,
    plane_view,
    plane_windows,
    rows_backward,
)
from tilewright.kernels.work_parts import WorkParts
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.conv import nest as nest_of
from tilewright.operators.nest import AxisMap, Iteration, Nest, along, blocks, whole
from tilewright.plan import Stores

LANES = 4
"""Output positions that are computed together."""

RUN_BYTES = 20
"""Bytes of struct tilewright_float_run."""


@dataclass(frozen=True, slots=True)
class ConvF32(CStruct):
    """Operands: x [n, c, h, w]; weights [group][block][kh * kw][c][4]; bias [group][block][4]; y [n, c, h, w];
    scratch of 4 bytes for each tap and lane where taps are gathered; where rows of the kernel are read in place, of 20
    bytes for each of its taps and 4 for each input channel. A block is four output channels. Some taps at a time have
    an operand behind the bias: for rows and columns of the kernel the first (bits 0 to 15) and the number.
    """

    windows: PlaneWindows
    group_inputs: Annotated[Int32, "channels of x in one group"]
    group_outputs: Annotated[Int32, "channels of y in one group"]
    gather: Annotated[
        Int32,
        "output positions gathered side by side, 4 or 1; 0: taps are read in place, of which those "
        "of a 1x1 kernel without padding need no scratch",
    ]
    clamp: ClampF32


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for Conv with constant float32 weights and bias over one or two spatial axes."""
    clamp = clamp_of(node)
    if clamp is None or not all_float(graph, (*node.inputs, *node.outputs)):
        return ()
    constants = [graph.tensor(name).data for name in node.inputs[1:] if name]
    if any(data is None for data in constants):
        return ()
    weights = np.asarray(constants[0])
    bias = np.asarray(constants[1]) if len(constants) > 1 else np.zeros(weights.shape[0], np.float32)
    if weights.ndim not in (3, 4):
        return ()
    nest = nest_of(node, graph)
    groups = node.given(ConvAttributes).group
    if groups > 1 and weights.shape[:2] == (groups, 1):
        return (depthwise(node, nest, clamp, weights, bias),)
    if not _gathers(node, weights):
        # A 1x1 kernel's sum is over channels alone, so calls for parts of it add in the same order.
        return (_convolution(node, nest, clamp, weights, bias, LANES, parts=groups == 1),)
    reads_rows = channels_lie_innermost(graph, node.inputs[0])
    gathering = _convolution(node, nest, clamp, weights, bias, LANES)
    if reads_rows:
        whole_sums = [_by_rows(gathering), gathering]
    else:
        kernel = _CONV_OF_PLANES if weights.shape[1] > 1 and weights.shape[-1] > 1 else _CONV
        one_by_one = _convolution(node, nest, clamp, weights, bias, 1)
        whole_sums = [replace(choice, kernel=kernel) for choice in (gathering, one_by_one)]
    if groups > 1:
        return tuple(whole_sums)
    parts = _convolution(node, nest, clamp, weights, bias, LANES, parts=True)
    parts = _by_rows(parts) if reads_rows else parts
    return (*whole_sums, parts, _tap_by_tap(_convolution(node, nest, clamp, weights, bias, 1, parts=True)))


def _by_rows(gathering: KernelChoice) -> KernelChoice:
    """The kernel that reads rows of taps where they lie, in the order in which the one that gathers them adds them."""
    attributes = replace(gathering.given(ConvF32), gather=0)
    return replace(gathering, kernel=_CONV_ROWS, sources=("conv_rows_f32.c",), attributes=attributes)


def _tap_by_tap(parts: KernelChoice) -> KernelChoice:
    """The kernel that has some taps, or some channels of one tap, at a time, in the order in which all are added."""
    order = ("kh", "kw", "ic")
    nest = parts.nest.with_iteration(order, Iteration.SEQUENTIAL)
    summed = [dimension for name in order for dimension in nest.dimensions if dimension.name == name]
    others = [dimension for dimension in nest.dimensions if dimension.name not in order]
    x, weights, bias = parts.reads
    assert isinstance(weights, ConstantOperand)
    rows, columns = parts.given(ConvF32).windows.kernel
    down = (("kh", columns),) if "kh" in {dimension.name for dimension in summed} else ()
    window = AxisMap((*down, ("kw", 1)))
    group, block, _, *inner = weights.axes
    taps = ConstantOperand("taps", _taps(rows, columns), (along("kh") if down else whole(1), along("kw"), whole(2)))
    return replace(
        parts,
        kernel=_CONV_TAPS,
        nest=replace(nest, dimensions=(*others, *summed)),
        reads=(x, replace(weights, axes=(group, block, window, *inner)), bias, taps),
        uncut=frozenset(),
        called=parts.name,
    )


def _taps(rows: int, columns: int) -> Packing:
    """uint32 [rows, columns, 2]: of the tile with each tap, the first row and column and how many there are."""

    def pack(steps: TileSteps) -> Array:
        packed = np.zeros((rows, columns, 2), np.uint32)
        for axis, (name, extent) in enumerate((("kh", rows), ("kw", columns))):
            step = steps.get(name, extent)
            first = np.arange(extent) // step * step
            shape = (extent, 1) if axis == 0 else (1, extent)
            packed[:, :, axis] = (first | np.minimum(step, extent - first) << 16).reshape(shape)
        return packed

    return Packing((rows, columns, 2), np.dtype(np.uint32), pack, by_tile=True)


def _convolution(
    node: Node, nest: Nest, clamp: Clamp, weights: Array, bias: Array, lanes: int, *, parts: bool = False
) -> KernelChoice:
    """The kernel for ``lanes`` output positions at a time.

    With one lane the kernel needs a quarter of the scratch and is slower; sums are the same bit for bit.
    With ``parts``, tiles may have some of the input channels, which adds the taps of a window in another order.
    """
    windows, view = node.given(ConvAttributes), plane_view(weights.ndim)
    groups = windows.group
    window = int(np.prod(weights.shape[2:]))
    rows = np.moveaxis(weights, 1, -1).reshape(groups, -1, window, weights.shape[1])
    gather = _gathers(node, weights)

    def partial_bytes(steps: TileSteps) -> int:
        outputs = block_count(nest, steps, "oc") * BLOCK
        return 4 * points(nest, steps, ("n", "oh", "ow")) * outputs

    attributes = ConvF32(
        plane_windows(windows),
        group_inputs=int(weights.shape[1]),
        group_outputs=int(weights.shape[0]) // groups,
        gather=lanes if gather else 0,
        clamp=clamp_attributes(clamp),
    )
    block = (along("group") if groups > 1 else whole(1), blocks("oc", BLOCK))
    return KernelChoice(
        kernel=_CONV,
        sources=("conv_f32.c",),
        nest=nest,
        reads=(
            TensorOperand(node.inputs[0], nest.reads[0], view),
            ConstantOperand("weights", packed_weights(rows), (*block, whole(window), along("ic"), whole(BLOCK))),
            ConstantOperand("bias", packed_bias(bias, groups), (*block, whole(BLOCK))),
        ),
        writes=(TensorOperand(node.outputs[0], nest.writes[0], view),),
        attributes=attributes,
        partial_bytes=partial_bytes if parts else None,
        multiples={"oc": BLOCK, "ic": BLOCK},
        uncut=frozenset({"kh", "kw", *(() if parts else ("ic",))}),
    )


def _gathers(node: Node, weights: Array) -> bool:
    """Whether taps are gathered into scratch; a 1x1 kernel without padding reads them in place."""
    return any(extent != 1 for extent in weights.shape[2:]) or any(node.given(ConvAttributes).pads)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Where taps are gathered, those of a kernel row lie at one distance."""
    if not choice.given(ConvF32).gather:
        return IN_PLACE_CALL_CYCLES + IN_PLACE.cycles(_call(choice, steps))
    return _gathering_cycles(choice, steps, ("kh",))


def _planes_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Each channel of x lies in a plane of its own, so that the channels of each tap are gathered by themselves."""
    return _gathering_cycles(choice, steps, ("kh", "kw"))


def _gathering_cycles(choice: KernelChoice, steps: TileSteps, runs: Sequence[str]) -> float:
    """Each point of the dimensions ``runs`` is a run of taps that is gathered."""
    nest, positions = choice.nest, ("n", "group", "oh", "ow")
    gathered = points(nest, steps, positions) * GATHER_POSITION_CYCLES
    gathered += points(nest, steps, (*positions, *runs)) * GATHER_RUN_CYCLES
    gathered += points(nest, steps, (*positions, "kh", "kw", "ic")) * GATHER_CYCLES
    return CONVOLUTION_CALL_CYCLES + gathered + GATHERED.cycles(_call(choice, steps))


def _parts(choice: KernelChoice, steps: TileSteps, ring: int | None) -> WorkParts:
    if not choice.given(ConvF32).gather:
        return IN_PLACE.parts(_call(choice, steps))
    runs = points(choice.nest, steps, ("n", "group", "oh", "ow", "kh")) if ring == WIDTH else 0
    return GATHERED.parts(_call(choice, steps), runs * RING_RUN_CYCLES)


def _rows_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Lists of runs are made for each block of positions, and read for each block of channels."""
    return CONVOLUTION_CALL_CYCLES + IN_ROWS.cycles(_rows_call(choice, steps))


def _rows_parts(choice: KernelChoice, steps: TileSteps, ring: int | None) -> WorkParts:
    """In a ring of columns each tap is a run."""
    call = _rows_call(choice, steps)
    if ring != WIDTH:
        return IN_ROWS.parts(call)
    tap_by_tap = replace(call, runs=prod(choice.given(ConvF32).windows.kernel))
    return IN_ROWS.parts(tap_by_tap, ring=IN_ROWS.cycles(tap_by_tap) - IN_ROWS.cycles(call))


def _rows_call(choice: KernelChoice, steps: TileSteps) -> Call:
    return replace(_call(choice, steps), runs=_runs(choice.given(ConvF32).windows, choice.nest))


def _call(choice: KernelChoice, steps: TileSteps) -> Call:
    """Of each plane four positions are computed together, and the remaining ones one by one."""
    nest = choice.nest
    taps = prod(step_of(nest, steps, name) for name in ("kh", "kw", "ic"))
    positions, plane = points(nest, steps, ("n", "group", "oh", "ow")), points(nest, steps, ("oh", "ow"))
    outputs = block_count(nest, steps, "oc") * BLOCK
    lone = positions if choice.given(ConvF32).gather == 1 else plane % LANES * (positions // plane)
    return Call(positions - lone, lone, outputs, taps)


def _runs(windows: PlaneWindows, nest: Nest) -> float:
    """Runs of a window, on the average of a row: each tap is one where a lane of the block stands beside padding.

    Padding behind the last column is taken to be as wide as before the first; a block has both where it goes on in
    the next row.
    """
    rows, columns = windows.kernel
    extent = nest.dimension("ow").extent
    outside = 2 * -(-windows.pads[1] // windows.strides[1])
    beside = min(outside + LANES - 1, extent) if outside else 0
    return rows * (1 + (columns - 1) * beside / extent)


def _rows_scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """An entry for each tap of a window, and zeros for a pixel of padding."""
    return {"runs": RUN_BYTES * prod(choice.given(ConvF32).windows.kernel) + 4 * step_of(choice.nest, steps, "ic")}


def _scratch(choice: KernelChoice, steps: TileSteps) -> dict[str, int]:
    """A float for each tap of each output position that is gathered."""
    given = choice.given(ConvF32)
    taps = prod(step_of(choice.nest, steps, name) for name in ("kh", "kw", "ic"))
    return {"taps": 4 * given.gather * taps} if given.gather else {}


def _stores(choice: KernelChoice) -> Stores:
    """Taps are gathered for ``gather`` positions before these are stored, or read in place, for each four channels."""
    lanes = choice.given(ConvF32).gather
    return raster_over(*_WALK, block=lanes or LANES, restarts=_OUTER, rereads=not lanes)(choice)


def _backward(choice: KernelChoice, inputs: int) -> ConvF32 | None:
    given = choice.given(ConvF32)
    windows = rows_backward(given.windows, choice.nest.dimension("oh").extent, inputs)
    # Where taps are read in place, the kernel knows of no pads.
    return replace(given, windows=windows) if given.gather or windows.pads == (0, 0) else None


def _rows_backward(choice: KernelChoice, inputs: int) -> ConvF32:
    given = choice.given(ConvF32)
    return replace(given, windows=rows_backward(given.windows, choice.nest.dimension("oh").extent, inputs))


_RINGS = frozenset({HEIGHT, WIDTH})
_WALK, _OUTER = ("n", "group", "oh", "ow"), ("n", "group")
_CONV = Kernel(
    "tilewright_conv_f32",
    ConvF32,
    _cycles,
    _stores,
    _RINGS,
    backward=Backward("oh", _backward),
    likes=CONVOLUTION_ORDER,
    scratch=_scratch,
    parts=_parts,
)
_CONV_OF_PLANES = replace(_CONV, cycles=_planes_cycles)
_CONV_ROWS = Kernel(
    "tilewright_conv_rows_f32",
    ConvF32,
    _rows_cycles,
    raster_over(*_WALK, block=LANES, restarts=_OUTER, rereads=True),
    _RINGS,
    backward=Backward("oh", _rows_backward),
    likes=CONVOLUTION_ORDER,
    scratch=_rows_scratch,
    parts=_rows_parts,
)
_CONV_TAPS = Kernel(
    "tilewright_conv_f32_taps", ConvF32, _cycles, likes=CONVOLUTION_ORDER, scratch=_scratch, parts=_parts
)
DECLARATION = Declaration(
    operators={"Conv": choices},
    kernels=(_CONV, _CONV_ROWS, _CONV_TAPS),
    stack_bytes={"conv_f32": 640, "conv_f32_taps": 640, "conv_rows_f32": 704},
)
