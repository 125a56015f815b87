"""The steps of a layer as C, from the plan's steps and the layer's scope."""

from __future__ import annotations

from math import prod

from tilewright.codegen.blocks import BlockText, block_text
from tilewright.codegen.expressions import (
    tile_number,
)
from tilewright.codegen.extents import constant_bounds, element_bytes, first_byte, view_strides
from tilewright.codegen.kernel_calls import WHOLE, CallShape, KernelText, SplitText, ViewText
from tilewright.codegen.layer_scope import LayerScope
from tilewright.codegen.literals import members
from tilewright.codegen.ring_copies import RingAxis, RingText, ring_text
from tilewright.codegen.splits import SplitOperand, split_text
from tilewright.codegen.steps import (
    BlockCopyText,
    RectangleCopyText,
    RingCopyText,
    StepText,
    TileShape,
    WaitText,
    WordsText,
)
from tilewright.codegen.window_runs import rows_made
from tilewright.plan import (
    Buffer,
    BufferKind,
    CopyStart,
    Kernel,
    Operand,
    Step,
    Wait,
)


def step_text(scope: LayerScope, step: Step) -> StepText:
    """A copy, wait or kernel call as C; the functions and constants that the step uses are added to ``scope.parts``."""
    if isinstance(step, CopyStart):
        return _copy_text(scope, step)
    if isinstance(step, Wait):
        return _wait_text(scope, step)
    assert isinstance(step, Kernel)
    return _kernel_text(scope, step)


def _copy_text(scope: LayerScope, step: CopyStart) -> StepText:
    inward = scope.is_inward(step)
    tile, home = (step.destination, step.source) if inward else (step.source, step.destination)
    buffer = scope.buffer(tile)
    token = ""
    if step.token not in scope.parts.needless:
        name = f"{scope.short(tile)}_token"
        scope.parts.tokens[name] = scope.under_way(step, buffer)
        token = scope.token(name, step, buffer, step.runs)
    near, far = scope.address(tile, step.runs), scope.address(home, step.runs)
    copy = scope.guard(step.runs), inward, scope.model.links[step.link], token, tile_number(step.runs), near, far
    if (block := _block_text(scope, step, tile, home)) is not None:
        return BlockCopyText(*copy, block)
    if (ring := _ring_text(scope, step, tile, home)) is not None:
        return RingCopyText(*copy, ring)
    return _rectangle_text(scope, step, tile, home, token, inward=inward)


def _block_text(scope: LayerScope, step: CopyStart, tile: Operand, home: Operand) -> BlockText | None:
    buffer = scope.buffer(tile)
    if step.words or buffer.ring_axis is not None:
        return None
    strides = (buffer.strides_bytes, scope.buffer(home).strides_bytes)
    return block_text(tile.rectangle, *strides, element_bytes(buffer), scope.loop, step.runs, home.within)


def _ring_text(scope: LayerScope, step: CopyStart, tile: Operand, home: Operand) -> RingText | None:
    buffer = scope.buffer(tile)
    if step.words or home.within or scope.loop is None or buffer.ring_axis is None:
        return None
    strides = (buffer.strides_bytes, scope.buffer(home).strides_bytes)
    ring = RingAxis(buffer.ring_axis, buffer.shape[buffer.ring_axis], step.kept)
    return ring_text(tile.rectangle, *strides, element_bytes(buffer), ring, scope.loop, step.runs)


