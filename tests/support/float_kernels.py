"""Runs the C kernels of a KernelChoice on the host, tile by tile, under sanitizers.

Every tile of every operand gets a buffer of exactly its own size (or, ``in_place``, lies in the
whole tensor), filled with poison where the kernel has nothing to read. Where a reduction is cut,
partial results pass from call to call, and the output's tile stays as it is until the last.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from tilewright.graph import Array, Graph, packed_strides_bytes
from tilewright.kernels.kernel import DECLARATIONS as HEADER
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, TensorOperand, packed_array
from tilewright.kernels.registry import all_declarations
from tilewright.operators.nest import Iteration, axis_range, clipped

from support.objects import kept, sanitized

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtime"
DRIVER = ROOT / "tests" / "unit" / "kernels_float" / "driver.c"
MAX_RANK = 6
POISON = 0xA5
FIRST, LAST = 1, 2

WARNINGS = (
    "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wcast-qual"
    " -Wmissing-prototypes -Wstrict-prototypes -Werror -ffp-contract=off"
).split()
SANITIZERS = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all".split()

Box = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Ring:
    """The tile of operand number ``operand`` is a ring of ``rows`` rows along ``axis`` of the operand's view."""

    operand: int
    axis: int
    rows: int


@dataclass(frozen=True)
class Kernels:
    """The compiled driver and its symbols in order."""

    program: Path
    symbols: tuple[str, ...]

    def call(self, calls: Sequence[bytes]) -> bytes:
        """Run calls in one process; a finding of a sanitizer is an AssertionError."""
        data = b"".join(calls) + struct.pack("=i", -1)
        done = subprocess.run([self.program], input=data, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout


def build(folder: Path, sources: Sequence[str], flags: Sequence[str] = SANITIZERS) -> Kernels:
    """Compile kernel sources, the driver and a table of their symbols."""
    texts = "".join((RUNTIME / "kernels" / name).read_text(encoding="utf-8") for name in sources)
    structs = {
        kernel.symbol: kernel.attributes.struct()
        for family in all_declarations().values()
        for declared in family
        for kernel in declared.kernels
        if kernel.attributes is not None and f"void {kernel.symbol}(" in texts
    }
    symbols = list(structs)
    lines = [f'#include "{HEADER}"']
    lines.append(
        "static void run(int32_t symbol, const void *attributes, size_t bytes, const struct tilewright_view *v,"
        " uint32_t flags)"
    )
    lines += ["{", "switch (symbol) {"]
    for number, name in enumerate(symbols):
        lines.append(f"case {number}: if (bytes != sizeof(struct {structs[name]})) exit(5);")
        lines.append(f"{name}(attributes, v, flags); break;")
    lines += ["default: exit(6);", "}", "}"]
    (folder / "kernels_float_symbols.h").write_text("\n".join(lines) + "\n", encoding="utf-8")
    include = [f"-I{RUNTIME / 'include'}", f"-I{folder}"]
    kernels = [RUNTIME / "kernels" / name for name in sources]
    files = sanitized(kernels) if flags == SANITIZERS else kept(["cc", *WARNINGS, *flags, *include], kernels)
    program = folder / "driver"
    subprocess.run(["cc", *WARNINGS, *flags, *include, str(DRIVER), *files, "-lm", "-o", str(program)], check=True)
    return Kernels(program, tuple(symbols))


def run_choice(
    kernels: Kernels,
    choice: KernelChoice,
    graph: Graph,
    feeds: Mapping[str, Array],
    steps: Mapping[str, int] | None = None,
    *,
    in_place: bool = False,
    rings: Sequence[Ring] = (),
) -> dict[str, Array]:
    """The outputs, computed with tiles of ``steps`` (dimensions that are not named are whole)."""
    extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
    taken = {name: min((steps or {}).get(name, extent), extent) for name, extent in extents.items()}
    choice = choice.for_tiles(taken)
    operands = [*choice.reads, *choice.writes]
    arrays = [_content(item, graph, feeds) for item in operands]
    written = [np.zeros(array.shape, np.int32) for array in arrays]
    partial: dict[int, bytes] = {}
    for boxes, flags in _rounds(choice, extents, taken):
        calls, layouts = [], []
        for number, box in enumerate(boxes):
            extra = _extra(choice, taken, partial.get(number), flags)
            call, layout = _call(kernels, choice, graph, operands, arrays, box, extra, flags, in_place, rings)
            calls.append(call)
            layouts.append(layout)
        answer = memoryview(kernels.call(calls))
        position = 0
        for number, layout in enumerate(layouts):
            contents = []
            for tile in layout:
                contents.append(bytes(answer[position : position + tile.size_bytes]))
                position += tile.size_bytes
            _take(layout, contents, arrays, written, len(choice.reads), len(operands), flags)
            partial[number] = contents[-1]
    for number in range(len(choice.reads), len(operands)):
        assert (written[number] == 1).all(), "an output element was written by several tiles, or by none"
    return {item.tensor: arrays[len(choice.reads) + i] for i, item in enumerate(choice.writes)}


def _take(layout, contents, arrays, written, reads, operands, flags):  # type: ignore[no-untyped-def]
    """Take the outputs of one call; before the last part of a reduction the output's tiles must still be poison."""
    for number in range(reads, operands):
        tile, raw = layout[number], contents[number]
        tile.check_poison(raw)
        if not flags & LAST:
            assert set(raw) <= {POISON}, "the kernel stored results of a part"
            continue
        arrays[number][tile.where] = tile.extract(raw)
        written[number][tile.where] += 1


def _rounds(choice: KernelChoice, extents: Mapping[str, int], taken: Mapping[str, int]) -> list[tuple[list[Box], int]]:
    """The boxes of all tiles for each part of the reductions that are cut, with the part's flags."""
    cut = [
        dimension.name
        for dimension in choice.nest.dimensions
        if dimension.iteration is Iteration.REDUCTION and taken[dimension.name] < dimension.extent
    ]
    assert choice.partial_bytes is not None or not cut, "the reduction must stay whole"
    rounds: dict[tuple[tuple[int, int], ...], list[Box]] = {}
    for box in _boxes(extents, taken):
        rounds.setdefault(tuple(box[name] for name in cut), []).append(box)
    numbers = range(len(rounds))
    flags = [FIRST * (number == 0) | LAST * (number == numbers[-1]) for number in numbers]
    return list(zip(rounds.values(), flags, strict=True))


def _extra(choice: KernelChoice, taken: Mapping[str, int], partial: bytes | None, flags: int) -> list[bytes]:
    """Contents of the operands that follow the declared ones: scratch, then partial results."""
    extra = []
    if choice.scratch_bytes(taken):
        extra.append(bytes([POISON]) * choice.scratch_bytes(taken))
    if flags != FIRST | LAST and choice.partial_bytes is not None:
        fresh = partial is None or flags & FIRST
        extra.append(bytes([POISON]) * choice.partial_bytes(taken) if fresh else partial or b"")
    return extra


@dataclass(frozen=True)
class _Tile:
    """Where a tile's elements lie in its block of bytes."""

    size_bytes: int
    where: tuple[slice, ...]
    dtype: np.dtype
    index: Array
    """Byte offset of each element of the tile, in the tensor's logical shape."""

    def extract(self, raw: bytes) -> Array:
        spots = self.index[..., None] + np.arange(self.dtype.itemsize)
        return np.ascontiguousarray(np.frombuffer(raw, np.uint8)[spots]).view(self.dtype)[..., 0]

    def check_poison(self, raw: bytes) -> None:
        content = np.frombuffer(raw, np.uint8).copy()
        spots = self.index[..., None] + np.arange(self.dtype.itemsize)
        content[spots] = POISON
        assert (content == POISON).all(), "the kernel wrote outside its tile"


def _boxes(extents: Mapping[str, int], steps: Mapping[str, int]) -> list[Box]:
    spans = [
        [(low, min(low + steps[name], extent)) for low in range(0, extent, steps[name])]
        for name, extent in extents.items()
    ]
    return [dict(zip(extents, bounds, strict=True)) for bounds in product(*spans)]


def _content(item: TensorOperand | ConstantOperand, graph: Graph, feeds: Mapping[str, Array]) -> Array:
    if isinstance(item, ConstantOperand):
        return packed_array(item.data, {})
    tensor = graph.tensor(item.tensor)
    if tensor.data is not None:
        return np.asarray(tensor.data)
    if item.tensor in feeds:
        return feeds[item.tensor]
    return (
        np.full(tensor.elements * tensor.dtype.size_bytes, POISON, np.uint8)
        .view(tensor.dtype.numpy)
        .reshape(tensor.shape)
    )


def _call(kernels, choice, graph, operands, arrays, box, extra, flags, in_place, rings):  # type: ignore[no-untyped-def]
    attributes = b"".join(_packed(value) for _, value in choice.fields)
    parts = [struct.pack("=iii", kernels.symbols.index(choice.symbol), flags, len(attributes)), attributes]
    parts.append(struct.pack("=i", len(operands) + len(extra)))
    layout = []
    for number, (item, array) in enumerate(zip(operands, arrays, strict=True)):
        ring = next((ring for ring in rings if ring.operand == number), None)
        write = number >= len(choice.reads)
        tile, text = _operand(item, array, graph, box, in_place, ring, write)
        layout.append(tile)
        parts.append(text)
    for content in extra:
        parts.append(struct.pack("=iii20i", len(content), 0, 0, *(0,) * 20) + content)
        layout.append(_Tile(len(content), (), np.dtype(np.uint8), np.zeros(0, np.int64)))
    return b"".join(parts), layout


def _packed(value: object) -> bytes:
    if isinstance(value, tuple):
        return b"".join(_packed(item) for item in value)
    if isinstance(value, float):
        return struct.pack("=f", np.float32(value))
    assert isinstance(value, int)
    return struct.pack("=I", value & 0xFFFFFFFF)


def _operand(item, array, graph, box, in_place, ring, write):  # type: ignore[no-untyped-def]
    constant = isinstance(item, ConstantOperand)
    order = tuple(range(array.ndim)) if constant else graph.tensor(item.tensor).order
    bounds = [clipped(axis_range(axis, extent, {}), box) for axis, extent in zip(item.axes, array.shape, strict=True)]
    origin = [lower for lower, _ in bounds]
    extent = [upper - lower for lower, upper in bounds]
    stored = list(array.shape) if in_place and not constant else list(extent)
    ring_axis = item.view[ring.axis] if ring is not None else -1
    if ring is not None:
        assert ring.rows >= extent[ring_axis], "the ring is smaller than the tile"
        stored[ring_axis] = ring.rows
    strides = packed_strides_bytes(tuple(stored), order, array.itemsize)
    slots = [
        _slots(axis, lower, upper, in_place and not constant, ring if axis == ring_axis else None)
        for axis, (lower, upper) in enumerate(bounds)
    ]
    index = np.zeros(extent, np.int64)
    for axis, values in enumerate(slots):
        index = index + (values * strides[axis]).reshape([-1 if other == axis else 1 for other in range(array.ndim)])
    where = tuple(slice(lower, upper) for lower, upper in bounds)
    size = int(np.prod(stored)) * array.itemsize
    content = np.full(size, POISON, np.uint8)
    if not write and index.size:
        spots = index[..., None] + np.arange(array.itemsize)
        content[spots] = np.ascontiguousarray(array[where])[..., None].view(np.uint8)
    base = sum(int(values[0]) * strides[axis] for axis, values in enumerate(slots) if values.size and axis != ring_axis)
    tile = _Tile(size, where, array.dtype, index)
    shape = [0] * 20
    if not constant:
        whole = [extent_ == 1 and axis != ring_axis for axis, extent_ in enumerate(array.shape if in_place else extent)]
        for position, axis in enumerate(item.view):
            shape[position] = 0 if axis < 0 or whole[axis] else strides[axis]
            shape[6 + position] = 1 if axis < 0 else extent[axis]
            shape[12 + position] = 0 if axis < 0 else origin[axis]
        shape[18:20] = [ring.axis, ring.rows] if ring is not None else [0, 0]
    head = struct.pack("=iii20i", size, base, int(not constant), *shape)
    return tile, head + content.tobytes()


def _slots(axis: int, lower: int, upper: int, in_place: bool, ring: Ring | None) -> Array:
    values = np.arange(lower, upper)
    if ring is not None:
        return values % ring.rows
    return values if in_place else values - lower


def random_steps(choice: KernelChoice, generator: np.random.Generator) -> dict[str, int]:
    """Steps that operator and kernel allow, and with which tiles write exact parts."""
    steps = {}
    for dimension in choice.nest.dimensions:
        reduction = dimension.iteration is Iteration.REDUCTION and choice.partial_bytes is not None
        free = (dimension.iteration is Iteration.PARALLEL or reduction) and dimension.name not in choice.uncut
        step = int(generator.integers(1, dimension.extent + 1)) if free else dimension.extent
        multiple = choice.multiples.get(dimension.name, 1)
        steps[dimension.name] = min(-(-step // multiple) * multiple, dimension.extent)
    extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
    for item in choice.writes:
        for axis in item.axes:
            names = [name for name, _ in sorted(axis.terms, key=lambda term: abs(term[1]))]
            for inner, outer in pairwise(names):
                if steps[inner] < extents[inner]:
                    steps[outer] = 1
    return steps
