"""Models of one operator each, with random scales, zero points, weights and inputs from a fixed seed.

``scripts/lite_vectors.py`` stores what TensorFlow Lite Micro computes for them, beside the test that reads it, or
what LiteRT's reference kernels compute where TensorFlow Lite Micro does not take the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from support.lite_breadth import BREADTH
from support.lite_elements import ELEMENTS
from support.lite_loops import LOOPS
from support.lite_made import RUNS, LiteCase
from support.lite_products import PRODUCTS
from support.lite_rare import RARE
from support.lite_streams import STREAMS
from support.lite_ties import TIES
from support.lite_types import TYPES

__all__ = ["CASES", "RUNS", "LiteCase", "lite_case"]

CASES: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {**PRODUCTS, **ELEMENTS, **STREAMS, **BREADTH, **TYPES, **RARE, **TIES, **LOOPS}
)


def lite_case(name: str) -> LiteCase:
    """The case of that name."""
    return CASES[name](name)