def _rectangle_text(
    scope: LayerScope, step: CopyStart, tile: Operand, home: Operand, token: str, *, inward: bool
) -> RectangleCopyText:
    """A copy that may take several commands, with a shape; a copy into a ring brings only rows that are not kept."""
    is_ring = scope.buffer(tile).ring_axis is not None
    view = scope.view(tile)
    short = f"{scope.short(tile)}_not_kept" if step.kept else scope.short(tile)
    function, shape = scope.tile_shape(tile, view, short, step.runs, step.kept)
    name = f"{scope.stem}_{scope.short(tile)}_home"
    scope.parts.home_strides[name] = view_strides(scope.buffer(home), view)
    address = scope.address(home, step.runs)
    shapes = [TileShape("shape", shape, function)]
    if home.within:
        whole = Operand(home.buffer, home.within, home.period)
        staged, staged_shape = scope.tile_shape(whole, view, scope.short(whole), step.runs)
        shapes.append(TileShape("staged", staged_shape, staged))
        if staged or any(constant_bounds(axis)[0] for axis in home.within):
            address = f"tilewright_behind({address}, {name}, {shapes[-1].address}, {len(view)}u)"
    return RectangleCopyText(
        guard=scope.guard(step.runs),
        inward=inward,
        function=f"tilewright_{'fetch' if inward else 'store'}{'_ring' if is_ring else ''}",
        link=scope.model.links[step.link],
        token=token,
        tile=tile_number(step.runs),
        near=scope.address(tile, step.runs),
        home=address,
        shapes=tuple(shapes),
        home_stride=name,
        rank=len(view),
        element_bytes=element_bytes(scope.buffer(tile)),
        words=_words_text(scope, step, inward=inward) if step.words else None,
    )


def _words_text(scope: LayerScope, step: CopyStart, *, inward: bool) -> WordsText:
    plan = scope.model.storage.plan
    link = next(link for link in plan.links if link.name == step.link)
    ends = (link.source, link.target) if inward else (link.target, link.source)
    back = next(item.name for item in plan.links if (item.source, item.target) == ends)
    buffer = scope.model.storage.buffers[step.words]
    return WordsText(
        buffer=scope.model.storage.address(buffer.name),
        size_bytes=buffer.size_bytes,
        # The buffer may be aligned to more, but what the link touches at home is whole words of the link.
        align_bytes=link.align_bytes,
        back=scope.model.links[back],
        fault=scope.model.around.fault,
    )


def _wait_text(scope: LayerScope, step: Wait) -> StepText:
    start = scope.start_of(step)
    if start is None:
        left = scope.model.hands_over[step.token]
        return WaitText("", scope.model.links[left.link], "handover->token", scope.model.around.fault)
    tile = start.destination if scope.is_inward(start) else start.source
    return WaitText(
        guard=scope.guard(step.runs),
        link=scope.model.links[start.link],
        token=scope.token(f"{scope.short(tile)}_token", start, scope.buffer(tile), step.runs, step.number),
        fault=scope.model.around.fault,
    )


def _kernel_text(scope: LayerScope, step: Kernel) -> StepText:
    shapes: list[CallShape] = []
    pairs = enumerate(zip((*step.reads, *step.writes), step.axes, strict=True))
    views = [_view_text(scope, step, position, operand, axes, shapes) for position, (operand, axes) in pairs]
    views += [ViewText(scope.model.storage.address(name)) for name in step.scratch]
    flags = _flags(scope, step)
    stem = f"{scope.stem}{scope.tag(step)}"
    return KernelText(
        guard=scope.guard(step.runs),
        symbol=step.symbol,
        struct=step.struct,
        attributes=f"{stem}_attributes",
        members=members(step.attributes) if step.split is not None else (),
        shapes=tuple(shapes),
        operands=tuple(views),
        flags=flags or WHOLE,
        flags_move=bool(flags),
        split=_split_text(scope, step) if step.split is not None else None,
        first=step.runs.first,
        tag=scope.tag(step),
        is_local=scope.loop is not None and len(scope.kernels) > 1,
        loads=scope.model.loaded_attributes(stem, step),
    )


