"""Add and Sub of 8-bit tensors, a vector of elements per instruction."""

from __future__ import annotations

from tilewright.kernels.add_split import BELOW, declaration

DECLARATION = declaration(1.5, ADD_SPLIT_BELOW=BELOW)
