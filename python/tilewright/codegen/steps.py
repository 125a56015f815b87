"""The steps of a layer as C: one type for each kind of step, which gives finished lines.

A step with a ``guard`` runs only in the iterations of the layer's loop for which that C condition holds.
Kernel calls are in ``kernel_calls``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.blocks import BlockText
from tilewright.codegen.function_text import block
from tilewright.codegen.ring_copies import RingText


class StepText:
    """A step as C.

    ``measures`` is COPIES or KERNELS: the end of the macro TILEWRIGHT_PROFILE_<measures>, which can leave such steps
    out to measure the others; empty for a step that always runs.
    """

    __slots__ = ()
    measures: ClassVar[str] = "COPIES"
    guard: str | None

    @property
    def addresses(self) -> tuple[str, ...]:
        """C expressions of the memory that the step touches."""
        return ()

    @property
    def declarations(self) -> tuple[str, ...]:
        """Declarations that the layer's function has once for the step."""
        return ()

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The step's statements; with ``profiled`` also the statements that measure."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class CopyText(StepText):
    """A copy between a tile (``near``) and its home, towards the tile if ``inward``.

    ``token`` is empty if no step waits for this copy alone. ``tile`` is the C expression of the tile's number.
    """

    guard: str
    inward: bool
    link: int
    token: str
    tile: str
    near: str
    home: str

    @property
    def addresses(self) -> tuple[str, ...]:
        """C expressions of the memory that the step touches."""
        return (self.near, self.home)


@dataclass(frozen=True, slots=True)
class BlockCopyText(CopyText):
    """A copy of lines of one length."""

    copied: BlockText

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """Declarations of the tile's bounds, and the call of ``tilewright_copy_block``."""
        lines = self.copied
        near, far = self.near, f"{self.home} + {lines.home_offset}" if lines.home_offset else self.home
        strides = (lines.tile_stride, lines.home_stride)
        target, source = (near, far) if self.inward else (far, near)
        to, of = strides if self.inward else strides[::-1]
        counted = f"measured.copied_bytes += (uint32_t)({lines.line_count} * ({lines.line_bytes}));"
        return (
            *_tile_bounds(self.tile, lines),
            *((counted,) if profiled else ()),
            f"{_assigned(self.token)}tilewright_copy_block({self.link}u, {target},",
            f"    {source}, {lines.line_count}, {lines.line_bytes},",
            f"    {to}, {of});",
        )


@dataclass(frozen=True, slots=True)
class RingCopyText(CopyText):
    """A copy of rows or columns, in lines, between a ring and its home."""

    copied: RingText

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """Declarations of the elements' bounds, and the call of ``tilewright_fetch_lines`` for example."""
        ring, block = self.copied, self.copied.block
        counted = f"measured.copied_bytes += (uint32_t)(count * {block.line_count} * ({block.line_bytes}));"
        return (
            *_tile_bounds(self.tile, block),
            f"const int32_t first = {ring.first};",
            f"const int32_t count = {ring.count};",
            "const struct tilewright_ring_lines lines = {",
            f"    .elements = {ring.elements},",
            f"    .is_columns = {int(ring.is_columns)},",
            f"    .lines = {block.line_count},",
            f"    .bytes = {block.line_bytes},",
            f"    .tile_stride = {block.tile_stride},",
            f"    .home_stride = {block.home_stride},",
            "};",
            *((counted,) if profiled else ()),
            f"{_assigned(self.token)}tilewright_{'fetch' if self.inward else 'store'}_lines({self.link}u, {self.near},",
            f"    {self.home} + {block.home_offset}, first, count, lines);",
        )


@dataclass(frozen=True, slots=True)
class TileShape:
    """A shape of a copy: the constant ``base``, or its copy ``name``, which ``function(tile, &name)`` changes."""

    name: str
    base: str
    function: str = ""

    @property
    def address(self) -> str:
        """C expression of the shape's address."""
        return f"&{self.name}" if self.function else f"&{self.base}"

    def lines(self, tile: str) -> tuple[str, ...]:
        """The declaration and assignments of a shape that tiles change; none for a constant shape."""
        if not self.function:
            return ()
        return (
            f"struct tilewright_shape {self.name};",
            f"tilewright_copy_shape(&{self.name}, &{self.base});",
            f"{self.function}({tile}, &{self.name});",
        )


