"""Add and Sub of 8-bit tensors, with the products of two elements in 32 bits."""

from __future__ import annotations

from tilewright.kernels.add_split import declaration

DECLARATION = declaration(17.0)
