"""Reductions and normalisations whose rows do not fit the pool of tiles: sums part by part, in tiles of any shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.firmware import needs_host_compiler
from support.forced import Forced, differences, generated, levels_platform
from support.host_runs import TILED, host_outputs
from support.host_runs import generated as generated_for
from support.planned import far_platform, near_platform, options, planned
from support.single_node import single_node
from support.small_nodes import conv
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import Array, Graph, Requantize
from tilewright.kernels.registry import choices
from tilewright.options import CompileOptions
from tilewright.pipeline import imported_graph, plan_model, sized_platform
from tilewright.planning.prepare import prepare
from tilewright.tiling.choice import TilingOptions, choose_tiles
from tilewright.tiling.problem import TilingProblem, tiling_problem

SHAPE = (2, 5, 7, 3)
SUMS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceMax", "ReduceMin")
STEPS = ({"d1": 2}, {"d2": 3, "d3": 2}, {"d1": 1, "d2": 1, "d3": 1}, {"d0": 1, "d1": 3, "d2": 4})


def reduction(operator: str, dtype: str, axes: tuple[int, ...], *, keepdims: bool) -> Graph:
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(SHAPE))
    shape = kept if keepdims else tuple(extent for axis, extent in enumerate(SHAPE) if axis not in axes)
    return single_node(operator, [np.zeros(SHAPE, dtype)], {"axes": axes, "keepdims": keepdims}, shape, dtype)


@needs_host_compiler
@pytest.mark.parametrize("operator", [*SUMS, "ReduceL2"])
def test_sums_of_parts_are_the_sums(operator: str, tmp_path: Path) -> None:
    near, cases = near_platform(), []
    for dtype in ("float32",) if operator == "ReduceL2" else ("float32", "int32", "int64"):
        for number, axes in enumerate(((1, 2, 3), (2, 3), (1,), (0, 1, 2, 3))):
            graph = reduction(operator, dtype, axes, keepdims=number % 2 == 0)
            name, steps = graph.nodes[0].name, tuple(STEPS[number].items())
            chip = levels_platform(asynchronous=number % 2 == 1, homes="l3")
            found = planned(graph, chip, tiles=((name, steps),))
            assert found.layers[0].problem.kernel.symbol == "tilewright_reduce_parts"
            tiled = generated(graph, chip, found, f"t{len(cases)}")
            untiled = generated(graph, near, planned(graph, near), f"u{len(cases)}")
            cases.append(Forced(graph, steps, tiled, untiled, dtype != "float32"))
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


@needs_host_compiler
def test_the_place_of_the_extreme_is_found_in_parts(tmp_path: Path) -> None:
    """Bytes, of which many are equal: the first or the last of them."""
    near, chip, cases = near_platform(), levels_platform(asynchronous=False, homes="l3"), []
    for operator in ("ArgMax", "ArgMin"):
        for last in (False, True):
            attributes = {"axes": (1,), "keepdims": False, "select_last": last}
            graph = single_node(operator, [np.zeros((2, 700, 3), np.int8)], attributes, (2, 3), "int64")
            found = planned(graph, chip, tiles=(("node", (("d1", 9), ("d2", 2))),))
            tiled = generated(graph, chip, found, f"t{len(cases)}")
            untiled = generated(graph, near, planned(graph, near), f"u{len(cases)}")
            cases.append(Forced(graph, (("d1", 9), ("d2", 2)), tiled, untiled, True))
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


def test_all_of_it_is_summed_in_a_few_bytes() -> None:
    """Elements of x, y and a state of 48 bytes, where it took the whole tensor."""
    graph = reduction("ReduceMean", "float32", (1, 2, 3), keepdims=True)
    found = planned(graph, far_platform(56))
    assert found.layers[0].choice.near_bytes["l1"] <= 56
    with pytest.raises(TilewrightError, match="needs 56 bytes"):
        planned(graph, far_platform(55))
    whole = planned(graph, far_platform(1 << 16))
    assert whole.layers[0].problem.kernel.symbol == "tilewright_reduce"


def norms(bias: bool, rows: int = 6, columns: int = 50) -> onnx.ModelProto:
    """LayerNormalization, then RMSNormalization, of long rows."""
    random = np.random.default_rng(4)
    names = ["scale", *(["bias"] if bias else []), "factor"]
    constants = [numpy_helper.from_array(random.standard_normal(columns).astype(np.float32), name) for name in names]
    first = ["x", "scale", "bias"] if bias else ["x", "scale"]
    nodes = [
        helper.make_node("LayerNormalization", first, ["t"], "ln", axis=-1, epsilon=1e-3),
        helper.make_node("RMSNormalization", ["t", "factor"], ["y"], "rms", axis=-1),
    ]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, rows, columns])] for name in ("x", "y")]
    graph = helper.make_graph(nodes, "norms", *ends, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def operators(model: Path, l1: int) -> list[str]:
    options = CompileOptions(model, "qemu-virt-rv32f", "net", pools=(f"l1={l1}",))
    return [node.operator for node in imported_graph(options, sized_platform(options)).nodes]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(norms(bias=True), path)
    return path


def test_norms_are_taken_apart_only_where_a_row_of_x_does_not_fit(model: Path) -> None:
    """A row of x takes 200 bytes, an element of y, scale and bias four each."""
    assert operators(model, 212) == ["LayerNormalization", "RMSNormalization"]
    assert "LayerNormalization" not in operators(model, 211)
    assert operators(model, 211)[-1] == "RMSNormalization"
    assert not {"LayerNormalization", "RMSNormalization"} & set(operators(model, 207))


@needs_host_compiler
@pytest.mark.parametrize("operator", ["LayerNormalization", "RMSNormalization"])
def test_parts_of_lines_have_the_bits_of_whole_lines(operator: str, tmp_path: Path) -> None:
    near, cases = near_platform(), []
    operands = [np.zeros(shape, np.float32) for shape in ((3, 4, 50), (50,), (50,))]
    given = operands if operator == "LayerNormalization" else operands[:2]
    graph = single_node(operator, given, {"epsilon": 1e-3}, (3, 4, 50))
    for number, room in enumerate((1024, 400, 216)):
        chip = far_platform(room, asynchronous=number == 1)
        found = planned(graph, chip)
        symbol = found.layers[0].problem.kernel.symbol
        assert symbol.endswith("_parts") == (room < 600)
        tiled = generated(graph, chip, found, f"t{number}")
        cases.append(Forced(graph, (), tiled, generated(graph, near, planned(graph, near), f"u{number}"), True))
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


@pytest.mark.parametrize("l1", [800, 700, 300, 212, 200, 64])
def test_every_size_has_a_sound_plan(model: Path, l1: int) -> None:
    assert check(plan_model(CompileOptions(model, "qemu-virt-rv32f", "net", pools=(f"l1={l1}",)))) == []


@needs_host_compiler
@pytest.mark.parametrize("bias", [False, True])
def test_norms_in_parts_are_the_norms(bias: bool, tmp_path: Path) -> None:
    """With 200 bytes of l1, beside NumPy in float64."""
    built = generated_for(norms(bias), tmp_path / "net", TILED, pools={"l1": 200})
    assert {"ReduceMean", "ReduceSumSquare"} <= {layer.operator for layer in built.plan.layers}
    x = np.random.default_rng(1).standard_normal((1, 6, 50)).astype(np.float32) * 3 + 5
    (got,) = host_outputs(built, {"x": x}, tmp_path / "run").values()
    constants = {item.name: numpy_helper.to_array(item).astype(np.float64) for item in norms(bias).graph.initializer}
    wanted = layer_norm(x.astype(np.float64), constants)
    wanted = wanted / np.sqrt((wanted**2).mean(-1, keepdims=True) + 1e-5) * constants["factor"]
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


def layer_norm(x: Array, constants: dict[str, Array]) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3) * constants["scale"]
    return np.asarray(normal + constants.get("bias", 0.0))


def cut_and_whole(graph: Graph, symbol: str, steps: tuple[tuple[str, int], ...], number: int) -> Forced:
    """The graph in tiles, for which the kernel is ``symbol``, beside the graph in one tile."""
    near, chip = near_platform(), levels_platform(asynchronous=number % 2 == 1, homes="l3")
    found = planned(graph, chip, tiles=((graph.nodes[0].name, steps),))
    assert found.layers[0].problem.kernel.symbol == symbol
    tiled = generated(graph, chip, found, f"t{number}")
    return Forced(graph, steps, tiled, generated(graph, near, planned(graph, near), f"u{number}"), True)


MEAN = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0)}


@needs_host_compiler
def test_means_of_images_have_the_bits_of_the_whole_in_parts(tmp_path: Path) -> None:
    cases = []
    for number, steps in enumerate(({"kh": 1, "kw": 2}, {"kh": 3, "c": 2}, {"kh": 1, "kw": 4, "c": 1}, {"kh": 5})):
        given = {**MEAN, "kernel": (5, 7), "count_include_pad": False, "x_zero_point": 0}
        graph = single_node("AveragePool", [np.zeros((2, 3, 5, 7), np.float32)], given, (2, 3, 1, 1))
        symbol = "tilewright_average_pool_f32" if steps == {"kh": 5} else "tilewright_average_rows_f32"
        cases.append(cut_and_whole(graph, symbol, tuple(steps.items()), number))
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


def test_the_mean_of_an_image_takes_three_words() -> None:
    given = {**MEAN, "kernel": (5, 7), "count_include_pad": False, "x_zero_point": 0}
    graph = single_node("AveragePool", [np.zeros((2, 3, 5, 7), np.float32)], given, (2, 3, 1, 1))
    assert planned(graph, far_platform(12)).layers[0].choice.near_bytes["l1"] == 12
    with pytest.raises(TilewrightError, match="needs 12 bytes"):
        planned(graph, far_platform(11))


@needs_host_compiler
def test_gathered_axes_are_taken_in_parts(tmp_path: Path) -> None:
    cases = []
    for dtype in ("float32", "int8", "int64"):
        for wide in ("int32", "int64"):
            x, number = np.zeros((3, 11, 4), dtype), len(cases)
            given = {"axis": 1, "batch_dims": 0}
            graph = single_node("Gather", [x, np.zeros((2, 3), wide)], given, (3, 2, 3, 4), dtype)
            steps = ((("part", 4),), (("part", 1), ("d3", 3)), (("part", 5), ("d0", 1), ("d2", 2)))[number % 3]
            cases.append(cut_and_whole(graph, "tilewright_gather_parts", steps, number))
        indices = np.zeros((2, 7, 4), "int32")
        graph = single_node("GatherElements", [x, indices], {"axis": 1}, (2, 7, 4), dtype)
        cases.append(cut_and_whole(graph, "tilewright_gather_parts", (("part", 3), ("d1", 2)), len(cases)))
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


def test_a_table_need_not_fit_to_gather_from_it() -> None:
    """500 rows of 64 floats, of which eight are taken: a row's element, an index, an element found and one of y."""
    graph = single_node(
        "Gather",
        [np.zeros((500, 64), np.float32), np.zeros(8, np.int32)],
        {"axis": 0, "batch_dims": 0},
        (8, 64),
    )
    assert planned(graph, far_platform(16)).layers[0].problem.kernel.symbol == "tilewright_gather_parts"
    assert planned(graph, far_platform(1 << 20)).layers[0].problem.kernel.symbol == "tilewright_gather"


