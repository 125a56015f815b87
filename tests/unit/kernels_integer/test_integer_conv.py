"""Integer convolution kernels against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Ring
from support.integer_nodes import check, choices_of, integers, node_graph, requantize, shifted
from tilewright.graph import Graph, Requantize, RequantizeShift, Rescale


def conv(
    seed: int,
    x=(1, 5, 7, 6),
    channels=6,
    kernel=(3, 3),
    group=1,
    strides=None,
    dilations=None,
    pads=None,
    x_dtype="int8",
    w_dtype="int8",
    x_zero_point=0,
    w_zero_point=(0,),
    epilogue="high",
    out="int8",
    bias=True,
    channels_last=True,
) -> tuple[Graph, dict]:
    rng = np.random.default_rng(seed)
    rank = len(kernel)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    pads = pads or (0,) * (2 * rank)
    data = integers(rng, x_dtype, x)
    weights = integers(rng, w_dtype, (channels, x[1] // group, *kernel))
    biases = integers(rng, "int32", (channels,), -3000, 3000) if bias else None
    spatial = [
        (x[2 + i] + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
        for i in range(rank)
    ]
    attributes = {
        "strides": tuple(strides),
        "dilations": tuple(dilations),
        "pads": tuple(pads),
        "group": group,
        "x_zero_point": x_zero_point,
        "w_zero_point": tuple(w_zero_point),
    }
    taps = weights[0].size
    scale = 1.0 / (40.0 * np.sqrt(taps))
    values = {
        "none": None,
        "high": requantize(rng.uniform(0.5, 1.5, channels) * scale, 3, out if out != "int32" else "int8"),
        "even": requantize(
            [2.0 ** np.floor(np.log2(scale))], -2 if out == "int8" else 120, out if out != "int32" else "int8"
        ),
        "shift": shifted(rng, channels, 14, max(2, int(scale * (1 << 14))), out if out != "int32" else "int8"),
        "long": shifted(rng, channels, 30, int(scale * (1 << 30)), out if out != "int32" else "int8"),
        "rescale": Rescale(tuple(rng.uniform(0.001, 0.002, channels).tolist()), -1.0, 5.0),
    }
    dtype = {"none": "int32", "rescale": "float32"}.get(epilogue, out)
    shape = (x[0], channels, *spatial)
    inputs = [data, weights, biases] if bias else [data, weights]
    return node_graph("Conv", inputs, (1, 2), shape, dtype, attributes, values[epilogue], channels_last)


GEOMETRIES = {
    "plain": {},
    "pointwise": {"kernel": (1, 1), "x": (2, 9, 4, 3), "channels": 8},
    "padded": {"pads": (1, 1, 1, 1), "x_zero_point": 5},
    "uneven pads": {"pads": (0, 2, 1, 0), "x_zero_point": -128},
    "strided": {"strides": (2, 3), "pads": (1, 1, 0, 1), "x": (1, 4, 9, 11)},
    "dilated": {"dilations": (2, 1), "pads": (2, 1, 2, 1), "x_zero_point": 7},
    "wide taps": {"kernel": (2, 5), "x": (1, 1, 6, 9), "pads": (1, 2, 0, 2), "x_zero_point": -3},
    "three channels": {"x": (1, 3, 8, 8), "pads": (1, 1, 1, 1), "channels": 9, "x_zero_point": 1},
    "grouped": {"x": (1, 6, 5, 5), "channels": 9, "group": 3, "pads": (1, 1, 1, 1), "x_zero_point": -9},
    "grouped pairs": {"x": (2, 8, 4, 5), "channels": 16, "group": 2, "kernel": (1, 2)},
    "multiplied depthwise": {"x": (1, 3, 5, 6), "channels": 6, "group": 3, "pads": (1, 1, 1, 1)},
    "one pixel": {"x": (1, 7, 3, 3), "channels": 10},
    "words": {"x": (1, 16, 6, 13), "channels": 8, "pads": (1, 1, 1, 1), "x_zero_point": 5},
    "words strided": {"x": (1, 16, 9, 19), "strides": (2, 2), "pads": (1, 1, 0, 1), "x_zero_point": -9},
    "words dilated": {"x": (1, 20, 9, 8), "dilations": (2, 2), "pads": (2, 2, 2, 2), "x_zero_point": 3},
    "words of pixels": {"x": (2, 16, 5, 7), "kernel": (1, 1), "channels": 8},
    "classifier": {"x": (1, 21, 1, 1), "channels": 10, "kernel": (1, 1), "x_zero_point": 4},
    "classifiers": {"x": (2, 20, 1, 1), "channels": 3, "kernel": (1, 1)},
    "rows only": {"x": (2, 4, 13), "kernel": (3,), "pads": (2, 0), "x_zero_point": 11},
    "dilated rows": {"x": (1, 4, 20), "kernel": (3,), "pads": (8, 0), "dilations": (4,), "channels": 4},
    "depthwise": {"x": (1, 5, 9, 7), "channels": 5, "group": 5, "pads": (1, 1, 1, 1), "x_zero_point": -7},
    "depthwise 2": {"x": (2, 4, 9, 8), "channels": 4, "group": 4, "pads": (0, 1, 1, 0), "strides": (2, 2)},
    "depthwise 1x2": {"x": (1, 4, 8, 9), "channels": 4, "group": 4, "pads": (1, 1, 1, 1), "strides": (1, 2)},
    "depthwise large": {"x": (1, 3, 14, 13), "channels": 3, "group": 3, "pads": (1, 1, 1, 1), "x_zero_point": 4},
    "depthwise large 2": {"x": (1, 2, 27, 25), "channels": 2, "group": 2, "pads": (1, 1, 1, 1), "strides": (2, 2)},
    "depthwise 5x4": {"x": (1, 3, 9, 8), "channels": 3, "group": 3, "kernel": (5, 4), "pads": (2, 1, 2, 2)},
    "depthwise dilated": {"x": (1, 3, 9, 8), "channels": 3, "group": 3, "dilations": (2, 2), "pads": (2, 2, 2, 2)},
    "depthwise fours": {"x": (1, 8, 9, 10), "channels": 8, "group": 8, "pads": (1, 1, 1, 1), "x_zero_point": 9},
    "depthwise fives": {"x": (2, 4, 7, 9), "channels": 4, "group": 4, "pads": (2, 1, 0, 1), "x_zero_point": -7},
    "depthwise twos": {"x": (1, 8, 9, 18), "channels": 8, "group": 8, "pads": (1, 1, 1, 0), "strides": (3, 2)},
    "depthwise ones": {"x": (2, 8, 4, 5), "channels": 8, "group": 8, "pads": (1, 1, 1, 1), "x_zero_point": -128},
    "depthwise bare": {"x": (1, 4, 6, 7), "channels": 4, "group": 4, "x_zero_point": 3},
    "depthwise bare twos": {"x": (1, 4, 9, 10), "channels": 4, "group": 4, "strides": (2, 2), "x_zero_point": 3},
    "depthwise left": {"x": (1, 8, 5, 9), "channels": 8, "group": 8, "pads": (0, 1, 1, 0), "x_zero_point": 7},
    "depthwise 5x5": {"x": (1, 4, 9, 11), "channels": 4, "group": 4, "kernel": (5, 5), "pads": (2, 2, 2, 2)},
    "depthwise 7x7": {
        "x": (1, 3, 10, 8),
        "channels": 3,
        "group": 3,
        "kernel": (7, 7),
        "pads": (3, 3, 3, 3),
        "x_zero_point": -7,
        "strides": (2, 2),
    },
    "depthwise rows": {"x": (1, 6, 12), "kernel": (3,), "channels": 6, "group": 6, "pads": (2, 0), "x_zero_point": 2},
    "one row": {"x": (1, 4, 1, 1), "channels": 4, "group": 4, "pads": (1, 1, 1, 1), "x_zero_point": 2},
}
TILES = (
    {},
    {"oh": 2, "ow": 3},
    {"oc": 4, "group": 1, "oh": 1},
    {"n": 1, "group": 2, "ow": 1},
    {"oh": 11},
    {"ic": 4},
    {"ic": 8, "oc": 4, "group": 1, "oh": 2, "ow": 5},
)

RULES = {
    "none": ("none",),
    "high": ("high", "layer"),
    "even": ("even", "layer_even"),
    "shift": ("folded",),
    "long": ("long",),
    "rescale": ("rescale",),
}


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("steps", TILES, ids=str)
def test_geometries_and_tiles(geometry: str, steps: dict) -> None:
    graph, feeds = conv(len(geometry), **GEOMETRIES[geometry])
    check(graph, feeds, steps)
    check(graph, feeds, steps, in_place=True)


@pytest.mark.parametrize(
    "geometry",
    ["padded", "grouped", "depthwise", "rows only", "classifiers", "three channels", "wide taps", "words"],
)
def test_row_major_tensors(geometry: str) -> None:
    graph, feeds = conv(7, **GEOMETRIES[geometry], channels_last=False)
    check(graph, feeds)
    check(graph, feeds, {"oh": 2, "ow": 2}, in_place=True)


@pytest.mark.parametrize("epilogue", ["none", "high", "even", "shift", "long", "rescale"])
@pytest.mark.parametrize("geometry", ["padded", "depthwise", "depthwise fives", "classifier", "grouped"])
@pytest.mark.parametrize("out", ["int8", "uint8"])
def test_finishes(epilogue: str, geometry: str, out: str) -> None:
    graph, feeds = conv(3, **GEOMETRIES[geometry], epilogue=epilogue, out=out)
    found = check(graph, feeds, {"oh": 3, "ic": 4}, tolerance=1e-6 if epilogue == "rescale" else 0.0)
    assert found[0].name.endswith(RULES[epilogue])


BESIDE = {
    "column": {"x": (1, 10, 9, 1), "kernel": (9, 1)},
    "columns": {"x": (2, 8, 12, 3), "kernel": (5, 1), "strides": (2, 1)},
    "row": {"x": (1, 7, 1, 11), "kernel": (1, 11)},
    "windows": {"x": (1, 9, 9, 8), "kernel": (4, 3), "strides": (2, 3), "dilations": (2, 1)},
    "line": {"x": (1, 6, 23), "kernel": (5,), "strides": (3,), "dilations": (3,)},
}
"""Depthwise convolutions without padding, whose channels lie side by side."""


@pytest.mark.parametrize("epilogue", ["none", "high", "even", "shift", "long", "rescale"])
@pytest.mark.parametrize("geometry", BESIDE)
def test_channels_side_by_side(geometry: str, epilogue: str) -> None:
    given = BESIDE[geometry]
    channels = given["x"][1]
    graph, feeds = conv(13, **given, channels=channels, group=channels, x_zero_point=-7, epilogue=epilogue)
    tolerance = 1e-6 if epilogue == "rescale" else 0.0
    assert check(graph, feeds, prefix="depthwise_beside", tolerance=tolerance)
    check(graph, feeds, {"group": 4, "oh": 2, "ow": 2}, prefix="depthwise_beside", tolerance=tolerance)


@pytest.mark.parametrize("operand", [0, 3])
@pytest.mark.parametrize("geometry", ["columns", "windows"])
def test_rows_in_a_ring_of_channels_side_by_side(operand: int, geometry: str) -> None:
    given = BESIDE[geometry]
    channels = given["x"][1]
    graph, feeds = conv(17, **given, channels=channels, group=channels, x_zero_point=5)
    for rows in (given["x"][2], given["x"][2] + 2):
        check(graph, feeds, {"oh": 2}, prefix="depthwise_beside", rings=(Ring(operand, 2, rows),))


def test_padding_and_planes_are_for_other_depthwise_kernels() -> None:
    for unfit in ({"pads": (1, 0, 0, 0)}, {"channels_last": False}, {"x_dtype": "uint8"}):
        graph, _ = conv(3, **{**BESIDE["windows"], **unfit}, channels=9, group=9)
        assert not any("beside" in choice.name for choice in choices_of(graph)), unfit


@pytest.mark.parametrize("channels_last", [True, False], ids=["channels last", "channels first"])
def test_a_convolution_of_one_pixel_is_the_product_of_a_vector(channels_last: bool) -> None:
    """Which memory order the pixel has does not matter."""
    graph, feeds = conv(4, x=(1, 24, 1, 1), kernel=(1, 1), channels=10, x_zero_point=5, channels_last=channels_last)
    names = [choice.name for choice in check(graph, feeds, {"oc": 4}, prefix="fully_connected")]
    assert {"tilewright_fully_connected_integer_layer", "tilewright_fully_connected_xpulpv2_layer"} <= set(names)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_unsigned_input(geometry: str) -> None:
    chosen = {**GEOMETRIES[geometry], "x_zero_point": 131}
    graph, feeds = conv(5, **chosen, x_dtype="uint8", out="uint8")
    check(graph, feeds)
    check(graph, feeds, {"oh": 2, "ow": 2})


@pytest.mark.parametrize("geometry", ["padded", "depthwise", "classifier", "grouped", "rows only"])
@pytest.mark.parametrize("zero_point", [1, 100, 255])
def test_weights_that_need_nine_bits(geometry: str, zero_point: int) -> None:
    graph, feeds = conv(8, **GEOMETRIES[geometry], w_dtype="uint8", w_zero_point=(zero_point,))
    found = check(graph, feeds, {"oh": 2})
    assert "conv_wide" in found[-1].name
    assert ("depthwise_wide" if geometry == "depthwise" else "conv_packed_4_wide") in found[0].name


@pytest.mark.parametrize(
    ("geometry", "epilogue", "symbol"),
    [
        ("depthwise fours", "high", "tilewright_depthwise_along"),
        ("depthwise ones", "high", "tilewright_depthwise_along"),
        ("depthwise twos", "shift", "tilewright_depthwise_along"),
        ("depthwise fours", "even", "tilewright_depthwise_rows"),
        ("depthwise fives", "high", "tilewright_depthwise_rows"),
    ],
    ids=["one image", "several images", "twos", "another rule", "two rows of padding"],
)
def test_only_groups_take_the_kernels_for_rows_of_windows(geometry: str, epilogue: str, symbol: str) -> None:
    graph, _ = conv(8, **GEOMETRIES[geometry], epilogue=epilogue)
    found = [choice for choice in choices_of(graph) if choice.in_groups]
    # Rows one apart of a single image may be kept, too.
    keeps = symbol == "tilewright_depthwise_along" and geometry == "depthwise fours"
    assert [choice.symbol for choice in found] == [symbol] * (1 + keeps)
    assert ["_keeping_" in choice.name for choice in found] == [False, True][: 1 + keeps]


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 1, 1, 1), (1, 0, 0, 1), (0, 0, 0, 0)], ids=str)
def test_rows_that_are_kept_from_call_to_call(rows: int, pads: tuple[int, ...]) -> None:
    graph, feeds = conv(rows, x=(1, 8, 9, 7), channels=8, group=8, pads=pads, x_zero_point=-5)
    rings = (Ring(0, 2, rows), Ring(3, 2, rows))
    check(graph, feeds, {"oh": rows}, prefix="depthwise_keeping", rings=rings)
    check(graph, feeds, {"oh": rows}, prefix="depthwise_keeping", in_place=True)


def test_unfit_images_have_no_kernel_for_rows_of_windows() -> None:
    for unfit in ({"x": (1, 8, 9, 3)}, {"channels_last": False}, {"x_dtype": "uint8"}):
        graph, _ = conv(8, **{**GEOMETRIES["depthwise fours"], **unfit})
        assert not any(choice.in_groups for choice in choices_of(graph)), unfit


def test_weight_zero_points_that_fit_eight_bits() -> None:
    graph, feeds = conv(8, w_dtype="uint8", w_zero_point=(128,))
    assert "tilewright_conv_integer_layer" in {choice.name for choice in check(graph, feeds)}


def test_weight_zero_points_of_channels() -> None:
    graph, feeds = conv(9, channels=4, w_zero_point=(1, -2, 3, 0))
    check(graph, feeds)


@pytest.mark.parametrize("operand", [0, 3])
@pytest.mark.parametrize(
    "geometry", ["padded", "depthwise", "strided", "depthwise 2", "depthwise large", "depthwise fives", "words"]
)
def test_rows_in_a_ring(operand: int, geometry: str) -> None:
    graph, feeds = conv(11, **GEOMETRIES[geometry])
    rows = 7 if operand == 0 else 4
    check(graph, feeds, {"oh": 11}, rings=(Ring(operand, 2, 14),))
    check(graph, feeds, {"oh": 2}, rings=(Ring(operand, 2, rows),))
    check(graph, feeds, {"oh": 3}, rings=(Ring(operand, 2, rows + 3),))


@pytest.mark.parametrize("geometry", ["padded", "depthwise", "classifier"])
@pytest.mark.parametrize("value", [-128, 127])
@pytest.mark.parametrize("weight", [-128, -127, 127])
def test_corner_values(geometry: str, value: int, weight: int) -> None:
    for epilogue in ("none", "high", "even", "shift"):
        graph, feeds = conv(1, **GEOMETRIES[geometry], epilogue=epilogue)
        feeds["i0"][...] = value
        data = graph.tensor("i1").data
        assert data is not None
        data.flags.writeable = True
        data[...] = weight
        check(graph, feeds)


def test_ties_go_to_the_even_neighbour() -> None:
    accumulators = np.arange(-64, 64, dtype=np.int8).reshape(1, 1, 8, 16)
    one = np.ones((1, 1, 1, 1), np.int8)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
    for multiplier in (0.5, 0.25, 0.125, 1.5, 0.75, 1.0, 2.0**-40, 3.5):
        graph, feeds = node_graph(
            "Conv", [accumulators, one], (1,), accumulators.shape, "int8", attributes, requantize([multiplier], 0)
        )
        assert check(graph, feeds)[0].name.endswith(("even", "high", "layer"))


def test_the_short_rule_is_not_taken_where_a_tie_is_reachable() -> None:
    for exponent in range(3, 24):
        graph, feeds = conv(2, x=(1, 4, 5, 5), channels=4, epilogue="high")
        epilogue = Requantize((2.0**-exponent,), 0, -128, 127)
        node = graph.nodes[0]
        changed = graph.with_nodes(
            [type(node)(node.name, node.operator, node.inputs, node.outputs, node.attributes, epilogue)]
        )
        check(changed, feeds)
        bound = 128 * int(np.abs(np.asarray(graph.tensor("i1").data, np.int64)).sum(axis=(1, 2, 3)).max()) + 3000
        high = choices_of(changed)[0].name.endswith(("high", "layer"))
        assert high <= (bound < 1 << (exponent - 1) or exponent > 20)


def test_multipliers_of_every_size() -> None:
    rng = np.random.default_rng(0)
    for exponent in range(-45, 3):
        graph, feeds = conv(2, x=(1, 4, 5, 5), channels=4, epilogue="high")
        node = graph.nodes[0]
        epilogue = Requantize(tuple((rng.uniform(1, 2, 4) * 2.0**exponent).tolist()), 5, -128, 127)
        changed = graph.with_nodes(
            [type(node)(node.name, node.operator, node.inputs, node.outputs, node.attributes, epilogue)]
        )
        check(changed, feeds)


def test_shift_of_nothing_and_negative_multipliers() -> None:
    for shift in (0, 1, 40):
        graph, feeds = conv(2, x=(1, 2, 4, 4), channels=2)
        node = graph.nodes[0]
        epilogue = RequantizeShift((-3, 2), (70000, -9), shift, -128, 127)
        changed = graph.with_nodes(
            [type(node)(node.name, node.operator, node.inputs, node.outputs, node.attributes, epilogue)]
        )
        check(changed, feeds)


def test_a_wrong_golden_is_caught() -> None:
    graph, feeds = conv(4, **GEOMETRIES["padded"])
    other = {name: array.copy() for name, array in feeds.items()}
    other["i0"][0, 2, 3, 3] ^= 0x40
    from kernel_harness import run_kernel
    from support.integer_nodes import SOURCES
    from tilewright.catalogue.evaluate import evaluate

    (got,) = run_kernel(choices_of(graph)[0], graph, feeds, sources=SOURCES)
    np.testing.assert_array_equal(got, evaluate(graph, feeds)["out"])
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(got, evaluate(graph, other)["out"])


def test_accumulators_beyond_32_bits_have_no_kernel() -> None:
    weights = np.full((1, 70000, 1, 1), 127, np.int8)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1, "x_zero_point": -128}
    x = np.zeros((1, 70000, 1, 1), np.int8)
    graph, _ = node_graph("Conv", [x, weights], (1,), (1, 1, 1, 1), "int8", attributes, requantize([1e-6]))
    assert choices_of(graph) == ()
