"""Integer references: exact accumulators, rounding and shifting of the epilogues, quantised operators."""

from __future__ import annotations

import time

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support.single_node import random_array, run, single_node
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import Clamp, Requantize, RequantizeShift, Rescale
from tilewright.operators.epilogue import apply

WINDOW = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
CONV = {**WINDOW, "group": 1, "x_zero_point": 0, "w_zero_point": (0,)}
MATMUL = {"transpose_a": False, "transpose_b": False, "a_zero_point": 0, "b_zero_point": (0,)}
POOL = {"kernel": (3, 3), "strides": (2, 2), "dilations": (1, 1), "pads": (1, 1, 1, 1)}


def naive_conv(x, w, x_zero_point, w_zero_point, pad):
    """3x3 taps and stride 1 in Python integers."""
    height, width = x.shape[2:]
    out = np.zeros((1, w.shape[0], height, width), np.int64)
    for index in np.ndindex(out.shape):
        _, m, row, column = index
        for c, i, j in np.ndindex(w.shape[1:]):
            r, s = row + i - pad, column + j - pad
            if 0 <= r < height and 0 <= s < width:
                out[index] += (int(x[0, c, r, s]) - x_zero_point) * (int(w[m, c, i, j]) - int(w_zero_point[m]))
    return out


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_conv_removes_zero_points_and_pads_with_nothing(dtype):
    x, w = random_array(1, (1, 3, 5, 4), dtype), random_array(2, (2, 3, 3, 3), "int8")
    bias = np.int32([1000, -70000])
    attributes = {**CONV, "x_zero_point": 17, "w_zero_point": (3, -4)}
    got = run(single_node("Conv", [x, w, bias], attributes, (1, 2, 5, 4), "int32"), [x, w, bias])
    wanted = naive_conv(x, w, 17, (3, -4), 1) + bias.reshape(1, 2, 1, 1)
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, wanted)


def test_wide_operands_stay_exact():
    a = np.full((1, 4), 2**27 - 1, np.int32)
    b = np.int32([[2**27 - 3], [-(2**27) + 3], [3], [2]])
    got = run(single_node("MatMul", [a, b], MATMUL, (1, 1), "int64"), [a, b])
    assert got[0, 0] == 5 * (2**27 - 1)


def test_matmul_zero_points_follow_columns():
    a, b = random_array(3, (2, 3, 4), "uint8"), random_array(4, (5, 4), "int8")
    attributes = {**MATMUL, "transpose_b": True, "a_zero_point": 128, "b_zero_point": (1, 2, 3, 4, 5)}
    got = run(single_node("MatMul", [a, b], attributes, (2, 3, 5), "int32"), [a, b])
    wanted = (a.astype(int) - 128) @ (b.T.astype(int) - np.arange(1, 6))
    np.testing.assert_array_equal(got, wanted)


def test_requantize_rounds_half_to_even_and_clips():
    epilogue = Requantize((0.5,), 10, -128, 127)
    accumulator = np.int64([-5, -3, -1, 0, 1, 3, 5, 1000, -1000])
    np.testing.assert_array_equal(apply(epilogue, accumulator, 0), [8, 8, 10, 10, 10, 12, 12, 127, -128])


def test_requantize_follows_the_channel_axis():
    accumulator = np.full((1, 2, 3), 100, np.int64)
    got = apply(Requantize((0.1, 0.2), 0, -128, 127), accumulator, 1)
    np.testing.assert_array_equal(got, [[[10] * 3, [20] * 3]])


def test_requantize_shift_rounds_half_up():
    accumulator = np.int64([-3, -2, -1, 0, 1, 2, 3])
    got = apply(RequantizeShift((1,), (0,), 1, -128, 127), accumulator, 0)
    np.testing.assert_array_equal(got, [-1, -1, 0, 0, 1, 1, 2])
    np.testing.assert_array_equal(
        apply(RequantizeShift((3,), (1,), 0, -5, 5), accumulator, 0), [-5, -5, -2, 1, 4, 5, 5]
    )


