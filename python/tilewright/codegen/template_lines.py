"""The names and finished lines that the template of a source file prints."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.function_text import FunctionText


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
    """A layer: the lines of its comment, its constants, and its functions, of which the last runs the layer."""

    comment: tuple[str, ...]
    constants: tuple[str, ...]
    functions: tuple[FunctionText, ...]

    @property
    def function(self) -> str:
        """C name of the function that runs the layer."""
        return self.functions[-1].name
