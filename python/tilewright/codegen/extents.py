"""Strides and constant bounds of operands, as numbers (not C expressions)."""

from __future__ import annotations

import numpy as np

from tilewright.plan import AxisRange, Buffer, Operand


def first_byte(buffer: Buffer, operand: Operand) -> int:
    """Bytes from the start of an array to a rectangle that no index moves; the axis of a ring adds none."""
    pairs = enumerate(zip(operand.rectangle, buffer.strides_bytes, strict=True))
    return sum(constant_bounds(axis)[0] * stride for number, (axis, stride) in pairs if number != buffer.ring_axis)


def constant_bounds(axis: AxisRange) -> tuple[int, int]:
    """(First element, end) of an axis that no index moves; of any other axis (0, extent)."""
    if axis.terms:
        return 0, axis.extent
    lower = min(max(axis.first_offset // axis.divisor, 0), axis.extent)
    return lower, max(lower, min(axis.last_offset // axis.divisor + 1, axis.extent))


def view_strides(buffer: Buffer, view: tuple[int, ...], operand: Operand | None = None) -> tuple[int, ...]:
    """Strides in bytes of a view's axes; an axis of extent 1 has stride 0, so that it broadcasts."""
    extents = [axis.extent for axis in operand.rectangle] if operand is not None else list(buffer.shape)
    return tuple(0 if axis < 0 or extents[axis] == 1 else buffer.strides_bytes[axis] for axis in view)


def element_bytes(buffer: Buffer) -> int:
    """Bytes of an element of a buffer."""
    return int(np.dtype(buffer.dtype).itemsize)