def test_requantize_shift_needs_64_bits():
    got = apply(RequantizeShift((2**30,), (2**29,), 31, -(2**31), 2**31 - 1), np.int64([2**31 - 1]), 0)
    assert got[0] == ((2**31 - 1) * 2**30 + 2**29 + 2**30) >> 31


def test_requantize_shift_with_one_bit_of_rounding_removed_differs():
    accumulator = np.int64([3])
    got = apply(RequantizeShift((1,), (0,), 1, -128, 127), accumulator, 0)
    assert got[0] != accumulator[0] >> 1


def test_rescale_gives_float32_and_clamp_keeps_the_dtype():
    got = apply(Rescale((0.25,), minimum=0.0), np.int64([-4, 6]), 0)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.float32([0, 1.5]))
    got = apply(Clamp(0.0, float("inf")), np.int64([-4, 6]), 0)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, [0, 6])


def test_quantized_conv_matches_onnx():
    x, w = random_array(5, (1, 3, 6, 6), "uint8"), random_array(6, (4, 3, 3, 3), "int8")
    scales = {"x": np.float32(0.02), "w": np.float32([0.01, 0.02, 0.005, 0.03]), "y": np.float32(0.1)}
    node = helper.make_node(
        "QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]
    )
    feeds = {
        "x": x, "xs": scales["x"], "xz": np.uint8(120), "w": w, "ws": scales["w"], "wz": np.int8([0, 0, 0, 0]),
        "ys": scales["y"], "yz": np.uint8(100),
    }  # fmt: skip
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", 2, None)])
    wanted = ReferenceEvaluator(helper.make_model(graph)).run(None, feeds)[0]
    multiplier = tuple(float(scales["x"]) * float(s) / float(scales["y"]) for s in scales["w"])
    epilogue = Requantize(multiplier, 100, 0, 255)
    got = run(single_node("Conv", [x, w], {**CONV, "x_zero_point": 120}, wanted.shape, "uint8", epilogue), [x, w])
    np.testing.assert_allclose(got.astype(int), wanted.astype(int), atol=1)
    assert (got != wanted).mean() < 0.01


def test_add_rescales_each_operand():
    a, b = np.int8([10, -128, 127]), np.int8([3, -128, 127])
    attributes = {"a_zero_point": 2, "b_zero_point": -1, "a_multiplier": 0.5, "b_multiplier": 0.25}
    epilogue = Requantize((1.0,), 4, -128, 127)
    got = run(single_node("Add", [a, b], attributes, (3,), "int8", epilogue), [a, b])
    np.testing.assert_array_equal(got, np.rint((a - 2.0) * 0.5 + (b + 1.0) * 0.25) + 4)


def test_add_and_multiply_stay_integers_before_a_shift():
    a, b = random_array(7, (4, 6), "int8"), random_array(8, (1, 6), "int8")
    epilogue = RequantizeShift((3, 5, 7, 9), (1, 2, 3, 4), 4, -128, 127)
    zero = {"a_zero_point": 0, "b_zero_point": 0, "channel_axis": 0}
    for operator, accumulator in (("Add", a.astype(int) + b), ("Mul", a.astype(int) * b)):
        got = run(single_node(operator, [a, b], zero, (4, 6), "int8", epilogue), [a, b])
        np.testing.assert_array_equal(got, apply(epilogue, accumulator, 0))


def test_max_pool_padding_never_wins():
    x = np.full((1, 1, 4, 4), -128, np.int8)
    np.testing.assert_array_equal(run(single_node("MaxPool", [x], POOL, (1, 1, 2, 2), "int8"), [x]), x[..., :2, :2])


@pytest.mark.parametrize("include", [False, True])
def test_average_pool_divides_before_rounding(include):
    x = random_array(9, (1, 2, 5, 5), "uint8")
    attributes = {**POOL, "count_include_pad": include, "x_zero_point": 100}
    epilogue = Requantize((1.0,), 100, 0, 255)
    got = run(single_node("AveragePool", [x], attributes, (1, 2, 3, 3), "uint8", epilogue), [x])
    for c, i, j in np.ndindex(2, 3, 3):
        patch = x[0, c, max(2 * i - 1, 0) : 2 * i + 2, max(2 * j - 1, 0) : 2 * j + 2].astype(int) - 100
        mean = patch.sum() / (9 if include else patch.size)
        assert got[0, c, i, j] == np.clip(np.rint(mean) + 100, 0, 255)


