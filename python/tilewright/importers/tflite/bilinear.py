"""RESIZE_BILINEAR: two neighbours along each of two axes, in the arithmetic of LiteRT's reference kernels.

Before:  y = RESIZE_BILINEAR x, twice as wide
After:   elements of each neighbour, times its shares, added up: float32, or integers in 1/1024 along each axis
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.graph import Array, DType, RequantizeTwice
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall, one_type, same_scale
from tilewright.importers.tflite.images import line_positions
from tilewright.importers.tflite.multipliers import stored_bounds
from tilewright.importers.tflite.rearranging import picked


def resize_bilinear(call: LiteCall) -> None:
    """A constant size; float32, int8, uint8 and int16."""
    kind, x = one_type(call, 0), call.input(0)
    sizes = [int(value) for value in call.constant(1, "the size").reshape(-1)]
    if len(x.shape) != 4 or len(sizes) != 2 or min(sizes) < 1 or kind not in ("float32", "int8", "uint8", "int16"):
        raise Unsupported(f"size {sizes} of {kind}{list(x.shape)}", "float32, int8, uint8 and int16 are supported")
    aligned, centred = bool(call.integer("align_corners")), bool(call.integer("half_pixel_centers"))
    real = kind in ("float32", "uint8")
    lines = {
        axis: line_positions(x.shape[axis], size, aligned=aligned, centred=centred, real=real)
        for axis, size in ((2, sizes[1]), (1, sizes[0]))
    }
    if kind == "float32":
        name = x.name
        for axis, (positions, shares) in lines.items():
            name = _mixed(call, name, axis, positions, shares)
        call.emit("Reshape", [name], call.build.tensor(name).shape)
        return
    same_scale(call, call.record(0))
    if kind == "uint8":
        _mixed_corners(call, lines)
        return
    name = call.emit("Cast", [x.name], x.shape, dtype=DType.INT64, part="words") if kind == "int16" else x.name
    for axis, (positions, shares) in lines.items():
        name = _mixed_integers(call, name, axis, positions, shares)
    (_rounded_halves if kind == "int16" else _rounded_bytes)(call, name)


def _rounded_bytes(call: LiteCall, name: str) -> None:
    """Sums of 1/2^20 to int8, halves away from zero."""
    shape = call.build.tensor(name).shape
    low, high = stored_bounds("NONE", call.output())
    # Shares are 10 bits on each axis, and doubled once, since the rule halves before it divides by 2^20.
    doubled = call.literal(np.asarray(2, np.int32), "two")
    twofold = call.emit("MulInteger", [name, doubled], shape, part="twofold")
    rule = RequantizeTwice((1 << 30,), (-20,), 0, low, high)
    call.emit("Requantize", [twofold], shape, dtype=DType.INT8, epilogue=rule)


def _rounded_halves(call: LiteCall, name: str) -> None:
    """Sums of 1/2^20, int64, to int16, halves away from zero: half a step is added away from 0, then divided."""
    shape = call.build.tensor(name).shape
    half, unit = (call.literal(np.asarray(1 << bits, np.int64), f"unit{bits}") for bits in (19, 20))
    sign = call.emit("Sign", [name], shape, part="sign")
    outwards = call.emit("MulInteger", [sign, half], shape, part="outwards")
    total = call.emit("AddInteger", [name, outwards], shape, part="nudged")
    quotient = call.emit("DivInteger", [total, unit], shape, part="quotient")
    call.emit("Cast", [quotient], shape, dtype=DType.INT16)


def _mixed_corners(call: LiteCall, lines: Mapping[int, tuple[Array, Array]]) -> None:
    """Float sums of four neighbours in LiteRT's order, plus half a step, cut to the integer part."""
    (rows, row_shares), (columns, column_shares) = lines[1], lines[2]
    total = ""
    for right in range(2):
        for below in range(2):
            corner = f"{below}{right}"
            line = picked(call, call.input(0).name, 1, rows[:, below], f"row{corner}")
            chosen = picked(call, line, 2, columns[:, right], f"corner{corner}")
            shape = call.build.tensor(chosen).shape
            part = call.emit("Cast", [chosen], shape, dtype=DType.FLOAT32, part=f"real{corner}")
            factors = (row_shares[:, below].reshape(1, -1, 1, 1), column_shares[:, right].reshape(1, 1, -1, 1))
            for axis, factor in enumerate(factors):
                share = call.literal(factor.astype(np.float32), f"share{corner}{axis}")
                part = call.emit("Mul", [part, share], shape, part=f"weighted{corner}{axis}")
            total = call.emit("Add", [total, part], shape, part=f"sum{corner}") if total else part
    half = call.literal(np.asarray(0.5, np.float32), "half")
    above = call.emit("Add", [total, half], call.build.tensor(total).shape, part="above")
    call.emit("Cast", [above], call.build.tensor(total).shape, dtype=DType.UINT8)


def _mixed(call: LiteCall, name: str, axis: int, positions: Array, shares: Array) -> str:
    """Float sums of two positions of an axis."""
    shape = list(call.build.tensor(name).shape)
    shape[axis] = len(positions)
    given = {
        "axis": axis,
        "indices": tuple(int(at) for at in positions.reshape(-1)),
        "weights": tuple(float(share) for share in shares.reshape(-1)),
        "outside": 0.0,
    }
    return call.emit("Interpolate", [name], shape, given, part=f"axis{axis}")


def _mixed_integers(call: LiteCall, name: str, axis: int, positions: Array, shares: Array) -> str:
    """Sums of two positions of an axis in 1/1024: int32, or int64 where the elements are."""
    factor_shape = [1, 1, 1, 1]
    factor_shape[axis] = len(positions)
    parts = []
    for side in range(2):
        chosen = picked(call, name, axis, positions[:, side], f"side{side}_{axis}")
        shape = call.build.tensor(chosen).shape
        wide = chosen
        if call.build.tensor(chosen).dtype not in (DType.INT32, DType.INT64):
            wide = call.emit("Cast", [chosen], shape, dtype=DType.INT32, part=f"wide{side}_{axis}")
        numbers = shares[:, side].astype(call.build.tensor(wide).dtype.numpy).reshape(factor_shape)
        factors = call.literal(numbers, f"shares{side}_{axis}")
        parts.append(call.emit("MulInteger", [wide, factors], shape, part=f"weighted{side}_{axis}"))
    return call.emit("AddInteger", parts, call.build.tensor(parts[0]).shape, part=f"mixed_{axis}")