@dataclass(frozen=True, slots=True)
class WordsText:
    """What ``struct tilewright_words`` has: sizes in bytes, ``back`` the number of a link; ``fault`` ends the layer."""

    buffer: str
    size_bytes: int
    align_bytes: int
    back: int
    fault: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The declaration of ``words``."""
        return (
            f"const struct tilewright_words words = {{{self.buffer}, {self.size_bytes}u, {self.align_bytes}u, "
            f"{self.back}u}};",
        )


@dataclass(frozen=True, slots=True)
class RectangleCopyText(CopyText):
    """A copy of a rectangle by the runtime's ``function``, which may give the link several commands."""

    function: str
    shapes: tuple[TileShape, ...]
    home_stride: str
    rank: int
    element_bytes: int
    words: WordsText | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """C expressions of the memory that the step touches."""
        return (self.near, self.home) if self.words is None else (self.near, self.home, self.words.buffer)

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The shapes of the tile, and the call of the runtime's function."""
        shape = self.shapes[0].address
        size = f"{self.rank}u, {self.element_bytes}u"
        if self.words is not None:
            return (*self._shape_lines(shape, size, profiled=profiled), *self._words_lines(self.words, shape, size))
        return (
            *self._shape_lines(shape, size, profiled=profiled),
            f"{_assigned(self.token)}{self.function}({self.link}u, {self.near},",
            f"    {shape}, {self.home},",
            f"    {self.home_stride}, {size});",
        )

    def _shape_lines(self, shape: str, size: str, *, profiled: bool) -> tuple[str, ...]:
        return (
            *(line for item in self.shapes for line in item.lines(self.tile)),
            *((f"measured.copied_bytes += tilewright_profile_bytes({shape}, {size});",) if profiled else ()),
        )

    def _words_lines(self, words: WordsText, shape: str, size: str) -> tuple[str, ...]:
        token = f"&{self.token}" if self.token else "&needless"
        lines = (
            *words.lines,
            *(() if self.token else ("tilewright_token_t needless;",)),
            f"if ({self.function}_words(&words, {self.link}u, {self.near},",
            f"        {shape}, {self.home},",
            f"        {self.home_stride}, {size}, {token}) != TILEWRIGHT_PORT_OK) {{",
            f"    return {words.fault};",
            "}",
        )
        return block("", lines)


@dataclass(frozen=True, slots=True)
class WaitText(StepText):
    """A wait for the copy ``token``; a failure ends the layer with ``fault``."""

    guard: str
    link: int
    token: str
    fault: str

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The call and the check of its status; ``WaitTimer`` measures the time of waits in a row."""
        return (
            f"if (tilewright_copy_wait({self.link}u, {self.token}) != TILEWRIGHT_PORT_OK) {{",
            f"    return {self.fault};",
            "}",
        )


@dataclass(frozen=True, slots=True)
class WaitTimer(StepText):
    """A reading of the clock before (``sign`` -) or behind (+) waits in a row, in a profiled program."""

    sign: str
    guard: str | None = None

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The statement that subtracts or adds the clock."""
        return (f"measured.wait_cycles {self.sign}= tilewright_cycles();",)


def statements(steps: Sequence[StepText], *, looped: bool, profiled: bool) -> tuple[str, ...]:
    """The C statements of steps in order; in a loop each step is a block of its own, under the step's guard."""
    return tuple(
        line
        for step in (timed(steps) if profiled else steps)
        for line in _statement(step, looped=looped, profiled=profiled)
    )


def timed(steps: Sequence[StepText]) -> tuple[StepText, ...]:
    """The steps with a ``WaitTimer`` before and behind each row of waits."""
    found: list[StepText] = []
    before: StepText | None = None
    for step in steps:
        if isinstance(step, WaitText) != isinstance(before, WaitText):
            found.append(WaitTimer("-" if isinstance(step, WaitText) else "+"))
        found.append(step)
        before = step
    return (*found, WaitTimer("+")) if isinstance(before, WaitText) else tuple(found)


def _statement(step: StepText, *, looped: bool, profiled: bool) -> tuple[str, ...]:
    lines = step.lines(profiled=profiled)
    if profiled and step.measures:
        lines = block(f"if (TILEWRIGHT_PROFILE_{step.measures})", lines)
    if not looped or step.guard is None:
        return lines
    return block(f"if ({step.guard})" if step.guard else "", lines)


def _tile_bounds(tile: str, copied: BlockText) -> tuple[str, ...]:
    """The declarations of the bounds that a copy's expressions name, and of the tile's number for them."""
    return (f"const int32_t tile = {tile};", *copied.lines) if copied.lines else ()


def _assigned(token: str) -> str:
    return f"{token} = " if token else "(void)"