def test_integer_softmax_then_requantize():
    x = random_array(10, (2, 8), "int8")
    epilogue = Requantize((256.0,), -128, -128, 127)
    got = run(single_node("Softmax", [x], {"axis": 1, "x_scale": 0.05}, (2, 8), "int8", epilogue), [x])
    powers = np.exp(x * 0.05)
    np.testing.assert_array_equal(got, np.minimum(np.rint(powers / powers.sum(1, keepdims=True) * 256) - 128, 127))


def test_quantize_and_dequantize_match_onnx():
    x = np.concatenate([random_array(11, (3, 50)) * 10, np.float32([[0.25, -0.75], [1e7, -1e7], [0.5, 1.5]])], 1)
    scale, zero = np.float32([0.5, 0.1, 1.0]), np.int8([3, -5, 0])
    attributes = {"scale": tuple(map(float, scale)), "zero_point": tuple(map(int, zero)), "axis": 0}
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=0)
    feeds = {"x": x, "s": scale, "z": zero}
    wanted = ReferenceEvaluator(node).run(None, feeds)[0]
    got = run(single_node("Quantize", [x], attributes, x.shape, "int8"), [x])
    np.testing.assert_array_equal(got, wanted)
    back = run(single_node("Dequantize", [got], attributes, x.shape), [got])
    np.testing.assert_array_equal(back, (got.astype(np.float32) - zero[:, None]) * scale[:, None])


def test_quantize_without_axis_takes_any_rank():
    x = np.float32(3.2)
    got = run(single_node("Quantize", [x], {"scale": (0.1,), "zero_point": (128,), "axis": None}, (), "uint8"), [x])
    assert got == 160


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_lookup_starts_at_the_smallest_value(dtype):
    x = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    table = random_array(12, (256,), "int8")
    np.testing.assert_array_equal(run(single_node("Lookup", [x, table], {}, (256,), "int8"), [x, table]), table)


def test_requantize_operator():
    x = np.int32([[100, 200], [300, 401]])
    attributes = {"channel_axis": 0, "x_zero_point": 1}
    got = run(single_node("Requantize", [x], attributes, (2, 2), "int8", Requantize((0.1, 0.2), 5, -128, 127)), [x])
    np.testing.assert_array_equal(got, [[15, 25], [65, 85]])


def refused(operator, arrays, attributes, shape, dtype, epilogue=None):
    with pytest.raises(TilewrightError) as caught:
        run(single_node(operator, arrays, attributes, shape, dtype, epilogue), arrays)
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    assert "node" in caught.value.at[0]
    return caught.value.code


def test_what_has_no_meaning_is_refused_by_name():
    x = random_array(13, (1, 1, 4, 4), "int8")
    average = {**POOL, "count_include_pad": False, "x_zero_point": 0}
    assert refused("AveragePool", [x], average, (1, 1, 2, 2), "int32") == "epilogue"
    shift = RequantizeShift((1,), (0,), 0, -128, 127)
    assert refused("AveragePool", [x], average, (1, 1, 2, 2), "int8", shift) == "epilogue"
    assert refused("Div", [x, x], {}, x.shape, "int32") == "integer-division"
    big = np.full((1, 4), 2**30, np.int32)
    assert refused("MatMul", [big, big.T.copy()], MATMUL, (1, 1), "int32") == "overflow"
    cube = np.zeros((1, 1, 3, 3, 3, 3), np.float32)
    conv = {**CONV, "strides": (1,) * 4, "dilations": (1,) * 4, "pads": (0,) * 8}
    assert refused("Conv", [cube, cube], conv, (1, 1, 1, 1, 1, 1), "float32") == "spatial-rank"


def test_networks_of_keyword_size_take_no_time():
    x, w = random_array(14, (1, 64, 25, 5), "int8"), random_array(15, (64, 64, 3, 3), "int8")
    graph = single_node("Conv", [x, w], CONV, (1, 64, 25, 5), "int32")
    start = time.perf_counter()
    run(graph, [x, w])
    assert time.perf_counter() - start < 0.5