def softmax(axis: int, dtype: str, count: int = 12) -> Graph:
    shape = (3, count) if axis else (count, 3)
    epilogue = Requantize((256.0,), -128 if dtype == "int8" else 0, *((-128, 127) if dtype == "int8" else (0, 255)))
    given = {"axis": axis, "x_scale": 0.05}
    return single_node("Softmax", [np.zeros(shape, dtype)], given, shape, dtype, epilogue)


@needs_host_compiler
def test_softmax_looks_powers_up_in_parts_of_their_table(tmp_path: Path) -> None:
    cases = []
    for axis in (0, 1):
        for dtype in ("int8", "uint8"):
            steps = ((("block", 1),), (("block", 5), (f"d{1 - axis}", 2)))[len(cases) % 2]
            graph = softmax(axis, dtype)
            cases.append(cut_and_whole(graph, "tilewright_softmax_integer_parts", steps, len(cases)))
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


def test_softmax_needs_no_whole_table() -> None:
    """Twelve classes: a block of 68 bytes, powers of 48, x and y."""
    found = planned(softmax(1, "int8"), far_platform(140))
    assert found.layers[0].problem.kernel.symbol == "tilewright_softmax_integer_parts"
    with pytest.raises(TilewrightError, match="needs 140 bytes"):
        planned(softmax(1, "int8"), far_platform(139))
    whole = planned(softmax(1, "int8"), far_platform(1048))
    assert whole.layers[0].problem.kernel.symbol == "tilewright_softmax_integer"


