"""The options of a custom operator, as far as operators need them: the first integer of a FlexBuffer's vector or map.

Before:  vector of one integer: size 01, element 02, its type 04, then the root: offset 02, type 24, width 01
After:   2
"""

from __future__ import annotations

from tilewright.importers.tflite.flatbuffer import Spoilt

_MAP, _VECTOR, _SIGNED_VECTOR, _UNSIGNED_VECTOR = 9, 10, 11, 12
_OF_ONE_TYPE = {1: _SIGNED_VECTOR, 2: _UNSIGNED_VECTOR}
"""Vectors of one type of integers, by the type of an element."""


def first_integer(content: bytes, place: str) -> int | None:
    """The first element; None for no content.

    Raises:
        Spoilt: the content is no vector or map that begins with an integer.
    """
    if not content:
        return None
    start, child, kind = _vector(content, place)
    size = int.from_bytes(content[start - child : start], "little")
    types = start + size * child
    if not 0 < size <= len(content) or types >= len(content):
        raise Spoilt(f"{place}: a vector of {size} elements")
    if kind in (_MAP, _VECTOR):
        kind = _OF_ONE_TYPE.get(content[types] >> 2, kind)
    if kind not in _OF_ONE_TYPE.values():
        raise Spoilt(f"{place}: a vector whose first element is no integer")
    return int.from_bytes(content[start : start + child], "little", signed=kind == _SIGNED_VECTOR)


def _vector(content: bytes, place: str) -> tuple[int, int, int]:
    """Position of the root's first element, bytes of an element, and the vector's type."""
    width = content[-1]
    root = len(content) - 2 - width
    if width not in (1, 2, 4, 8) or root < 0 or not _MAP <= content[-2] >> 2 <= _UNSIGNED_VECTOR:
        raise Spoilt(f"{place}: no FlexBuffer with a vector or a map")
    kind, child = content[-2] >> 2, 1 << (content[-2] & 3)
    start = root - int.from_bytes(content[root : root + width], "little")
    if not child <= start <= root - child:
        raise Spoilt(f"{place}: a vector outside its {len(content)} bytes")
    return start, child, kind
