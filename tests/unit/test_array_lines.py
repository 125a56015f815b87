"""Constants as C initialisers: every integer type at its ends, in arrays of few and of many numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tilewright.codegen.pools import array_lines

VALUE = {"INT32_MIN": -(1 << 31), "INT64_MIN": -(1 << 63)}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("count", [1, 2, 300, 20_000])
def test_lines_say_each_number(dtype: str, count: int) -> None:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(0)
    for least, most in ((limits.min, limits.max), (limits.min, limits.min), (limits.max, limits.max), (0, 9)):
        numbers = random.integers(least, most, count, dtype=dtype, endpoint=True)
        lines = array_lines(numbers)
        assert all(line.count(",") == 16 for line in lines[:-1])
        words = re.findall(r"[^, ]+", " ".join(lines))
        assert [VALUE[word] if word in VALUE else int(word.removesuffix("U")) for word in words] == numbers.tolist()
        # Without a suffix, a number that no int can hold would be another type.
        assert all(word.endswith("U") == (number >= 1 << 31) for word, number in zip(words, numbers, strict=True))


def test_flags_and_empty_arrays() -> None:
    assert array_lines(np.array([True, False, True])) == ["1, 0, 1,"]
    assert array_lines(np.zeros(0, np.int8)) == ["0"]