TAPS: tuple[dict[str, int], ...] = (
    {"kh": 1},
    {"kh": 2, "oc": 4, "ow": 3},
    {"kh": 1, "kw": 2, "oh": 2},
    {"kh": 1, "kw": 1, "ic": 4, "oh": 1},
)


@needs_host_compiler
def test_taps_are_added_in_the_order_of_the_whole_window(tmp_path: Path) -> None:
    cases = []
    for number, steps in enumerate(TAPS):
        plane = conv((2, 9, 7, 8), (6, 9, 3, 4), (4, 4), pads=(1, 2, 1, 1), strides=(2, 2), dilations=(1, 1))
        apart = conv((1, 9, 9, 9), (6, 9, 3, 3), (5, 5), dilations=(2, 2))
        line = conv((1, 9, 12), (6, 9, 5), (12,), pads=(2, 2))
        along = {name: step for name, step in steps.items() if name not in ("kh", "oh")} or {"kw": 3}
        cases += [
            cut_and_whole(graph, "tilewright_conv_f32_taps", tuple(given.items()), 3 * number + at)
            for at, (graph, given) in enumerate(((plane, steps), (apart, steps), (line, {"kw": 2, **along})))
        ]
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


def problems_of_rows(graph: Graph) -> list[TilingProblem]:
    """The tiling problem of the only node with each kernel that reads rows of taps."""
    platform = far_platform(None)
    prepared = prepare(graph, platform, options()).graph
    homes = dict.fromkeys((*prepared.inputs, *prepared.outputs), "sram")
    (node,) = prepared.nodes
    kernels = [choice for choice in choices(node, prepared) if choice.symbol == "tilewright_conv_rows_f32"]
    return [tiling_problem(prepared, node, kernel, platform, homes) for kernel in kernels]


def test_a_wide_window_of_floats_takes_a_tap_at_a_time() -> None:
    """7 x 7 taps of 3 channels for one position need 3,964 bytes near the core; a row of taps is faster there."""
    graph = conv((1, 3, 32, 32), (128, 3, 7, 7), (16, 16), pads=(3, 3, 3, 3), strides=(2, 2))
    by_rows = problems_of_rows(graph)
    assert len(by_rows) == 2
    for problem in by_rows:
        choose_tiles(problem, {"l1": 3964}, TilingOptions())
        with pytest.raises(TilewrightError, match="needs 3,964 bytes"):
            choose_tiles(problem, {"l1": 3963}, TilingOptions())
    assert planned(graph, far_platform(4200)).layers[0].problem.kernel.symbol == "tilewright_conv_rows_f32"
    assert planned(graph, far_platform(3963)).layers[0].problem.kernel.symbol == "tilewright_conv_f32_taps"
    assert planned(graph, far_platform(128)).layers[0].problem.kernel.symbol == "tilewright_conv_f32_taps"
    with pytest.raises(TilewrightError, match="needs 128 bytes"):
        planned(graph, far_platform(127))
