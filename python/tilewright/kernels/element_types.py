"""The numbers by which attributes of C kernels name element types.

The generated header has them as ``TILEWRIGHT_INT8`` ... ``TILEWRIGHT_FLOAT32``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from tilewright.graph import DType
from tilewright.kernels.c_structs import CType

ELEMENT_TYPES: Mapping[DType, int] = MappingProxyType(
    {
        DType.INT8: 0,
        DType.UINT8: 1,
        DType.INT16: 2,
        DType.UINT16: 3,
        DType.INT32: 4,
        DType.FLOAT32: 5,
    }
)

INTEGERS = frozenset(ELEMENT_TYPES) - {DType.FLOAT32}
"""The integers that have a number."""

ElementType = Annotated[int, CType("int32_t"), "TILEWRIGHT_INT8 ..."]
"""Field of a C struct that names an element type."""
