"""What the templates print: names and expressions, decided before."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.codegen.blocks import BlockText


@dataclass(frozen=True, slots=True)
class ShapeText:
    """A static const struct tilewright_shape."""

    name: str
    stride: tuple[int, ...]
    extent: tuple[int, ...]
    origin: tuple[int, ...]
    ring_axis: int = 0
    ring_rows: int = 0


@dataclass(frozen=True, slots=True)
class TileFunction:
    """Sets what a tile changes in an operand's shape: ``name(tile, shape)``; the rest is ``base_shape``."""

    name: str
    base_shape: str
    lines: tuple[str, ...]
    axes: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True)
class ViewText:
    """An operand of a kernel call: C expressions of its first byte, which may be another in each tile, and shape."""

    base: str
    shape: str = "NULL"
    moves: bool = False


@dataclass(frozen=True, slots=True)
class SplitText:
    """The function that one core runs of a shared call, and what the call gets.

    ``bounds`` declare the part's bounds for ``cuts`` (operand, axis, first and end) and ``moves``
    (operand without a shape, bytes), ``lines`` the tile's for ``lower`` and ``upper``. ``scratch``
    has an operand and its bytes for each core.
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


@dataclass(frozen=True, slots=True)
class StepText:
    """A step of a layer.

    ``kind``: fetch, store, wait, kernel, or of a call that cores share attributes and join.
    ``guard`` is empty if the step always runs. A copy is a ``block``, or a rectangle with a
    ``shape``; it has no ``token`` if nobody waits for it alone.
    ``shapes`` of a kernel give name, function, tile and the shape that the function changes.
    ``flags`` are another in each tile where a reduction is cut. ``members`` are assigned to attributes
    near the cores, which are copied from ``attributes`` without them.
    """

    kind: str
    guard: str
    comment: str
    link: int = 0
    token: str = ""
    tile: str = ""
    tile_function: str = ""
    shape: str = ""
    address: str = ""
    home: str = ""
    home_stride: str = ""
    staged_function: str = ""
    staged_shape: str = ""
    block: BlockText | None = None
    rank: int = 0
    element_bytes: int = 0
    symbol: str = ""
    attributes: str = ""
    members: tuple[tuple[str, str], ...] = ()
    shapes: tuple[tuple[str, str, str, str], ...] = ()
    operands: tuple[ViewText, ...] = ()
    flags: str = "TILEWRIGHT_WHOLE"
    flags_move: bool = False
    split: SplitText | None = None


@dataclass(frozen=True, slots=True)
class LayerText:
    """One C function.

    ``attributes_name`` is empty where code sets the attributes. ``early`` are copies that start first,
    ``taken_over`` waits for what the layer before left, ``left`` link and token of the copy that the next
    one waits for.
    """

    function: str
    comment: tuple[str, ...]
    attributes_type: str
    attributes_name: str
    attributes: tuple[tuple[str, str], ...]
    shapes: tuple[ShapeText, ...]
    home_strides: tuple[tuple[str, tuple[int, ...]], ...]
    tile_functions: tuple[TileFunction, ...]
    tokens: tuple[tuple[str, int], ...]
    first: int
    end: int
    looped: bool
    uses_context: bool
    early: tuple[StepText, ...]
    taken_over: tuple[StepText, ...]
    steps: tuple[StepText, ...]
    left: tuple[int, str] | None
