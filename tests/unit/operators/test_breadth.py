"""Operators of ONNX's default domain against onnx.reference, on shapes, axes and types that hypothesis chooses."""

from __future__ import annotations

import numpy as np
import onnx.reference
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, outputs_of

EFFORT = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
INTEGERS = (np.int8, np.uint8, np.int32, np.int64)


def array(seed, shape, dtype=np.float32):
    generator = np.random.default_rng(seed)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype == np.float32:
        return generator.normal(size=shape).astype(dtype)
    return generator.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape).astype(dtype)


def check(folder, operator, inputs, *constants, outputs=1, opset=20, **attributes):
    """One node, its inputs as graph inputs, ``constants`` behind them."""
    build = ModelBuilder(opset)
    names = [build.input(f"x{number}", value.shape, value.dtype) for number, value in enumerate(inputs)]
    names += [build.constant(value) for value in constants]
    result = build.node(operator, *names, outputs=outputs, output="y", **attributes)
    results = [result] if outputs == 1 else result
    feeds = {f"x{number}": value for number, value in enumerate(inputs)}
    model = build.model(*results)
    wanted = onnx.reference.ReferenceEvaluator(model).run(results, feeds)
    for want, info in zip(wanted, model.graph.output, strict=True):
        info.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(np.asarray(want).dtype)
    for got, want in zip(outputs_of(imported(folder, model), feeds), wanted, strict=True):
        assert got.dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=5e-6, atol=1e-6)


FLOAT_UNARY = (
    "Abs Neg Sign Exp Floor Ceil Round Erf Sin Cos Tan Atan Sinh Cosh Asinh Softplus Softsign Mish Elu Selu Celu "
    "ThresholdedRelu Shrink Gelu"
).split()


@pytest.mark.parametrize("operator", FLOAT_UNARY)
@EFFORT
@given(shape=SHAPES)
def test_functions_of_one_tensor(tmp_path, operator, shape):
    check(tmp_path, operator, [array(1, shape)])


@pytest.mark.parametrize("operator", ["Log", "Sqrt", "Reciprocal", "Acosh"])
def test_functions_of_positive_numbers(tmp_path, operator):
    check(tmp_path, operator, [np.abs(array(1, (3, 4))) + 1])


@pytest.mark.parametrize(
    "operator", ["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Equal", "Less", "GreaterOrEqual"]
)
@EFFORT
@given(shape=SHAPES, dtype=st.sampled_from(INTEGERS), drop=st.integers(0, 3))
def test_integers_of_two_tensors(tmp_path, operator, shape, dtype, drop):
    b = array(2, shape[min(drop, len(shape) - 1) :], dtype)
    b[b == 0] = 3
    a = array(1, shape, dtype)
    if operator == "Div":
        a, b = np.abs(a), np.abs(b)  # the reference rounds down, ONNX towards zero
    check(tmp_path, operator, [a, b])


def test_integer_quotients_go_towards_zero(tmp_path):
    build = ModelBuilder(20)
    a, b = np.array([7, -7, 7, -7, -128], np.int8), np.array([2, 2, -2, -2, -1], np.int8)
    names = [build.input("a", a.shape, a.dtype), build.input("b", b.shape, b.dtype)]
    build.node("Div", *names, output="y")
    graph = imported(tmp_path, build.model("y", dtypes={"y": np.int8}))
    np.testing.assert_array_equal(outputs_of(graph, {"a": a, "b": b})[0], [3, -3, -3, 3, -128])


@pytest.mark.parametrize("operator", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits(tmp_path, operator):
    check(tmp_path, operator, [array(1, (3, 4), np.int32), array(2, (4,), np.int32)])


@pytest.mark.parametrize("to", [np.float32, np.int8, np.uint8, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.int32, np.int64, np.bool_])
def test_casts(tmp_path, dtype, to):
    values = np.abs(array(1, (3, 5), dtype)) if dtype != np.bool_ else array(1, (3, 5), dtype)
    check(tmp_path, "Cast", [values], to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to)))


@pytest.mark.parametrize("name", ["Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"])
@EFFORT
@given(data=st.data(), shape=SHAPES)
def test_reductions(tmp_path, name, data, shape):
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda a: a % len(shape), max_size=3))
    keepdims = data.draw(st.integers(0, 1))
    check(tmp_path, f"Reduce{name}", [array(3, shape)], np.array(axes, np.int64), keepdims=keepdims)


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@EFFORT
@given(data=st.data(), shape=SHAPES, dtype=st.sampled_from((np.float32, *INTEGERS)))
def test_indices_of_extremes(tmp_path, operator, data, shape, dtype):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    attributes = {name: data.draw(st.integers(0, 1)) for name in ("keepdims", "select_last_index")}
    check(tmp_path, operator, [array(4, shape, dtype)], axis=axis, **attributes)


@EFFORT
@given(data=st.data(), shape=SHAPES, rank=st.integers(0, 2), dtype=st.sampled_from((np.float32, *INTEGERS)))
def test_gather(tmp_path, data, shape, rank, dtype):
    axis = data.draw(st.integers(0, len(shape) - 1))
    extent = shape[axis]
    indices = np.random.default_rng(5).integers(-extent, extent, (2, 3)[:rank])
    check(tmp_path, "Gather", [array(5, shape, dtype), np.asarray(indices, np.int64)], axis=axis)
    check(tmp_path, "GatherElements", [array(5, shape, dtype), array(6, shape, np.int64) % extent], axis=axis)


