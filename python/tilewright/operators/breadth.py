"""The operators of ONNX's default domain beyond those of convolutional networks."""

from __future__ import annotations

from tilewright.operators.map import MAP

BREADTH = (*MAP,)
