"""Cases of .tflite models that keep a state from run to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from tilewright.graph import Array

from support.lite_made import LiteCase, Made
from support.lite_models import Part, Step, Value, lite_model


def _svdf(name: str, kind: str, rank: int, largest: int = 120) -> LiteCase:
    """The type is that of the state and of the weights over time; features overflow the int8 state's zero point.

    With weights over time of more than 8 bits, sums may be beyond 32 bits, and features are shifted left.
    """
    made = Made(name, "float32" if kind == "float32" else "int8")
    x = made.value(2, 9, scale=(0.05,))
    feature, unit = made.weights((6, 9), 0, 1), (0.04,)
    zero = (0,) if kind == "int16" else (37,)
    state = Value((2, 30), kind, (0.003,) if kind == "int16" else (0.25,), zero, variable=True)
    if largest > 127:
        state, unit = replace(state, scale=(feature.scale[0] * x.scale[0] / 1.5,)), (4e-4,)
    drawn = made.rng.integers(-largest, largest, (6, 5), np.int16, endpoint=True).astype(kind)
    time = Value((6, 5), kind, unit, (0,), drawn)
    b = made.rng.integers(-300, 300, 6 // rank).astype(np.int32)
    bias = Value(b.shape, "int32", (float(np.float32(state.scale[0]) * np.float32(unit[0])),), (0,), b)
    y = made.value(2, 6 // rank, scale=(0.6,))
    if kind == "float32":
        feature = Value((6, 9), kind, data=made.rng.normal(0, 1, (6, 9)).astype(np.float32))
        time = Value((6, 5), kind, data=made.rng.normal(0, 1, (6, 5)).astype(np.float32))
        bias = Value(b.shape, kind, data=made.rng.normal(0, 1, b.shape).astype(np.float32))
        state = Value((2, 30), kind, variable=True)
    options = {"rank": rank, "activation": "RELU"}
    case = made.case([x, feature, time, bias, state, y], Step("SVDF", (0, 1, 2, 3, 4), (5,), options))
    return replace(case, stateful=True)


def _lstm(name: str, kind: str, *, time_first: bool) -> LiteCase:
    """Two sequences; the cell is clipped in some steps."""
    real, wide, made = kind == "float32", kind == "int16", Made(name, kind)
    batch, steps, inputs, units = 2, 5, 3, 5
    shape = (steps, batch) if time_first else (batch, steps)

    def constant(shape: tuple[int, ...], scale: float, largest: int, of: str) -> Value:
        if real:
            return Value(shape, kind, data=made.rng.normal(0, 0.7, shape).astype(np.float32))
        drawn = made.rng.integers(-largest, largest, shape, np.int32, endpoint=True).astype(of)
        return Value(shape, of, (scale,), (0,), drawn)

    unit, zero = (2.0**-15, 0) if wide else (1 / 128, -5)
    h = Value((batch, units), kind, () if real else (unit,), () if real else (zero,), variable=True)
    cell = replace(
        h, type=kind if real else "int16", scale=() if real else (2.0**-11,), zero_point=() if real else (0,)
    )
    w = [constant((units, inputs), float(made.scales(1)[0]), 127, "int8") for _ in range(4)]
    r = [constant((units, units), float(made.scales(1)[0]), 127, "int8") for _ in range(4)]
    bias = [constant((units,), 1e-4, 9000 << 8 * wide, "int64" if wide else "int32") for _ in range(4)]
    x, y = (
        made.value(*shape, inputs, scale=(6e-5 if wide else 0.02,)),
        replace(h, shape=(*shape, units), variable=False),
    )
    values = [x, *w, *r, *bias, h, cell, y]
    numbers = (*range(9), -1, -1, -1, *range(9, 13), -1, -1, 13, 14, -1, -1, -1, -1)
    options = {"activation": "TANH", "cell_clip": 1.5, "time_major": time_first}
    return replace(made.case(values, Step("UNIDIRECTIONAL_SEQUENCE_LSTM", numbers, (15,), options)), stateful=True)


def _stream(name: str) -> LiteCase:
    """A window over the rows of a stream, kept in a variable that begins with other rows."""
    made = Made(name)
    scale, zero = (0.1,), (-7,)

    def rows(*shape: int, data: Array | None = None) -> Value:
        return Value(shape, "int8", scale, zero, data)

    def listed(*numbers: int) -> Value:
        return Value((len(numbers),), "int32", data=np.asarray(numbers, np.int32))

    first = rows(1, 3, 4, data=made.rng.integers(-128, 127, (1, 3, 4), np.int8))
    handle = Value((), "resource")
    w = made.weights((5, 20), 0, 1)
    values = [rows(1, 2, 4), handle, rows(1, 3, 4), rows(1, 5, 4), listed(0, 2, 0), listed(1, 5, 4), listed(1, 1, 1)]
    values += [rows(1, 3, 4), w, made.bias(values[0], w, 5), made.value(1, 5, scale=(0.3,))]
    named = {"container": "", "shared_name": "rows"}
    steps = [
        Step("CALL_ONCE", (), (), {"init_subgraph_index": 1}),
        Step("VAR_HANDLE", (), (1,), named),
        Step("READ_VARIABLE", (1,), (2,)),
        Step("CONCATENATION", (2, 0), (3,), {"axis": 1, "activation": "NONE"}),
        Step("STRIDED_SLICE", (3, 4, 5, 6), (7,)),
        Step("ASSIGN_VARIABLE", (1, 7), ()),
        Step("FULLY_CONNECTED", (3, 8, 9), (10,), {"activation": "NONE"}),
    ]
    once = [Step("VAR_HANDLE", (), (0,), named), Step("ASSIGN_VARIABLE", (0, 1), ())]
    content = lite_model(values, steps, (0,), (10,), Part([handle, first], once))
    return LiteCase(content, (made.inputs(values[0]),), stateful=True)


def _newest(name: str, cycles: Sequence[int]) -> LiteCase:
    """A buffer of the five newest rows, and a product of all of them; ``cycles`` is a FlexBuffer, or nothing."""
    made = Made(name)
    x = made.value(1, 1, 2, 3, scale=(0.05,))
    rows, flat = replace(x, shape=(1, 5, 2, 3), variable=True), replace(x, shape=(1, 30))
    w = made.weights((4, 30), 0, 1)
    y = made.value(1, 4, scale=(0.7,))
    steps = [
        Step("CUSTOM CIRCULAR_BUFFER", (0,), (1,), {"custom": cycles} if cycles else {}),
        Step("RESHAPE", (1, 5), (2,)),
        Step("FULLY_CONNECTED", (2, 3, -1), (4,), {"activation": "NONE"}),
    ]
    listed = Value((2,), "int32", data=np.asarray((1, 30), np.int32))
    return replace(made.sequence([x, rows, flat, w, y, listed], steps), stateful=True)


STREAMS: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "svdf": lambda name: _svdf(name, "int8", 1),
        "svdf_rank": lambda name: _svdf(name, "int8", 2),
        "svdf_int16": lambda name: _svdf(name, "int16", 2),
        "svdf_int16_wide": lambda name: _svdf(name, "int16", 2, 20000),
        "svdf_float": lambda name: _svdf(name, "float32", 2),
        "lstm": lambda name: _lstm(name, "int8", time_first=False),
        "lstm_time_first": lambda name: _lstm(name, "int8", time_first=True),
        "lstm_int16": lambda name: _lstm(name, "int16", time_first=False),
        "lstm_int16_time_first": lambda name: _lstm(name, "int16", time_first=True),
        "lstm_float": lambda name: _lstm(name, "float32", time_first=False),
        "stream": _stream,
        # {"cycles_max": 1}, and no options.
        "newest": lambda name: _newest(name, (*b"cycles_max\0", 1, 12, 1, 1, 1, 1, 4, 2, 36, 1)),
        "newest_plain": lambda name: _newest(name, ()),
    }
)