@EFFORT
@given(data=st.data(), shape=SHAPES, reduction=st.sampled_from(["none", "add", "mul", "min", "max"]))
def test_scatter(tmp_path, data, shape, reduction):
    axis = data.draw(st.integers(0, len(shape) - 1))
    count = data.draw(st.integers(1, shape[axis]))
    updates = tuple(count if position == axis else extent for position, extent in enumerate(shape))
    order = np.arange(count).reshape([-1 if position == axis else 1 for position in range(len(shape))])
    indices = np.broadcast_to(order, updates).astype(np.int64)
    inputs = [array(6, shape), indices.copy(), array(7, updates)]
    check(tmp_path, "ScatterElements", inputs, axis=axis, reduction=reduction)


@EFFORT
@given(shape=st.tuples(*[st.integers(1, 4)] * 4), depth=st.integers(1, 3))
def test_gather_and_scatter_over_several_axes(tmp_path, shape, depth):
    generator = np.random.default_rng(8)
    indices = np.stack([generator.integers(-shape[a], shape[a], 3) for a in range(depth)], axis=-1)
    check(tmp_path, "GatherND", [array(8, shape), indices])
    updates = array(9, (3, *shape[depth:]))
    check(tmp_path, "ScatterND", [array(8, shape), indices, updates], reduction="add")


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@EFFORT
@given(shape=st.lists(st.integers(2, 4), min_size=1, max_size=3).map(tuple), data=st.data())
def test_padding(tmp_path, mode, shape, data):
    pads = [data.draw(st.integers(0, 1)) for _ in range(2 * len(shape))]
    check(tmp_path, "Pad", [array(10, shape)], np.array(pads, np.int64), mode=mode)


@EFFORT
@given(data=st.data(), shape=SHAPES)
def test_running_sums_tiles_and_ranks(tmp_path, data, shape):
    axis = data.draw(st.integers(0, len(shape) - 1))
    flags = {name: data.draw(st.integers(0, 1)) for name in ("exclusive", "reverse")}
    check(tmp_path, "CumSum", [array(11, shape)], np.array(axis), **flags)
    repeats = [data.draw(st.integers(1, 3)) for _ in shape]
    check(tmp_path, "Tile", [array(11, shape)], np.array(repeats, np.int64))
    count = data.draw(st.integers(1, shape[axis]))
    largest = data.draw(st.integers(0, 1))
    check(tmp_path, "TopK", [array(12, shape)], np.array([count]), outputs=2, axis=axis, largest=largest)
    check(tmp_path, "LogSoftmax", [array(12, shape)], axis=axis)
    check(tmp_path, "Trilu", [array(12, (3, *shape[-1:], 4))], np.array(axis - 1), upper=flags["reverse"])


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@EFFORT
@given(
    extents=st.tuples(*[st.integers(1, 5)] * 2),
    sizes=st.tuples(*[st.integers(1, 7)] * 2),
    way=st.sampled_from(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"]),
)
def test_resize(tmp_path, mode, extents, sizes, way):
    x = array(13, (1, 2, *extents))
    constants = [np.zeros(0, np.float32), np.zeros(0, np.float32), np.array([1, 2, *sizes], np.int64)]
    attributes = {"mode": mode, "coordinate_transformation_mode": way}
    if way == "pytorch_half_pixel" and 1 in sizes:
        # The reference leaves the text here (docs/reference/judges.md); onnxruntime follows it.
        build = ModelBuilder(20)
        names = [build.input("x", x.shape), *(build.constant(value) for value in constants)]
        assert_equal_to_runtime(tmp_path, build.model(build.node("Resize", *names, **attributes)))
        return
    check(tmp_path, "Resize", [x], *constants, **attributes)


@EFFORT
@given(
    spatial=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    stride=st.integers(1, 2),
    dilation=st.integers(1, 2),
    group=st.integers(1, 2),
)
def test_transposed_convolution(tmp_path, spatial, stride, dilation, group):
    # Against onnxruntime, since the reference takes one channel for each group only.
    rank = len(spatial)
    build = ModelBuilder(20)
    x = build.input("x", [1, 4, *spatial])
    constants = [build.constant(array(15, (4, 3, *[2] * rank))), build.constant(array(16, (3 * group,)))]
    attributes = {"strides": [stride] * rank, "dilations": [dilation] * rank, "group": group}
    y = build.node("ConvTranspose", x, *constants, **attributes)
    assert_equal_to_runtime(tmp_path, build.model(y))


@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
@EFFORT
@given(steps=st.integers(1, 4), entries=st.integers(1, 3), width=st.integers(1, 3), units=st.integers(1, 3))
def test_recurrence(tmp_path, operator, gates, steps, entries, width, units):
    inputs = [
        array(17, (steps, entries, width)),
        array(18, (1, gates * units, width)),
        array(19, (1, gates * units, units)),
        array(20, (1, 2 * gates * units)),
    ]
    check(tmp_path, operator, inputs, outputs=2, hidden_size=units)


def test_a_wrong_result_is_noticed(tmp_path, monkeypatch):
    from tilewright.catalogue.operators import OPERATORS
    from tilewright.operators import map as functions
    from tilewright.operators.operator import Operator

    wrong = functions._operator("Exp", np.expm1)
    assert isinstance(wrong, Operator)
    monkeypatch.setattr("tilewright.catalogue.operators.OPERATORS", {**OPERATORS, "Exp": wrong})
    with pytest.raises(AssertionError):
        check(tmp_path, "Exp", [array(1, (3,))])
