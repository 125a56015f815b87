"""Channels that are constant or that nobody reads are left out, and results stay what they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.dead_networks import DEAD, Network
from support.onnx_models import imported, outputs_of, random_feeds, runtime_outputs
from tilewright.rewrites import dead_channels
from tilewright.rewrites.passes import optimise


def check(folder, net):
    """The optimised graph, whose results are those of the graph as imported and of ONNX Runtime."""
    model = net.model("y", dtypes={"y": np.int8})
    graph = imported(folder, model)
    optimised = optimise(graph)
    for seed in range(3):
        feeds = random_feeds(model, seed)
        (want,) = runtime_outputs(model, feeds).values()
        (before,), (after,) = outputs_of(graph, feeds), outputs_of(optimised, feeds)
        np.testing.assert_array_equal(after, before)
        assert np.abs(after.astype(int) - want.astype(int)).max() <= 1
    return optimised


def channels(graph):
    """Channels of what each node computes."""
    return [graph.tensor(node.outputs[0]).shape[1] for node in graph.nodes]


def test_zeros_vanish_through_a_padded_depthwise_convolution(tmp_path):
    net = Network()
    net.pointwise(net.depthwise(net.dead_conv(net.image(), 16), 16), 8, 16, "y")
    assert channels(check(tmp_path, net)) == [12, 12, 8]


def test_channels_that_nobody_reads_vanish(tmp_path):
    net = Network()
    y = net.depthwise(net.dead_conv(net.image(), 16, dead=()), 16)
    net.pointwise(y, 8, 16, "y", unread=(0, 3, 4, 15))
    assert channels(check(tmp_path, net)) == [12, 12, 8]


def test_constants_become_a_part_of_the_next_bias(tmp_path):
    net = Network()
    net.pointwise(net.dead_conv(net.image(), 16, values=(7, 90, 3, 0, 200)), 8, 16, "y")
    assert channels(check(tmp_path, net)) == [12, 8]


def test_a_constant_beside_padding_stays(tmp_path):
    net = Network()
    x = net.dead_conv(net.image(), 16, values=(7, 90, 3, 1, 200))
    net.conv(x, net.weights(8, 16, 3, 3), np.zeros(8), "y", pads=[1, 1, 1, 1])
    assert channels(check(tmp_path, net)) == [16, 8]


def test_sums_clipped_for_any_input_are_constants(tmp_path):
    net = Network()
    weights, bias = net.weights(16, 3, 3, 3), net.chance.integers(-4000, 4000, 16)
    bias[[0, 1, 2, 3]] = -(10**6)
    net.pointwise(net.conv(net.image(), weights, bias, pads=[1, 1, 1, 1]), 8, 16, "y")
    assert channels(check(tmp_path, net)) == [12, 8]


def residual(net, dead_of_second):
    first = net.dead_conv(net.image(), 16)
    second = net.dead_conv(first, 16, 16, dead=dead_of_second)
    return net.stored(net.node("Add", net.real(first), net.real(second)))


def test_channels_vanish_through_a_residual_sum_and_a_pooling(tmp_path):
    net = Network()
    pooled = net.stored(net.node("AveragePool", net.real(residual(net, DEAD)), kernel_shape=[2, 2], strides=[2, 2]))
    net.pointwise(pooled, 8, 16, "y")
    assert channels(check(tmp_path, net)) == [12, 12, 12, 12, 8]


def test_a_sum_with_a_live_channel_keeps_it(tmp_path):
    net = Network()
    net.pointwise(residual(net, (1,)), 8, 16, "y")
    assert channels(check(tmp_path, net)) == [16, 16, 16, 8]


def test_channels_of_vectors_vanish(tmp_path):
    net = Network()
    pooled = net.stored(net.node("GlobalAveragePool", net.real(net.dead_conv(net.image(), 16))))
    flat = net.node("Flatten", pooled)
    factors = net.dequantize(net.constant(net.weights(16, 4)), 2.0**-7)
    net.stored(net.node("MatMul", net.real(flat), factors), "y")
    assert set(channels(check(tmp_path, net))) == {12, 4}


@pytest.mark.parametrize("rows", [8, 16, 32])
def test_columns_of_matrices_are_no_channels(tmp_path, rows):
    """Column 1 of the product is constant; row 1, which the first convolution alone reads for some channels, is not."""
    net = Network()
    matrix, alone = net.weights(16, 16), net.weights(16, rows, 1)
    matrix[:, [1, 2]] = 0
    alone[list(DEAD)] = 0
    alone[list(DEAD), 1] = 60
    x = net.real(net.input("x", [1, rows, 16], np.int8))
    product = net.stored(net.node("MatMul", x, net.dequantize(net.constant(matrix), 2.0**-7)))
    between = net.conv(product, alone, np.zeros(16))
    net.conv(between, net.weights(8, 16, 1), net.chance.integers(-4000, 4000, 8), "y")
    assert channels(check(tmp_path, net)) == [rows, 16, 8]


def test_channels_of_outputs_stay(tmp_path):
    net = Network()
    net.stored(net.real(net.dead_conv(net.image(), 16)), "y")
    assert set(channels(check(tmp_path, net))) == {16}


def test_what_other_weights_could_bring_to_life_stays(tmp_path):
    net = Network()
    net.pointwise(net.dead_conv(net.image(), 16), 8, 16, "y")
    graph = imported(tmp_path, net.model("y", dtypes={"y": np.int8}))
    assert channels(optimise(replace(graph, any_weights=True))) == [16, 8]


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_keep_their_results(tmp_path, seed):
    net = Network(seed)
    chance = net.chance
    dead = np.flatnonzero(chance.random(24) < 0.6)
    values = np.where(chance.random(len(dead)) < 0.5, 0, chance.integers(0, 255, len(dead)))
    x = net.dead_conv(net.image(), 24, dead=dead, values=values)
    if seed % 3 == 0:
        x = net.depthwise(x, 24)
    if seed % 2 == 0:
        x = net.stored(net.node("Add", net.real(x), net.real(net.dead_conv(x, 24, 24, dead=dead))))
    net.pointwise(x, 8, 24, "y", unread=np.flatnonzero(chance.random(24) < 0.3))
    check(tmp_path, net)


def test_a_constant_that_is_lost_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(dead_channels, "_folded", lambda node, weights, dead, x: np.zeros(len(weights), np.int64))
    net = Network()
    net.pointwise(net.dead_conv(net.image(), 16, values=(7, 90, 3, 0, 200)), 8, 16, "y")
    with pytest.raises(AssertionError):
        check(tmp_path, net)
