"""Cases of .tflite beside ties: functions of int16 and quotients of int8 that float32 and float64 round differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from tilewright.graph import Array

from support.lite_made import RUNS, LiteCase, Made
from support.lite_models import Step, Value

_COUNT = 96


def _beside_ties(ratio: float) -> Array:
    """The stored integers whose products with a ratio are nearest to halves, for each run others."""
    values = np.arange(-(1 << 15), 1 << 15)
    away = np.abs(values * ratio % 1 - 0.5)
    nearest = values[np.argsort(away, kind="stable")[: RUNS * _COUNT]]
    return nearest.reshape(RUNS, 1, _COUNT).astype(np.int16)


def _scaled(name: str) -> tuple[Made, Value, Value]:
    """An operator with one input and an output of another scale."""
    made = Made(name, "int16")
    x = made.value(1, _COUNT, scale=made.scale(1e-4, 1e-3))
    return made, x, replace(x, scale=(float(np.float32(x.scale[0] * made.rng.uniform(0.4, 2.0))),))


def _function(name: str, operator: str, factor: float = 1.0, **options: object) -> LiteCase:
    made, x, y = _scaled(name)
    case = made.case([x, y], Step(operator, (0,), (1,), options))
    return replace(case, inputs=(_beside_ties(x.scale[0] * factor / y.scale[0]),))


def _difference(name: str) -> LiteCase:
    made, a, y = _scaled(name)
    b = made.value(_COUNT, scale=(a.scale[0] / 4096,))
    case = made.case([a, b, y], Step("SUB", (0, 1), (2,), {"activation": "NONE"}), (0, 1))
    return replace(case, inputs=(_beside_ties(a.scale[0] / y.scale[0]), np.zeros_like(case.inputs[1])))


def _quotient(name: str) -> LiteCase:
    """Fractions of 24 / 5 of a step, whose quotients end at halves."""
    made = Made(name)
    a, b, y = (
        Value((_COUNT,), "int8", (unit,), (-128,))
        for unit in (0.04356873035430908, 0.004091309849172831, 0.20487229526042938)
    )
    case = made.case([a, b, y], Step("DIV", (0, 1), (2,), {"activation": "NONE"}), (0, 1))
    times = 1 + np.arange(RUNS * _COUNT).reshape(RUNS, _COUNT) % 10
    return replace(case, inputs=((24 * times - 128).astype(np.int8), (5 * times - 128).astype(np.int8)))


TIES: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "relu_int16_ties": lambda n: _function(n, "RELU"),
        "abs_int16_ties": lambda n: _function(n, "ABS"),
        "leaky_int16_ties": lambda n: _function(n, "LEAKY_RELU", 0.7, alpha=0.7),
        "leaky_int16_negative": lambda n: _function(n, "LEAKY_RELU", 0.7, alpha=-0.7),
        "sub_int16_ties": _difference,
        "quotient_int8_ties": _quotient,
    }
)
