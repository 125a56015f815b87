"""What a user asks for."""

from __future__ import annotations

from tilewright.options.choices import Buffering, Effort, Groups, HomeChoice, Objective, Order, Slots, Strategy, Weights
from tilewright.options.compile_options import CompileOptions
from tilewright.options.layer_tables import LayerBuffers, TileSteps
from tilewright.options.merging import build_options, parse_setting, read_options_file

__all__ = [
    "Buffering",
    "CompileOptions",
    "Effort",
    "Groups",
    "HomeChoice",
    "LayerBuffers",
    "Objective",
    "Order",
    "Slots",
    "Strategy",
    "TileSteps",
    "Weights",
    "build_options",
    "parse_setting",
    "read_options_file",
]
