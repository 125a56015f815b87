"""One layer while its C is written: the names, addresses and shapes of the operands of its steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage
from tilewright.codegen.expressions import (
    all_indices,
    axis_bounds,
    condition,
    index_lines,
    not_kept_lower,
    slot,
)
from tilewright.codegen.extents import constant_bounds, view_strides
from tilewright.codegen.function_text import FunctionText
from tilewright.codegen.handed_over import HandedOverCopy
from tilewright.codegen.layer_function import Surroundings
from tilewright.codegen.layer_parts import (
    attributes_constant,
    tile_function,
)
from tilewright.codegen.weights_file import Numbers, fixed_attributes, read_attributes
from tilewright.plan import (
    Buffer,
    BufferKind,
    CopyStart,
    Index,
    Kernel,
    Loop,
    Operand,
    Runs,
    Step,
    Wait,
)

MAXIMUM_RANK = 6
"""Axes of ``struct tilewright_shape``."""


@dataclass(slots=True)
class LayerParts:
    """Functions, constants and variables that a layer's steps use, collected while the steps are written.

    Attributes:
        tile_functions: C name to the function that sets a shape in each tile.
        home_strides: C name to strides in bytes of a home.
        tokens: C name of an array of tokens to its length.
        needless: tokens for which no step need wait.
    """

    tile_functions: dict[str, FunctionText] = field(default_factory=dict)
    home_strides: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    needless: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ModelScope:
    """The facts and constants that the layers of a model share.

    Attributes:
        storage: places and C names of buffers.
        around: facts in every layer's function.
        links: link to its number in C.
        hands_over: token to the copy that a layer hands over to the next layer.
        numbers: by kernel step those of its attributes that a file has; None where attributes are constants.
        shared_shapes: (stride, extent, origin, ring) to the C name of a constant shape; equal shapes are stored once.
    """

    storage: Storage
    around: Surroundings
    links: Mapping[str, int]
    hands_over: Mapping[str, HandedOverCopy]
    shared_shapes: dict[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, int]], str]
    numbers: Mapping[str, tuple[Numbers, ...]] | None = None

    def loaded_attributes(self, stem: str, kernel: Kernel) -> tuple[str, ...]:
        """Lines in a layer's function that read a kernel's attributes; none where these are constants."""
        if self.numbers is None:
            return ()
        return read_attributes(stem, kernel, self.numbers[kernel.name], self.storage.prefix)

    def shared_shape(
        self, stride: tuple[int, ...], extent: tuple[int, ...], origin: tuple[int, ...], ring: tuple[int, int]
    ) -> str:
        """C name of the static const shape with these numbers."""
        key = (stride, extent, origin, ring)
        return self.shared_shapes.setdefault(key, f"{self.storage.prefix}_shape_{len(self.shared_shapes)}")


@dataclass(frozen=True, slots=True)
class LayerScope:
    """One layer; with ``loop`` None, the steps of the layer outside its loop."""

    model: ModelScope
    stem: str
    kernels: tuple[Kernel, ...]
    loop: Loop | None
    body: tuple[Step, ...]
    parts: LayerParts

    def tag(self, kernel: Kernel) -> str:
        """The end of the names of a kernel's variables: _<number>, or empty if the layer has one kernel step."""
        return f"_{self.kernels.index(kernel)}" if len(self.kernels) > 1 else ""

    def attributes(self) -> Iterator[str]:
        """Lines that define the constant attributes of the layer's kernels."""
        for kernel in self.kernels:
            stem = f"{self.stem}{self.tag(kernel)}"
            constant = attributes_constant if self.model.numbers is None else fixed_attributes
            yield from constant(stem, kernel)

    def guard(self, runs: Runs) -> str:
        """C condition of the iterations at which a step runs; empty if the step runs at all iterations."""
        return condition(runs, self.loop.iterations) if self.loop is not None else ""

    def indices(self) -> dict[str, Index]:
        """Indices of the loop by name, coarse ones included."""
        return all_indices(self.loop) if self.loop is not None else {}

    def is_packed(self, operand: Operand) -> bool:
        """Whether the kernel gets the operand's first byte without a shape: a packed constant or a tile of one."""
        buffer = self.buffer(operand)
        if buffer.tensor is not None:
            return False
        cut_at_home = buffer.kind is BufferKind.CONSTANT and any(axis.terms for axis in operand.rectangle)
        return not (cut_at_home and self.loop is not None)

    def start_of(self, wait: Wait) -> CopyStart | None:
        """The step of this layer that starts the copy; None if the previous layer started and handed over the copy."""
        found = (item for item in self.body if isinstance(item, CopyStart) and item.token == wait.token)
        return next(found, None)

    def hands_over(self) -> tuple[int, str] | None:
        """Link and C expression of the token of the copy that the layer hands over; None if it hands over none."""
        for step in self.body:
            if isinstance(step, CopyStart) and step.token in self.model.hands_over:
                left, buffer = self.model.hands_over[step.token], self.buffer(step.source)
                return self.model.links[step.link], f"{self.short(step.source)}_token[{left.number % buffer.copies}]"
        return None

    def buffer(self, operand: Operand) -> Buffer:
        """The buffer of which an operand is a rectangle."""
        return self.model.storage.buffers[operand.buffer]

    def short(self, operand: Operand) -> str:
        """A C name for an operand, unique in the layer: operand_<n>, or ..._staged for a tile of which it is a part."""
        for kernel in self.kernels:
            order = [item.buffer for item in (*kernel.reads, *kernel.writes)]
            if operand.buffer in order:
                return f"operand{self.tag(kernel)}_{order.index(operand.buffer)}"
        return f"{self.short(self._cut_from(operand))}_staged"

    def view(self, operand: Operand) -> tuple[int, ...]:
        """For each axis that the kernel sees the axis of the operand's buffer, -1 for an axis that the buffer lacks."""
        for kernel in self.kernels:
            for item, axes in zip((*kernel.reads, *kernel.writes), kernel.axes, strict=True):
                if item.buffer == operand.buffer:
                    return axes
        return self.view(self._cut_from(operand))

    def is_inward(self, step: CopyStart) -> bool:
        """Whether a copy goes towards the core: to a tile, unless the kernels' results come through its source."""
        if self.buffer(step.destination).kind is not BufferKind.TILE:
            return False
        return self.buffer(step.source).kind is not BufferKind.TILE or step.source.buffer not in self._leaving()

    def _leaving(self) -> frozenset[str]:
        """Buffers through which results leave the core."""
        found = {operand.buffer for kernel in self.kernels for operand in kernel.writes}
        reached = found
        while reached:
            copies = (item for item in self.body if isinstance(item, CopyStart) and item.source.buffer in reached)
            reached = {item.destination.buffer for item in copies} - found
            found = found | reached
        return frozenset(found)

    def _cut_from(self, operand: Operand) -> Operand:
        """The tile that is a part of the larger tile ``operand``, and lies nearer to the core."""
        copies = [item for item in self.body if isinstance(item, CopyStart)]
        inward = [item.destination for item in copies if item.source.buffer == operand.buffer and self.is_inward(item)]
        outward = [item.source for item in copies if item.destination.buffer == operand.buffer]
        return (*inward, *outward)[0]

    def under_way(self, start: CopyStart, buffer: Buffer) -> int:
        """Copies of a token that may be under way at once: one for each slot, or for each block ahead in a ring."""
        waits = [step for step in self.body if isinstance(step, Wait) and step.token == start.token]
        if buffer.ring_axis is None or not waits:
            return buffer.copies
        behind = max(wait.runs.first - wait.number * wait.runs.every for wait in waits) - start.runs.first
        return max(1, behind // start.runs.every + 1)

    def token(self, name: str, start: CopyStart, buffer: Buffer, runs: Runs, ahead: int = 0) -> str:
        """C expression of the token of the copy for a step's block, or for the block ``ahead`` blocks later."""
        count = self.under_way(start, buffer)
        if self.loop is None:
            return f"{name}[{ahead % count}]"
        return f"{name}[{slot(runs, 1, count, ahead) or 0}]"

    def address(self, operand: Operand, runs: Runs) -> str:
        """C expression of the first byte of an operand's buffer, or of its slot in a step's block."""
        buffer = self.buffer(operand)
        base = self.model.storage.address(buffer.name)
        has_slots = buffer.kind is BufferKind.TILE and self.loop is not None
        number = slot(runs, operand.period, buffer.copies) if has_slots else ""
        return f"{base} + ({number}) * {buffer.slot_bytes}" if number else base

    def tile_shape(
        self, operand: Operand, view: tuple[int, ...], short: str, runs: Runs, kept: str = ""
    ) -> tuple[str, str]:
        """C names of the function that sets the operand's shape in a tile, and of the constant shape that it changes.

        The function's name is empty if no tile changes the shape. With ``kept``, an index, the rectangle has on the
        ring's axis only the elements that the previous tile along that index does not have.
        """
        varies = any(axis.terms for axis in operand.rectangle)
        base = self._whole_shape(operand, view)
        if self.loop is None or not varies:
            return "", base
        name = f"{self.stem}_{short}"
        if name not in self.parts.tile_functions:
            indices = self.indices()
            used = {term for axis in operand.rectangle for term, _ in axis.terms}
            axes = []
            for position, axis in enumerate(view):
                if axis < 0 or not operand.rectangle[axis].terms:
                    continue
                bounds = axis_bounds(operand.rectangle[axis], indices)
                is_ring = kept and axis == self.buffer(operand).ring_axis
                lower = not_kept_lower(operand.rectangle[axis], kept, indices) if is_ring else bounds.lower
                axes.append((position, lower, bounds.upper))
            lines = tuple(index_lines(self.loop, runs, used))
            self.parts.tile_functions[name] = tile_function(name, lines, axes)
        return name, base

    def backward_shape(self, operand: Operand, view: tuple[int, ...], axes: Collection[int]) -> tuple[str, int]:
        """A shape of which ``axes`` of the buffer run backward: C name, and bytes from the first element to theirs."""
        buffer = self.buffer(operand)
        bounds = [constant_bounds(axis) for axis in operand.rectangle]
        ahead = sum((bounds[axis][1] - bounds[axis][0] - 1) * buffer.strides_bytes[axis] for axis in axes)
        return self._whole_shape(operand, view, axes), ahead

    def _whole_shape(self, operand: Operand, view: tuple[int, ...], backward: Collection[int] = ()) -> str:
        """C name of a constant shape: the operand's strides, bounds of axes that no index moves, others whole.

        Axes of the buffer that stand in ``backward`` have negative strides, and origins counted from their end.
        """
        assert len(view) <= MAXIMUM_RANK, f"{operand.buffer} has more than {MAXIMUM_RANK} axes"
        extent, origin = [], []
        for axis in view:
            lower, upper = constant_bounds(operand.rectangle[axis]) if axis >= 0 else (0, 1)
            extent.append(upper - lower)
            origin.append(operand.rectangle[axis].extent - upper if axis in backward else lower)
        buffer = self.buffer(operand)
        ring = (0, 0)
        if buffer.ring_axis is not None:
            ring = (view.index(buffer.ring_axis), buffer.shape[buffer.ring_axis])
        strides = view_strides(buffer, view, operand)
        strides = tuple(-step if axis in backward else step for axis, step in zip(view, strides, strict=True))
        return self.model.shared_shape(strides, tuple(extent), tuple(origin), ring)
