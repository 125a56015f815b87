"""Kernel calls as C: on one core, or in two halves where several cores share a call.

Before:  Kernel(conv, reads x and weights, writes y), y split over 8 cores
After:   copy attributes and shapes near the cores; start; (copies meanwhile); join
"""

from __future__ import annotations

from typing import ClassVar

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.steps import StepText

WHOLE = "TILEWRIGHT_WHOLE"
"""Flags of a kernel call whose sums are not cut."""

_KERNEL_BEGINS = "measured.kernel_cycles -= tilewright_cycles();"
_KERNEL_ENDS = "measured.kernel_cycles += tilewright_cycles();"


@dataclass(frozen=True, slots=True)
class ViewText:
    """An operand of a kernel call: C expressions of its first byte and shape; ``moves`` if tiles change the former."""

    base: str
    shape: str = "NULL"
    moves: bool = False


@dataclass(frozen=True, slots=True)
class CallShape:
    """A ``struct tilewright_shape`` of a kernel call: a copy of ``base``, changed by ``function(tile, &name)``.

    ``function`` is empty where no tile changes the shape.
    """

    name: str
    function: str
    tile: str
    base: str


@dataclass(frozen=True, slots=True)
class SplitText:
    """A split call as C: the function that cuts the operands to one core's part, and the call's own values.

    Attributes:
        name: C name of the function.
        bounds: declarations of the part's bounds, which ``cuts`` and ``moves`` use.
        cuts: (operand, axis, C expressions of the first element and of the end).
        moves: (operand without a shape, C expression of the bytes by which its start moves).
        scratch: (operand, bytes of each core).
        operands: number of operands, scratch included.
        chunk: elements of the split dimension that each core works on; the last cores may have fewer or none.
        cores: number of cores.
        views: C expression of the memory for the cores' views.
        views_bytes: bytes of that memory.
        lines: declarations of the tile's bounds, which ``lower`` and ``upper`` use.
        lower: C expression of the first value of the split dimension in the tile.
        upper: C expression of the end of the split dimension in the tile.
    """

    name: str
    bounds: tuple[str, ...]
    cuts: tuple[tuple[int, int, str, str], ...]
    moves: tuple[tuple[int, str], ...]
    scratch: tuple[tuple[int, int], ...]
    operands: int
    chunk: int
    cores: int
    views: str
    views_bytes: int
    lines: tuple[str, ...]
    lower: str
    upper: str

    @property
    def body(self) -> tuple[str, ...]:
        """The statements of the function that cuts the operands to one core's part."""
        return (
            *self.bounds,
            *(f"tilewright_cut(part, {operand}, {axis}, {first}, {end});" for operand, axis, first, end in self.cuts),
            *(f"part->operands[{operand}].base += {size};" for operand, size in self.moves),
            *(f"part->operands[{operand}].base += part->core * {size}u;" for operand, size in self.scratch),
        )


