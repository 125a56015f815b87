"""Values of a parametrized test: a sample for ``make test``, all of them for ``make test-all``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], count: int = 1) -> list[Any]:
    """The values as parameters; tests of those behind the first ``count`` are long.

    A tuple stands for as many arguments as it has items: ``sampled([("ON", 1), ("OFF", 2)])`` are two tests, of which
    the second is long.
    """
    found = list(values)
    assert len(found) > count, "nothing is left for the long tests"
    return [_parameters(value, [pytest.mark.long] if at >= count else []) for at, value in enumerate(found)]


def _parameters(value: Any, marks: list[pytest.MarkDecorator]) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks)
