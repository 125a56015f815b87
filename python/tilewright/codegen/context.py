"""What the templates print of a source file: names and finished lines, decided before."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.codegen.functions import FunctionText


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
class LayerText:
    """A layer: what its comment says, its constants, and its functions; the last one runs the layer."""

    comment: tuple[str, ...]
    constants: tuple[str, ...]
    functions: tuple[FunctionText, ...]

    @property
    def function(self) -> str:
        """C name of the function that runs the layer."""
        return self.functions[-1].name
