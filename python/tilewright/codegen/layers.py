"""Layers of the program as C functions: one loop over tiles, or straight-line code.

Before:  Loop(oh: 7 tiles) { CopyStart x one iteration ahead, Wait x, Kernel, CopyStart y, Wait y }
After:   for (int32_t t = -1; t < 9; ++t) { if (t + 1 < 7) { fetch } ... kernel ... store }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tilewright.base.c_names import c_identifier
from tilewright.codegen.blocks import block_text
from tilewright.codegen.buffers import Storage
from tilewright.codegen.calls import WHOLE, CallShape, KernelText, SplitText, ViewText
from tilewright.codegen.context import LayerText
from tilewright.codegen.expressions import (
    all_indices,
    axis_bounds,
    condition,
    fresh_lower,
    index_lines,
    slot,
    tile_number,
)
from tilewright.codegen.extents import constant_bounds, element_bytes, first_byte, view_strides
from tilewright.codegen.forks import copies_meanwhile, joined
from tilewright.codegen.functions import FunctionText
from tilewright.codegen.layer_comment import layer_comment
from tilewright.codegen.layer_function import LayerFunction, Surroundings
from tilewright.codegen.layer_parts import (
    attributes_constant,
    home_strides_constants,
    part_functions,
    tile_function,
)
from tilewright.codegen.left_copies import LeftCopy, steps_of
from tilewright.codegen.literals import members
from tilewright.codegen.splits import SharedOperand, split_text
from tilewright.codegen.stage_records import recorded
from tilewright.codegen.steps import BlockCopyText, RectangleCopyText, StepText, TileShape, WaitText
from tilewright.codegen.waits import needless_waits
from tilewright.plan import (
    Buffer,
    BufferKind,
    CopyStart,
    Index,
    Kernel,
    Layer,
    LayerFacts,
    Loop,
    Operand,
    Runs,
    Step,
    Wait,
)

MAXIMUM_RANK = 6
MOST_NAMED = 3
"""Stages whose operators are in the name of their layer's function."""


@dataclass(slots=True)
class _Parts:
    """What a layer needs beside its steps, collected while they are written."""

    tile_functions: dict[str, FunctionText] = field(default_factory=dict)
    home_strides: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    needless: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class LayerWriter:
    """Writes the layers of one plan; equal shapes are stored once for the whole model.

    ``left`` are the copies that a layer leaves to the next one, by token.
    """

    storage: Storage
    around: Surroundings
    links: Mapping[str, int]
    left: Mapping[str, LeftCopy]
    shared_shapes: dict[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, int]], str]

    def layer(self, number: int, layer: Layer, facts: Sequence[LayerFacts]) -> LayerText:
        """The C function of a layer whose first stage is stage ``number``; ``facts`` are those of its stages."""
        found = steps_of(layer)
        loop = found.loop
        kernels = tuple(step for step in found.body if isinstance(step, Kernel))
        operators = "_".join(c_identifier(stage.operator).lower() for stage in layer.stages[:MOST_NAMED])
        stem = f"{self.storage.prefix}_layer_{number:02d}_{operators}"
        scope = _Scope(self, stem, kernels, loop, found.all, _Parts())
        parts = scope.parts
        parts.needless.update(needless_waits((*found.early, *found.body), scope.indices()))
        ordered = [
            step
            for step in copies_meanwhile(found.body)
            if not isinstance(step, Wait) or step.token not in parts.needless
        ]
        early, taken_over, steps = (tuple(map(scope.step, part)) for part in (found.early, found.taken_over, ordered))
        if self.around.profile is not None and len(layer.stages) > 1:
            early, steps = recorded(layer, found.early, early), recorded(layer, ordered, steps)
        if any(kernel.split is not None for kernel in kernels):
            steps = joined(steps, looped=loop is not None)
        function = LayerFunction(
            name=stem,
            record=number,
            stages=len(layer.stages),
            tokens=tuple(parts.tokens.items()),
            early=early,
            taken_over=taken_over,
            steps=steps,
            iterations=loop.iterations if loop is not None else None,
            left=scope.left(),
        )
        return LayerText(
            comment=layer_comment(self.storage, layer.stages, facts, kernels, loop),
            constants=(*scope.attributes(), *home_strides_constants(parts.home_strides)),
            functions=(*parts.tile_functions.values(), *part_functions(steps), function.text(self.around)),
        )

    def shared_shape(
        self, stride: tuple[int, ...], extent: tuple[int, ...], origin: tuple[int, ...], ring: tuple[int, int]
    ) -> str:
        """Name of a static const shape."""
        key = (stride, extent, origin, ring)
        return self.shared_shapes.setdefault(key, f"{self.storage.prefix}_shape_{len(self.shared_shapes)}")