def _view_text(
    scope: LayerScope,
    step: Kernel,
    position: int,
    operand: Operand,
    view: tuple[int, ...],
    shapes: list[CallShape],
) -> ViewText:
    """The C text of an operand; a shape that tiles change, or that cores share, is added to ``shapes``."""
    buffer = scope.buffer(operand)
    is_tile = buffer.kind is BufferKind.TILE
    address = scope.address(operand, step.runs)
    moves = is_tile and address != scope.model.storage.address(buffer.name)
    if scope.is_packed(operand):
        return ViewText(address, moves=moves)
    function, ahead = "", 0
    if axes := backward_axes(step, position):
        fixed, ahead = scope.backward_shape(operand, view, axes)
    else:
        function, fixed = scope.tile_shape(operand, view, f"operand{scope.tag(step)}_{position}", step.runs)
    if function:
        name = f"shape{scope.tag(step)}_{position}"
        shapes.append(CallShape(name, function, tile_number(step.runs), fixed))
        if row := scope.model.storage.fed_row_bytes(buffer.name):
            return ViewText(f"{address} + (t - context->from) * {row}", f"&{name}", moves=True)
        if row := scope.model.storage.taken_row_bytes(buffer.name):
            return ViewText(f"{address} + {_row_of_run(scope, step, operand, view, name)} * {row}", f"&{name}", True)
        if is_tile:
            return ViewText(address, f"&{name}", moves)
        return _whole_array_view(buffer, operand, view, address, name)
    begin = ahead + (0 if is_tile else first_byte(buffer, operand))
    shape = fixed
    if step.split is not None:
        shape = f"shape{scope.tag(step)}_{position}"
        shapes.append(CallShape(shape, "", "", fixed))
    return ViewText(f"{address} + {begin}" if begin else address, f"&{shape}", moves)


def _whole_array_view(buffer: Buffer, operand: Operand, view: tuple[int, ...], address: str, shape: str) -> ViewText:
    """The view of a rectangle of the whole array at ``address``, whose origin is that of the C variable ``shape``.

    The axis of a ring adds nothing: kernels find its rows from the ring's start on.
    """
    fixed = first_byte(buffer, operand)
    moved = [
        f"{shape}.origin[{position}] * {buffer.strides_bytes[axis]}"
        for position, axis in enumerate(view)
        if axis >= 0 and operand.rectangle[axis].terms and axis != buffer.ring_axis
    ]
    terms = [address, *((str(fixed),) if fixed else ()), *moved]
    return ViewText(" + ".join(terms), f"&{shape}", moves=bool(moved))


def _row_of_run(scope: LayerScope, step: Kernel, operand: Operand, view: tuple[int, ...], shape: str) -> str:
    """C expression of the first row of a block, counted from the first row that the run gives the caller."""
    assert scope.loop is not None
    (axis,) = (number for number, own in enumerate(operand.rectangle) if own.terms)
    return f"({shape}.origin[{view.index(axis)}] - {rows_made(step, scope.loop)})"


def backward_axes(step: Kernel, position: int) -> tuple[int, ...]:
    """Axes of an operand's buffer over which the kernel walks backward."""
    names = set(step.stores.backward)
    return tuple(number for number, axis in enumerate(step.maps[position]) if names & dict(axis.terms).keys())


def _split_text(scope: LayerScope, step: Kernel) -> SplitText:
    """The function and arguments of a split call."""
    assert step.split is not None
    shared = [
        SplitOperand(scope.buffer(operand).strides_bytes, view, scope.is_packed(operand))
        for operand, view in zip((*step.reads, *step.writes), step.axes, strict=True)
    ]
    views = scope.model.storage.address(step.split.views)
    return split_text(f"{scope.stem}{scope.tag(step)}_part", step, shared, views, scope.loop)


def _flags(scope: LayerScope, step: Kernel) -> str:
    """C expression of the flags of the tile's part of a reduction (first, last); empty if tiles cut no reduction."""
    if scope.loop is None or not step.reduction:
        return ""
    parts = prod(index.count for index in scope.loop.indices if index.name in step.reduction)
    number, every = tile_number(step.runs), step.runs.every
    return f"tilewright_part({number if every == 1 else f'({number}) / {every}'}, {parts})"
