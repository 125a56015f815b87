"""What a user asks for."""

from __future__ import annotations

from tilewright.options.choices import Buffering, Effort, Groups, Objective, Order, Strategy
from tilewright.options.compile_options import CompileOptions, LayerBuffers, TileSteps
from tilewright.options.merging import build_options, parse_setting, read_options_file

__all__ = [
    "Buffering",
    "CompileOptions",
    "Effort",
    "Groups",
    "LayerBuffers",
    "Objective",
    "Order",
    "Strategy",
    "TileSteps",
    "build_options",
    "parse_setting",
    "read_options_file",
]
