"""Kernels that move or convert elements, against the reference, whole and in tiles: always exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.float_kernels import Kernels, Ring
from support.float_nodes import Case, assert_tiling_changes_nothing, same_bits
from support.single_node import random_array
from tilewright.graph import Array, Clamp, Graph, Node
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar import movement, quantize

CHOICES: dict[str, Callable[[Node, Graph], tuple[KernelChoice, ...]]] = {
    "Copy": movement.copy,
    "Transpose": movement.transpose,
    "Slice": movement.slice_elements,
    "Concat": movement.concat,
    "Pad": movement.pad,
    "Repeat": movement.repeat,
    "Reshape": movement.reshape,
    "Quantize": quantize.quantize,
    "Dequantize": quantize.dequantize,
}
DTYPES = ["int8", "uint16", "float32", "int64"]


def only(case: Case) -> KernelChoice:
    graph = case.graph()
    (choice,) = CHOICES[case.operator](graph.nodes[0], graph)
    return choice


def check(kernels: Kernels, case: Case) -> Array:
    untiled = assert_tiling_changes_nothing(kernels, case, only(case))
    np.testing.assert_array_equal(untiled, case.expected())
    return untiled


def elements(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    return random_array(seed, shape, "int16" if dtype == "int64" else dtype).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_to_another_order(kernels: Kernels, dtype: str) -> None:
    x = elements(1, (2, 3, 4, 5), dtype)
    check(kernels, Case("Copy", (x,), {}, x.shape, dtype))
    case = Case("Copy", (x,), {}, x.shape, dtype, channels_last=True)
    check(kernels, case)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("perm", [(0, 1, 2), (2, 0, 1), (0, 2, 1), (1, 0, 2)])
def test_transposes(kernels: Kernels, dtype: str, perm: tuple[int, ...]) -> None:
    x = elements(1, (3, 4, 5), dtype)
    check(kernels, Case("Transpose", (x,), {"perm": perm}, tuple(x.shape[axis] for axis in perm), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices(kernels: Kernels, dtype: str) -> None:
    x = elements(1, (5, 7, 6), dtype)
    check(kernels, Case("Slice", (x,), {"starts": (1, 0, 2), "steps": (1, 1, 1)}, (3, 7, 2), dtype))
    check(kernels, Case("Slice", (x,), {"starts": (4, 1, 5), "steps": (-2, 3, -1)}, (3, 2, 6), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenates(kernels: Kernels, dtype: str, axis: int) -> None:
    shapes = [[3, 4, 5] for _ in range(3)]
    for shape, extent in zip(shapes, (1, 3, 2), strict=True):
        shape[axis] = extent
    parts = tuple(elements(seed, tuple(shape), dtype) for seed, shape in enumerate(shapes))
    out = tuple(6 if position == axis else extent for position, extent in enumerate((3, 4, 5)))
    check(kernels, Case("Concat", parts, {"axis": axis}, out, dtype, channels_last=axis == 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pads(kernels: Kernels, dtype: str) -> None:
    x = elements(1, (3, 4), dtype)
    value = {"float32": -np.inf, "int8": -7, "uint16": 65535, "int64": -(2**40) - 3}[dtype]
    check(kernels, Case("Pad", (x,), {"pads": (1, 0, 2, 3), "value": value}, (6, 7), dtype))
    check(kernels, Case("Pad", (x,), {"pads": (0, 5, 0, 0), "value": value}, (3, 9), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("times", [(1, 2, 2), (3, 1, 1), (1, 1, 4), (2, 3, 2)])
def test_repeats(kernels: Kernels, dtype: str, times: tuple[int, ...]) -> None:
    x = elements(1, (2, 3, 4), dtype)
    out = tuple(extent * count for extent, count in zip(x.shape, times, strict=True))
    check(kernels, Case("Repeat", (x,), {"times": times}, out, dtype))
    check(kernels, Case("Repeat", (x,), {"times": times}, out, dtype, channels_last=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(24,), (2, 12), (3, 2, 4), (4, 1, 6), (6, 2, 2)])
def test_reshapes(kernels: Kernels, dtype: str, shape: tuple[int, ...]) -> None:
    x = elements(1, (2, 3, 4), dtype)
    check(kernels, Case("Reshape", (x,), {}, shape, dtype))
    check(kernels, Case("Reshape", (x,), {}, shape, dtype, channels_last=True))


@pytest.mark.parametrize("operator", ["Copy", "Concat", "Slice", "Pad", "Repeat"])
def test_moved_rows_may_live_in_rings(kernels: Kernels, operator: str) -> None:
    x = random_array(1, (6, 4))
    case = {
        "Copy": Case("Copy", (x,), {}, (6, 4)),
        "Concat": Case("Concat", (x, x), {"axis": 1}, (6, 8)),
        "Slice": Case("Slice", (x,), {"starts": (1, 1), "steps": (1, 2)}, (5, 2)),
        "Pad": Case("Pad", (x,), {"pads": (1, 1, 0, 0), "value": 2.0}, (7, 5)),
        "Repeat": Case("Repeat", (x,), {"times": (3, 2)}, (18, 8)),
    }[operator]
    choice = only(case)
    rings = tuple(Ring(number, 4, 3) for number in range(len(choice.reads) + 1))
    assert same_bits(case.result(kernels, choice, {"d0": 2}, rings=rings), case.result(kernels, choice))


TIES = np.array(
    [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 127.5, -127.5, -128.5, 0.49999997, -0.49999997, 300, -300, 1e38]
)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("scale", [1.0, 0.25, 0.1, 3e-39])
def test_quantizes_exactly(kernels: Kernels, dtype: str, scale: float) -> None:
    generator = np.random.default_rng(5)
    with np.errstate(over="ignore"):
        around = (generator.integers(-400, 400, 60) / 2.0) * np.float32(scale)
    x = np.concatenate([TIES * np.float32(scale), around, [np.inf, -np.inf, np.nan, 0.0]]).astype(np.float32)
    limits = np.iinfo(dtype)
    for zero_point in (0, int(limits.min), int(limits.max), int(limits.max) // 2):
        check(
            kernels,
            Case("Quantize", (x,), {"scale": (scale,), "zero_point": (zero_point,), "axis": None}, x.shape, dtype),
        )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_quantizes_per_axis(kernels: Kernels, axis: int) -> None:
    x = random_array(1, (3, 4, 5))
    count = x.shape[axis]
    scale = tuple(float(np.float32(0.01 * (i + 1))) for i in range(count))
    zero_point = tuple(range(-count, 0))
    attributes = {"scale": scale, "zero_point": zero_point, "axis": axis}
    check(kernels, Case("Quantize", (x,), attributes, x.shape, "int8", channels_last=axis == 1))
    stored = random_array(2, x.shape, "int8")
    check(kernels, Case("Dequantize", (stored,), attributes, x.shape, channels_last=axis == 1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_dequantizes(kernels: Kernels, dtype: str) -> None:
    x = np.random.default_rng(3).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (3, 50), dtype, endpoint=True)
    attributes = {"scale": (0.1,), "zero_point": (0 if dtype == "int32" else 5,), "axis": None}
    check(kernels, Case("Dequantize", (x,), attributes, x.shape))
    check(kernels, Case("Dequantize", (x,), attributes, x.shape, epilogue=Clamp(0.0, 6.0)))


def test_declines_what_only_looks_like_moving() -> None:
    x = random_array(1, (2, 3))
    for case in (
        Case("Copy", (x,), {}, x.shape, "int8"),
        Case("Copy", (x,), {}, x.shape, epilogue=Clamp(0.0, 1.0)),
        Case("Quantize", (x,), {"scale": (1.0,), "zero_point": (0,), "axis": None}, x.shape, "int32"),
        Case("Dequantize", (x,), {"scale": (1.0,), "zero_point": (0,), "axis": None}, x.shape),
    ):
        graph = case.graph()
        assert CHOICES[case.operator](graph.nodes[0], graph) == ()


def test_a_wrong_expectation_is_noticed(kernels: Kernels) -> None:
    x = np.array([0.5, 1.5], np.float32)
    case = Case("Quantize", (x,), {"scale": (1.0,), "zero_point": (0,), "axis": None}, (2,), "int8")
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(case.result(kernels, only(case)), [1, 2])
