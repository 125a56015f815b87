from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.base.errors import TilewrightError
from tilewright.graph import Array
from tilewright.plan import InterfaceTensor
from tilewright.tools.golden import match_arrays, parse_tolerance, read_arrays

BYTES = InterfaceTensor("a/x:0", "a_x_0", "x", "int8", (1, 4))
FLOATS = InterfaceTensor("y", "y", "y", "float32", (2,))


def match(array: Array, item: InterfaceTensor = BYTES) -> Array:
    return match_arrays((item,), {"arr_0": array}, "file.npz")[0]


def test_by_name_and_else_by_order() -> None:
    first, second = np.ones((1, 4)), np.zeros(2)
    by_name = match_arrays((BYTES, FLOATS), {"y": second, "other": first, "a/x:0": first}, "file.npz")
    by_order = match_arrays((BYTES, FLOATS), {"arr_0": first, "arr_1": second}, "file.npz")
    for arrays in (by_name, by_order):
        np.testing.assert_array_equal(arrays[0], first[None])
        np.testing.assert_array_equal(arrays[1], second[None])
        assert [array.dtype.name for array in arrays] == ["int8", "float32"]


@pytest.mark.parametrize("names", [["y", "z"], ["p"], ["p", "q", "r"]])
def test_arrays_that_cannot_be_matched(names: list[str]) -> None:
    with pytest.raises(TilewrightError) as error:
        match_arrays((BYTES, FLOATS), {name: np.zeros(2) for name in names}, "file.npz")
    assert error.value.code == "golden-arrays"


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float32", "float64"])
def test_conversion_is_by_value(dtype: str) -> None:
    array = np.array([[0, 1, 2, 127]], dtype=dtype)
    np.testing.assert_array_equal(match(array), array[None].astype(np.int8))


@pytest.mark.parametrize(
    "values",
    [[0, 0, 0, 128], [-129, 0, 0, 0], [0.5, 0, 0, 0], [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]],
)
def test_what_the_type_cannot_hold_is_refused(values: list[float]) -> None:
    with pytest.raises(TilewrightError) as error:
        match(np.array([values]))
    assert error.value.code == "golden-value"


def test_floats_may_be_special() -> None:
    array = np.array([np.nan, -np.inf])
    np.testing.assert_array_equal(match(array, FLOATS), array[None].astype(np.float32))


def test_one_more_leading_dimension_is_a_list_of_runs() -> None:
    assert match(np.zeros((3, 1, 4))).shape == (3, 1, 4)
    assert match(np.zeros(4)).shape == (1, 1, 4)
    for shape in [(3, 4), (2, 3, 1, 4), (1, 5), ()]:
        with pytest.raises(TilewrightError) as error:
            match(np.zeros(shape))
        assert error.value.code == "golden-shape"


def test_text_is_no_number() -> None:
    with pytest.raises(TilewrightError, match="no numbers"):
        match(np.array([["a", "b", "c", "d"]]))


def test_tolerance() -> None:
    assert parse_tolerance("1e-5:0.5") == (1e-5, 0.5)
    for text in ("", "1", "1:", "a:b", "-1:0", "nan:0", "inf:0", "1:2:3"):
        with pytest.raises(TilewrightError):
            parse_tolerance(text)


def test_broken_archives(tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    with pytest.raises(TilewrightError):
        read_arrays(path)
    for content in (b"", b"no archive", b"PK\x03\x04broken"):
        path.write_bytes(content)
        with pytest.raises(TilewrightError):
            read_arrays(path)
    np.save(tmp_path / "one.npy", np.zeros(2))
    with pytest.raises(TilewrightError, match="no npz"):
        read_arrays(tmp_path / "one.npy")