@dataclass(frozen=True, slots=True)
class KernelText(StepText):
    """A kernel call.

    ``attributes`` is the C name of the call's constant attributes. ``members`` are (member, value) of the attributes
    that code assigns in memory near the cores of a split call. ``flags_move`` says that tiles cut a reduction, so that
    the flags change from tile to tile. ``first`` is the iteration of the first call. ``tag`` ends the names of the
    call's variables if the layer has several calls. ``is_local`` says that the call's variables are in its own block
    instead of the function's, so that many stages of a group share the stack. ``loads`` declare the attributes where
    they are no constant.
    """

    measures: ClassVar[str] = "KERNELS"

    guard: str
    symbol: str
    struct: str
    attributes: str
    operands: tuple[ViewText, ...]
    shapes: tuple[CallShape, ...] = ()
    members: tuple[tuple[str, str], ...] = ()
    flags: str = WHOLE
    flags_move: bool = False
    split: SplitText | None = None
    first: int = 0
    tag: str = ""
    is_local: bool = False
    loads: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """C expressions of the memory that the step touches."""
        views = (self.split.views,) if self.split is not None else ()
        return (*(view.base for view in self.operands), *views)

    @property
    def declarations(self) -> tuple[str, ...]:
        """Declarations of shapes and operands; for a split call also of attributes and ``struct tilewright_split``."""
        return () if self.is_local else self._declared()

    def _declared(self) -> tuple[str, ...]:
        return (*self.loads, *self._shape_declarations(), *self._operand_declarations(), *self._split_declarations())

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The assignments to shapes and operands that tiles change, then the call; of a split call, its start."""
        call = (
            self._start()
            if self.split is not None
            else (f"{self.symbol}(&{self.attributes}, operands{self.tag}, {self.flags});",)
        )
        found = (
            *(self._local() if self.is_local else ()),
            *(f"{shape.function}({shape.tile}, &{shape.name});" for shape in self.shapes if shape.function),
            *(
                f"operands{self.tag}[{number}].base = {view.base};"
                for number, view in enumerate(self.operands)
                if view.moves
            ),
            *call,
        )
        begins = (_KERNEL_BEGINS,) if profiled else ()
        return (*begins, *found, *self._ends(profiled=profiled))

    def _ends(self, *, profiled: bool) -> tuple[str, ...]:
        """The lines behind the call; none where the end of a split call is a step of its own."""
        if self.split is None:
            return (_KERNEL_ENDS,) if profiled else ()
        return self.join(self.split).lines(profiled=profiled) if self.is_local else ()

    def _local(self) -> tuple[str, ...]:
        """The declarations, and what is near the cores for this call alone."""
        near = () if self.split is None else self.near_cores("").lines(profiled=False)
        return (*self._declared(), *near)

    def near_cores(self, guard: str) -> AttributesText:
        """The copies of attributes and shapes that a split call needs near the cores."""
        return AttributesText(guard, self.attributes, self.members, self.shapes, self.tag)

    def join(self, split: SplitText) -> JoinText:
        """The end of the call, which cores share as ``split`` says."""
        return JoinText(self.guard, split.cores, self.tag)

    def _start(self) -> tuple[str, ...]:
        split = self.split
        assert split is not None
        name = f"split{self.tag}"
        bounds = (*split.lines, f"{name}.lower = {split.lower};", f"{name}.upper = {split.upper};")
        flags = (f"{name}.flags = {self.flags};",) if self.flags_move else ()
        return (*(bounds if split.lines else ()), *flags, f"tilewright_split_start(&{name}, {split.cores}u);")

    def _shape_declarations(self) -> tuple[str, ...]:
        if self.split is not None:
            comment = "/* All cores read shapes and attributes, from memory near them. */"
            return (comment, *(f"struct tilewright_shape {shape.name};" for shape in self.shapes))
        return tuple(
            line
            for shape in self.shapes
            for line in (
                f"struct tilewright_shape {shape.name};",
                f"tilewright_copy_shape(&{shape.name}, &{shape.base});",
            )
        )

    def _operand_declarations(self) -> tuple[str, ...]:
        return (
            f"struct tilewright_view operands{self.tag}[] = {{",
            *(f"    {{{'NULL' if view.moves else view.base}, {view.shape}}}," for view in self.operands),
            "};",
        )

    def _split_declarations(self) -> tuple[str, ...]:
        split = self.split
        if split is None:
            return ()
        fixed = () if split.lines else (f"    .lower = {split.lower},", f"    .upper = {split.upper},")
        return (
            f"struct {self.struct} attributes{self.tag};",
            f"struct tilewright_split split{self.tag} = {{",
            f"    .cut = {split.name},",
            f"    .call = {split.name}_call,",
            f"    .attributes = &attributes{self.tag},",
            f"    .operands = operands{self.tag},",
            f"    .operand_count = {split.operands},",
            f"    .views = {split.views},",
            f"    .views_bytes = {split.views_bytes},",
            *fixed,
            f"    .chunk = {split.chunk},",
            *(() if self.flags_move else (f"    .flags = {self.flags},",)),
            "};",
        )


@dataclass(frozen=True, slots=True)
class AttributesText(StepText):
    """The statements that copy attributes and shapes of a split call into memory near the cores, once for a layer."""

    measures: ClassVar[str] = "KERNELS"

    guard: str
    attributes: str
    members: tuple[tuple[str, str], ...]
    shapes: tuple[CallShape, ...]
    tag: str = ""

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """Assignments of all members, or of the whole struct if ``members`` is empty; then copies of shapes."""
        members = tuple(f"attributes{self.tag}.{member} = {value};" for member, value in self.members)
        return (
            *(members or (f"attributes{self.tag} = {self.attributes};",)),
            *(f"tilewright_write_shape(&{shape.name}, &{shape.base});" for shape in self.shapes),
        )


@dataclass(frozen=True, slots=True)
class JoinText(StepText):
    """The end of a call that ``cores`` cores share."""

    measures: ClassVar[str] = "KERNELS"

    guard: str
    cores: int
    tag: str = ""

    def lines(self, *, profiled: bool) -> tuple[str, ...]:
        """The call of ``tilewright_split_join``; with ``profiled`` also the end of the kernel's measurement."""
        join = f"tilewright_split_join(&split{self.tag}, {self.cores}u);"
        return (join, _KERNEL_ENDS) if profiled else (join,)
