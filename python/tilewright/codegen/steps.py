"""The steps of a layer as C: one type for each kind of step, which gives finished lines.

A step with a ``guard`` runs only in the iterations of the layer's loop for which that C condition holds.
Kernel calls are in ``calls``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tilewright.codegen.blocks import BlockText
from tilewright.codegen.functions import block


class StepText:
    """A step as C. ``measures`` says what a profile may leave out to measure the rest: COPIES, KERNELS, or nothing."""

    __slots__ = ()
    measures: ClassVar[str] = "COPIES"
    guard: str | None

    @property
    def addresses(self) -> tuple[str, ...]:
        """C expressions of the memory that the step touches."""
        return ()

    @property
    def declarations(self) -> tuple[str, ...]:
        """What the layer's function declares for the step, once."""
        return ()

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The statements; with ``profiled`` those too that measure."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class BlockCopyText(StepText):
    """A copy of lines of one length. ``token`` is empty if nobody waits for this copy alone."""

    guard: str
    inward: bool
    link: int
    token: str
    tile: str
    near: str
    home: str
    copied: BlockText

    @property
    def addresses(self) -> tuple[str, ...]:
        """C expressions of the memory that the step touches."""
        return (self.near, self.home)

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """Declarations of bounds, and the call."""
        lines = self.copied
        near, far = self.near, f"{self.home} + {lines.home_offset}" if lines.home_offset else self.home
        strides = (lines.tile_stride, lines.home_stride)
        target, source = (near, far) if self.inward else (far, near)
        to, of = strides if self.inward else strides[::-1]
        counted = f"measured.copied_bytes += (uint32_t)({lines.line_count} * ({lines.line_bytes}));"
        return (
            *((f"const int32_t tile = {self.tile};", *lines.lines) if lines.lines else ()),
            *((counted,) if profiled else ()),
            f"{_assigned(self.token)}tilewright_copy_block({self.link}u, {target},",
            f"    {source}, {lines.line_count}, {lines.line_bytes},",
            f"    {to}, {of});",
        )


@dataclass(frozen=True, slots=True)
class TileShape:
    """A shape in a copy: the constant ``base``, or ``name``, a copy of it that ``function(tile, &name)`` changes."""

    name: str
    base: str
    function: str = ""

    @property
    def address(self) -> str:
        """C expression of the shape's address."""
        return f"&{self.name}" if self.function else f"&{self.base}"

    def lines(self, tile: str) -> tuple[str, ...]:
        """Declarations of a shape that the tile changes."""
        if not self.function:
            return ()
        return (
            f"struct tilewright_shape {self.name};",
            f"tilewright_copy_shape(&{self.name}, &{self.base});",
            f"{self.function}({tile}, &{self.name});",
        )


@dataclass(frozen=True, slots=True)
class RectangleCopyText(StepText):
    """A copy of a rectangle that may take several commands of the link, by ``function`` of the runtime."""

    guard: str
    inward: bool
    function: str
    link: int
    token: str
    tile: str
    near: str
    home: str
    shapes: tuple[TileShape, ...]
    home_stride: str
    rank: int
    element_bytes: int

    @property
    def addresses(self) -> tuple[str, ...]:
        """C expressions of the memory that the step touches."""
        return (self.near, self.home)

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """Shapes of this tile, and the call."""
        shape = self.shapes[0].address
        size = f"{self.rank}u, {self.element_bytes}u"
        return (
            *(line for item in self.shapes for line in item.lines(self.tile)),
            *((f"measured.copied_bytes += tilewright_profile_bytes({shape}, {size});",) if profiled else ()),
            f"{_assigned(self.token)}{self.function}({self.link}u, {self.near},",
            f"    {shape}, {self.home},",
            f"    {self.home_stride}, {size});",
        )


@dataclass(frozen=True, slots=True)
class WaitText(StepText):
    """A wait for the copy ``token``; a failure ends the layer with ``fault``."""

    guard: str
    link: int
    token: str
    fault: str

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The call and its check; the time that it takes is measured around waits in a row."""
        return (
            f"if (tilewright_copy_wait({self.link}u, {self.token}) != TILEWRIGHT_PORT_OK) {{",
            f"    return {self.fault};",
            "}",
        )


@dataclass(frozen=True, slots=True)
class WaitTimer(StepText):
    """Around waits in a row, in a profiled program: the time until the first and behind the last one."""

    sign: str
    guard: str | None = None

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The reading of the clock."""
        return (f"measured.wait_cycles {self.sign}= tilewright_cycles();",)


def statements(steps: Sequence[StepText], *, looped: bool, profiled: bool) -> tuple[str, ...]:
    """The C statements of steps in order; in a loop each step has a block of its own, behind its guard."""
    return tuple(
        line
        for step in (timed(steps) if profiled else steps)
        for line in _statement(step, looped=looped, profiled=profiled)
    )


def timed(steps: Sequence[StepText]) -> tuple[StepText, ...]:
    """Steps with timers around waits in a row."""
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


def _assigned(token: str) -> str:
    return f"{token} = " if token else "(void)"
