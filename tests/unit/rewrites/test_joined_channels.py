"""Channels behind and before a Concat are left out."""

from __future__ import annotations

import numpy as np
from support.dead_networks import DEAD, Network
from support.onnx_models import imported, operators, outputs_of, random_feeds, runtime_outputs
from tilewright.rewrites.passes import optimise


def check(folder, net):
    """The optimised graph, whose results are those of ONNX Runtime."""
    model = net.model("y", dtypes={"y": np.int8})
    optimised = optimise(imported(folder, model))
    for seed in range(3):
        feeds = random_feeds(model, seed)
        (want,) = runtime_outputs(model, feeds).values()
        np.testing.assert_array_equal(outputs_of(optimised, feeds)[0], want)
    return optimised


def channels(graph):
    return [graph.tensor(node.outputs[0]).shape[1] for node in graph.nodes]


def joined(net, *parts):
    return net.stored(net.node("Concat", *(net.real(part) for part in parts), axis=1))


def test_what_dies_behind_a_concat_dies_in_its_producers(tmp_path):
    net = Network()
    x = net.image()
    first, second = net.dead_conv(x, 16, dead=()), net.dead_conv(x, 8, dead=())
    unread = (0, 1, 2, 3, 4, 17, 19, 20, 23)
    net.pointwise(joined(net, first, second), 8, 24, "y", unread=unread)
    assert sorted(channels(check(tmp_path, net))) == [4, 8, 12, 16]


def test_constants_pass_through_a_concat_to_the_bias_of_its_reader(tmp_path):
    net = Network()
    x = net.image()
    first, second = net.dead_conv(x, 16, values=(7, 90, 3, 0, 200)), net.dead_conv(x, 8, dead=())
    net.pointwise(joined(net, first, second), 8, 24, "y")
    assert sorted(channels(check(tmp_path, net))) == [8, 8, 12, 20]


def test_a_part_in_another_scale_is_requantised(tmp_path):
    net = Network()
    x = net.image()
    first = net.dead_conv(x, 16, values=(7, 90, 3, 0, 200))
    other = net.requantized(net.real(first), 2.0**-6, 17)
    net.pointwise(net.stored(net.node("Concat", other, net.real(net.dead_conv(x, 8, dead=())), axis=1)), 8, 24, "y")
    graph = check(tmp_path, net)
    assert operators(graph)["Lookup"] > 0
    assert max(channels(graph)) == 20


def test_a_part_without_live_channels_vanishes_with_its_producers(tmp_path):
    net = Network()
    x = net.image()
    first, dead = net.dead_conv(x, 8, dead=()), net.dead_conv(net.dead_conv(x, 8, dead=()), 8, 8, dead=range(8))
    net.pointwise(joined(net, first, dead), 8, 16, "y")
    graph = check(tmp_path, net)
    assert operators(graph) == {"Conv": 2}


def test_a_concat_of_one_part_behind_another_one_vanishes(tmp_path):
    net = Network()
    x = net.image()
    first, *dead = (net.dead_conv(x, 8, dead=dead) for dead in ((), range(8), range(8)))
    net.pointwise(joined(net, joined(net, first, dead[0]), dead[1]), 8, 24, "y")
    assert operators(check(tmp_path, net)) == {"Conv": 2}


def test_a_part_that_another_layer_reads_keeps_what_that_layer_reads(tmp_path):
    net = Network()
    first = net.dead_conv(net.image(), 16, dead=())
    second = net.pointwise(first, 8, 16, unread=(0, 1, 2, 3))
    net.pointwise(joined(net, first, second), 8, 24, "y", unread=(2, 3, 4, 5, 6, 7, 8, 9))
    assert sorted(channels(check(tmp_path, net))) == [8, 8, 16, 24]


def test_all_dead_parts_leave_a_four(tmp_path):
    net = Network()
    parts = [net.dead_conv(net.image() if not at else "x", 8, dead=range(8)) for at in range(2)]
    net.conv(joined(net, *parts), net.weights(8, 16, 3, 3), np.zeros(8), "y", pads=[1, 1, 1, 1])
    graph = check(tmp_path, net)
    assert (channels(graph), operators(graph)) == ([4, 8], {"Conv": 2})


def test_channels_of_constant_parts_vanish(tmp_path):
    net = Network()
    data = net.chance.integers(-128, 128, (1, 6, 7, 6)).astype(np.int8)
    data[:, 1:4] = 5
    first = net.dead_conv(net.image(), 8, dead=())
    net.pointwise(joined(net, first, net.constant(data)), 8, 14, "y")
    assert sorted(channels(check(tmp_path, net))) == [8, 8, 11]


def test_a_concat_over_another_axis_keeps_all_channels(tmp_path):
    net = Network()
    x = net.image()
    parts = [net.real(net.dead_conv(x, 16, dead=DEAD)) for _ in range(2)]
    net.pointwise(net.stored(net.node("Concat", *parts, axis=2)), 8, 16, "y")
    assert sorted(channels(check(tmp_path, net))) == [8, 16, 16, 16]
