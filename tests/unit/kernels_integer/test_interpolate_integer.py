"""Linear Resize of 8-bit tensors: against ONNX Runtime, and the kernel against the reference, in tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from kernel_harness import Ring, run_kernel
from support.firmware import needs_host_compiler
from support.forced import differences, forced
from support.host_runs import generated, host_outputs
from support.integer_nodes import check, choices_of, integers, node_graph, requantize
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators
from tilewright.base.errors import TilewrightError
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Graph
from tilewright.operators.interpolation import MOST_UNITS, integer_tables
from tilewright.plan import AxisRange, Layer
from tilewright.rewrites.passes import optimise

SIZES = {
    "doubled": ((1, 5, 4, 3), (2.0, 2.0), (2, 3)),
    "thirds": ((2, 3, 4, 5), (3.0, 1.5), (2, 3)),
    "smaller": ((1, 18, 8, 7), (0.5, 0.6), (2, 3)),
    "channels last": ((1, 4, 3, 5), (2.0, 3.0), (1, 2)),
    "apart": ((2, 3, 4, 2), (2.0, 2.0), (0, 2)),
    "line": ((2, 3, 9), (2.0, 1.0), (2, 1)),
    "matrix": ((3, 4), (3.0, 2.0), (0, 1)),
}
STEPS: tuple[dict[str, int], ...] = ({}, {"d1": 2, "d2": 3}, {"d0": 1, "d3": 1, "d2": 1}, {"d3": 5})


def table(extent: int, scale: float) -> tuple[Array, Array]:
    """The two positions that each output reads, and their weights, with the coordinates of half_pixel."""
    at = np.clip((np.arange(int(extent * scale)) + 0.5) / scale - 0.5, 0, extent - 1)
    low = np.minimum(at.astype(int), extent - 1)
    high = np.minimum(low + 1, extent - 1)
    return np.stack([low, high], axis=1), np.stack([1 - (at - low), at - low], axis=1)


def interpolated(name: str, dtype: str, *, cut: bool) -> tuple[Graph, dict[str, Array]]:
    """Linear Resize that gives uint8 with another scale, or with ``cut`` the type of its input, rounded towards 0."""
    shape, scales, axes = SIZES[name]
    x = integers(np.random.default_rng(len(name)), dtype, shape)
    tables = {axis: table(shape[axis], scale) for axis, scale in zip(axes, scales, strict=True) if scale != 1.0}
    given: dict[str, Any] = dict(integer_tables(shape, tables) or {})
    out = list(shape)
    for axis, (indices, _) in tables.items():
        out[axis] = len(indices)
    if cut:
        return node_graph("InterpolateInteger", [x], (), out, dtype, given, channels_last=len(shape) > 2)
    given["x_zero_point"] = 130 if dtype == "uint8" else -3
    unit = given["units"][0] * given["units"][1]
    epilogue = requantize([0.73 / unit], 120, "uint8")
    return node_graph("InterpolateInteger", [x], (), out, "uint8", given, epilogue)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("cut", [False, True])
def test_the_kernel(name: str, dtype: str, cut: bool) -> None:
    graph, feeds = interpolated(name, dtype, cut=cut)
    for steps in STEPS:
        check(graph, feeds, steps)
    check(graph, feeds, STEPS[1], in_place=True)


def test_rows_in_a_ring() -> None:
    graph, feeds = interpolated("doubled", "int8", cut=False)
    check(graph, feeds, {"d2": 2}, rings=(Ring(0, 2, 3),))


def test_another_element_is_noticed() -> None:
    graph, feeds = interpolated("doubled", "int8", cut=True)
    (got,) = run_kernel(choices_of(graph)[0], graph, feeds)
    np.testing.assert_array_equal(got, evaluate(graph, feeds)["out"])
    feeds["i0"][0, 2, 3, 1] ^= 64
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(got, evaluate(graph, feeds)["out"])


@pytest.mark.parametrize("name", SIZES)
def test_tiles_read_both_neighbours_of_every_output(name: str) -> None:
    graph, _ = interpolated(name, "int8", cut=True)
    choice = choices_of(graph)[0]
    node = graph.nodes[0]
    given, x, y = node.attributes, graph.tensor("i0").shape, graph.tensor("out").shape
    for which, axis in enumerate(given.axes):
        read = choice.nest.reads[0][axis]
        span = AxisRange(read.terms, read.first_offset, read.last_offset, read.divisor, x[axis])
        ((_, stride),) = span.terms
        for at, (first, share) in enumerate(zip(*given.along(which, y), strict=True)):
            assert (stride * at + span.first_offset) // span.divisor <= first
            assert (stride * at + span.last_offset) // span.divisor >= first + (share > 0)


def test_shares_are_exact_where_a_unit_allows_it() -> None:
    irregular = table(7, np.sqrt(7.0))
    found = integer_tables((1, 1, 7, 7), {2: table(7, 3.0), 3: irregular})
    assert found is not None
    thirds, unit = found["units"]
    assert (thirds, unit <= MOST_UNITS) == (3, True)
    np.testing.assert_allclose(np.array(found["share"][21:]) / unit, irregular[1][:, 1], atol=0.5 / MOST_UNITS)


def test_other_sums_have_no_integers() -> None:
    cubic = np.zeros((4, 4), int), np.full((4, 4), 0.25)
    outside = np.full((4, 2), -1), np.full((4, 2), 0.5)
    apart = np.tile([0, 2], (4, 1)), np.full((4, 2), 0.5)
    for other in (cubic, outside, apart):
        assert integer_tables((1, 1, 3, 3), {2: other}) is None
    doubled = table(3, 2.0)
    assert integer_tables((1, 1, 3, 3, 3), {3: doubled, 4: doubled}) is None
    assert integer_tables((3,), {0: doubled}) is None


@needs_host_compiler
def test_tiles_of_the_generated_code(tmp_path: Path) -> None:
    graph, _ = interpolated("thirds", "int8", cut=False)
    cases = [forced(graph, number, number) for number in range(6)]
    assert any(case.tile_count > 1 for case in cases)
    assert differences(cases, tmp_path / "models", tmp_path / "objects", 0) == []


def upsampled() -> onnx.ModelProto:
    """Two convolutions with linear upsampling by 2 between them, quantised."""
    build, rng = ModelBuilder(13), np.random.default_rng(5)

    def weights(*shape: int) -> str:
        return build.dequantize(build.constant(integers(rng, "int8", shape)), 0.004, 0, np.int8)

    x = build.dequantize(build.input("x", [1, 4, 12, 10], np.int8), 0.02, 4, np.int8)
    x = build.quantize(build.node("Conv", x, weights(8, 4, 3, 3), pads=[1] * 4), 0.03, -9, np.int8)
    scales = build.constant(np.array([1, 1, 2, 2], np.float32))
    x = build.node("Resize", build.dequantize(x, 0.03, -9, np.int8), "", scales, mode="linear")
    x = build.dequantize(build.quantize(x, 0.03, -9, np.int8), 0.03, -9, np.int8)
    x = build.node("Conv", x, weights(4, 8, 3, 3), pads=[1] * 4)
    return build.model(build.quantize(x, 0.05, 3, np.int8, output="y"), dtypes={"y": np.int8})


@needs_host_compiler
def test_a_group_computes_rows_between_those_of_a_ring(tmp_path: Path) -> None:
    model = upsampled()
    feeds = {"x": integers(np.random.default_rng(6), "int8", (1, 4, 12, 10))}
    # Fewest cycles would not give this group: its operators together take more cycles than a group may by default.
    built = generated(model, tmp_path / "c", objective="bytes_used")
    (group,) = [layer for layer in built.plan.program if isinstance(layer, Layer)]
    assert [stage.operator for stage in group.stages] == ["Conv", "InterpolateInteger", "Conv"]
    wanted = evaluate(optimise(imported(tmp_path, model)), feeds)["y"]
    np.testing.assert_array_equal(host_outputs(built, feeds, tmp_path / "c")["y"], wanted)


COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("scale", [0.035, 0.02])
def test_quantised_models(tmp_path: Path, dtype: type, coordinates: str, scale: float) -> None:
    build = ModelBuilder(13)
    x = build.dequantize(build.input("x", [1, 3, 5, 7], dtype), 0.02, 4, dtype)
    scales = build.constant(np.array([1, 1, 3, 1.5], np.float32))
    y = build.node("Resize", x, "", scales, mode="linear", coordinate_transformation_mode=coordinates)
    y = build.quantize(build.node("Relu", y), scale, 4, dtype, output="y")
    model = build.model(y, dtypes={"y": dtype})
    assert operators(assert_equal_to_runtime(tmp_path, model, steps=1)) == {"InterpolateInteger": 1}


def stored(dtype: type, shape: list[int], scales: list[float], **attributes: object) -> Any:
    """Resize of stored integers, as ONNX Runtime's quantiser writes it in QOperator format."""
    build = ModelBuilder(18)
    scale = build.constant(np.array(scales, np.float32))
    y = build.node("Resize", build.input("x", shape, dtype), "", scale, mode="linear", output="y", **attributes)
    return build.model(y, dtypes={"y": dtype})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("coordinates", COORDINATES[::2])
@pytest.mark.parametrize("scale", [2.0, 0.5])
def test_stored_integers_are_those_of_onnx_runtime(tmp_path: Path, dtype: type, coordinates: str, scale: float) -> None:
    model = stored(dtype, [1, 3, 6, 8], [1, 1, scale, scale], coordinate_transformation_mode=coordinates)
    assert operators(assert_equal_to_runtime(tmp_path, model)) == {"InterpolateInteger": 1}


@pytest.mark.parametrize(
    ("shape", "scales", "attributes"),
    [
        ([1, 2, 3, 3, 3], [1, 1, 2, 2, 2], {}),
        ([1, 2, 9, 9], [1, 1, 0.5, 0.5], {"antialias": 1}),
        ([1, 2, 3, 3], [2, 1, 2, 2], {}),
    ],
)
def test_other_stored_integers_are_refused(
    tmp_path: Path, shape: list[int], scales: list[float], attributes: dict[str, object]
) -> None:
    with pytest.raises(TilewrightError, match="two axes without a region or antialias are supported"):
        imported(tmp_path, stored(np.int8, shape, scales, **attributes))