@dataclass(frozen=True, slots=True)
class _Scope:
    """One layer being written."""

    writer: LayerWriter
    stem: str
    kernels: tuple[Kernel, ...]
    loop: Loop | None
    body: tuple[Step, ...]
    parts: _Parts

    def tag(self, kernel: Kernel) -> str:
        """What ends the names of a kernel's variables: nothing where the layer has one kernel step."""
        return f"_{self.kernels.index(kernel)}" if len(self.kernels) > 1 else ""

    def attributes(self) -> Iterator[str]:
        """The constant attributes of the layer's kernels."""
        for kernel in self.kernels:
            yield from attributes_constant(f"{self.stem}{self.tag(kernel)}", kernel)

    def step(self, step: Step) -> StepText:
        if isinstance(step, CopyStart):
            return self._copy(step)
        if isinstance(step, Wait):
            return self._wait(step)
        assert isinstance(step, Kernel)
        return self._kernel(step)

    def _guard(self, runs: Runs) -> str:
        return condition(runs, self.loop.iterations) if self.loop is not None else ""

    def indices(self) -> dict[str, Index]:
        """Indices of the loop by name, coarse ones included."""
        return all_indices(self.loop) if self.loop is not None else {}

    def _copy(self, step: CopyStart) -> StepText:
        inward = self._buffer(step.destination).kind is BufferKind.TILE
        tile, home = (step.destination, step.source) if inward else (step.source, step.destination)
        buffer = self._buffer(tile)
        token = ""
        if step.token not in self.parts.needless:
            name = f"{self._short(tile)}_token"
            self.parts.tokens[name] = buffer.copies
            token = self._slotted(name, buffer, step.runs, tile.period)
        strides = (buffer.strides_bytes, self._buffer(home).strides_bytes)
        is_box = not home.within and buffer.ring_axis is None
        block = block_text(tile.rectangle, *strides, element_bytes(buffer), self.loop, step.runs) if is_box else None
        if block is None:
            return self._rectangle(step, tile, home, token, inward=inward)
        return BlockCopyText(
            guard=self._guard(step.runs),
            inward=inward,
            link=self.writer.links[step.link],
            token=token,
            tile=tile_number(step.runs),
            near=self._address(tile, step.runs),
            home=self._address(home, step.runs),
            copied=block,
        )

    def _rectangle(
        self, step: CopyStart, tile: Operand, home: Operand, token: str, *, inward: bool
    ) -> RectangleCopyText:
        """A copy that may take several commands, as a shape; into a ring that keeps rows only those that it lacks."""
        is_ring = self._buffer(tile).ring_axis is not None
        view = self._view(tile)
        short = f"{self._short(tile)}_fresh" if step.kept else self._short(tile)
        function, shape = self._tile_shape(tile, view, short, step.runs, step.kept)
        name = f"{self.stem}_{self._short(tile)}_home"
        self.parts.home_strides[name] = view_strides(self._buffer(home), view)
        address = self._address(home, step.runs)
        shapes = [TileShape("shape", shape, function)]
        if home.within:
            whole = Operand(home.buffer, home.within, home.period)
            staged, staged_shape = self._tile_shape(whole, view, self._short(whole), step.runs)
            shapes.append(TileShape("staged", staged_shape, staged))
            if staged:
                address = f"tilewright_behind({address}, {name}, &staged, {len(view)}u)"
        return RectangleCopyText(
            guard=self._guard(step.runs),
            inward=inward,
            function=f"tilewright_{'fetch' if inward else 'store'}{'_ring' if is_ring else ''}",
            link=self.writer.links[step.link],
            token=token,
            tile=tile_number(step.runs),
            near=self._address(tile, step.runs),
            home=address,
            shapes=tuple(shapes),
            home_stride=name,
            rank=len(view),
            element_bytes=element_bytes(self._buffer(tile)),
        )

    def _wait(self, step: Wait) -> StepText:
        start = self.start_of(step)
        if start is None:
            left = self.writer.left[step.token]
            return WaitText("", self.writer.links[left.link], "handover->token", self.writer.around.fault)
        inward = self._buffer(start.destination).kind is BufferKind.TILE
        tile = start.destination if inward else start.source
        return WaitText(
            guard=self._guard(step.runs),
            link=self.writer.links[start.link],
            token=self._slotted(f"{self._short(tile)}_token", self._buffer(tile), step.runs, tile.period),
            fault=self.writer.around.fault,
        )

    def _kernel(self, step: Kernel) -> StepText:
        shapes: list[CallShape] = []
        pairs = enumerate(zip((*step.reads, *step.writes), step.axes, strict=True))
        views = [self._operand(step, position, operand, axes, shapes) for position, (operand, axes) in pairs]
        views += [ViewText(self.writer.storage.address(name)) for name in step.scratch]
        flags = self._flags(step)
        return KernelText(
            guard=self._guard(step.runs),
            symbol=step.symbol,
            struct=step.struct,
            attributes=f"{self.stem}{self.tag(step)}_attributes",
            members=members(step.attributes) if step.split is not None else (),
            shapes=tuple(shapes),
            operands=tuple(views),
            flags=flags or WHOLE,
            flags_move=bool(flags),
            split=self._split(step) if step.split is not None else None,
            first=step.runs.first,
            tag=self.tag(step),
        )

    def _operand(
        self,
        step: Kernel,
        position: int,
        operand: Operand,
        view: tuple[int, ...],
        shapes: list[CallShape],
    ) -> ViewText:
        """The view of an operand; what tiles change in its shape is added to ``shapes``."""
        buffer = self._buffer(operand)
        is_tile = buffer.kind is BufferKind.TILE
        address = self._address(operand, step.runs)
        moves = is_tile and bool(slot(step.runs, operand.period, buffer.copies))
        if self._is_packed(operand):
            return ViewText(address, moves=moves)
        function, fixed = self._tile_shape(operand, view, f"operand{self.tag(step)}_{position}", step.runs)
        if function:
            name = f"shape{self.tag(step)}_{position}"
            shapes.append(CallShape(name, function, tile_number(step.runs), fixed))
            if is_tile:
                return ViewText(address, f"&{name}", moves)
            at = "tilewright_at" if buffer.ring_axis is None else "tilewright_at_ring"
            return ViewText(f"{at}({address}, {name}.stride, &{name}, {len(view)}u)", f"&{name}", moves=True)
        begin = 0 if is_tile else first_byte(buffer, operand)
        shape = fixed
        if step.split is not None:
            shape = f"shape{self.tag(step)}_{position}"
            shapes.append(CallShape(shape, "", "", fixed))
        return ViewText(f"{address} + {begin}" if begin else address, f"&{shape}", moves)

    def _split(self, step: Kernel) -> SplitText:
        """The function and arguments of a call that several cores share."""
        assert step.split is not None
        shared = [
            SharedOperand(self._buffer(operand).strides_bytes, view, self._is_packed(operand))
            for operand, view in zip((*step.reads, *step.writes), step.axes, strict=True)
        ]
        views = self.writer.storage.address(step.split.views)
        return split_text(f"{self.stem}{self.tag(step)}_part", step, shared, views, self.loop)

    def _flags(self, step: Kernel) -> str:
        """Whether the tile is the first or last part of a cut reduction; empty if none is cut."""
        if self.loop is None or not step.reduction:
            return ""
        parts = prod(index.count for index in self.loop.indices if index.name in step.reduction)
        number, every = tile_number(step.runs), step.runs.every
        return f"tilewright_part({number if every == 1 else f'({number}) / {every}'}, {parts})"

    def _is_packed(self, operand: Operand) -> bool:
        """Whether C sees the operand from its first byte on, without a shape: a packed constant or a tile of one."""
        buffer = self._buffer(operand)
        if buffer.tensor is not None:
            return False
        cut_at_home = buffer.kind is BufferKind.CONSTANT and any(axis.terms for axis in operand.rectangle)
        return not (cut_at_home and self.loop is not None)

    def start_of(self, wait: Wait) -> CopyStart | None:
        """The copy that the layer starts and waits for; None for one that the layer before left."""
        found = (item for item in self.body if isinstance(item, CopyStart) and item.token == wait.token)
        return next(found, None)

    def left(self) -> tuple[int, str] | None:
        """Link and token of the copy that is left to the next layer."""
        for step in self.body:
            if isinstance(step, CopyStart) and step.token in self.writer.left:
                left, buffer = self.writer.left[step.token], self._buffer(step.source)
                return self.writer.links[step.link], f"{self._short(step.source)}_token[{left.number % buffer.copies}]"
        return None

    def _buffer(self, operand: Operand) -> Buffer:
        return self.writer.storage.buffers[operand.buffer]

    def _short(self, operand: Operand) -> str:
        """A name for an operand in a tile, which no other operand of the layer shares."""
        for kernel in self.kernels:
            order = [item.buffer for item in (*kernel.reads, *kernel.writes)]
            if operand.buffer in order:
                return f"operand{self.tag(kernel)}_{order.index(operand.buffer)}"
        return f"{self._short(self._cut_from(operand))}_staged"

    def _view(self, operand: Operand) -> tuple[int, ...]:
        for kernel in self.kernels:
            for item, axes in zip((*kernel.reads, *kernel.writes), kernel.axes, strict=True):
                if item.buffer == operand.buffer:
                    return axes
        return self._view(self._cut_from(operand))

    def _cut_from(self, operand: Operand) -> Operand:
        """The tile near the core that is cut from a larger tile."""
        copies = (item for item in self.body if isinstance(item, CopyStart))
        return next(item.destination for item in copies if item.source.buffer == operand.buffer)

    def _slotted(self, token: str, buffer: Buffer, runs: Runs, period: int) -> str:
        return f"{token}[{slot(runs, period, buffer.copies) or 0}]"

    def _address(self, operand: Operand, runs: Runs) -> str:
        buffer = self._buffer(operand)
        base = self.writer.storage.address(buffer.name)
        number = slot(runs, operand.period, buffer.copies) if buffer.kind is BufferKind.TILE else ""
        return f"{base} + ({number}) * {buffer.slot_bytes}" if number else base

    def _tile_shape(
        self, operand: Operand, view: tuple[int, ...], short: str, runs: Runs, kept: str = ""
    ) -> tuple[str, str]:
        """The function that computes the operand's rectangle, or the constant shape where nothing varies.

        With ``kept`` the rectangle has, on the ring's axis, only what the tile before along that index lacks.
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
                is_ring = kept and axis == self._buffer(operand).ring_axis
                lower = fresh_lower(operand.rectangle[axis], kept, indices) if is_ring else bounds.lower
                axes.append((position, lower, bounds.upper))
            lines = tuple(index_lines(self.loop, runs, used))
            self.parts.tile_functions[name] = tile_function(name, lines, axes)
        return name, base

    def _whole_shape(self, operand: Operand, view: tuple[int, ...]) -> str:
        """A shape with the operand's strides and the axes that no index moves."""
        assert len(view) <= MAXIMUM_RANK, f"{operand.buffer} has more than {MAXIMUM_RANK} axes"
        extent, origin = [], []
        for axis in view:
            lower, upper = constant_bounds(operand.rectangle[axis]) if axis >= 0 else (0, 1)
            extent.append(upper - lower)
            origin.append(lower)
        buffer = self._buffer(operand)
        ring = (0, 0)
        if buffer.ring_axis is not None:
            ring = (view.index(buffer.ring_axis), buffer.shape[buffer.ring_axis])
        return self.writer.shared_shape(view_strides(buffer, view, operand), tuple(extent), tuple(origin), ring)
