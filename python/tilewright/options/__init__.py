"""What a user asks for."""

from __future__ import annotations

from tilewright.options.compile import (
    Buffering,
    CompileOptions,
    E,
    Effort,
    LayerBuffers,
    Objective,
    Order,
    Parser,
    Strategy,
    TileSteps,
    build_options,
    parse_setting,
    read_options_file,
)

__all__ = [
    "Buffering",
    "CompileOptions",
    "E",
    "Effort",
    "LayerBuffers",
    "Objective",
    "Order",
    "Parser",
    "Strategy",
    "TileSteps",
    "build_options",
    "parse_setting",
    "read_options_file",
]
