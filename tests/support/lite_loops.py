"""Models with loops and branches, and with operators on sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from support.lite_made import RUNS, LiteCase, Made
from support.lite_models import Part, Step, Value, lite_model

STEPS, UNITS, INPUTS = 4, 5, 3
_NUMBER = Value((), "int32")


def known(*numbers: int) -> Value:
    """A constant list of int32."""
    return Value((len(numbers),), "int32", data=np.asarray(numbers, np.int32))


def one(number: int) -> Value:
    """A constant number of int32."""
    return Value((), "int32", data=np.asarray(number, np.int32))


def _until(steps: int, others: list[Value]) -> Part:
    """The condition of a loop whose first tensor counts: it goes on while that is less than ``steps``."""
    values = [_NUMBER, *others, one(steps), Value((), "bool")]
    last = len(values) - 1
    return Part(values, [Step("LESS", (0, last - 1), (last,))], tuple(range(len(others) + 1)), (last,))


def recurrence(name: str, *, steps: int = STEPS, ends: bool = False) -> LiteCase:
    """h = tanh(W x[i] + R h) for each i, as converters write recurrent layers; the outputs are h or all of them.

    Args:
        ends: whether the loop writes every h to its place in a sequence, by slices whose extents depend on i.
    """
    made = Made(name, "float32")
    x, h = Value((STEPS, 1, INPUTS), "float32"), Value((1, UNITS), "float32")
    seq = Value((STEPS, 1, UNITS), "float32")
    w, r = (Value((UNITS, n), "float32", data=made.rng.normal(0, 0.6, (UNITS, n)).astype("f")) for n in (INPUTS, UNITS))
    dense = {"activation": "NONE"}
    row = Value((1, INPUTS), "float32")
    # 0: i, 1: h, 2: x, 3: the sequence; 4: i + 1, 5: x[i], 6: W x, 7: R h, 8: sum, 9: new h
    values = [_NUMBER, h, x, seq, _NUMBER, row, h, h, h, h, one(1), w, r]
    body = [
        Step("ADD", (0, 10), (4,), dense),
        Step("GATHER", (2, 0), (5,), {"axis": 0}),
        Step("FULLY_CONNECTED", (5, 11, -1), (6,), dense),
        Step("FULLY_CONNECTED", (1, 12, -1), (7,), dense),
        Step("ADD", (6, 7), (8,), dense),
        Step("TANH", (8,), (9,)),
    ]
    outputs = [4, 9, 2, 3]
    if ends:
        values, body, outputs[3] = _written(values, body)
    part = Part(values, body, (0, 1, 2, 3), tuple(outputs))
    zeros = [replace(value, data=np.zeros(value.shape, np.float32)) for value in (h, seq)]
    main = [x, one(0), *zeros, _NUMBER, h, x, seq]
    loop = Step("WHILE", (1, 2, 0, 3), (4, 5, 6, 7), {"condition": 1, "body": 2})
    result = 7 if ends else 5
    content = lite_model(main, [loop], (0,), (result,), _until(steps, [h, x, seq]), part)
    drawn = made.rng.normal(0, 1, (RUNS, *x.shape)).astype(np.float32)
    return LiteCase(content, (drawn,), "litert" if ends else "tflm")


def _written(values: list[Value], body: list[Step]) -> tuple[list[Value], list[Step], int]:
    """The body with h in the place of position i of the sequence: before it, h, behind it. Tensor 3 is the sequence."""
    start = len(values)
    shape = (1, 1, UNITS)
    piece, index, place = Value(shape, "float32"), Value((1,), "int32"), Value((3,), "int32")
    before, h3, behind, i1, size, j1, begin, whole, rest, single, all_, zeros, none, column = range(start, start + 14)
    any_ = replace(piece, signature=(-1, 1, UNITS))
    made = [any_, piece, any_, index, place, index, place, Value((STEPS, 1, UNITS), "float32")]
    made += [known(1, UNITS), known(1), known(-1, -1, -1), known(0, 0), known(0, 0, 0), known(*shape)]
    steps = [
        Step("RESHAPE", (0, single), (i1,)),
        Step("CONCATENATION", (i1, rest), (size,), {"axis": 0, "activation": "NONE"}),
        Step("SLICE", (3, none, size), (before,)),
        Step("RESHAPE", (4, single), (j1,)),
        Step("CONCATENATION", (j1, zeros), (begin,), {"axis": 0, "activation": "NONE"}),
        Step("SLICE", (3, begin, all_), (behind,)),
        Step("RESHAPE", (9, column), (h3,)),
        Step("CONCATENATION", (before, h3, behind), (whole,), {"axis": 0, "activation": "NONE"}),
    ]
    return [*values, *made], [*body, *steps], whole


def counted(name: str) -> LiteCase:
    """A loop that doubles an int8 tensor three times."""
    made = Made(name)
    x = Value((2, 7), "int8", (0.02,), (3,))
    step = Step("ADD", (1, 1), (3,), {"activation": "NONE"})
    part = Part(
        [_NUMBER, x, _NUMBER, x, one(1)], [Step("ADD", (0, 4), (2,), {"activation": "NONE"}), step], (0, 1), (2, 3)
    )
    loop = Step("WHILE", (1, 0), (2, 3), {"condition": 1, "body": 2})
    content = lite_model([x, one(0), _NUMBER, x], [loop], (0,), (3,), _until(3, [x]), part)
    return LiteCase(content, (made.inputs(x) // 4,))


def branch(name: str, *, decided: bool) -> LiteCase:
    """RELU or NEG of a tensor, by a condition that is a constant or an input."""
    made = Made(name, "float32")
    x, condition = Value((3, 4), "float32"), Value((1,), "bool", data=np.array([False]) if decided else None)
    parts = [Part([x, x], [Step(operator, (0,), (1,))], (0,), (1,)) for operator in ("RELU", "NEG")]
    step = Step("IF", (1, 0), (2,), {"then": 1, "else": 2})
    content = lite_model([x, condition, x], [step], (0,) if decided else (0, 1), (2,), *parts)
    drawn = made.inputs(x)
    return LiteCase(content, (drawn,) if decided else (drawn, np.array([[True], [False], [True]])), "tflm")


def _update(name: str, starts: tuple[int, ...]) -> LiteCase:
    made = Made(name)
    x = made.value(3, 5, 4)
    small = replace(x, shape=(2, 2, 4))
    return made.case([x, small, known(*starts), x], Step("DYNAMIC_UPDATE_SLICE", (0, 1, 2), (3,)), (0, 1))


def _largest(name: str, kind: str) -> LiteCase:
    made = Made(name, kind)
    x = made.value(3, 9)
    values = [x, one(4), replace(x, shape=(3, 4)), Value((3, 4), "int32")]
    case = made.case(values, Step("TOPK_V2", (0, 1), (2, 3)), (0,), "litert")
    return replace(case, inputs=(case.inputs[0] // 16 if kind == "int8" else case.inputs[0],))


def _hot(name: str, axis: int) -> LiteCase:
    made = Made(name, "float32")
    shape = (2, 3, 5) if axis == -1 else (2, 5, 3)
    on, off = (Value((), "float32", data=np.float32(number)) for number in (2.5, -1.0))
    values = [Value((2, 3), "int32"), one(5), on, off, Value(shape, "float32")]
    content = lite_model(values, [Step("ONE_HOT", (0, 1, 2, 3), (4,), {"axis": axis})], (0,), (4,))
    return LiteCase(content, (made.rng.integers(-1, 6, (RUNS, 2, 3)).astype(np.int32),), "litert")


def _reversed(name: str, *, fixed: bool) -> LiteCase:
    made = Made(name, "uint8")
    x, lengths = made.value(4, 3, 5), Value((3,), "int32", data=np.asarray([4, 1, 3], np.int32) if fixed else None)
    step = Step("REVERSE_SEQUENCE", (0, 1), (2,), {"seq_dim": 0, "batch_dim": 1})
    content = lite_model([x, lengths, x], [step], (0,) if fixed else (0, 1), (2,))
    drawn = (made.inputs(x), made.rng.integers(0, 5, (RUNS, 3)).astype(np.int32))
    return LiteCase(content, drawn[: 1 if fixed else 2], "litert")


LOOPS: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "loop": recurrence,
        "loop_of_no_steps": lambda n: recurrence(n, steps=0),
        "loop_with_sequence": lambda n: recurrence(n, ends=True),
        "loop_int8": counted,
        "branch": lambda n: branch(n, decided=False),
        "branch_decided": lambda n: branch(n, decided=True),
        "updated": lambda n: _update(n, (1, 2, 0)),
        "updated_at_the_end": lambda n: _update(n, (2, 9, -3)),
        "largest_int8": lambda n: _largest(n, "int8"),
        "largest_float": lambda n: _largest(n, "float32"),
        "one_hot": lambda n: _hot(n, -1),
        "one_hot_inside": lambda n: _hot(n, 1),
        "reversed_sequences": lambda n: _reversed(n, fixed=True),
        "reversed_by_lengths": lambda n: _reversed(n, fixed=False),
    }
)
